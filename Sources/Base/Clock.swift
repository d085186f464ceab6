/// The only door to time.
///
/// The engine never reads a clock: each input carries an `Instant`. The device's
/// wall clock may lower trust, never raise it, and no position is made from it.
internal import Glibc

/// What the device's clocks say at an input.
package struct Instant: Sendable, Equatable {
  /// Monotonic milliseconds; timers run on it.
  package var monotonicMs: Int64
  /// Microseconds since 1970 by the device, or nil where it is not to be asked.
  package var wallUs: Int64?

  package init(monotonicMs: Int64, wallUs: Int64? = nil) {
    self.monotonicMs = monotonicMs
    self.wallUs = wallUs
  }

  /// The same within a range so wide that only a broken clock leaves it, and so narrow
  /// that sums and differences of two instants and a time-out fit.
  package var bounded: Instant {
    let reach = Int64.max / 4
    func bounded(_ time: Int64) -> Int64 { min(max(time, -reach), reach) }
    return Instant(monotonicMs: bounded(monotonicMs), wallUs: wallUs.map(bounded))
  }
}

package enum SystemClock {
  /// Both clocks now.
  package static func now() -> Instant {
    Instant(monotonicMs: read(CLOCK_MONOTONIC) / 1_000, wallUs: read(CLOCK_REALTIME))
  }

  /// Microseconds of one clock.
  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1_000
  }
}
