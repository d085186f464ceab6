/// What one answer adds to how its messages are taken.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension Ingest {
  /// The same, told what is known of its page.
  func of(
    _ record: ConversationRecord, _ memory: SyncMemory, in tx: WriteTransaction
  ) throws(StoreFailure) -> Ingest {
    var ingest = self
    ingest.placesBehind = rules.learnsTies && memory.ties.isUnstable
    ingest.revivable = memory.revivable
    // Where updates are replied to, each message has one, which may be silent.
    if memory.server.can(.envelope) { return ingest }
    ingest.offer = .above(try tx.news(record.cid) ?? .max)
    if memory.server.profile.isPlanted(.pageOffersNothing) { ingest.offer = .above(.max) }
    return ingest
  }

  /// Stores those of the items that are known already, or that a claim says must be.
  func known(
    _ items: [PageItem], of record: ConversationRecord, spans: SpanSet, revivable: Set<PushedID>?,
    in tx: WriteTransaction
  ) throws(StoreFailure) -> Ingested {
    var result = Ingested()
    var opened = opened
    var ingest = self
    ingest.placesBehind = rules.learnsTies
    ingest.revivable = revivable
    for case .message(let message) in items {
      guard let payload = opened.popFirst(),
        message.conversation == nil || message.conversation == record.id,
        let order = rules.scheme.order(of: message)
      else { continue }
      let position = Position(time: order, id: message.id)
      let isKnown =
        try tx.row(message.id, record.cid) != nil || spans.span(holding: position) != nil
      if isKnown, !result.copies.isTooOften(message.id, in: record.cid) {
        try ingest.one(
          message, order: order, payload: payload, of: record, result: &result, in: tx)
      }
    }
    return result
  }
}

extension SyncMemory {
  /// Which deleted messages an answer does not bring back; nil where none does.
  var revivable: Set<PushedID>? {
    if server.profile.isPlanted(.returnedStaysAway) { return nil }
    return server.profile.deletionsAreLater ? nil : pushed.deleted
  }
}
