/// Faults that tests plant in a list of items, each of which they must find: what a rule is that
/// none of them breaks, nobody knows. A release has none.

package enum ItemFault: String, CaseIterable, Sendable {
  /// Of two items that become one the newer one's key stays.
  case newerKeyStays
  /// An item that does not begin where it began loses its key.
  case firstLost
  /// Only what changed is looked at, and not the rows beside it.
  case neighbourForgotten
  /// A group spans the unread line.
  case lineSpanned
  /// A group spans a day.
  case daySpanned
  /// What comes to an open group folds.
  case openNotSpread
  /// The checksum of a list that is read from the newest is that of the other way.
  case checksumOneWay
  /// An item of which a message changed has no update step.
  case updateForgotten
  /// A message that folds otherwise than before goes on holding the key of its item.
  case otherKindKeepsKey
  /// A move counts from the oldest end, whichever way the list is read.
  case moveNotTurned
}

extension ItemList {
  #if DEBUG
    func isPlanted(_ fault: ItemFault) -> Bool { planted == fault }
  #else
    @inline(__always) func isPlanted(_ fault: ItemFault) -> Bool { false }
  #endif
}
