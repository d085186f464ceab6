/// What goes into a window's list: keys of rows.
///
/// Keys carry no content, so a list of ten thousand rows stays small and a screen
/// reads only the rows it draws.
internal import Base

/// One visible stored row, without its content.
package struct RowKey: Equatable, Sendable {
  /// The row's local identity; it stays when the message moves.
  package var number: UInt64
  package var position: Position
  /// The commit that last changed the row.
  package var revision: UInt64

  package init(number: UInt64, position: Position, revision: UInt64) {
    self.number = number
    self.position = position
    self.revision = revision
  }
}

/// What a row shows of the split before it.
package enum DrawnSplit: Equatable, Sendable {
  /// There is none, or it is held back.
  case none
  /// A request that is due or under way will settle it.
  case healing
  /// It stays until somebody asks.
  case lasting
}

/// Where splits are being settled.
package struct Healing: Equatable, Sendable {
  /// A catch-up settles those behind rows from here up; nil where none is under way.
  package var floor: Position?
  /// Those behind which lies a row of these ranges are being filled.
  package var fills = SpanSet()
  /// Gaps that opened below the newest messages: a catch-up settles these as if they were loaded.
  package var opened = SpanSet()

  package init(floor: Position? = nil, fills: SpanSet = SpanSet()) {
    self.floor = floor
    self.fills = fills
  }
}

/// What changed for a window, as of one state of the store.
package struct WindowChange: Sendable {
  /// Rows that went or are not to be seen any more. A number that is also in
  /// `upserted` is there.
  package var removed: [UInt64] = []
  /// Rows that are new, changed or moved, and every row of a range that is newly
  /// loaded. In any order; those outside `loaded` are no items.
  package var upserted: [RowKey] = []
  /// Rows that look different though they are the same: this user's own marks lie
  /// over them.
  package var touched: [UInt64] = []
  /// Ranges whose rows look different, for another reason than that.
  package var redrawn: [SpanSet.Span] = []
  /// What the screen has loaded from now on; nil for no change.
  package var loaded: SpanSet?
  /// What is proven whole from now on; nil for no change.
  package var spans: SpanSet?
  /// Where too many rows must leave, those farthest from here go; nil is the newest
  /// end.
  package var focus: Position?
  /// `upserted` is all there is: rows that are not in it are gone.
  package var isWhole = false
  /// What is under way to settle splits from now on; nil for no change.
  package var healing: Healing?
  /// The time, and for how long a split that will heal is not drawn.
  package var nowMs: Int64 = 0
  package var holdMs: Int64 = 0
  /// When what is to settle such a split is asked for, where that is later than now: the while
  /// begins then.
  package var holdFromMs = Int64.min

  package init() {}

  package init(
    removed: [UInt64] = [], upserted: [RowKey] = [], loaded: SpanSet? = nil,
    spans: SpanSet? = nil, focus: Position? = nil, isWhole: Bool = false
  ) {
    self.removed = removed
    self.upserted = upserted
    self.loaded = loaded
    self.spans = spans
    self.focus = focus
    self.isWhole = isWhole
  }

  /// More rows that are new, changed or moved; mostly they are all.
  package mutating func upsert(_ keys: [RowKey]) {
    if upserted.isEmpty { upserted = keys } else { upserted += keys }
  }
}

/// The checksum of a list of row numbers, as hosts compute it.
package func windowChecksum(_ numbers: [UInt64]) -> UInt64 {
  var sum: UInt64 = 0
  var previous: UInt64 = 0
  for number in numbers {
    sum &+= checksumTerm(previous, number: number)
    previous = number
  }
  return sum
}
