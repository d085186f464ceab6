/// Which of the two main objects of a name is the file, and the end of the other one.
///
/// Rule protected: whatever a crash keeps, one of the two is the file, and it has all that was
/// committed. A new data key puts the file into the other object, which is whole and synced before
/// it gets its magic. Decision 103 has each point of a crash.
internal import Base
internal import CSQLite

/// Keeps a name until the last user of its objects is gone.
final class StorageClaim: Sendable {
  let session: StorageSession
  /// Leads to the file. `HeaderFile.unfinishedName` of it leads to the other main object.
  let path: String

  init(_ session: StorageSession) {
    self.session = session
    path = StorageVFS.add(session)
  }

  deinit { end() }

  /// Gives the name back; a second call does nothing.
  func end() {
    StorageVFS.remove(session)
    session.end()
  }
}

/// What the headers of a main object say.
struct FoundObject {
  /// Both headers, as far as they are there.
  let start: [UInt8]
  let hasMagic: Bool
  /// The newer one that is sound.
  let header: FileHeader?
  /// Where the other copy lies, if that is not the same.
  private let broken: Int64?

  init(_ file: BaseFile) throws(VaultFailure) {
    start = try file.read(FileFormat.pagesOffset, at: 0)
    do throws(VaultFailure) {
      let newest = try HeaderFile.newest(of: start)
      (hasMagic, header, broken) = (true, newest.header, newest.broken)
    } catch {
      // Damaged, or of a later version: an opening says so.
      (hasMagic, header, broken) = (error != .notOurs, nil, nil)
    }
  }

  var isEmpty: Bool { start.isEmpty }
  var isWiped: Bool { header?.isWiped ?? false }

  /// Whether it may be the file: it was finished, and is not wiped.
  private var isFile: Bool { hasMagic && !isWiped }

  /// Which of the two is the file. Where both may be, the one that has taken the place of the other
  /// is, or else the main one, as a host has put it there.
  static func file(_ main: FoundObject, _ next: FoundObject) -> StorageObject {
    guard next.isFile else { return .main }
    guard main.isFile else { return .next }
    guard let old = main.header else { return .main }
    guard let new = next.header else { return .next }
    return new.hasReplaced(old) ? .next : .main
  }

  /// Makes it unreadable for every key. No crash leaves it damaged: an opening refuses that.
  fileprivate func wipe(_ file: BaseFile) throws(VaultFailure) {
    if isWiped { return }
    if let header {
      try HeaderCopies(file, header, stale: broken).wipe()
    } else {
      // One without magic.
      try file.write([UInt8](repeating: 0, count: FileFormat.pagesOffset), at: 0)
      try file.sync()
    }
  }
}

extension FileHeader {
  /// True when this file was made to take the place of `old`.
  fileprivate func hasReplaced(_ old: FileHeader) -> Bool {
    other == old.fileId && old.other == fileId && sequence > old.sequence
  }
}

extension HeaderFile {
  /// Removes the main object that is not the file: an old one, or one that came to no end.
  static func removeOther(_ base: SQLiteVFS, _ name: String) throws(VaultFailure) {
    let file = try unsafe BaseFile(base, name, create: true)
    // A holder may have ended before the sync that makes it what it seems to be.
    try file.sync()
    let found = try FoundObject(file)
    if found.isEmpty { return }
    try found.wipe(file)
    try unsafe remove(base, name)
  }

  /// Gives an object that is whole and synced its magic: from now on it is the file. A throw leaves
  /// it without. Gives a failure where it is not known which of the two an opening takes.
  static func finish(_ file: BaseFile) throws(VaultFailure) -> VaultFailure? {
    do throws(VaultFailure) {
      try write(FileFormat.magic, file)
      return nil
    } catch {
      let zeros = [UInt8](repeating: 0, count: FileFormat.magic.count)
      do throws(VaultFailure) { try write(zeros, file) } catch { return error }
      throw error
    }
  }

  private static func write(_ magic: [UInt8], _ file: BaseFile) throws(VaultFailure) {
    for place in places { try file.write(magic, at: place) }
    try file.sync()
  }
}
