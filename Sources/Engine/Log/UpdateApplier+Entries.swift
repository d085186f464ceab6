/// Pushes of a server that keeps a log, and messages that come another way from such a server.
///
/// Rule protected: a push goes on where what it names is the last entry of a range. All else that
/// tells of a message, as a list of conversations does, proves nothing of its place.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension UpdateApplier {
  mutating func entries(_ push: EntryPush) throws(StoreFailure) {
    try take(push, isFirst: pushReach.isUp, offer: update.isSilent ? .silent : .offered)
  }

  /// Messages that are no entries of a push: each stands alone. Those that an answer tells, or a
  /// list, are offered by the catch-up that finds them new.
  mutating func insertDetached(
    _ conversation: [UInt8], items: [PushedItem]
  ) throws(StoreFailure) {
    for one in items {
      let item: EntryItem =
        switch one.item {
        case .message(let message): .message(message)
        case .bad(let range, let reason): .hole(range, reason.text)
        }
      var offer = RowFlags()
      if asked == nil, answered == nil {
        offer = update.isSilent ? .silent : one.isNew ? .offered : []
      }
      try take(EntryPush(conversation: conversation, items: [item]), isFirst: false, offer: offer)
    }
  }

  private mutating func take(
    _ push: EntryPush, isFirst: Bool, offer: RowFlags
  ) throws(StoreFailure) {
    let record = try tx.conversation(creating: push.conversation)
    let ingest = Ingest(
      rules, frame: arrival.frame, opened: takePayloads(entryPayloads(push.items).count),
      issued: tx.lsn, autoMarkRead: false)
    var input = try LogInput(memory, rules, of: record, in: tx)
    let entries = try input.take(push, from: ingest, isFirst: isFirst, offer: offer)
    try input.finish(entries, frame: arrival.frame)
    for bad in entries.bad { try poison(bad.range, cid: record.cid) }
    if isFirst {
      for sender in entries.senders {
        effects.signs.append(TypingSignal(conversation: push.conversation, user: sender))
      }
    }
    effects.quarantined &+= input.effects.quarantined
    effects.aside.add(input.effects.aside)
    effects.duplicates &+= input.effects.duplicates
    effects.sawClientID = effects.sawClientID || input.effects.sawClientID
    effects.queuedMarks = effects.queuedMarks || input.effects.queuedMarks
    if input.effects.needsCatchUp { effects.behind.insert(record.id) }
    effects.logs.append(input.effects)
  }
}

extension ServerUpdate {
  /// A push of entries, which are not among its effects.
  init(entries push: EntryPush) { self.init(answer: .getEntries) }
}
