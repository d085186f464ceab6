/// The rows that a commit has inserted: what a window asks for next.
///
/// Rule protected: it equals what the file says. A commit that changed any other row leaves nothing
/// here, and the next commit, whatever it does, ends it.
internal import Timeline

struct InsertedRows {
  /// More than a burst brings; a page of history is read from the file.
  private static let keysMax = 16

  private var cid: Int64 = 0
  private var keys: [RowKey] = []
  private var isKnown = true

  mutating func insert(_ key: RowKey, _ cid: Int64) {
    guard keys.count < Self.keysMax, keys.isEmpty || self.cid == cid else { return spoil() }
    self.cid = cid
    keys.append(key)
  }

  /// A row that was there before has changed.
  mutating func spoil() {
    isKnown = false
    keys = []
  }

  /// Keys of the rows with these numbers; nil where that is not known.
  func keys(_ numbers: ClosedRange<UInt64>, in cid: Int64) -> [RowKey]? {
    guard isKnown, self.cid == cid,
      let first = keys.firstIndex(where: { $0.number == numbers.lowerBound })
    else { return nil }
    let found = keys[first...].prefix { $0.number <= numbers.upperBound }
    guard numbers.upperBound - numbers.lowerBound == UInt64(found.count - 1) else { return nil }
    return Array(found)
  }
}
