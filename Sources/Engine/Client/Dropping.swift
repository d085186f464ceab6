/// Taking one message or one conversation out of the cache, so that it may come anew.
///
/// Rule protected: where a row was taken out nothing is called whole, and nothing remembers it as
/// deleted: the server is asked for it like for all that was never here.
internal import Base
internal import Store
internal import Timeline

extension Client {
  /// Erases a message on this device alone, for good.
  package func forget(conversation: [UInt8], id: [UInt8]) throws(Failure) {
    try check(conversation)
    try check(id)
    try input { engine, _ throws(Failure) in
      let found = try engine.storing { () throws(StoreFailure) in
        try engine.commit { tx throws(StoreFailure) in
          guard let record = try tx.conversation(conversation),
            try tx.forget(id, in: record.cid) != nil
          else { return false }
          return true
        }
      }
      if !found { throw .noMessage }
    }
  }

  /// An empty id is all of the conversation.
  package func drop(conversation: [UInt8], id: [UInt8]) throws(Failure) {
    try check(conversation)
    if !id.isEmpty { try check(id) }
    try input { engine, now throws(Failure) in
      let found = try engine.storing { () throws(StoreFailure) in
        id.isEmpty
          ? try engine.drop(conversation, at: now) : try engine.drop(id, of: conversation)
      }
      if !found { throw id.isEmpty ? .noConversation : .noMessage }
    }
  }
}

extension SyncEngine {
  /// False where there is no such message. A page that is under way may show it as it was before
  /// an edit that goes with its row, so what was asked is asked again.
  fileprivate func drop(_ id: [UInt8], of conversation: [UInt8]) throws(StoreFailure) -> Bool {
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
  fileprivate func drop(_ conversation: [UInt8], at now: Instant) throws(StoreFailure) -> Bool {
    let record = try commit { tx throws(StoreFailure) -> ConversationRecord? in
      guard var record = try tx.conversation(conversation), !record.isPending else { return nil }
      try tx.dropMessages(record.cid)
      try self.forgetClaims(&record, in: tx)
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
