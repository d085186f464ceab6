/// Where a message stands in the index: the order of the screen, but for a little.
///
/// Rule protected: a place is never before the second of its message, and behind it no farther than
/// `reach` says. So hits are read newest first and put in order as they are read.

/// Each word of each row costs the bytes in which its place differs from the one before, so places
/// are small numbers: one a second, and where that is taken one of the next ones, which the number
/// of the message chooses.
enum SearchPlace {
  private static let unitBits: Int64 = 10
  private static let millisecondsMax: Int64 = 1 << 43
  /// Of them no number of messages needs more: the last ones choose among 2^42 places.
  static let triesMax: Int64 = 80
  /// What any message may take. Stretches of time in which one took more are kept.
  static let triesUsual: Int64 = 4
  private static let stretchBits: Int64 = 12

  /// The place of a time in microseconds, where it is free: 1,024 milliseconds have one.
  static func unit(_ timeUs: Int64) -> Int64 {
    let (quotient, remainder) = timeUs.quotientAndRemainder(dividingBy: 1_000)
    let floor = remainder < 0 ? quotient &- 1 : quotient
    let max = millisecondsMax
    return Swift.min(Swift.max(floor, max &* -1), max &- 1) &>> unitBits
  }

  /// How far behind its unit a place is at most that was found in so many tries.
  static func reach(_ tries: Int64) -> Int64 {
    if tries <= 0 { return 0 }
    return (1 &<< (2 &+ Swift.min(tries, triesMax) / 2)) &- 1
  }

  /// The stretch of time that a unit is in: some 70 minutes.
  static func stretch(_ unit: Int64) -> Int64 { unit &>> stretchBits }

  /// The last unit of a stretch.
  static func last(_ stretch: Int64) -> Int64 {
    (stretch &<< stretchBits) | ((1 &<< stretchBits) &- 1)
  }

  /// The place that a message tries after so many others.
  static func place(of number: UInt64, in unit: Int64, try count: Int64) -> Int64 {
    if count <= 0 { return unit }
    // The finalizer of SplitMix64.
    var mixed = number &+ UInt64(truncatingIfNeeded: count) &* 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ (mixed &>> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed &>> 27)) &* 0x94D0_49BB_1331_11EB
    mixed ^= mixed &>> 31
    return unit &+ (Int64(truncatingIfNeeded: mixed) & reach(count))
  }
}

/// What the index knows of itself.
struct SearchBooks: Equatable {
  enum Merging: Int64 {
    case none
    /// All is to be merged to one segment: words of rows that are gone are in some.
    case due
    case underWay
  }

  /// The numbers of messages that were there when it was made.
  var first: UInt64
  /// Below it no message was looked at yet.
  var below: Int64
  /// The most that a message took to find its place.
  var tries: Int64
  var merging: Merging
  /// Rows went since all was begun to be merged.
  var hasRemoved: Bool

  init(_ connection: Connection) throws(StoreFailure) {
    let row = try connection.statement(Queries.searchBooks)
    guard try row.step(), let merging = Merging(rawValue: row.int(3)) else { throw .damaged }
    first = row.uint(0)
    below = row.int(1)
    tries = Swift.min(Swift.max(row.int(2), 0), SearchPlace.triesMax)
    self.merging = merging
    hasRemoved = row.int(4) != 0
  }

  func save(_ connection: Connection) throws(StoreFailure) {
    try connection.runNoted(
      "UPDATE search_state SET below = ?, tries = ?, merging = ?, removed = ? WHERE one = 1",
      below, tries, merging.rawValue, hasRemoved ? 1 as Int64 : 0)
  }

  /// Words went that stay readable until all is merged.
  mutating func noteRemoval() {
    switch merging {
    case .none: merging = .due
    case .due: break
    case .underWay: hasRemoved = true
    }
  }

  /// All that was begun is merged.
  mutating func noteMerged() {
    merging = hasRemoved ? .due : .none
    hasRemoved = false
  }
}
