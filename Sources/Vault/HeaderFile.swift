/// Reads, makes, repairs and wipes the header of a file.
///
/// A file is made whole under another name and then given its own, so a path
/// never leads to half a file. Opening changes nothing until the key has opened
/// a slot and the header has proven to be the one that was written.
internal import Base
internal import CSQLite
internal import CSodium
internal import Glibc
internal import Support

enum HeaderFile {
  /// What opening a file's header has shown.
  struct Opened {
    let header: FileHeader
    let keys: KeyMemory
    /// Where a copy lies that has to be written again.
    let broken: [Int64]
  }

  private static let places: [Int64] = [0, Int64(FileFormat.copyBytes)]

  /// Reads both copies and opens the newer one that is whole.
  static func open(_ file: BaseFile, _ key: HostKey) throws(VaultFailure) -> Opened {
    let bytes = try file.read(FileFormat.pagesOffset, at: 0)
    var copies: [FileHeader?] = []
    for place in places.map(Int.init) {
      let end = min(place + FileFormat.copyBytes, bytes.count)
      copies.append(place < end ? FileHeader(bytes[place..<end]) : nil)
    }
    if copies.allSatisfy({ $0 == nil }) && bytes.starts(with: FileFormat.magic) {
      throw .damaged
    }
    guard copies.contains(where: { $0?.hasMagic ?? false }) else { throw .notOurs }
    let sound = copies.compactMap { $0 }.filter(\.isSound)
    guard let newest = sound.filter(\.isKnown).max(by: { $0.sequence < $1.sequence }) else {
      throw sound.contains { $0.version > 0 } ? .tooNew : .damaged
    }
    guard let keys = newest.unlock(key) else { throw .wrongKey }
    guard newest.isAuthentic(keys) else { throw .damaged }
    let flagged = newest.flags & HeaderFlag.initialized != 0
    let least = Int64(FileFormat.pagesOffset + FileFormat.pageBytes)
    let size = try file.size()
    guard flagged && size >= least else { throw .damaged }
    let broken = zip(places, copies).filter { $0.1 != newest }.map(\.0)
    return Opened(header: newest, keys: keys, broken: broken)
  }

  /// Whether this process has the file open and it is not one of ours. It is looked at through the
  /// descriptor that is there.
  static func isHeldByAnother(_ identity: FileIdentity) -> Bool {
    var bytes = [UInt8](repeating: 0, count: FileFormat.pagesOffset)
    let got = unsafe tideline_read_held(
      identity.device, identity.inode, &bytes, bytes.count)
    guard got >= 0 else { return false }
    let read = bytes.prefix(Int(truncatingIfNeeded: got))
    return !places.contains { read.dropFirst(Int($0)).starts(with: FileFormat.magic) }
  }

  /// Writes a header over copies that are damaged or older.
  static func repair(_ file: BaseFile, _ opened: Opened) throws(VaultFailure) {
    for place in opened.broken {
      try file.write(opened.header.bytes, at: place)
      try file.sync()
    }
  }

  /// Overwrites every key slot in both copies, so that no key opens the file.
  static func wipe(_ file: BaseFile) throws(VaultFailure) {
    let bytes = try file.read(FileFormat.copyBytes, at: 0)
    guard let header = FileHeader(bytes[...])?.withoutSlots() else { throw .damaged }
    for place in places { try file.write(header.bytes, at: place) }
    try file.sync()
  }
}

// MARK: - Making a file

extension HeaderFile {
  // Two threads of a process share SQLite's locks, so they take turns. The number of
  // files made is there because the thread sanitizer cannot place an empty value.
  private static let making = Lock(0)

  /// The name under which a file is made.
  static func unfinishedName(_ path: String) -> String { path + "-new" }

  /// Makes an empty vault at `path`. Where another process is faster, its file stays.
  static func make(_ base: SQLiteVFS, _ path: String, _ key: HostKey) throws(VaultFailure) {
    try making.withLock { (made: inout Int) throws(VaultFailure) in
      guard case .missing = try FileStatus(path: path) else { return }
      let name = unfinishedName(path)
      let (file, lock) = try unsafe claimed(base, name)
      try file.truncate()
      try writeNew(file, key)
      // A log that lies there belongs to a file that is gone; no key opens it.
      try unsafe remove(base, path + "-wal")
      guard unsafe chmod(name, S_IRUSR | S_IWUSR) == 0 else { throw .io(SQLITE_CANTOPEN) }
      try publish(name, as: path)
      try unsafe remove(base, name)
      made &+= 1
      withExtendedLifetime(lock) {}
    }
  }

