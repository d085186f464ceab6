/// Rows pulled beyond an end of their list, and how they spring back.
///
/// A finger that pulls takes the rows less far the farther they are: `most * pull / (pull + most)`,
/// which never comes to `most`. Let go, what is pulled shrinks to nothing in a quarter of a second.
internal import Base

struct Overscroll: Equatable, Sendable {
  static let springMs: Int64 = 250

  private let most: Int64
  /// How far the finger went: below 0 beyond the top end, above 0 beyond the bottom end.
  private(set) var pull: Int64 = 0
  /// How far rows are drawn below their place: what comes of the pull.
  private(set) var shift: Int64 = 0
  private var spring: Pace?

  init(most: Int64) {
    self.most = most
  }

  var isAllowed: Bool { most > 0 }
  var isSpringing: Bool { spring != nil }

  /// A finger has pulled so far in all.
  mutating func pull(to pull: Int64) {
    let most = Limits.viewportLengthMax
    set(isAllowed ? pull.clamped(0 &- most, most) : 0)
    spring = nil
  }

  mutating func drop() {
    (pull, shift, spring) = (0, 0, nil)
  }

  mutating func release(_ nowMs: Int64) {
    if pull != 0 { spring = Pace(from: nowMs, durationMs: Self.springMs) }
  }

  mutating func tick(_ nowMs: Int64) {
    guard var pace = spring else { return }
    set(pace.left(of: pull, at: nowMs))
    spring = pace.isOver || pull == 0 ? nil : pace
  }

  private mutating func set(_ pull: Int64) {
    self.pull = pull
    let size = pull < 0 ? 0 &- pull : pull
    let band = scaled(most, size, of: size &+ most)
    shift = pull < 0 ? band : 0 &- band
  }

  /// Where there is room beyond the end by now, rows stand there as they are drawn. Gives by how
  /// much the view's top is higher in the list for it.
  mutating func absorb(above: Int64, below: Int64) -> Int64 {
    let taken = shift > 0 ? min(shift, max(0, above)) : max(shift, min(0, 0 &- below))
    guard taken != 0 else { return 0 }
    shift = shift &- taken
    // The pull that comes to this shift, which is less than `most`, and `most` is 2^30 at most.
    let size = shift < 0 ? 0 &- shift : shift
    let pulled = most &* size / max(1, most &- size)
    pull = shift > 0 ? 0 &- pulled : pulled
    if shift == 0 { (pull, spring) = (0, nil) }
    return taken
  }
}
