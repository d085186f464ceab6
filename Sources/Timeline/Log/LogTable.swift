/// Where the entries of one conversation are: the door of the log to what stores it.
///
/// All calls of one input are in one transaction. Places are unique, and in the order of places
/// are the entries of a range and the ranges. What is read by places is a range or a part of one.

package protocol LogTable {
  associatedtype Failure: Error

  func row(_ id: [UInt8]) throws(Failure) -> LogRow?
  /// In the order of places, both ends included.
  func rows(from low: Place, through high: Place) throws(Failure) -> [LogRow]
  func count(from low: Place, through high: Place) throws(Failure) -> Int
  /// The next entry above a place, the last one below it.
  func first(above place: Place, through high: Place) throws(Failure) -> LogRow?
  func last(below place: Place, from low: Place) throws(Failure) -> LogRow?
  /// The one so many entries further, at least one.
  func row(_ distance: Int, above place: Place, through high: Place) throws(Failure) -> LogRow?
  func row(_ distance: Int, below place: Place, from low: Place) throws(Failure) -> LogRow?
  /// Whether any change names this entry.
  func hasChanges(of target: [UInt8]) throws(Failure) -> Bool
  /// The topmost change of an entry in a range of places: of one register, or of any kind.
  func lastChange(
    of target: [UInt8], _ slot: LogSlot?, from low: Place, through high: Place
  ) throws(Failure) -> LogRow?
  /// What a user did to the reactions of an entry, the topmost first.
  func reactions(
    of target: [UInt8], by user: [UInt8], from low: Place, through high: Place, limit: Int
  ) throws(Failure) -> [LogRow]
  /// What all users did to them: by users, of each the topmost first.
  func reactions(of target: [UInt8], limit: Int) throws(Failure) -> [LogReaction]
  /// The topmost edit of an entry by a user, or by any (nil), in a range of places.
  func lastEdit(
    of target: [UInt8], by user: [UInt8]?, from low: Place, through high: Place
  ) throws(Failure) -> LogRow?
  /// Whether a message says what an edit of it says.
  func isShown(_ edit: LogRow, in row: LogRow) throws(Failure) -> Bool
  /// The entries of a range that are marked in place, in the order of places.
  func markedInPlace(from low: Place, through high: Place) throws(Failure) -> [LogRow]
  /// All that are shown as edited and were received at a number of issued requests of these.
  func edited(received: Range<UInt64>) throws(Failure) -> [LogRow]
  /// The topmost change that was taken away and names nothing (`LogEntry.lacksTarget`): of those
  /// that are claimed, or of those that are not.
  func lastWithoutTarget(isClaimed: Bool) throws(Failure) -> Place?
  /// The next entry above a place of which nothing is claimed.
  func unclaimed(above place: Place) throws(Failure) -> LogRow?
  /// Stores an entry, in the place of what is stored under its id.
  mutating func put(_ row: LogRow) throws(Failure)
  mutating func remove(_ id: [UInt8]) throws(Failure)
}

/// A change of reactions, and whether a change names it in turn.
package struct LogReaction: Sendable {
  package var row: LogRow
  package var isNamed: Bool

  package init(_ row: LogRow, isNamed: Bool) {
    self.row = row
    self.isNamed = isNamed
  }
}