  /// The unfinished file, claimed: a leftover of a crash is made anew, one that
  /// another process is at work on is `locked`.
  private static func claimed(
    _ base: SQLiteVFS, _ name: String
  ) throws(VaultFailure) -> (BaseFile, FileLock) {
    for _ in 0..<8 {
      let file = try unsafe BaseFile(base, name, create: true)
      guard let identity = try FileStatus(path: name).identity else { continue }
      let lock = try FileLock(name, identity)
      try file.claim()
      if !file.hasMoved { return (file, lock) }
    }
    throw .locked
  }

  private static func writeNew(_ file: BaseFile, _ key: HostKey) throws(VaultFailure) {
    let (header, first) = try new(key)
    for place in places { try file.write(header.bytes, at: place) }
    try file.write(first, at: Int64(FileFormat.pagesOffset))
    try file.sync()
  }

  /// A header for `key`, and the first page that belongs to it.
  private static func new(
    _ key: HostKey
  ) throws(VaultFailure) -> (header: FileHeader, first: [UInt8]) {
    var fileId = [UInt8](repeating: 0, count: FileFormat.fileIdBytes)
    unsafe randombytes_buf(&fileId, fileId.count)
    guard let keys = KeyMemory.random(),
      let header = FileHeader(newFor: key, fileId: fileId, keys: keys)
    else { throw .io(SQLITE_NOMEM) }
    return (header, FirstPage.sealed(flags: header.flags, fileId: fileId, keys: keys))
  }

  /// Gives the file its name, in one step and never over another file.
  private static func publish(_ name: String, as path: String) throws(VaultFailure) {
    if unsafe link(name, path) == 0 || errno == EEXIST { return }
    // File systems without links: the name was free a moment ago.
    guard case .missing = try FileStatus(path: path) else { return }
    guard unsafe rename(name, path) == 0 else {
      throw errno == ENOSPC ? .full : .io(SQLITE_CANTOPEN)
    }
  }

  /// Removes a name and makes the directory durable.
  static func remove(_ base: SQLiteVFS, _ path: String) throws(VaultFailure) {
    guard let call = unsafe base.pointee.xDelete else { throw .io(SQLITE_IOERR) }
    let result = unsafe call(base, path, 1)
    // The name may be gone: a rename took it, or there was no log.
    let missing = SQLITE_IOERR | (23 << 8)
    guard result == SQLITE_OK || result == missing else {
      throw Vault.failure(fromSQLite: result) ?? .io(result)
    }
  }
}

// MARK: - Making on a storage

extension HeaderFile {
  /// Whether there is no file yet: nothing, or what a making has left that a crash has ended.
  /// The magic comes last, so one that has it is whole.
  static func isUnfinished(_ file: BaseFile) throws(VaultFailure) -> Bool {
    let least = Int64(FileFormat.pagesOffset + FileFormat.pageBytes)
    guard try file.size() <= least else { return false }
    let bytes = try file.read(FileFormat.pagesOffset, at: 0)
    return !places.contains { bytes.dropFirst(Int($0)).starts(with: FileFormat.magic) }
  }

  /// Makes an empty vault in an object that nobody else holds. There is no other name to make it
  /// under: everything but the magic is on disk before the magic is written.
  static func make(
    _ base: SQLiteVFS, _ file: BaseFile, log: String, _ key: HostKey
  ) throws(VaultFailure) {
    // A log that lies there belongs to nothing.
    try unsafe remove(base, log)
    try file.truncate()
    let (header, first) = try new(key)
    let magic = FileFormat.magic.count
    try file.write(first, at: Int64(FileFormat.pagesOffset))
    for place in places {
      try file.write(Array(header.bytes[magic...]), at: place + Int64(magic))
    }
    try file.sync()
    for place in places { try file.write(FileFormat.magic, at: place) }
    try file.sync()
  }
}
