/// Where the entries of one conversation are: the door of the log to what stores it.
///
/// All calls of one input are in one transaction. Places are unique, and in the order of places
/// are the entries of a range and the ranges. What is read by places is a range or a part of one.

package protocol LogTable {
  associatedtype Failure: Error

  func row(_ id: [UInt8]) throws(Failure) -> LogRow?
  /// In the order of places, both ends included.
  func rows(from low: Int64, through high: Int64) throws(Failure) -> [LogRow]
  func count(from low: Int64, through high: Int64) throws(Failure) -> Int
  /// The next entry above a place, the last one below it.
  func first(above place: Int64, through high: Int64) throws(Failure) -> LogRow?
  func last(below place: Int64, from low: Int64) throws(Failure) -> LogRow?
  /// The one so many entries further, at least one.
  func row(_ distance: Int, above place: Int64, through high: Int64) throws(Failure) -> LogRow?
  func row(_ distance: Int, below place: Int64, from low: Int64) throws(Failure) -> LogRow?
  /// All changes that name this entry, in no order.
  func changes(of target: [UInt8]) throws(Failure) -> [LogRow]
  /// Those of them that are no edits, or all.
  func changes(of target: [UInt8], edits: Bool) throws(Failure) -> [LogRow]
  /// The topmost edit of an entry by a user, or by any (nil), in a stretch of places.
  func lastEdit(
    of target: [UInt8], by user: [UInt8]?, from low: Int64, through high: Int64
  ) throws(Failure) -> LogRow?
  /// Whether a message says what an edit of it says.
  func isShown(_ edit: LogRow, in row: LogRow) throws(Failure) -> Bool
  /// All entries that are marked in place, in no order.
  func markedInPlace() throws(Failure) -> [LogRow]
  /// The next entry above a place of which nothing is claimed.
  func unclaimed(above place: Int64) throws(Failure) -> LogRow?
  /// Stores an entry, in the place of what is stored under its id.
  mutating func put(_ row: LogRow) throws(Failure)
  mutating func remove(_ id: [UInt8]) throws(Failure)
}

extension LogTable {
  /// The lowest entry of which nothing is claimed.
  package func unclaimed() throws(Failure) -> LogRow? { try unclaimed(above: .min) }
}
