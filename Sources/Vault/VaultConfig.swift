/// What a caller says to open a vault, and what it is told when that fails.
///
/// The failures at open are told apart on purpose: a host answers a wrong key,
/// a damaged file and a file in use in three different ways, and none of them
/// has changed the file.
package import Base

/// Why the encrypted file could not be opened, read or written.
package enum VaultFailure: Error, Equatable, Sendable {
  /// The file carries no header of this format.
  case notOurs
  /// Stored bytes were changed or lost.
  case damaged
  /// Commits are missing that were on disk.
  case lost
  /// No key slot opens with this key.
  case wrongKey
  /// No key slot is of the key's kind and of figures that this version takes.
  case noSlot
  /// All key slots are used.
  case slotsFull
  /// The one slot that is left, or that opens with this version.
  case lastSlot
  /// The slot is empty, or there is none of this number.
  case noSuchSlot
  /// A slot was made by an earlier version, and cannot be wrapped for a new data key.
  case oldSlot
  /// The file was written in a later format.
  case tooNew
  /// The file is open elsewhere, in this process or in another.
  case locked
  /// Another name leads to the file: a hard link.
  case linked
  /// There is no file and none was to be created.
  case notFound
  /// A file, or the log of one, is where a copy was to be made.
  case exists
  /// The name is that of what lies beside another file.
  case reserved
  /// The file is not the one that was let go of, or an older copy of it.
  case replaced
  /// The file was removed, replaced or changed while its client rested.
  case moved
  /// What is no file has a name that the file needs: a folder, a pipe, a device.
  case inTheWay
  /// The system has no file descriptor left.
  case noDescriptor
  /// The disk is full.
  case full
  /// The disk is full, and the keys were changed: one of the two copies of the header has it.
  case fullAfterChange
  /// SQLite or the file system refused; the extended result code of SQLite.
  case io(Int32)
}

/// How to open a vault.
package struct VaultConfig: Sendable {
  /// Where the file is. Its log lies beside it, with `-wal` behind the name.
  package var path: String
  /// What opens a slot; a file that is made has one for it.
  package var key: HostKey
  /// Make the file if there is none.
  package var create: Bool
  /// Refuse a file whose log has a rejected tail.
  package var strict: Bool
  /// Refuse a file that lacks commits that were on disk.
  package var refusesLoss = false
  /// Pages are read one by one and nothing is written: they may all lie in the log, and the right
  /// to read the two files is enough.
  var readsOnly = false
  /// Nothing is written to the file until `Vault.accept`, for who may refuse it yet.
  package var isTentative: Bool
  /// The VFS underneath. It has to keep the index of the log off the disk.
  package var baseVFS: String
  /// The one of every vault but those of tests.
  package static let systemVFS = "unix-excl"
  /// Keeps the bytes under the name that `path` is, in the place of a file.
  package var storage: (any HostStorage)?
  /// What was kept of the file when it was let go of: nothing else is opened, and no key is asked
  /// for.
  package var kept: KeptFile?

  package init(
    path: String, key: HostKey, create: Bool = true, strict: Bool = false,
    isTentative: Bool = false, baseVFS: String = systemVFS
  ) {
    self.path = path
    self.key = key
    self.create = create
    self.strict = strict
    self.isTentative = isTentative
    self.baseVFS = baseVFS
  }
}

/// A file that was let go of, to be opened again: which one it is, and its keys.
package struct KeptFile: Sendable {
  /// As SQLite had it, so that a change of folder leads nowhere else.
  let path: String?
  let fileId: [UInt8]
  let keys: KeyMemory
}

/// What a connection is for. A vault has one writer, which alone checkpoints.
package enum ConnectionRole: Sendable {
  case writer
  case reader
}
