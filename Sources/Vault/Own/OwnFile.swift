/// What only this device has, once more: a file of sealed records beside the main file.
///
/// Rule protected: what can be read of it is a start of what was written, in its order, and nothing
/// fails because of it: a record that could not be written leaves it closed, until it is made anew.
package import Base
internal import CSQLite
internal import CSodium
internal import Glibc
internal import Support

/// An open one; closed, nothing goes into it.
struct OwnFile: Sendable {
  static let suffix = "-own"

  var file: BaseFile?
  var chain: OwnChain?
  /// A record may be lost in a power cut.
  var isUnsynced = false

  init() {}

  init(file: BaseFile, chain: OwnChain, isUnsynced: Bool) {
    self.file = file
    self.chain = chain
    self.isUnsynced = isUnsynced
  }
}

/// One that is made anew, under another name until it is whole.
package final class OwnWriter {
  private static let frameBytes = 64 << 10

  fileprivate let name: String
  fileprivate let file: BaseFile
  fileprivate var chain: OwnChain
  private var waiting: [UInt8] = []

  fileprivate init(_ name: String, _ file: BaseFile, _ chain: OwnChain) {
    self.name = name
    self.file = file
    self.chain = chain
  }

  package func put(_ record: [UInt8]) throws(VaultFailure) {
    waiting += record
    if waiting.count >= Self.frameBytes { try flush() }
  }

  fileprivate func flush() throws(VaultFailure) {
    if waiting.isEmpty { return }
    let place = chain.end
    try file.write(chain.seal(waiting), at: place)
    waiting = []
  }
}

extension Vault {
  var ownPath: String { filePath + OwnFile.suffix }

  /// Reads what lies beside the file. Where that is current, records go behind it from now on.
  package func readOwn(
    _ key: HostKey? = nil, _ take: ([UInt8]) -> Void
  ) throws(VaultFailure) -> OwnFound {
    guard let core else { throw .io(SQLITE_MISUSE) }
    let (found, file) = try OwnReader.read(beside: core, ownPath, key, take)
    own.withLock { $0 = file }
    return found
  }

  /// What lies beside the file stays as it is: nothing is appended any more.
  package func leaveOwn() { own.withLock { $0 = OwnFile() } }

  /// Whether a record can be appended; else the file has to be made anew.
  package var hasOwn: Bool { own.withLock { $0.chain != nil } }

  /// Appends a record: one write. After a failure nothing is appended any more.
  ///
  /// It is synced with the log, also where it only removes: what the user has cancelled must not
  /// come back after a power cut.
  package func appendOwn(_ record: [UInt8]) throws(VaultFailure) {
    try own.withLock { (own) throws(VaultFailure) in
      guard let file = own.file, var chain = own.chain,
        record.count <= FileFormat.ownTextBytesMax
      else {
        own = OwnFile()
        throw .io(SQLITE_MISUSE)
      }
      let place = chain.end
      do throws(VaultFailure) { try file.write(chain.seal(record), at: place) } catch {
        own = OwnFile()
        throw error
      }
      own.chain = chain
      own.isUnsynced = true
    }
  }

  /// Returns when what was appended survives a power cut, or nothing is appended any more.
  package func syncOwn() {
    own.withLock { own in
      guard own.isUnsynced, let file = own.file else { return }
      do throws(VaultFailure) {
        try file.sync()
        own.isUnsynced = false
      } catch {
        own = OwnFile()
      }
    }
  }

  /// Gives the descriptor back, and knows where the next record goes.
  func restOwn() { own.withLock { $0.file = nil } }

  /// Opens what lies beside the file again. Where it is not as it was, the next change of own work
  /// makes it anew.
  func reopenOwn() {
    guard let core, hasOwn else { return }
    own.withLock { own in
      var file: BaseFile?
      do throws(VaultFailure) {
        file = try OwnFile.existing(core, ownPath)
        guard let file, try file.size() == own.chain?.end else {
          own = OwnFile()
          return
        }
        own.file = file
      } catch {
        own = OwnFile()
      }
    }
  }

  /// Begins one that takes the place of what is there when it is finished. A storage of the host's
  /// has no second name, so there it is written over what is there.
  package func beginOwn() throws(VaultFailure) -> OwnWriter {
    guard let core, let header = core.copies.current else { throw .io(SQLITE_MISUSE) }
    leaveOwn()
    let name = isFile ? HeaderFile.unfinishedName(ownPath) : ownPath
    // What a crash has left, or a link of somebody else's.
    if isFile, unsafe unlink(name) != 0, errno != ENOENT { throw .io(SQLITE_CANTOPEN) }
    let file = try unsafe BaseFile(core.base, name, create: true)
    if isFile { try HeaderFile.copyMode(of: filePath, to: name) } else { try file.truncate() }
    var generation = [UInt8](repeating: 0, count: FileFormat.generationBytes)
    unsafe randombytes_buf(&generation, generation.count)
    try file.write(header.bytes + generation, at: 0)
    return OwnWriter(
      name, file, OwnChain(core.keys, fileId: core.fileId, generation: generation))
  }

