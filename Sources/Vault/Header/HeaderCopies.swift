/// The header of an open file, and its two copies on disk.
///
/// Rule protected: whatever is torn or lost while a copy is written, the other one is whole. A
/// change is one header more, written over the copy that is not needed first.
internal import Base
internal import CSQLite

final class HeaderCopies: Sendable {
  private struct State: Sendable {
    /// What the next opening takes; nil once the file was wiped.
    var header: FileHeader?
    /// Where a copy may lie that is torn or older.
    var stale: Int64?
  }

  private let file: BaseFile
  private let state: Lock<State>

  init(_ file: BaseFile, _ header: FileHeader, stale: Int64?) {
    self.file = file
    state = Lock(State(header: header, stale: stale))
  }

  /// Nil once the file was wiped.
  var current: FileHeader? { state.withLock { $0.header } }

  /// Makes both copies whole.
  func repair() throws(VaultFailure) {
    try state.withLock { (state) throws(VaultFailure) in
      guard let header = state.header, let place = state.stale else { return }
      try write(header, place)
      state.stale = nil
    }
  }

  /// Writes the mark of one copy.
  func put(_ mark: [UInt8], in copy: Int) throws(VaultFailure) {
    try state.withLock { (state) throws(VaultFailure) in
      guard state.header != nil else { throw .io(SQLITE_MISUSE) }
      try file.write(mark, at: HeaderFile.places[copy] + Int64(LogMark.range.lowerBound))
    }
  }

  /// Returns when all marks are on disk.
  func sync() throws(VaultFailure) {
    try state.withLock { (_) throws(VaultFailure) in try file.sync() }
  }

  /// Puts another header in the place of this one. After a failure `current` is the one that the
  /// next opening takes; after a loss of power that may be the other one.
  func change(
    _ make: (FileHeader) throws(VaultFailure) -> FileHeader
  ) throws(VaultFailure) {
    try state.withLock { (state) throws(VaultFailure) in
      guard let header = state.header else { throw .io(SQLITE_MISUSE) }
      let next = try make(header)
      let (first, second) = Self.order(state)
      state.stale = first
      do throws(VaultFailure) {
        try write(next, first)
      } catch {
        if try isKept(next, over: header, at: first) { state = State(header: next, stale: second) }
        throw error
      }
      state.header = next
      state.stale = second
      try write(next, second)
      state.stale = nil
    }
  }

  /// Overwrites every key slot in both copies, so that no key opens the file. One after the other:
  /// a kill between them leaves the file as it was.
  func wipe() throws(VaultFailure) {
    try state.withLock { (state) throws(VaultFailure) in
      guard let header = state.header?.withoutSlots() else { throw .io(SQLITE_MISUSE) }
      let (first, second) = Self.order(state)
      state.header = nil
      try write(header, first)
      try write(header, second)
    }
  }

  /// Where the two copies lie, the one that is not needed first.
  private static func order(_ state: State) -> (first: Int64, second: Int64) {
    let first = state.stale ?? HeaderFile.places[0]
    return (first, HeaderFile.places[first == HeaderFile.places[0] ? 1 : 0])
  }

  /// A copy could not be written, or not be synced. Where the old header cannot take its place
  /// either, the new one holds if it can be read.
  private func isKept(
    _ new: FileHeader, over old: FileHeader, at place: Int64
  ) throws(VaultFailure) -> Bool {
    do throws(VaultFailure) {
      try put(old, place)
    } catch {
      return FileHeader(try file.read(FileFormat.copyBytes, at: place)[...]) == new
    }
    try file.sync()
    return false
  }

  private func write(_ header: FileHeader, _ place: Int64) throws(VaultFailure) {
    try put(header, place)
    try file.sync()
  }

  /// The mark stays as it is: no crash may take both marks.
  private func put(_ header: FileHeader, _ place: Int64) throws(VaultFailure) {
    let mark = LogMark.range
    try file.write(Array(header.bytes[..<mark.lowerBound]), at: place)
    try file.write(
      Array(header.bytes[mark.upperBound...]), at: place + Int64(mark.upperBound))
  }
}
