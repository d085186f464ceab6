/// A time on the server's clock. One of the device's is compared with it where a rule says how.
///
/// What a server says may be anything, so sums stop at the ends.
package struct ServerTime: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// Microseconds since 1970 UTC.
  package let us: Int64

  package init(us: Int64) { self.us = us }

  package static let zero = ServerTime(us: 0)
  package static let min = ServerTime(us: .min)
  package static let max = ServerTime(us: .max)

  package static func < (a: ServerTime, b: ServerTime) -> Bool { a.us < b.us }

  package func saturating(plus us: Int64) -> ServerTime {
    ServerTime(us: self.us.saturating(plus: us))
  }

  package func saturating(minus us: Int64) -> ServerTime {
    ServerTime(us: self.us.saturating(minus: us))
  }

  package func us(since other: ServerTime) -> Int64 { us.saturating(minus: other.us) }

  /// Rounded down to a multiple of `unit`, also below zero.
  package func floored(to unit: Int64) -> ServerTime {
    let rest = us % unit
    return saturating(minus: rest < 0 ? rest + unit : rest)
  }
}
