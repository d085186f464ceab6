/// The one way by which the engine writes: what memory follows of a transaction changes with it.
internal import Base
internal import Store

extension SyncEngine {
  /// One transaction; its number and its counters are kept when it commits. What it changes in
  /// memory is changed when it has, and where it fails memory is as it was.
  func commit<Result>(
    _ body: (WriteTransaction) throws(StoreFailure) -> Result
  ) throws(StoreFailure) -> Result {
    let before = memory.learned
    var changed: [(UInt64, OpenOperation?)] = []
    var (mustSeal, doubtsCounts) = (false, false)
    let isRefused = config.commits?.begins(self) ?? false
    do {
      let result = try store.write(isRefused: isRefused) { tx throws(StoreFailure) in
        tx.seals = config.seal != nil
        tx.origin = origin
        // First, since the body may owe one of them again.
        if !acknowledgements.settled.isEmpty {
          try tx.feedTable.settleReplies(acknowledgements.settled)
        }
        let result = try body(tx)
        (mustSeal, doubtsCounts) = (tx.mustSeal, tx.doubtsCounts)
        for seq in tx.feedTable.changedOperations.sorted() {
          changed.append((seq, try tx.operation(seq).map { OpenOperation($0) }))
        }
        return result
      }
      acknowledgements.flushed()
      if mustSeal { outbox.noteSeal() }
      if doubtsCounts { list.doubtCount() }
      for (seq, operation) in changed { follow(seq, operation) }
      if !memory.effects.isEmpty { follow(memory.takeEffects()) }
      if store.lsn != lastLSN {
        lastLSN = store.lsn
        report.stats.commits += 1
        report.tellHost()
      }
      return result
    } catch {
      memory.takeBack(to: before)
      config.commits?.failed(self)
      throw error
    }
  }

  /// Brings memory to where a transaction brought the file.
  private func follow(_ effects: CommitEffects) {
    for _ in 0..<effects.restores {
      report.stats.restores &+= 1
      report.logLines.append(
        (.warn, "the server's copy is older than what is here: it was restored"))
    }
    for _ in 0..<effects.mismatches {
      report.stats.auditMismatches &+= 1
      report.logLines.append((.warn, "the server counts other messages than are here"))
    }
    for conversation in effects.doubted { memory.live.doubt(conversation) }
    for conversation in effects.unclaimed {
      // Nothing follows the present any more, so no push may go on from there.
      memory.live.doubt(conversation)
      scheduler.beginAnew(in: conversation)
    }
    for conversation in effects.owed { scheduler.owe(conversation) }
  }
}
