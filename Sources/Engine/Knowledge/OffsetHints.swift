/// At which offsets what is known stands on the server: guesses from pages of this
/// connection.
///
/// Without them the way on from a detached range would be looked for in the whole history at each
/// step. Rule protected: an offset only says where to look; what a page proves is in the page.
internal import Base
internal import Store
internal import Timeline

struct OffsetHints {
  /// By conversation, at which offsets its last pages showed their middle rows.
  private var rows: [Int64: [(position: Position, offset: Int)]] = [:]

  /// The offset of what stands right below a boundary of a range, as far as it is known from a
  /// row of that range, or without a range from one that stands there or above. It has moved
  /// where messages came or went since.
  func offset(
    below boundary: Position, in span: SpanSet.Span?, of record: ConversationRecord,
    tx: WriteTransaction
  ) throws(StoreFailure) -> Int? {
    guard
      let seen = rows[record.cid]?.last(where: {
        span?.contains($0.position) ?? (boundary <= $0.position.successor)
      })
    else { return nil }
    if boundary <= seen.position {
      return seen.offset + (try tx.count(record.cid, from: boundary, to: seen.position)) + 1
    }
    return seen.offset
      - (try tx.count(record.cid, from: seen.position.successor, to: boundary))
  }

  /// Notes at which offset a page without a selection showed its middle row, which its claim
  /// holds also where it is cut at both ends.
  mutating func remember(_ page: [Position], at offset: Int, in cid: Int64) {
    guard !page.isEmpty else { return }
    var known = rows[cid] ?? []
    if known.count >= 8 { known.removeFirst() }
    let middle = page.count / 2
    rows[cid] = known + [(page[middle], offset + page.count - 1 - middle)]
  }
}
