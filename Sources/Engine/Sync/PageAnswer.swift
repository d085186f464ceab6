/// What belongs to one answer, and not to the sync that asked for it.
internal import Base
internal import Timeline

struct PageAnswer {
  /// The newest commit when it was asked for: the request stamp.
  let issued: UInt64
  /// The page size asked for.
  let asked: Int
  /// The messages that it shows.
  var ids = IDSet()
  /// From where and up to where it shows all that there is.
  var low = Position.max
  var high = Position.min
  /// What it claims by itself.
  var claimed = SpanSet()
  /// Of that and what it joined, what no message can come to be stamped in any more.
  var settled = SpanSet()
  /// Rows that it gave another place within their time.
  var moved: [(from: Position, to: Position)] = []
  /// What of it could not be read.
  var aside = SetAside()
  /// Something came another way that a claim ends below: another catch-up is to follow.
  var isBehind = false
  /// Other conversations: how their pages are listed is known by this one, and one waits for it.
  var taught: [[UInt8]] = []

  init(issued: UInt64, asked: Int) {
    self.issued = issued
    self.asked = asked
  }
}
