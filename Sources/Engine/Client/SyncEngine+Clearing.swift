/// What is taken out of the cache, and what memory knew of it.
internal import Base
internal import Store
internal import Timeline

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

  /// False where there is no such message. A page that is under way may show it as it was before
  /// an edit that goes with its row, so what was asked is asked again.
  func drop(_ id: [UInt8], of conversation: [UInt8]) throws(StoreFailure) -> Bool {
    let name = try commit { tx throws(StoreFailure) -> [UInt8]? in
      guard let record = try tx.conversation(conversation),
        let place = try tx.drop(id, in: record.cid)
      else { return nil }
      let stored = try tx.spans(record.cid)
      var spans = stored
      spans.remove(place, place.successor)
      spans.keepNewest(Limits.spansMax)
      try tx.save(spans: spans, replacing: stored, in: record.cid)
      return record.id
    }
    guard let name else { return false }
    scheduler.beginAgain { $0.conversation == name }
    return true
  }

  /// False where there is no such conversation.
  func drop(_ conversation: [UInt8], at now: Instant) throws(StoreFailure) -> Bool {
    let record = try commit { tx throws(StoreFailure) -> ConversationRecord? in
      guard var record = try tx.conversation(conversation), !record.isPending else { return nil }
      try tx.dropMessages(record.cid)
      try planner(tx).forgetClaims(&record)
      record.totalCount = nil
      try tx.save(record)
      return record
    }
    guard let record else { return false }
    memory.drop(record.cid)
    for job in scheduler.jobs where job.request.conversation == record.id {
      tracker.abandon(.sync(job.id))
    }
    scheduler.letGo(of: record.id) { tracker.isPending(.sync($0)) }
    if windows.windows.values.contains(where: { $0.conversation == record.id && $0.isFollowing }) {
      catchUp(record.id)
    }
    pump(now)
    return true
  }
}
