/// What a session does to a folder, with files that change names, and what a loss of power leaves.
///
/// A write belongs to the file that was opened, whatever its name is by then. A new name, an
/// exchange of names or a removal lasts from the next event on; right after it either may be left.
import Base
import Glibc

/// Records from its making until `end`.
package final class DiskRecord: Sendable {
  /// The names of the folder, each with the number of its file, from an event on.
  private struct Names {
    var events: Int
    var files: [String: UInt64]
  }

  private struct State {
    var start = DiskImage()
    var names: [Names] = []
    var events: [DiskEvent] = []
    /// All files that were seen, open, so that no number is given to another one.
    var kept: [UInt64: Int32] = [:]
  }

  private let folder: String
  private let syncs: Bool
  private let state = Lock(State())

  /// `folder` has no folders in it, and nobody has its files open. A disk may not do what a sync
  /// asks for.
  package init(_ folder: String, on disk: FaultVFS, syncs: Bool = true) {
    self.folder = folder
    self.syncs = syncs
    state.withLock { state in
      look(&state)
      for (name, file) in state.names[0].files {
        let path = folder + "/" + name
        state.start.files[Self.key(file)] = DiskImage(paths: [path]).files[path]
      }
    }
    disk.onEvent { [weak self] in self?.note($0) }
  }

  /// How many events there were.
  package var count: Int { state.withLock { $0.events.count } }

  /// What was done until now is done by so many events, names among it.
  package func mark() -> Int {
    state.withLock { state in
      look(&state)
      state.events.append(DiskEvent(path: "", kind: .other, change: .sync))
      return state.events.count
    }
  }

  /// Nobody has the files open any more.
  package func end(on disk: FaultVFS) {
    _ = mark()
    disk.onEvent(nil)
    state.withLock { state in
      for file in state.kept.values { close(file) }
      state.kept = [:]
    }
  }

  /// What the folder has, by name, when the power goes at each of so many points, in their order.
  package func eachCut(
    _ count: Int, _ random: inout Random,
    _ body: (_ cut: Int, _ left: DiskImage, _ random: inout Random) throws -> Void
  ) rethrows {
    let (start, names, events) = state.withLock { ($0.start, $0.names, $0.events) }
    var cuts = (1..<count).map { _ in random.below(events.count + 1) }
    // The end is one of them.
    cuts = (cuts + [events.count]).sorted()
    var synced = start
    var waiting: [DiskEvent] = []
    var done = 0
    var last = 0
    for cut in cuts {
      for event in events[done..<cut] {
        guard case .sync = event.change else {
          waiting.append(event)
          continue
        }
        for written in waiting where written.path == event.path { synced.apply(written) }
        waiting.removeAll { $0.path == event.path }
      }
      done = cut
      while last + 1 < names.count, names[last + 1].events <= cut { last += 1 }
      let isBefore = last > 0 && names[last].events == cut && random.chance(0.5)
      let after = synced.afterPowerCut(waiting[...], &random)
      var image = DiskImage()
      for (name, file) in names[isBefore ? last - 1 : last].files {
        image.files[name] = after.files[Self.key(file)] ?? []
      }
      try body(cut, image, &random)
    }
  }

  private static func key(_ file: UInt64) -> String { "\(file)" }

  private func note(_ event: DiskEvent) {
    state.withLock { state in
      look(&state)
      guard event.path.hasPrefix(folder + "/") else { return }
      if !syncs, case .sync = event.change { return }
      // A file that is removed is one without a name.
      let isRemoval = if case .delete = event.change { true } else { false }
      state.events.append(
        DiskEvent(
          path: isRemoval ? "" : Self.key(event.inode), kind: event.kind,
          change: isRemoval ? .sync : event.change))
    }
  }

  /// Notes the names where they have changed.
  private func look(_ state: inout State) {
    var found: [String: UInt64] = [:]
    guard let open = opendir(folder) else { return }
    defer { closedir(open) }
    while let entry = readdir(open) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard let file = inode(of: folder + "/" + name) else { continue }
      found[name] = file
      if state.kept[file] == nil { state.kept[file] = Glibc.open(folder + "/" + name, O_RDONLY) }
    }
    if found == state.names.last?.files { return }
    let count = state.events.count
    if state.names.last?.events == count { state.names.removeLast() }
    state.names.append(Names(events: count, files: found))
  }
}

/// Nil for what is no file.
func inode(of path: String) -> UInt64? {
  var status = Glibc.stat()
  guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
  return UInt64(status.st_ino)
}
