/// A slice of a purge where a server keeps a log: entries that go from here and stay there.
///
/// Rule protected: what stays keeps the changes to it, so it is shown as it was. The changes of
/// what went, and entries that are no message, go by the way.
internal import Base
package import Timeline

extension Purge {
  /// As for other servers; `book` is brought to what is left, and its rows are gone from `message`.
  package func slice(
    _ record: ConversationRecord, of book: inout LogBook<LogRows>, from: Position,
    besides protection: Protection, limit: Int, until isEnough: (PurgeSlice) -> Bool
  ) throws(StoreFailure) -> PurgeSlice {
    var slice = PurgeSlice()
    let span = SpanSet.Span(low: from, high: .beforePending)
    let found = try rows(record.cid, in: span, limit: limit)
    var known: [[UInt8]: Row] = [:]
    for row in found { known[row.position.id] = row }
    // What lies above the last message that was read is for the next slice.
    let bound = found.count < limit ? Place.max : found.last?.position.place ?? .max
    var gone: [Row] = []
    let purged = try book.purge(from: from.place, limit: limit &* 4) { entry throws(StoreFailure) in
      if entry.place > bound { return .ends }
      if protection.ranges.holds(Position(place: entry.place, id: entry.id)) { return .stays }
      guard entry.entry.change == nil, let row = known[entry.id] else { return .goes }
      if isEnough(slice) { return .ends }
      if protection.keeps(entry.id, number: row.number, flags: row.flags) { return .stays }
      gone.append(row)
      slice.rows &+= 1
      slice.bytes = slice.bytes.saturating(plus: row.bytes)
      return .goes
    }
    for run in purged.runs {
      slice.ranges.insert(.before(run.lowerBound), .after(run.upperBound))
    }
    slice.next = purged.next.map { .before($0) }
    if !gone.isEmpty { try take(gone, of: record, slice) }
    return slice
  }
}
