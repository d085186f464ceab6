/// What one answer adds to how its messages are taken.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension Ingest {
  /// Stores those of the items that are known already, or that a claim says must be.
  func known(
    _ items: [PageItem], of record: ConversationRecord, spans: SpanSet, in tx: WriteTransaction
  ) throws(StoreFailure) -> Ingested {
    var result = Ingested()
    var opened = opened
    var ingest = self
    ingest.placesBehind = rules.learnsTies
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
