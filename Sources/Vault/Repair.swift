/// What an opening has found and not yet put right.
///
/// Rule protected: until the file is accepted nothing of it is changed, and where it is refused
/// nothing is left beside it that was not there.
internal import CSQLite

struct Repair {
  let core: VaultCore
  let path: String
  /// The name that the file was made under leads to it yet.
  let isLeftOver: Bool
  /// Another file has the name that one is made under; on a storage, the other main object is not
  /// empty.
  let hasOther: Bool
  /// A log was there.
  let hadLog: Bool

  /// Makes both copies of the header whole, and takes away what a crash has left under other
  /// names.
  func run(_ base: SQLiteVFS) {
    do throws(VaultFailure) {
      let name = HeaderFile.unfinishedName(path)
      if core.isNamed {
        if hasOther {
          // A holder may have ended before the sync that makes it the file. Where this one fails
          // nothing is committed.
          try core.mainFile.sync()
          try unsafe HeaderFile.removeOther(base, name)
        }
        try core.copies.repair()
        return
      }
      try core.copies.repair()
      if isLeftOver { try unsafe HeaderFile.remove(base, name) }
      let other = core.copies.current?.other ?? []
      if hasOther { try unsafe HeaderFile.removeRemains(base, of: other, under: name) }
      let own = HeaderFile.unfinishedName(path + OwnFile.suffix)
      try unsafe HeaderFile.remove(base, own)
    } catch {
      // One copy is whole and one name is enough: the next opening tries again.
    }
  }

  /// Takes the empty log away that SQLite makes to look whether there is one. The file is still
  /// claimed, so it is nobody else's.
  func undo(_ base: SQLiteVFS) {
    do throws(VaultFailure) {
      guard !hadLog, case .file(_, size: 0, _) = try FileStatus(path: path + "-wal") else { return }
      try unsafe HeaderFile.remove(base, path + "-wal")
    } catch {
      // An empty log says nothing.
    }
  }
}
