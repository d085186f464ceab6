/// How much of a way is left at a time: slow, fast, slow.
///
/// It deals in shares of what is left, so that a target that moves meanwhile is reached all the
/// same, exactly, and at the same time.
internal import Base

struct Pace: Equatable, Sendable {
  private let startMs: Int64
  private let durationMs: Int64
  private var elapsedMs: Int64 = 0

  init(from nowMs: Int64, durationMs: Int64) {
    startMs = nowMs
    self.durationMs = durationMs.clamped(0, Limits.viewportAnimationMsMax)
  }

  var isOver: Bool { elapsedMs >= durationMs }

  /// What is left at a time of what was left at the time before. A clock that goes back stands
  /// still.
  mutating func left(of way: Int64, at nowMs: Int64) -> Int64 {
    let before = rest
    elapsedMs = nowMs.saturating(minus: startMs).clamped(elapsedMs, max(elapsedMs, durationMs))
    return isOver ? 0 : scaled(way, rest, of: before)
  }

  /// The share that is left, of 2^48: 1 - 3t² + 2t³ for t from 0 to 1, which is even at both ends.
  private var rest: Int64 {
    guard !isOver else { return 0 }
    let one: Int64 = 1 << 16
    let time = elapsedMs &* one / durationMs
    return (1 << 48) &- time &* time &* (3 &* one &- 2 &* time)
  }
}
