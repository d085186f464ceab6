/// Whether the time that an answer tells is taken for the server's.
///
/// Rule protected: one answer, however odd, takes no row away and moves no watermark past what
/// happened. A told time that leaps ahead of all that is known would pass the horizon of deletions
/// and skip those made until then, so another answer has to tell the same: on another connection,
/// or a minute apart. Until then it is as if nothing had been told.
internal import Base

struct ToldClock {
  private struct Leap {
    let toldUs: Int64
    let atMs: Int64
    let connection: UInt64
  }

  /// The last told time that was not borne out.
  private var leap: Leap?

  /// Looks at a told time. `known` is what the server's clock shows at least, nil where nothing
  /// is known; `shownUs` is the greatest stamp of the answer that other stamps bear out.
  mutating func isBorneOut(
    _ toldUs: Int64, known: Int64?, shownUs: Int64?, connection: UInt64, nowMs: Int64
  ) -> Bool {
    guard let known = [known, shownUs].compactMap({ $0 }).max(),
      toldUs > known.saturating(plus: WatermarkPolicy.dayUs)
    else {
      leap = nil
      return true
    }
    if let leap {
      let sinceMs = nowMs.addingReportingOverflow(0 &- leap.atMs).partialValue
      let differs = toldUs.saturating(minus: leap.toldUs).saturating(minus: sinceMs &* 1_000)
      let dayUs = WatermarkPolicy.dayUs
      if differs <= dayUs, differs.saturating(plus: dayUs) >= 0 {
        guard leap.connection != connection || sinceMs >= Limits.restoreApartMs else {
          return false
        }
        self.leap = nil
        return true
      }
    }
    leap = Leap(toldUs: toldUs, atMs: nowMs, connection: connection)
    return false
  }
}
