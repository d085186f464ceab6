/// Which pages of an open file do not decrypt: a walk over all of them, in slices.
///
/// Rule protected: a page is damaged only if the one that SQLite would read does not decrypt. So no
/// write and no checkpoint runs beside a slice, and where the main file's page is not sound, or
/// missing, the log is asked for a newer one. The log is looked at last: an opening needs each of
/// its frames.
internal import Base
internal import CSQLite

// Used under the lock of the writer only.
@safe package final class PageCheck: @unchecked Sendable {
  /// Pages of a slice: a MiB.
  private static let slicePages = 256

  private let vault: Vault
  private var next = 1
  /// Pages of the database, as far as is known.
  private var count = 0
  private var isDone = false
  package private(set) var damaged: UInt64 = 0

  init(of vault: Vault) throws(VaultFailure) {
    self.vault = vault
    count = try vault.pages().count
  }

  package var progress: (done: UInt64, total: UInt64) {
    (UInt64(clamping: min(next &- 1, count)), UInt64(clamping: count))
  }

  /// Reads a slice; true when all pages were read.
  package func step() throws(VaultFailure) -> Bool {
    if isDone { return true }
    let main = try vault.mainPages()
    // Made only where it is needed, since it reads the whole log.
    var newest: PageReader?
    for _ in 0..<Self.slicePages where next <= count {
      if !(try Self.isSound(next, main)) {
        let pages = if let newest { newest } else { try vault.pages() }
        newest = pages
        // A commit has cut off the rest since.
        count = min(count, pages.count)
        if next > count { break }
        if !(try Self.isSound(next, pages)) { damaged &+= 1 }
      }
      next &+= 1
    }
    if next <= count { return false }
    let pages = if let newest { newest } else { try vault.pages() }
    count = max(count, pages.count)
    if next <= count { return false }
    damaged &+= UInt64(clamping: pages.lostFrames)
    isDone = true
    return true
  }

  /// A page that the disk cannot read is damaged like one that does not decrypt.
  private static func isSound(_ number: Int, _ pages: PageReader) throws(VaultFailure) -> Bool {
    do throws(VaultFailure) { return try pages.page(number) != nil } catch {
      if case .io = error { return false }
      throw error
    }
  }
}

extension Vault {
  /// A walk over the pages of the file.
  package func pageCheck() throws(VaultFailure) -> PageCheck { try PageCheck(of: self) }

  /// The pages of the main file, as the last checkpoint has left them.
  fileprivate func mainPages() throws(VaultFailure) -> PageReader {
    guard let core else { throw .io(SQLITE_MISUSE) }
    return try PageReader(mainFileOf: core)
  }
}