  package func finishOwn(_ writer: OwnWriter) throws(VaultFailure) {
    try writer.flush()
    try writer.file.sync()
    var file = writer.file
    if isFile {
      let former = try formerOwn()
      switch unsafe tideline_replace_file(writer.name, ownPath) {
      case 0: break
      case -2: throw .full
      default: throw .io(SQLITE_IOERR)
      }
      guard let core else { throw .io(SQLITE_MISUSE) }
      do throws(VaultFailure) { if let former { try OwnFile.wipeSlots(of: former) } } catch {
        // It has no name any more, so no key opens it.
      }
      // By the name that it has now.
      file = try unsafe BaseFile(core.base, ownPath, create: false)
    }
    let made = OwnFile(file: file, chain: writer.chain, isUnsynced: false)
    own.withLock { $0 = made }
  }

  /// The key slots are others: those of the copy that lies beside the file follow, also where
  /// nothing is appended to it. Where they cannot it is removed, since a key that was removed would
  /// open it.
  func renewOwnHeader() throws(VaultFailure) {
    guard let core, let header = core.copies.current else { return }
    try own.withLock { (own) throws(VaultFailure) in
      do throws(VaultFailure) {
        let open = own.file
        guard let file = open == nil ? try OwnFile.existing(core, ownPath) : open,
          try file.read(32, at: 0).dropFirst(16).elementsEqual(header.fileId)
        else { return }
        try file.write(header.bytes, at: 0)
        try file.sync()
      } catch {
        own = OwnFile()
        try unsafe HeaderFile.remove(core.base, ownPath)
      }
    }
  }

  /// Nothing is kept twice any more: there is nothing.
  package func endOwn() {
    leaveOwn()
    guard let core else { return }
    do throws(VaultFailure) {
      // Where another file has the name, so has its own work.
      let isOurs = try core.has(filePath)
      guard isOurs else { return }
      try unsafe HeaderFile.remove(core.base, ownPath)
    } catch {
      // The next opening removes it.
    }
  }

  /// Makes what lies beside the file unreadable for every key, and removes it.
  package func removeOwn() throws(VaultFailure) {
    leaveOwn()
    guard let core else { throw .io(SQLITE_MISUSE) }
    try unsafe OwnFile.destroy(core.base, ownPath, isNamed: core.isNamed)
  }

  /// The same where no file has the name any more.
  package func removeOwnWithoutFile() {
    do throws(VaultFailure) {
      guard core?.isNamed == false, try FileStatus(path: filePath) == .missing else { return }
      try removeOwn()
    } catch {
      // What cannot be looked at is left.
    }
  }

  /// What has the name, where other keys than those of the file may open it: its slots are to be
  /// overwritten. Until another one has the name it may be the only one.
  private func formerOwn() throws(VaultFailure) -> BaseFile? {
    guard let core, let file = try OwnFile.existing(core, ownPath) else { return nil }
    let isSame = try file.read(FileFormat.copyBytes, at: 0) == core.copies.current?.bytes
    return isSame ? nil : file
  }
}

extension OwnFile {
  static func existing(_ core: VaultCore, _ path: String) throws(VaultFailure) -> BaseFile? {
    try unsafe existing(core.base, path, isNamed: core.isNamed)
  }

  /// The file of that name; nil where there is none, and for a link, or where another name leads to
  /// it as well: that one is not the library's to read or to write.
  private static func existing(
    _ base: SQLiteVFS, _ path: String, isNamed: Bool
  ) throws(VaultFailure) -> BaseFile? {
    if !isNamed {
      guard !HeaderFile.isLink(path), case .file(_, _, names: 1) = try FileStatus(path: path)
      else { return nil }
    }
    return try unsafe BaseFile(base, path, create: isNamed)
  }

  /// The copy of a header that it begins with; nil where that is not whole, or was wiped.
  static func header(_ base: SQLiteVFS, _ path: String, isNamed: Bool) -> FileHeader? {
    do throws(VaultFailure) {
      guard let file = try unsafe existing(base, path, isNamed: isNamed),
        let header = FileHeader(try file.read(FileFormat.copyBytes, at: 0)[...]),
        header.isSound, header.isKnown, !header.isWiped
      else { return nil }
      return header
    } catch {
      return nil
    }
  }

  /// Makes what has this name unreadable for every key, and removes it. An opening that ends a wipe
  /// does so too: what was wiped must not be put back.
  static func destroy(
    _ base: SQLiteVFS, _ path: String, isNamed: Bool
  ) throws(VaultFailure) {
    // Also one that a crash has left half made.
    for name in isNamed ? [path] : [path, HeaderFile.unfinishedName(path)] {
      guard let file = try unsafe existing(base, name, isNamed: isNamed) else { continue }
      try wipeSlots(of: file)
      try unsafe HeaderFile.remove(base, name)
    }
  }

  fileprivate static func wipeSlots(of file: BaseFile) throws(VaultFailure) {
    let slots = FileHeader.slotsOffset
    guard try file.size() > Int64(slots) else { return }
    let zeros = [UInt8](repeating: 0, count: FileFormat.copyBytes - slots)
    try file.write(zeros, at: Int64(slots))
    try file.sync()
  }
}
