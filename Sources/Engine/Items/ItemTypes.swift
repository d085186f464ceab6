/// The values of items that cross the engine's border.
///
/// They mirror the structs of the header one to one, without pointers.
internal import Timeline

/// What folds, if no function of the host's says otherwise.
package struct FoldKinds: OptionSet, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let deleted = FoldKinds(rawValue: 1 << 0)
  package static let moderated = FoldKinds(rawValue: 1 << 1)
  package static let events = FoldKinds(rawValue: 1 << 2)
  /// Those of different kinds fold together.
  package static let mixed = FoldKinds(rawValue: 1 << 3)
}

/// What a function of the host's says of one row.
package struct FoldAnswer: Equatable, Sendable {
  package var fold: UInt32
  package var zoneMinutes: Int
  package var bits: UInt64

  package init(fold: UInt32, zoneMinutes: Int, bits: UInt64 = 0) {
    self.fold = fold
    self.zoneMinutes = zoneMinutes
    self.bits = bits
  }
}

package struct ItemsConfig: Sendable {
  package var folds: FoldKinds
  /// The newest item is 0.
  package var isReversed: Bool
  /// The unread line is put where the first unread message was found.
  package var drawsUnread: Bool
  /// More time than this between two messages is drawn; 0 for none.
  package var gapMinutes: Int
  package var zoneMinutes: Int
  /// Is given a page and what would be said of its rows; says it of each. It is called while
  /// nothing is locked. The page has no rows any more afterwards.
  package var fold: (@Sendable (MessagePage, inout [FoldAnswer]) throws(Failure) -> Void)?

  package init(
    folds: FoldKinds = [], isReversed: Bool = false, drawsUnread: Bool = false,
    gapMinutes: Int = 0, zoneMinutes: Int = 0
  ) {
    self.folds = folds
    self.isReversed = isReversed
    self.drawsUnread = drawsUnread
    self.gapMinutes = gapMinutes
    self.zoneMinutes = zoneMinutes
  }
}

/// One item as of the last poll.
package struct ItemView: Equatable, Sendable {
  package var key: UInt64 = 0
  /// `TL_ITEM_` flags of the header.
  package var flags: UInt32 = 0
  /// The window's row of its oldest message, and how many there are.
  package var row = 0
  package var rowCount = 0
  /// In which range it lies; nil for none.
  package var range: Int?
  package var place = 0
  package var groupCount = 0
  /// Nil where the server has given no time yet.
  package var day: Int64?
  package var gapUs: Int64 = 0
  package var number: UInt64 = 0
  package var bits: UInt64 = 0

  init(_ item: Item, range: Int?) {
    key = item.key
    flags = item.marks.rawValue
    row = item.firstRow
    rowCount = item.rowCount
    self.range = range
    place = item.place
    groupCount = item.groupCount
    day = item.day.map { Int64(clamping: $0) }
    gapUs = item.gapUs
    number = item.number
    bits = item.bits
  }
}

/// How a list of items stands.
package struct ItemsStatus: Equatable, Sendable {
  package var version: UInt64 = 0
  package var checksum: UInt64 = 0
  package var itemCount = 0
  package var rowCount = 0
  package var rangeCount = 0
  /// The item with the unread line before it.
  package var unreadItem: Int?
  /// Steps of the window are not shown yet.
  package var isBehind = false
}
