/// How far a watermark may be trusted: pure functions, each rule in one place.
///
/// A server stamps a message when its transaction begins and shows it when it
/// commits. So a message may appear *below* times already seen, by as much as the
/// server is late. Everything here follows from that: a watermark is asked again
/// from an overlap below it, and it never stands above a time that was not known
/// when the oldest part of the answer was read.
package import Base
internal import Store
package import Timeline
package import Wire

extension Stamp {
  /// Another time in this form, as something is known up to there.
  func watermark(at time: ServerTime) -> Watermark { Watermark(at: time, text: printed(time)) }
}

package enum WatermarkPolicy {
  /// A stamp this far ahead of the other server times moves nothing. Conversations
  /// do rest for weeks, so it is long.
  package static let leapUs: Int64 = 180 * dayUs
  /// How far a stamp may stand ahead of a clock.
  package static let dayUs: Int64 = 24 * 3_600 * 1_000_000
  /// Nothing is looked for before or after these: the years 1 and 9999.
  package static let earliest = ServerTime(us: -62_135_596_800 * 1_000_000)
  package static let latest = ServerTime(us: 253_402_300_799 * 1_000_000)
  /// The overlap is never widened beyond this.
  package static let overlapUsMax: Int64 = 120 * 1_000_000

  /// The time below which a watermark's span is final, and the `after_ts` that
  /// asks for everything from there on.
  package struct Bound: Equatable, Sendable {
    /// Messages before this boundary need not be asked for again.
    package var position: Position
    /// One unit of the printed resolution below it, in the server's own form.
    package var after: [UInt8]
  }

  /// Where a catch-up begins.
  ///
  /// `>` may compare printed or finer times, so the request stands one whole unit
  /// below the first timestamp group that it must bring.
  package static func bound(
    _ watermark: Stamp, overlapUs: Int64, resolutionUs: Int64
  ) -> Bound {
    let unit = max(watermark.resolutionUs, resolutionUs, 1)
    let overlap = max(overlapUs, unit)
    let time = watermark.time.saturating(minus: overlap).floored(to: unit)
    return Bound(position: .before(time), after: watermark.printed(time.saturating(minus: unit)))
  }

  /// The overlap below a time, and no time before 1970 where that one is none.
  package static func below(_ time: ServerTime, overlapUs: Int64) -> ServerTime {
    max(time.saturating(minus: overlapUs), min(time, .zero))
  }

  /// The greatest of `times` that the other server times bear out.
  ///
  /// - Parameters:
  ///   - times: the stamps of one page, ascending.
  ///   - known: the greatest server time accepted before.
  ///   - serverTime: what the answer itself said of the server's clock.
  ///   - wallUs: the device's clock; asked only where nothing else is known, and
  ///     only to lower trust.
  package static func greatestPlausible(
    _ times: [ServerTime], known: ServerTime?, serverTime: ServerTime?, wallUs: Int64?
  ) -> ServerTime? {
    guard let lowest = times.first else { return nil }
    let wall = wallUs.map { ServerTime(us: $0) }
    var reach: ServerTime
    if let serverTime {
      reach = serverTime
    } else if times.count > 2 {
      // Half of a page bears out its middle.
      reach = max(known ?? .min, times[times.count / 2])
    } else if let known {
      reach = known
    } else {
      // Nothing bears out a lone row; of two the lower one, by the device's clock at most.
      guard times.count > 1 else { return nil }
      reach = wall.map { min(lowest, $0) } ?? lowest
    }
    var ceiling = reach.saturating(plus: serverTime == nil ? leapUs : dayUs)
    // Where most stamps are behind a clock, one ahead of it would hide all that arrives
    // until then; where most are ahead, the clock is not theirs.
    let usual = times.count > 2 ? times[(times.count &- 1) / 2] : min(lowest, known ?? lowest)
    if let serverTime {
      if usual <= serverTime { ceiling = serverTime }
    } else if let wall, usual <= wall {
      ceiling = min(ceiling, wall.saturating(plus: overlapUsMax))
    }
    if serverTime == nil, let wall {
      // A stamp in the device's future is not believed, unless the device's clock is
      // behind what the server was known to say.
      let end = wall.saturating(plus: dayUs)
      if (known ?? .min) <= end, times.count < 3 || times[times.count / 2] <= end {
        ceiling = min(ceiling, end)
      }
    }
    var greatest: ServerTime?
    for time in times {
      guard time <= ceiling else { break }
      greatest = time
    }
    return greatest
  }

  /// The overlap after a message was seen to arrive `latenessUs` below a time
  /// that was already known: twice that, within bounds.
  package static func widened(_ overlapUs: Int64, latenessUs: Int64) -> Int64 {
    guard latenessUs > overlapUs / 2 else { return overlapUs }
    return min(max(overlapUs, latenessUs.saturating(plus: latenessUs)), overlapUsMax)
  }
}
