/// Structs of the section "Viewport" of the header, to and from what the viewport deals in.
internal import Base
internal import CTideline
internal import Engine
internal import Viewport

/// A viewport behind its lock: calls on it take turns.
final class LockedViewport {
  let lock: Lock<Viewport>

  init(_ viewport: Viewport) {
    lock = Lock(viewport)
  }
}

extension Failure {
  init(_ error: ViewportError) {
    switch error {
    case .invalid(let text): self = .invalid(text)
    case .tooLarge(let text): self = .tooLarge(text)
    }
  }
}

/// Whether a flag of the header is set.
private func has(_ flags: UInt32, _ flag: Int) -> Bool {
  flags & UInt32(truncatingIfNeeded: flag) != 0
}

private func flag(_ flag: Int, _ isSet: Bool) -> UInt32 {
  isSet ? UInt32(truncatingIfNeeded: flag) : 0
}

/// Refuses flags that this version does not know.
func mustBeFlags(_ flags: UInt32, _ known: Int, _ excess: StaticText) throws(Failure) {
  if flags & ~UInt32(truncatingIfNeeded: known) != 0 { throw .invalid(excess) }
}

extension ViewportConfig {
  init(_ config: tl_viewport_config) throws(Failure) {
    let known =
      TL_VIEWPORT_BOTTOM_UP | TL_VIEWPORT_REVERSED | TL_VIEWPORT_HOLD_TOP | TL_VIEWPORT_HOLD_BOTTOM
    try mustBeFlags(config.flags, known, "flags has an unknown flag of a viewport")
    try mustBeZero(config.reserved, "reserved is not zero")
    self.init()
    direction = has(config.flags, TL_VIEWPORT_BOTTOM_UP) ? .bottomUp : .topDown
    isReversed = has(config.flags, TL_VIEWPORT_REVERSED)
    holdsTop = has(config.flags, TL_VIEWPORT_HOLD_TOP)
    holdsBottom = has(config.flags, TL_VIEWPORT_HOLD_BOTTOM)
    extent = config.extent
    margin = config.margin
    if config.estimate != 0 { estimate = config.estimate }
    heightMin = config.height_min == 0 ? max(1, estimate / 4) : config.height_min
    overscrollMax = config.overscroll_max
    near = config.near == 0 ? nil : config.near
    if config.speed != 0 { speed = config.speed }
    if config.animation_ms != 0 { animationMs = Int64(config.animation_ms) }
  }
}

extension DiffOp {
  init(_ op: tl_op) throws(Failure) {
    guard let kind = Kind(rawValue: op.kind) else { throw .invalid("a step is of no known kind") }
    // The count of a move is 1, and a host of its own may leave it out.
    let count = kind == .move ? max(1, op.count) : op.count
    self.init(kind, row: Int(op.row), from: Int(op.from), count: Int(count))
  }
}

extension Target {
  init(_ target: tl_target) throws(Failure) {
    switch Int(target.edge) {
    case TL_EDGE_TOP: self = .top(of: target.key, inset: target.inset)
    case TL_EDGE_BOTTOM: self = .bottom(of: target.key, inset: target.inset)
    case TL_EDGE_TOP_END: self = .topEnd
    case TL_EDGE_BOTTOM_END: self = .bottomEnd
    default: throw .invalid("edge is not one that is known here")
    }
    if Int(target.edge) >= TL_EDGE_TOP_END, target.key != 0 || target.inset != 0 {
      throw .invalid("an end has no key and no inset")
    }
  }
}

extension tl_placed {
  init(_ row: PlacedRow) {
    self.init()
    key = row.key
    self.row = UInt32(clamping: row.row)
    flags = flag(TL_PLACED_VISIBLE, row.isVisible) | flag(TL_PLACED_MEASURED, row.isMeasured)
    top = row.top
    height = row.height
  }
}

extension tl_viewport_status {
  init(_ state: ViewportState) {
    self.init()
    flags =
      flag(TL_VIEWPORT_NEAR_TOP, state.isNearTop)
      | flag(TL_VIEWPORT_NEAR_BOTTOM, state.isNearBottom)
      | flag(TL_VIEWPORT_HELD_TOP, state.isHeldToTop)
      | flag(TL_VIEWPORT_HELD_BOTTOM, state.isHeldToBottom)
      | flag(TL_VIEWPORT_MOVING, state.isMoving)
    row_count = UInt32(clamping: state.rowCount)
    visible_first = UInt32(clamping: state.visible.lowerBound)
    visible_count = UInt32(clamping: state.visible.count)
    placed_first = UInt32(clamping: state.placed.lowerBound)
    placed_count = UInt32(clamping: state.placed.count)
    anchor_row = UInt32(clamping: state.anchor?.row ?? 0)
    anchor_key = state.anchor?.key ?? 0
    anchor_top = state.anchor?.top ?? 0
    checksum = state.checksum
    layouts = state.layouts
    total = state.total
    above = state.above
    below = state.below
    overscroll = state.overscroll
    bar_start = UInt32(clamping: state.barStart)
    bar_size = UInt32(clamping: state.barSize)
  }
}
