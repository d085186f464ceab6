/// Whether the time that an answer states is taken for the server's.
///
/// Rule protected: one answer, however odd, takes no row away and moves no watermark past what
/// happened. A stated time that leaps ahead of all that is known would pass the horizon of
/// deletions and skip those made until then, so another answer has to state the same: on another
/// connection, or a minute apart. Until then it is as if nothing had been stated.
internal import Base

struct ServerClockCheck {
  private struct Leap {
    let stated: ServerTime
    let atMs: Int64
    let connection: UInt64
    /// What was known before.
    let from: ServerTime
  }

  /// The last stated time that was not borne out, and the last one far behind what was known.
  private var leap: Leap?
  private var fall: Leap?
  /// The server's time by answers of this connection that nothing contradicts: one far behind what
  /// was known counts once a second answer has it too.
  private(set) var surely: ServerTime?

  mutating func connect() { surely = nil }

  /// Looks at a stated time. `known` is what the server's clock shows at least, nil where nothing
  /// is known; `shown` is the greatest stamp of the answer that other stamps bear out.
  mutating func isBorneOut(
    _ stated: ServerTime, known: ServerTime?, shown: ServerTime?, connection: UInt64, nowMs: Int64
  ) -> Bool {
    guard let known = [known, shown, fall?.from].compactMap({ $0 }).max() else {
      surely = stated
      return true
    }
    let new = Leap(stated: stated, atMs: nowMs, connection: connection, from: known)
    if stated > known.saturating(plus: WatermarkPolicy.dayUs) {
      guard let leap, agrees(new, leap) else {
        leap = new
        return false
      }
      guard isIndependent(new, of: leap) else { return false }
      surely = stated
    } else if stated.saturating(plus: WatermarkPolicy.dayUs) < known {
      // It lowers what is believed at once, and takes nothing back yet.
      guard let fall, agrees(new, fall) else {
        fall = new
        return true
      }
      guard isIndependent(new, of: fall) else { return true }
      surely = stated
    } else {
      surely = stated
    }
    leap = nil
    fall = nil
    return true
  }

  /// Whether two stated times are of one clock.
  private func agrees(_ new: Leap, _ old: Leap) -> Bool {
    let sinceMs = new.atMs.addingReportingOverflow(0 &- old.atMs).partialValue
    let differs = new.stated.us(since: old.stated).saturating(minus: sinceMs &* 1_000)
    let dayUs = WatermarkPolicy.dayUs
    return differs <= dayUs && differs.saturating(plus: dayUs) >= 0
  }

  private func isIndependent(_ new: Leap, of old: Leap) -> Bool {
    new.connection != old.connection
      || new.atMs.addingReportingOverflow(0 &- old.atMs).partialValue >= Limits.restoreApartMs
  }
}
