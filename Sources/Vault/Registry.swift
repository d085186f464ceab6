/// What this process has open: which files are taken, and which vault a number means.
///
/// SQLite's locks do not keep a process out of its own file, so the registry does before the file
/// is touched. Another copy of the library has another registry: `FileLock` keeps that out.
/// SQLite is told a number instead of a key, because it keeps and prints names. There are few
/// of both, and a list of them costs the first opening less than a table that hashes.
internal import Base
internal import CSQLite
internal import Glibc

enum Registry {
  private struct Contents {
    var taken: [FileIdentity] = []
    var vaults: [(number: UInt64, core: VaultCore)] = []
    var lastNumber: UInt64 = 0
  }

  private static let contents = Lock(Contents())

  /// Takes a file for this process's one vault of it, or says that it is taken.
  static func claim(_ identity: FileIdentity) -> Bool {
    contents.withLock {
      guard !$0.taken.contains(identity) else { return false }
      $0.taken.append(identity)
      return true
    }
  }

  static func release(_ identity: FileIdentity) {
    contents.withLock { $0.taken.removeAll { $0 == identity } }
  }

  /// Runs `body` while no file is being taken.
  static func beside(_ body: () -> Int64) -> Int64 {
    contents.withLock { _ in body() }
  }

  /// Gives a vault the number under which its files find it.
  static func add(_ core: VaultCore) -> UInt64 {
    contents.withLock {
      $0.lastNumber &+= 1
      $0.vaults.append(($0.lastNumber, core))
      return $0.lastNumber
    }
  }

  static func vault(_ number: UInt64) -> VaultCore? {
    contents.withLock { $0.vaults.first { $0.number == number }?.core }
  }

  /// The files that are open keep the vault alive; new ones do not find it.
  static func remove(_ number: UInt64) {
    let core = contents.withLock { contents -> VaultCore? in
      guard let place = contents.vaults.firstIndex(where: { $0.number == number }) else {
        return nil
      }
      return contents.vaults.remove(at: place).core
    }
    // The last reference may end here, outside the lock it takes itself.
    _ = core
  }
}

/// A file that this process has taken, given back when the last user is gone.
final class FileClaim: Sendable {
  let identity: FileIdentity

  init?(_ identity: FileIdentity) {
    guard Registry.claim(identity) else { return nil }
    self.identity = identity
  }

  deinit {
    Registry.release(identity)
  }
}

/// What the file system says about a path, without opening it.
enum FileStatus: Equatable {
  /// `names` is how many lead to it.
  case file(FileIdentity, size: UInt64, names: UInt64)
  case missing
  case other

  init(path: String) throws(VaultFailure) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else {
      guard errno == ENOENT || errno == ENOTDIR else { throw .io(SQLITE_CANTOPEN) }
      self = .missing
      return
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      self = .other
      return
    }
    self = .file(
      FileIdentity(
        device: UInt64(truncatingIfNeeded: status.st_dev),
        inode: UInt64(truncatingIfNeeded: status.st_ino)),
      size: UInt64(max(0, status.st_size)), names: UInt64(status.st_nlink))
  }

  /// Which file it is, where it is one.
  var identity: FileIdentity? {
    guard case .file(let identity, _, _) = self else { return nil }
    return identity
  }

  /// Bytes of the file at a path; 0 where it cannot be asked.
  static func bytes(of path: String) -> UInt64 {
    do {
      guard case .file(_, let size, _) = try FileStatus(path: path) else { return 0 }
      return size
    } catch {
      return 0
    }
  }
}
