/// Keeps every other opening out of a file: those of other processes, and those of another copy of
/// the library in this one, which shares SQLite's locks and knows nothing of our registry.
///
/// The lock belongs to an open descriptor of its own, so no other descriptor that this process
/// closes ends it.
internal import CSQLite
internal import Support

final class FileLock: Sendable {
  private let descriptor: Int32

  /// Locks the file that has this identity. The caller has it open, so that a file that cannot be
  /// opened was told apart before. Where it may only be read, and that is enough, the lock keeps
  /// those out who write.
  init(
    _ path: String, _ identity: FileIdentity, readsOnly: Bool = false
  ) throws(VaultFailure) {
    descriptor = unsafe tideline_lock_file(
      path, identity.device, identity.inode, readsOnly ? 1 : 0)
    switch descriptor {
    case -1: throw .io(SQLITE_CANTOPEN)
    case -2: throw .locked
    case -3: throw .io(Code.lockFailed)
    case -4: throw .noDescriptor
    default: break
    }
  }

  deinit {
    if descriptor >= 0 { tideline_unlock_file(descriptor) }
  }
}
