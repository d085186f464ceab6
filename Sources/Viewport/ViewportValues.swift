/// What a viewport is told and what it tells: its settings, steps, targets, placed rows.
///
/// Every length and place is a whole number of a unit that the host chooses: a cell of a terminal,
/// a 64th of a pixel. So sums are exact, and "moves by exactly nothing" can be said and tested.
package import Base

/// Why a call was refused. Nothing has changed then.
package enum ViewportError: Error, Equatable {
  case invalid(StaticText)
  case tooLarge(StaticText)
}

/// Where a short list hangs, and which visible row stays where it is.
package enum Direction: Sendable {
  /// The highest visible row stays; rows below it move.
  case topDown
  /// The lowest visible row stays; rows above it move.
  case bottomUp
}

package struct ViewportConfig: Sendable {
  package var direction = Direction.topDown
  /// Row 0 is the lowest: the list's newest row is its first.
  package var isReversed = false
  /// An end that is in view stays in view when rows come there.
  package var holdsTop = false
  package var holdsBottom = false
  /// The height of the view.
  package var extent: Int64 = 0
  /// Rows this far outside the view are placed, too.
  package var margin: Int64 = 0
  /// A row's height until one of its class was measured.
  package var estimate: Int64 = 64
  /// No row is less high, but for those that are nowhere: what makes two layouts enough.
  package var heightMin: Int64 = 16
  /// How far rows are pulled beyond an end at most; 0 is not at all.
  package var overscrollMax: Int64 = 0
  /// What counts as near an end; nil is as much as the view is high.
  package var near: Int64?
  /// Units a second of an animation, and its longest time.
  package var speed: Int64 = 4_096
  package var animationMs: Int64 = 600

  package init() {}

  /// Refuses what has no sense, so that nothing behind it overflows.
  package func check() throws(ViewportError) {
    for length in [extent, margin, overscrollMax, near ?? 0] {
      try checkLength(length)
    }
    for length in [estimate, heightMin, speed] {
      try checkLength(length)
      if length == 0 { throw .invalid("a height or a speed is 0") }
    }
    if overscrollMax > Limits.viewportPullMax {
      throw .tooLarge("overscroll_max is over 1,073,741,824")
    }
    guard animationMs >= 0, animationMs <= Limits.viewportAnimationMsMax else {
      throw .invalid("an animation is longer than a minute, or less than nothing")
    }
  }
}

/// A length of the host's: none is negative, and each has a bound.
func checkLength(_ length: Int64) throws(ViewportError) {
  if length < 0 { throw .invalid("a length is negative") }
  if length > Limits.viewportLengthMax { throw .tooLarge("a length is over 1,099,511,627,776") }
}

/// Where to scroll.
package enum Target: Equatable, Sendable {
  /// A row's top, so far below the top of the view.
  case top(of: UInt64, inset: Int64)
  /// A row's bottom, so far above the bottom of the view.
  case bottom(of: UInt64, inset: Int64)
  /// An end of the list.
  case topEnd
  case bottomEnd
}

/// One row of a layout.
package struct PlacedRow: Equatable, Sendable {
  package var row: Int
  package var key: UInt64
  /// Below the top of the view; what is pulled beyond an end is in it.
  package var top: Int64
  package var height: Int64
  package var isMeasured: Bool
  /// It is in the view, at least in part.
  package var isVisible: Bool

  package init(
    row: Int, key: UInt64, top: Int64, height: Int64, isMeasured: Bool, isVisible: Bool
  ) {
    self.row = row
    self.key = key
    self.top = top
    self.height = height
    self.isMeasured = isMeasured
    self.isVisible = isVisible
  }
}

/// One round of the loop between host and viewport.
package struct Layout: Equatable, Sendable {
  /// Rows to place, from top to bottom.
  package var rows: [PlacedRow] = []
  /// Rows to measure before the next round; none once the layout is complete.
  package var missing: [PlacedRow] = []
  package var isComplete: Bool { missing.isEmpty }
}

/// How a viewport stands.
package struct ViewportState: Equatable, Sendable {
  package var rowCount = 0
  package var checksum: UInt64 = 0
  /// Complete layouts so far.
  package var layouts: UInt64 = 0
  /// Rows of the last complete layout, as the list was then.
  package var visible = 0..<0
  package var placed = 0..<0
  /// The row that stays where it is, and its top; nil in an empty list.
  package var anchor: PlacedRow?
  /// The height of all rows, as far as it is known.
  package var total: Int64 = 0
  /// How far one can scroll to either end.
  package var above: Int64 = 0
  package var below: Int64 = 0
  package var isNearTop = false
  package var isNearBottom = false
  package var isHeldToTop = false
  package var isHeldToBottom = false
  /// How far rows are pulled down (positive) or up (negative) beyond an end.
  package var overscroll: Int64 = 0
  package var isMoving = false
  /// Of the scroll bar, in millionths of its track.
  package var barStart: Int64 = 0
  package var barSize: Int64 = 0
}
