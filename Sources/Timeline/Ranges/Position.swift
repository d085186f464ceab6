/// Where a message stands in its conversation: the server's time, ties broken
/// by the bytes of the id. Ids are never ordered alone.
///
/// A position is also a boundary between messages: an empty id sorts before
/// every message of its timestamp group. Ranges are half-open, so a boundary has an exact
/// successor and two ranges that touch leave nothing out between them.
internal import Base

package struct Position: Hashable, Sendable {
  /// Microseconds since 1970 UTC, as the server stamped it.
  package var time: Int64
  /// The message id; empty for the boundary before a timestamp group.
  package var id: [UInt8]

  package init(time: Int64, id: [UInt8]) {
    self.time = time
    self.id = id
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(time)
    hasher.combine(all: id)
  }

  /// Before everything: the start of a conversation.
  package static let min = Position(time: .min, id: [])
  /// After everything.
  package static let max = Position(time: .max, id: [])

  /// The boundary before the first message stamped `time`.
  package static func before(timestampGroup time: Int64) -> Position {
    Position(time: time, id: [])
  }

  /// The boundary after the last message stamped `time`.
  package static func after(timestampGroup time: Int64) -> Position {
    Position(time: time == .max ? time : time + 1, id: [])
  }

  /// The time of everything that the server has not given a place yet.
  private static let pendingTime = Int64.max - 1

  /// Where something pending stands: after all that the server has confirmed, in the
  /// order of doing, and below `max`. The first byte of its id is in no UTF-8 text, so
  /// no message of a server is taken for it.
  package static func pending(_ seq: UInt64) -> Position {
    func byte(_ shift: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: seq >> shift) }
    return Position(
      time: pendingTime,
      id: [0xFF, byte(48), byte(40), byte(32), byte(24), byte(16), byte(8), byte(0)])
  }

  /// The boundary below everything pending.
  package static let beforePending = before(timestampGroup: pendingTime)

  package var isPending: Bool { time == Self.pendingTime }

  /// The lowest number whose pending position is at or above this one; nil for none.
  package var pendingBound: UInt64? {
    if time != Self.pendingTime { return time < Self.pendingTime ? 0 : nil }
    guard id.first == 0xFF else { return 0 }
    var bound: UInt64 = 0
    for index in 1..<8 {
      bound = bound << 8 | (index < id.count ? UInt64(id[index]) : 0)
    }
    return id.count > 8 ? bound + 1 : bound
  }

  /// The boundary right after this message.
  package var successor: Position {
    Position(time: time, id: id + [0])
  }

  /// Whether this is the other's successor.
  func follows(_ other: Position) -> Bool {
    time == other.time && id.count == other.id.count + 1 && id.last == 0
      && id.starts(with: other.id)
  }
}

extension Position: Comparable {
  package static func < (a: Position, b: Position) -> Bool {
    if a.time != b.time { return a.time < b.time }
    // Who searches a list mostly finds the very same bytes, which this sees at once.
    return a.id != b.id && a.id.lexicographicallyPrecedes(b.id)
  }
}
