/// Reading messages by their local numbers, as the change feed names them.
internal import Base
internal import Store
internal import Timeline

extension Reading {
  /// Messages with these numbers, in their order. They need not be neighbours: nothing is claimed.
  func page(
    conversation: [UInt8], numbers: ClosedRange<UInt64>, limit: Int
  ) throws(Failure) -> MessagePage {
    try storing { rx throws(StoreFailure) in
      guard let record = try rx.conversation(conversation) else { return .unknown(conversation) }
      let places = try rx.keys(numbers: numbers, in: record.cid, limit: limit).map(\.position)
      var page = MessagePage.unknown(conversation)
      page.page = try rx.messages(record.cid, keys: places[...])
      let found = page.page
      let ends = places.min().flatMap { low in places.max().map { (low, $0) } }
      let marks = try RowAnnotator(
        rx, of: record, spans: record.trusted(try rx.spans(record.cid), rx),
        fresh: fresh(record.cid),
        ends: ends)
      page.coverage.staleCount = mark(found, marks) { found.position(at: $0) }
      return page
    }
  }
}
