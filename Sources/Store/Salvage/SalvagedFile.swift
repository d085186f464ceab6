/// A salvage into a file of its own, and one in the place of the file.
internal import Base
internal import Vault

/// What is left of a file, which may not open, on its way into a new one.
package final class SalvagedFile: Sendable {
  private final class State {
    let source: BrokenFile
    var target: FreshFile?
    let connection: Connection
    let salvage: Salvage
    var isDone = false
    var failure: StoreFailure?

    init(
      _ source: BrokenFile, _ target: FreshFile, _ connection: Connection, _ salvage: Salvage
    ) {
      self.source = source
      self.target = target
      self.connection = connection
      self.salvage = salvage
    }

    deinit {
      connection.close()
      target?.end()
    }

    func step() throws(StoreFailure) {
      guard let target, try salvage.step() else { return }
      // Closing does this as well, and says nothing where it fails, as on a full disk.
      try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
      connection.close()
      do throws(VaultFailure) { try target.finish() } catch { throw StoreFailure(error) }
      // The new file may be opened while the work is still there.
      self.target = nil
      isDone = true
    }
  }

  private let state: Lock<State>

  /// Begins a salvage of the file of `config` into a new one at `path`.
  package init(_ config: StoreConfig, to path: String) throws(StoreFailure) {
    guard case .file(let source, let key, _, _, let baseVFS) = config.kind else { throw .notFound }
    var settings = VaultConfig(path: source, key: key, create: false, strict: false)
    if let baseVFS { settings.baseVFS = baseVFS }
    settings.storage = config.storage
    let (file, pages, target): (BrokenFile, PageReader, FreshFile)
    let connection: Connection
    var own = OwnContents()
    do throws(VaultFailure) {
      file = try BrokenFile(settings)
      pages = try file.pages()
      do throws(VaultFailure) { _ = try file.readOwn { own.take(record: $0) } } catch {
        // What was read of it before counts.
      }
      target = try file.fresh(at: path)
      unsafe connection = Connection(adopting: try target.connect())
    } catch {
      throw StoreFailure(error)
    }
    connection.members = config.members
    do throws(StoreFailure) {
      let order = SalvageOrder(
        binding: Schema.Binding(config), own: own,
        least: config.refusesLoss ? config.leastCommit : 0, skipsUnreadable: true)
      let salvage = try Salvage(pages, into: connection, order)
      state = Lock(State(file, target, connection, salvage))
    } catch {
      connection.close()
      target.end()
      throw error
    }
  }

  /// A little of it; true when the new file has its name. After a failure nothing of it is left,
  /// and each later step fails likewise.
  package func step() throws(StoreFailure) -> Bool {
    try state.withLock { state throws(StoreFailure) in
      if let failure = state.failure { throw failure }
      if state.isDone { return true }
      do throws(StoreFailure) { try state.step() } catch {
        state.failure = error
        state.connection.close()
        state.target?.end()
        throw error
      }
      return state.isDone
    }
  }

  /// Pages that were read, of how many; each is read twice.
  package var progress: (done: UInt64, total: UInt64, isDone: Bool) {
    state.withLock { state in
      let (done, total) = state.salvage.progress
      return (done, total, state.isDone)
    }
  }

  package var found: Salvaged { state.withLock { $0.salvage.found } }
}

extension Salvage {
  /// Writes what is left of an open file over it; what the store counts from then on.
  static func heal(
    _ vault: Vault, _ connection: Connection, binding: Schema.Binding, floor: Counters,
    known: Contradictions?, unread: OwnContents?
  ) throws(StoreFailure) -> (Salvaged, Counters) {
    let fresh: FreshFile
    let target: Connection
    let pages: PageReader
    var own = OwnContents()
    do throws(VaultFailure) {
      guard let file = try vault.fresh() else { throw .damaged }
      do throws(VaultFailure) { _ = try vault.readOwn { own.take(record: $0) } } catch {
        // What was read of it before counts.
      }
      // Only the host's key opens what is of another file.
      if let unread, !own.isOf(binding) { own = unread }
      fresh = file
      unsafe target = Connection(adopting: try file.connect())
      pages = try vault.pages()
    } catch {
      throw StoreFailure(error)
    }
    defer {
      target.close()
      fresh.end()
    }
    target.members = connection.members
    let order = SalvageOrder(binding: binding, own: own, floor: floor, known: known)
    let salvage = try Salvage(pages, into: target, order)
    while try !salvage.step() {}
    try connection.replaceAll(with: target, in: vault)
    // A damaged frame would end the log before what was written now. A read beside may keep it.
    do throws(StoreFailure) { try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") } catch {
      // A commit tries again.
    }
    let meta = try Schema.prepare(connection, binding: binding)
    connection.memo.see(meta.counters.lsn)
    connection.memo.facts = meta.facts
    return (salvage.found, meta.counters)
  }
}
