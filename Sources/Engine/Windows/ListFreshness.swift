/// Whether the server's list of conversations was read whole on this connection, and when it is
/// asked for once more because a count of unread messages is in doubt.
///
/// Rule protected: counts are asked for once a minute at most.
internal import Base

struct ListFreshness {
  private(set) var isWhole = false
  /// A count of unread messages is in doubt.
  private var isCountDoubted = false
  private var notBeforeMs = Int64.min

  /// The list is asked for anew, on a new connection or because nothing of it is stored.
  mutating func begin() {
    isWhole = false
    notBeforeMs = .min
  }

  /// What was read is not known to hold any more.
  mutating func expire() { isWhole = false }

  mutating func becameWhole() { isWhole = true }

  mutating func doubtCount() { isCountDoubted = true }

  /// When it may be asked for the sake of a count; nil where none is in doubt.
  var recountMs: Int64? { isCountDoubted ? notBeforeMs : nil }

  /// It is asked for the sake of a count.
  mutating func recount(at nowMs: Int64) {
    isCountDoubted = false
    notBeforeMs = nowMs.addingReportingOverflow(Limits.recountApartMs).partialValue
  }
}
