/// Where a message stands in its conversation: the server's time, ties broken by rank, and where
/// that is the same by the bytes of the id. Ids are never ordered alone.
///
/// The rank says how the server lists messages with one printed time. Mostly it is 0: then the
/// key is the id itself. Another one stands before the id, as bytes, so that keys are in the
/// order of (rank, id) and nothing but `Position` knows of ranks.
///
/// A position is also a boundary between messages: an empty id sorts before
/// every message of its timestamp group. Ranges are half-open, so a boundary has an exact
/// successor and two ranges that touch leave nothing out between them.
package import Base

package struct Position: Hashable, Sendable {
  /// Microseconds since 1970 UTC, as the server stamped it.
  package var time: Int64
  /// Orders messages of one time: the rank, where there is one, and the message id. Empty for the
  /// boundary before a timestamp group.
  package let key: [UInt8]

  package init(time: Int64, key: [UInt8]) {
    self.time = time
    self.key = key
  }

  package init(time: Int64, rank: Int = 0, id: [UInt8]) {
    self.time = time
    key = Self.key(rank: rank, id: id)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(time)
    hasher.combine(all: key)
  }

  /// Before everything: the start of a conversation.
  package static let min = Position(time: .min, key: [])
  /// After everything.
  package static let max = Position(time: .max, key: [])

  /// The boundary before the first message stamped `time`.
  package static func before(timestampGroup time: Int64) -> Position {
    Position(time: time, key: [])
  }

  /// The boundary after the last message stamped `time`.
  package static func after(timestampGroup time: Int64) -> Position {
    Position(time: time == .max ? time : time + 1, key: [])
  }

  package static func before(_ time: ServerTime) -> Position { before(timestampGroup: time.us) }
  package static func after(_ time: ServerTime) -> Position { after(timestampGroup: time.us) }

  /// The time of everything that the server has not given a place yet.
  private static let pendingTime = Int64.max - 1

  /// Where something pending stands: after all that the server has confirmed, in the
  /// order of doing, and below `max`. The first byte of its id is in no UTF-8 text, so
  /// no message of a server is taken for it.
  package static func pending(_ seq: UInt64) -> Position {
    func byte(_ shift: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: seq >> shift) }
    return Position(
      time: pendingTime,
      key: [0xFF, byte(48), byte(40), byte(32), byte(24), byte(16), byte(8), byte(0)])
  }

  /// The boundary below everything pending.
  package static let beforePending = before(timestampGroup: pendingTime)

  package var isPending: Bool { time == Self.pendingTime }

  /// The lowest number whose pending position is at or above this one; nil for none.
  package var pendingBound: UInt64? {
    if time != Self.pendingTime { return time < Self.pendingTime ? 0 : nil }
    guard key.first == 0xFF else { return 0 }
    var bound: UInt64 = 0
    for index in 1..<8 {
      bound = bound << 8 | (index < key.count ? UInt64(key[index]) : 0)
    }
    return key.count > 8 ? bound + 1 : bound
  }

  /// The boundary right after this message.
  package var successor: Position {
    Position(time: time, key: key + [0])
  }

  /// Whether this is the other's successor.
  func follows(_ other: Position) -> Bool {
    time == other.time && key.count == other.key.count + 1 && key.last == 0
      && key.starts(with: other.key)
  }
}

extension Position: Comparable {
  package static func < (a: Position, b: Position) -> Bool {
    if a.time != b.time { return a.time < b.time }
    // Who searches a list mostly finds the very same bytes, which this sees at once.
    return a.key != b.key && a.key.lexicographicallyPrecedes(b.key)
  }
}

// MARK: Ranks

extension Position {
  /// The first byte of a key with a rank: below 0 and from 0 on. No id but one that begins with
  /// a zero byte begins so, and that gets the rank 0 in words.
  private static let behind: UInt8 = 0xF8
  private static let before: UInt8 = 0
  /// The bytes of a rank in a key.
  package static let rankBytes = 4
  /// Ranks lie below this, and not below its negative.
  package static let rankLimit = 1 << 24

  /// - Parameter rank: from `-rankLimit` on and below `rankLimit`; another one is cut to that.
  package static func key(rank: Int, id: [UInt8]) -> [UInt8] {
    if rank == 0, id.first != before { return id }
    let cut = Swift.min(Swift.max(rank, -rankLimit), rankLimit - 1)
    let value = cut < 0 ? cut + rankLimit : cut
    func byte(_ shift: Int) -> UInt8 { UInt8(truncatingIfNeeded: value >> shift) }
    return [cut < 0 ? before : behind, byte(16), byte(8), byte(0)] + id
  }

  /// Whether the key names a rank before the id.
  package static func hasRank(_ first: UInt8?) -> Bool { first == before || first == behind }

  private var isRanked: Bool { Self.hasRank(key.first) && key.count > Self.rankBytes }

  /// The message id; empty for the boundary before a timestamp group.
  package var id: [UInt8] { isRanked ? Array(key[Self.rankBytes...]) : key }

  package var rank: Int {
    guard isRanked else { return 0 }
    let value = key[1..<Self.rankBytes].reduce(0) { $0 << 8 | Int($1) }
    return key[0] == Self.before ? value - Self.rankLimit : value
  }
}

extension [Position] {
  /// One copy of the sort for all places that sort positions: each costs some 2,500 bytes.
  @inline(never)
  package func ascending() -> [Position] { sorted() }
}
