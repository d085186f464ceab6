/// Emptying the cache: all that the server can give again goes, the user's own stays.
///
/// Rule protected: what was proven about rows that are gone is forgotten with them, in
/// memory too, or a screen would call an empty conversation whole.
internal import Base
internal import Store

extension Client {
  /// Drops what the server said. Operations, drafts, read markers, refs of updates and
  /// what was forgotten here stay; syncs begin again.
  package func clear() throws(Failure) {
    try input { engine, now throws(Failure) in try engine.clear(now) }
  }
}

extension SyncEngine {
  func clear(_ now: Instant) throws(Failure) {
    try storing { () throws(StoreFailure) in
      try commit { tx throws(StoreFailure) in try tx.clearCache() }
      // A power cut would bring the old cache back, which was to be gone.
      try store.syncDurable()
    }
    memory.clear()
    scheduler.forgiveAll()
    list.expire()
    for job in scheduler.jobs { tracker.abandon(.sync(job.id)) }
    // An answer that is still waited for says nothing to a job that is at its start.
    scheduler.letGo(of: nil) { tracker.isPending(.sync($0)) }
    scheduler.wake()
    scheduler.beginAgain()
    report.tellHost()
    if tracker.isUp {
      wakeLists(now)
      wakeWindows(now)
    }
    pump(now)
  }
}
