/// A store that rests: it has no connection and no descriptor but that of the lock.
///
/// Rule protected: all that was committed is in the main file and on disk before a connection is
/// closed, and a store that cannot bring it there goes on as it was. Nobody else can have the file
/// meanwhile, so counters hold, and what the engine knows: the commit that was the newest still is,
/// or the file is not the one that was left.
internal import Base
internal import Vault

extension MessageStore {
  /// Closes all connections until a call needs one. False where there is none, while a read or a
  /// copy or a new data key is under way: a caller that holds the engine is not to wait for a read.
  package func rest() throws(StoreFailure) -> Bool {
    guard let vault else { return false }
    let rested = try gate.drainIfEmpty { () throws(StoreFailure) in
      // A read may have the writer's connection, and is in no gate then.
      try writer.withLockIfFree { (writer) throws(StoreFailure) in
        try closeAll(of: vault, &writer)
      }
    }
    return rested.flatMap { $0 } ?? false
  }

  private func closeAll(
    of vault: Vault, _ writer: inout Writer
  ) throws(StoreFailure) -> Bool {
    if isResting { return false }
    guard let connection = writer.connection else { throw ended }
    let isCopied = copies.withLock { $0.contains { !$0.isOver } }
    if isCopied || writer.rotation != nil { return false }
    closeReaders()
    guard try connection.writeBack(vault) else { return false }
    vault.syncOwn()
    connection.close()
    writer.connection = nil
    vault.rest()
    resting.withLock { $0 = true }
    return true
  }

  private var isResting: Bool { resting.withLock { $0 } }

  /// Closes those that nobody uses.
  func closeReaders() {
    let idle = readers.withLock { readers in
      defer { readers.idle = [] }
      return readers.idle
    }
    for reader in idle { reader.close() }
  }

  /// The writing connection, which is opened where the store rests. After a failure it rests on,
  /// and the next call tries again.
  func awake(_ writer: inout Writer) throws(StoreFailure) -> Connection {
    if let connection = writer.connection { return connection }
    guard isResting, let vault else { throw ended }
    let connection = try reopened(vault, lsn: writer.counters.lsn)
    writer.connection = connection
    resting.withLock { $0 = false }
    return connection
  }

  /// The same for who is in the gate, and needs the file.
  func wake() throws(StoreFailure) {
    guard isResting else { return }
    try writer.withLock { (writer) throws(StoreFailure) in _ = try awake(&writer) }
  }

  // In each call that needs a connection it would be there once more.
  @inline(never)
  private func reopened(_ vault: Vault, lsn: UInt64) throws(StoreFailure) -> Connection {
    do throws(VaultFailure) { try vault.wake() } catch { throw StoreFailure(error) }
    let connection: Connection
    do throws(StoreFailure) { connection = try Self.connect(vault, role: .writer) } catch {
      vault.rest()
      throw error
    }
    connection.members = members
    connection.indexesLater = indexesLater
    connection.memo.indexChanges = indexed.withLock { $0 }
    do throws(StoreFailure) {
      let found = try Self.prepare(
        connection, binding: binding, cacheBytes: readerCacheBytes &* 2)
      guard found.lsn == lsn else { throw .vault(.moved) }
      return connection
    } catch {
      connection.keepLog(true)
      connection.close()
      vault.rest()
      throw error
    }
  }
}
