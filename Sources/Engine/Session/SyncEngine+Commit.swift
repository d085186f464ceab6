/// The one way by which the engine writes: what memory follows of a transaction changes with it.
internal import Base
internal import Store

extension SyncEngine {
  /// One transaction; its number and its counters are kept when it commits.
  func commit<Result>(
    _ body: (WriteTransaction) throws(StoreFailure) -> Result
  ) throws(StoreFailure) -> Result {
    let before = (facts: memory.server.facts, ties: memory.ties.untaught)
    var changed: [(UInt64, OpenOperation?)] = []
    do {
      let result = try store.write { tx throws(StoreFailure) in
        tx.seals = config.seal != nil
        tx.origin = origin
        // First, since the body may owe one of them again.
        if !acknowledgements.settled.isEmpty { try tx.settleReplies(acknowledgements.settled) }
        let result = try body(tx)
        if tx.mustSeal { outbox.noteSeal() }
        if tx.doubtsCounts { list.doubtCount() }
        for seq in tx.changedOperations.sorted() {
          changed.append((seq, try tx.operation(seq).map { OpenOperation($0) }))
        }
        return result
      }
      acknowledgements.flushed()
      for (seq, operation) in changed { follow(seq, operation) }
      if store.lsn != lastLSN {
        lastLSN = store.lsn
        report.stats.commits += 1
        report.tellHost()
      }
      return result
    } catch {
      memory.server.takeBack(to: before.facts)
      memory.ties.takeBack(to: before.ties)
      throw error
    }
  }
}
