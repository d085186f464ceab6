/// Whether the time that an answer states is taken for the server's.
///
/// Rule protected: one answer, however odd, takes no row away and moves no watermark past what
/// happened. A stated time that leaps ahead of all that is known would pass the horizon of
/// deletions and skip those made until then, so another answer has to state the same: on another
/// connection, or a minute apart. Until then it is as if nothing had been stated.
internal import Base

struct ServerClockCheck {
  private struct Leap {
    let statedUs: Int64
    let atMs: Int64
    let connection: UInt64
    /// What was known before.
    let fromUs: Int64
  }

  /// The last stated time that was not borne out, and the last one far behind what was known.
  private var leap: Leap?
  private var fall: Leap?
  /// The server's time by answers of this connection that nothing contradicts: one far behind what
  /// was known counts once a second answer has it too.
  private(set) var surelyUs: Int64?

  mutating func connect() { surelyUs = nil }

  /// Looks at a stated time. `known` is what the server's clock shows at least, nil where nothing
  /// is known; `shownUs` is the greatest stamp of the answer that other stamps bear out.
  mutating func isBorneOut(
    _ statedUs: Int64, known: Int64?, shownUs: Int64?, connection: UInt64, nowMs: Int64
  ) -> Bool {
    guard let known = [known, shownUs, fall?.fromUs].compactMap({ $0 }).max() else {
      surelyUs = statedUs
      return true
    }
    let new = Leap(statedUs: statedUs, atMs: nowMs, connection: connection, fromUs: known)
    if statedUs > known.saturating(plus: WatermarkPolicy.dayUs) {
      guard let leap, agrees(new, leap) else {
        leap = new
        return false
      }
      guard isIndependent(new, of: leap) else { return false }
      surelyUs = statedUs
    } else if statedUs.saturating(plus: WatermarkPolicy.dayUs) < known {
      // It lowers what is believed at once, and takes nothing back yet.
      guard let fall, agrees(new, fall) else {
        fall = new
        return true
      }
      guard isIndependent(new, of: fall) else { return true }
      surelyUs = statedUs
    } else {
      surelyUs = statedUs
    }
    leap = nil
    fall = nil
    return true
  }

  /// Whether two stated times are of one clock.
  private func agrees(_ new: Leap, _ old: Leap) -> Bool {
    let sinceMs = new.atMs.addingReportingOverflow(0 &- old.atMs).partialValue
    let differs = new.statedUs.saturating(minus: old.statedUs).saturating(minus: sinceMs &* 1_000)
    let dayUs = WatermarkPolicy.dayUs
    return differs <= dayUs && differs.saturating(plus: dayUs) >= 0
  }

  private func isIndependent(_ new: Leap, of old: Leap) -> Bool {
    new.connection != old.connection
      || new.atMs.addingReportingOverflow(0 &- old.atMs).partialValue >= Limits.restoreApartMs
  }
}
