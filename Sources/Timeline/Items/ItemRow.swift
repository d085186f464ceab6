/// What goes into a list of items and what is read of it.
///
/// A row has what folding and drawing need of a message; its text stays in the store. An item has
/// what a screen draws of it beside its messages.
internal import Base

/// One row of a window, as of its last step.
package struct ItemRow: Equatable, Sendable {
  package var number: UInt64
  /// What the window draws of the split before it.
  package var split: DrawnSplit
  /// Nil where the message went meanwhile: what was known of it stays, until its row goes.
  package var content: ItemContent?

  package init(number: UInt64, split: DrawnSplit = .none, content: ItemContent?) {
    self.number = number
    self.split = split
    self.content = content
  }
}

/// What folding and drawing need of a message.
package struct ItemContent: Equatable, Sendable {
  /// Server time; nil where the server has not given one yet.
  package var timeUs: Int64?
  /// How far the host's days are from UTC at that time.
  package var zoneMinutes: Int
  package var sender: [UInt8]
  /// Neighbours with the same value fold together; 0 folds with none.
  package var fold: UInt32
  package var isEvent: Bool
  /// The host's own.
  package var bits: UInt64

  package init(
    timeUs: Int64?, zoneMinutes: Int = 0, sender: [UInt8] = [], fold: UInt32 = 0,
    isEvent: Bool = false, bits: UInt64 = 0
  ) {
    self.timeUs = timeUs
    self.zoneMinutes = zoneMinutes
    self.sender = sender
    self.fold = fold
    self.isEvent = isEvent
    self.bits = bits
  }

  /// Days since 1970 where the host is; nil without a time.
  package var day: Int32? {
    guard let timeUs else { return nil }
    let local = timeUs.saturating(plus: Int64(clamping: zoneMinutes).multiplied(by: 60_000_000))
    let (day, rest) = local.quotientAndRemainder(dividingBy: 86_400_000_000)
    return Int32(truncatingIfNeeded: rest < 0 ? day - 1 : day)
  }
}

extension Int64 {
  fileprivate func multiplied(by other: Int64) -> Int64 {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
  }
}

/// What is drawn of an item. Before and first are older, whichever way the list is read.
package struct ItemMarks: OptionSet, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// A group that is closed: two messages or more.
  package static let group = ItemMarks(rawValue: 1 << 0)
  /// One message of a group that is open.
  package static let opened = ItemMarks(rawValue: 1 << 1)
  /// The first and the last one of an open group.
  package static let groupFirst = ItemMarks(rawValue: 1 << 2)
  package static let groupLast = ItemMarks(rawValue: 1 << 3)
  /// The first and the last one of a run by one sender.
  package static let runFirst = ItemMarks(rawValue: 1 << 4)
  package static let runLast = ItemMarks(rawValue: 1 << 5)
  /// Another day than that of the row before, or the first row.
  package static let newDay = ItemMarks(rawValue: 1 << 6)
  /// More time than the host named lies between it and the row before.
  package static let timeGap = ItemMarks(rawValue: 1 << 7)
  package static let splitBefore = ItemMarks(rawValue: 1 << 8)
  package static let splitHealing = ItemMarks(rawValue: 1 << 9)
  package static let unreadBefore = ItemMarks(rawValue: 1 << 10)
}

/// One item as of the last merge. Rows are those of the window, oldest first.
package struct Item: Equatable, Sendable {
  package var key: UInt64
  package var firstRow: Int
  package var rowCount: Int
  package var marks: ItemMarks
  /// Of its oldest message.
  package var number: UInt64
  package var bits: UInt64
  /// Days since 1970 where the host is; nil without a time.
  package var day: Int32?
  /// Time since the row before; 0 but for `.timeGap`.
  package var gapUs: Int64
  /// Its place in the group it is part of, and of how many; 0 of 1 where there is none.
  package var place: Int
  package var groupCount: Int
  /// How many splits lie before it, from the oldest end.
  package var splits: Int
}
