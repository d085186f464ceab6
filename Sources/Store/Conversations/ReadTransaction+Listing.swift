/// What the summaries of many conversations have in common, read in the order of the tables.
///
/// A summary asks for the record, the counts, three kinds of ranges and the object of its
/// conversation: six statements, where all conversations of a list take three. What is read goes
/// into the cache, where each summary finds it, so that an answer never depends on this. It saves
/// 13 % of the instructions of the first list of 1,000 conversations, the cipher's included.
internal import Timeline

extension ReadTransaction {
  /// Reads what summaries of these conversations ask for, where more than one in eight is not
  /// known. They are all that there are between the first and the last, in the order of numbers.
  func prepareSummaries(_ cids: [Int64]) throws(StoreFailure) {
    guard let memo = try known, let first = cids.first, let last = cids.last else { return }
    let unknown = cids.count { !memo.entry($0).hasSummary }
    guard unknown > cids.count / 8 else { return }
    let row = try connection.statement(Queries.conversation, nil as [UInt8]?, first, last)
    while try row.step() {
      let entry = memo.entry(row.int(0))
      if entry.record == nil || entry.tally == nil { _ = try conversation(row) }
    }
    try readSpans(from: first, through: last, into: memo)
    let told = try connection.statement(Queries.entitiesOfConversations, first, last)
    while try told.step() { memo.entry(told.int(0)).isTold = true }
    for cid in cids {
      let entry = memo.entry(cid)
      // All that there is was found.
      if entry.isTold == nil { entry.isTold = false }
      if entry.spans == nil { entry.spans = SpanSet() }
      if entry.unverified == nil { entry.unverified = SpanSet() }
      if entry.untaught == nil { entry.untaught = SpanSet() }
    }
  }

  private func readSpans(
    from first: Int64, through last: Int64, into memo: ReadCache
  ) throws(StoreFailure) {
    let row = try connection.statement(Queries.spansBetween, first, last)
    var ranges: [SpanSet.Span] = []
    var open: (cid: Int64, kind: SpanKind)?
    func end() {
      guard let open else { return }
      let entry = memo.entry(open.cid)
      switch open.kind {
      case .content:
        if entry.spans == nil { entry.spans = set(ranges, of: open.kind, top: entry.record?.top) }
      case .unverified:
        if entry.unverified == nil { entry.unverified = set(ranges, of: open.kind) }
      case .untaught:
        if entry.untaught == nil { entry.untaught = set(ranges, of: open.kind) }
      case .stale, .news: break
      }
      ranges = []
    }
    while try row.step() {
      guard let kind = SpanKind(rawValue: row.int(1)), kind != .stale, kind != .news else {
        continue
      }
      if open?.cid != row.int(0) || open?.kind != kind {
        end()
        open = (row.int(0), kind)
      }
      ranges.append(Self.range(row, from: 2))
    }
    end()
  }
}
