/// Which pages of an open file do not decrypt: a walk over all of them, in slices.
///
/// Rule protected: a page is damaged only if the one that SQLite would read does not decrypt. So no
/// write and no checkpoint runs beside a slice, and where the main file's page is not sound the log
/// is asked for a newer one. Pages that only the log has are sound: a frame that does not decrypt
/// ends it.
internal import Base
internal import CSQLite

// Used under the lock of the writer only.
@safe package final class PageCheck: @unchecked Sendable {
  /// Pages of a slice: a MiB.
  private static let slicePages = 256

  private let vault: Vault
  private var next = 1
  /// Pages of the main file, as of the last slice.
  private var count = 0
  package private(set) var damaged: UInt64 = 0

  init(of vault: Vault) throws(VaultFailure) {
    self.vault = vault
    count = try vault.mainPages().count
  }

  package var progress: (done: UInt64, total: UInt64) {
    (UInt64(clamping: min(next &- 1, count)), UInt64(clamping: count))
  }

  /// Reads a slice; true when all pages were read.
  package func step() throws(VaultFailure) -> Bool {
    let main = try vault.mainPages()
    count = main.count
    let end = min(next &+ Self.slicePages, count &+ 1)
    // Made only where it is needed, since it reads the whole log.
    var newest: PageReader?
    while next < end {
      if !(try Self.isSound(next, main)) {
        if newest == nil { newest = try vault.pages() }
        guard let pages = newest else { break }
        // What the last commit has cut off waits for a checkpoint.
        count = min(count, pages.count)
        if next > count { break }
        if !(try Self.isSound(next, pages)) { damaged &+= 1 }
      }
      next &+= 1
    }
    return next > count
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
