/// What a disk would hold after a kill or a power cut, made from recorded events.
///
/// A kill keeps every write that was made. A power cut keeps what was synced;
/// of the rest each write may have arrived, or not, or in part, in any order.
import Base
import Glibc

/// The contents of some files, by path.
package struct DiskImage: Sendable {
  package var files: [String: [UInt8]] = [:]

  package init() {}

  /// Reads the files as they are. Not for a file that is open in this process:
  /// closing it again would drop its lock.
  package init(paths: [String]) {
    for path in paths {
      guard let file = fopen(path, "rb") else { continue }
      defer { fclose(file) }
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while case let count = fread(&buffer, 1, buffer.count, file), count > 0 {
        bytes += buffer[..<count]
      }
      files[path] = bytes
    }
  }

  /// Does to the image what an event did to the disk.
  package mutating func apply(_ event: DiskEvent) {
    switch event.change {
    case .write(let offset, let bytes):
      Self.write(bytes, at: Int(offset), into: &files[event.path, default: []])
    case .truncate(let size):
      Self.resize(&files[event.path, default: []], Int(size))
    case .delete: files[event.path] = nil
    case .sync: break
    }
  }

  /// Writes the files under other names: `from` at the start of a path becomes `to`.
  package func write(replacing from: String, with to: String) {
    for (path, bytes) in files where path.hasPrefix(from) {
      guard let file = fopen(to + path.dropFirst(from.count), "wb") else { continue }
      fwrite(bytes, 1, bytes.count, file)
      fclose(file)
    }
  }

  fileprivate static func write(_ bytes: [UInt8], at offset: Int, into file: inout [UInt8]) {
    if file.count < offset + bytes.count { resize(&file, offset + bytes.count) }
    file.replaceSubrange(offset..<offset + bytes.count, with: bytes)
  }

  fileprivate static func resize(_ file: inout [UInt8], _ size: Int) {
    if file.count > size {
      file.removeLast(file.count - size)
    } else {
      file += [UInt8](repeating: 0, count: size - file.count)
    }
  }
}

extension DiskImage {
  /// What is left when the power goes after `events`: of the writes to a file
  /// since its last sync, each sector of 512 bytes arrived or did not.
  package func afterPowerCut(_ events: ArraySlice<DiskEvent>, _ random: inout Random) -> DiskImage {
    var image = self
    var pending: [String: [DiskEvent]] = [:]
    for event in events {
      switch event.change {
      case .write, .truncate: pending[event.path, default: []].append(event)
      case .sync:
        for waiting in pending.removeValue(forKey: event.path) ?? [] { image.apply(waiting) }
      case .delete:
        pending[event.path] = nil
        image.apply(event)
      }
    }
    for path in pending.keys.sorted() {
      let drop = random.below(3)
      for event in pending[path] ?? [] { image.arrive(event, drop, &random) }
    }
    return image
  }

  /// Applies an unsynced event by chance. `mood` 0: mostly lost, 1: even, 2: mostly there.
  private mutating func arrive(_ event: DiskEvent, _ mood: Int, _ random: inout Random) {
    let share = [0.15, 0.5, 0.9][mood]
    guard case .write(let offset, let bytes) = event.change else {
      if random.chance(share) { apply(event) }
      return
    }
    if random.chance(0.5) {
      if random.chance(share) { apply(event) }
      return
    }
    // Torn: sector by sector.
    var start = 0
    while start < bytes.count {
      let end = min(bytes.count, start + 512 - (Int(offset) + start) % 512)
      if random.chance(share) {
        let part = DiskEvent.Change.write(
          offset: offset + Int64(start), bytes: Array(bytes[start..<end]))
        apply(DiskEvent(path: event.path, kind: event.kind, change: part))
      }
      start = end
    }
  }
}
