/// Reads and makes the header of a file.
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
    let broken: Int64?
    let marks: FoundMarks
    /// The file has no copy that is whole, and this is that of another one.
    let isSpare: Bool

    init(
      header: FileHeader, keys: KeyMemory, broken: Int64? = nil, marks: FoundMarks = FoundMarks(),
      isSpare: Bool = false
    ) {
      self.header = header
      self.keys = keys
      self.broken = broken
      self.marks = marks
      self.isSpare = isSpare
    }
  }

  static let places: [Int64] = [0, Int64(FileFormat.copyBytes)]

  /// Reads both copies, unless they are known, and opens the newer one that is whole; nil where a
  /// wipe has emptied them. For a salvage `spare` is that of another file, for where none is.
  static func open(
    _ file: BaseFile, _ config: VaultConfig, _ known: [UInt8]? = nil,
    spare: () -> FileHeader? = { nil }
  ) throws(VaultFailure) -> Opened? {
    let start = if let known { known } else { try file.read(FileFormat.pagesOffset, at: 0) }
    let (newest, broken, isSpare): (FileHeader, Int64?, Bool)
    do throws(VaultFailure) {
      let found = try Self.newest(of: start)
      (newest, broken, isSpare) = (found.header, found.broken, false)
    } catch {
      guard config.readsOnly, error != .tooNew, let other = spare() else { throw error }
      (newest, broken, isSpare) = (other, nil, true)
    }
    if newest.isWiped { return nil }
    let keys: KeyMemory
    if let kept = config.kept {
      guard kept.fileId == newest.fileId else { throw .replaced }
      keys = kept.keys
    } else {
      keys = try newest.unlock(config.key)
    }
    guard newest.isAuthentic(keys) else { throw .damaged }
    if config.kept == nil {
      let box = try HeaderBox(of: newest, keys)
      unsafe keys.take(content: box.content)
    }
    let flagged = newest.flags & HeaderFlag.initialized != 0
    let least = config.readsOnly ? 0 : Int64(FileFormat.pagesOffset + FileFormat.pageBytes)
    let size = try file.size()
    let marks = FoundMarks(in: start, of: newest, keys)
    guard flagged && size >= least, config.readsOnly || !marks.isDamaged else { throw .damaged }
    return Opened(
      header: newest, keys: keys, broken: broken, marks: marks, isSpare: isSpare)
  }

  /// The newer copy that is whole, and where the other one lies if it is not the same.
  static func newest(
    of bytes: [UInt8]
  ) throws(VaultFailure) -> (header: FileHeader, broken: Int64?) {
    var newest: FileHeader?
    var isOurs = false
    var isLater = false
    for place in places {
      let place = Int(place)
      guard bytes.count > place else { break }
      let end = min(place + FileFormat.copyBytes, bytes.count)
      isOurs = isOurs || bytes[place..<end].starts(with: FileFormat.magic)
      guard let copy = FileHeader(bytes[place..<end]), copy.isSound else { continue }
      guard copy.isKnown else {
        isLater = isLater || copy.version > 0
        continue
      }
      if let newest, !newest.yields(to: copy) { continue }
      newest = copy
    }
    guard isOurs else { throw .notOurs }
    guard let newest else { throw isLater ? .tooNew : .damaged }
    for place in places {
      let start = Int(place)
      let end = min(start + FileFormat.copyBytes, bytes.count)
      if start > end || FileHeader(bytes[start..<end]) != newest { return (newest, place) }
    }
    return (newest, nil)
  }

  /// What the slots of a file say, which may be open here or elsewhere. Nothing is locked.
  static func slots(at path: String) throws(VaultFailure) -> [SlotView] {
    guard !path.isEmpty, !path.utf8.contains(0) else { throw .io(SQLITE_CANTOPEN) }
    // One who writes them meanwhile may tear both for a reader that is held up between them, and
    // one who gives the file a new data key puts another file in its place.
    var failure = VaultFailure.damaged
    for _ in 0..<3 {
      let identity: FileIdentity
      switch try FileStatus(path: path) {
      case .missing: throw .notFound
      case .other: throw .notOurs
      case .file(let found, _, _): identity = found
      }
      do throws(VaultFailure) {
        return try newest(of: start(of: identity, path)).header.views
      } catch {
        failure = error
        guard error == .damaged || error == .io(SQLITE_CANTOPEN) else { throw error }
      }
    }
    throw failure
  }

  static func start(
    of identity: FileIdentity, _ path: String
  ) throws(VaultFailure) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: FileFormat.pagesOffset)
    // No vault of this process opens the file meanwhile: closing it would drop its locks.
    let got = Registry.beside {
      let held = unsafe tideline_read_held(
        identity.device, identity.inode, &bytes, bytes.count)
      if held >= 0 { return held }
      return unsafe tideline_read_start(
        path, identity.device, identity.inode, &bytes, bytes.count)
    }
    guard got >= 0 else {
      throw Vault.failure(fromSQLite: SQLITE_CANTOPEN) ?? .io(SQLITE_CANTOPEN)
    }
    return Array(bytes.prefix(Int(truncatingIfNeeded: got)))
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
    // A passphrase takes long, and others may be at work on other files.
    let content = try new(key)
    try making.withLock { (made: inout Int) throws(VaultFailure) in
      guard case .missing = try FileStatus(path: path) else { return }
      let name = unfinishedName(path)
      let (file, hold) = try unsafe claimed(base, name)
      do throws(VaultFailure) {
        try file.truncate()
        for copy in content.copies { try file.write(copy.bytes, at: copy.place) }
        try file.write(content.first, at: Int64(FileFormat.pagesOffset))
        try file.sync()
        // A log that lies there belongs to a file that is gone; no key opens it.
        try unsafe remove(base, path + "-wal")
        try makePrivate(name)
        _ = try publish(name, as: path)
        try unsafe remove(base, name)
      } catch {
        if !file.hasMoved { unsafe discard(base, name) }
        withExtendedLifetime(hold) {}
        throw error
      }
      made &+= 1
      withExtendedLifetime(hold) {}
    }
  }

  /// The unfinished file, claimed: a leftover of a crash is made anew, one that
  /// another process is at work on is `locked`.
  static func claimed(
    _ base: SQLiteVFS, _ name: String
  ) throws(VaultFailure) -> (file: BaseFile, hold: FileHold) {
    for _ in 0..<8 {
      var claim: FileClaim?
      // What another name leads to as well is that one's.
      var isShared = isLink(name)
      let status = try FileStatus(path: name)
      if case .file(let identity, _, let names) = status {
        // Before it is opened: closing it again would drop the locks of a vault of this process.
        claim = FileClaim(identity)
        if claim == nil { throw .locked }
        isShared = isShared || names > 1
      }
      if isShared {
        try unsafe remove(base, name)
        continue
      }
      // It is not the library's to remove, and to open it may do anything.
      if status == .other { throw .inTheWay }
      do throws(VaultFailure) {
        if let taken = try unsafe take(base, name, claim) { return taken }
      } catch {
        if status == .missing { unsafe removeEmpty(base, name) }
        throw error
      }
    }
    throw .locked
  }

  /// Opens and locks the unfinished file; nil where another one took its name meanwhile.
  private static func take(
    _ base: SQLiteVFS, _ name: String, _ claim: FileClaim?
  ) throws(VaultFailure) -> (file: BaseFile, hold: FileHold)? {
    let file = try unsafe BaseFile(base, name, create: true)
    guard let identity = try FileStatus(path: name).identity else { return nil }
    guard let claim = claim?.identity == identity ? claim : FileClaim(identity) else {
      throw .locked
    }
    let lock = try FileLock(name, identity)
    try file.claim()
    return file.hasMoved ? nil : (file, .file(claim, lock))
  }

  /// Removes the file that `take` has made and could not lock, as where no descriptor was left. It
  /// is closed by now, which leaves one for its lock.
  private static func removeEmpty(_ base: SQLiteVFS, _ name: String) {
    do throws(VaultFailure) {
      guard case .file(let identity, size: 0, names: 1) = try FileStatus(path: name),
        let claim = FileClaim(identity)
      else { return }
      let lock = try FileLock(name, identity)
      unsafe discard(base, name)
      withExtendedLifetime((claim, lock)) {}
    } catch {
      // Somebody else has it by now.
    }
  }

  private static func discard(_ base: SQLiteVFS, _ name: String) {
    do throws(VaultFailure) { try unsafe remove(base, name) } catch {
      // The next file that is made under that name makes it anew.
    }
  }

  static func isLink(_ name: String) -> Bool {
    var status = stat()
    return unsafe lstat(name, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  /// Headers for `key`, and the first page that belongs to them.
  private static func new(
    _ key: HostKey
  ) throws(VaultFailure) -> (copies: [(place: Int64, bytes: [UInt8])], first: [UInt8]) {
    var fileId = [UInt8](repeating: 0, count: FileFormat.fileIdBytes)
    unsafe randombytes_buf(&fileId, fileId.count)
    guard let keys = KeyMemory.random() else { throw .io(SQLITE_NOMEM) }
    let header = try FileHeader(newFor: key, fileId: fileId, keys: keys)
    let first = FirstPage.sealed(flags: header.flags, fileId: fileId, keys: keys)
    return (header.copies(keys), first)
  }

  /// Others on the machine have no business with it.
  static func makePrivate(_ name: String) throws(VaultFailure) {
    guard unsafe chmod(name, S_IRUSR | S_IWUSR) == 0 else { throw .io(SQLITE_CANTOPEN) }
  }

  /// Gives the file its name, in one step and never over another file: false where there is one.
  static func publish(_ name: String, as path: String) throws(VaultFailure) -> Bool {
    if unsafe link(name, path) == 0 { return true }
    if errno == EEXIST { return false }
    // File systems without links: the name was free a moment ago.
    guard case .missing = try FileStatus(path: path) else { return false }
    guard unsafe rename(name, path) == 0 else {
      throw errno == ENOSPC ? .full : .io(SQLITE_CANTOPEN)
    }
    return true
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
  /// Whether it may be what a making has left that a crash has ended, if it has no magic: that
  /// comes last.
  static func isShort(_ file: BaseFile) throws(VaultFailure) -> Bool {
    try file.size() <= Int64(FileFormat.pagesOffset + FileFormat.pageBytes)
  }

  /// Makes an empty vault in an object that nobody else holds. There is no other name to make it
  /// under: everything but the magic is on disk before the magic is written.
  static func make(
    _ base: SQLiteVFS, _ file: BaseFile, log: String, _ key: HostKey
  ) throws(VaultFailure) {
    // A log that lies there belongs to nothing.
    try unsafe remove(base, log)
    try file.truncate()
    let (copies, first) = try new(key)
    let magic = FileFormat.magic.count
    try file.write(first, at: Int64(FileFormat.pagesOffset))
    for copy in copies {
      try file.write(Array(copy.bytes[magic...]), at: copy.place + Int64(magic))
    }
    try file.sync()
    for place in places { try file.write(FileFormat.magic, at: place) }
    try file.sync()
  }
}
