/// Which conversations were looked at, and whether a purge came beside a look.
///
/// Rule protected: rows that a window has just read do not vanish from it. A window pins what it
/// shows after it has read it; where a purge began before that, it looks once more, before the host
/// is told of anything. The lock of this board is the last one taken.
internal import Base

struct AccessTimes {
  struct Stamp: Equatable {
    var slices: UInt64
    var isPurging: Bool
  }

  /// Only where a budget is set anybody asks.
  private(set) var isOn = false
  /// The last one is the one that was looked at last.
  private var order: [[UInt8]] = []
  private var slices: UInt64 = 0
  private var isPurging = false
  /// Up to which entry of the feed a subscriber has done.
  private var subscriberSeq: UInt64?

  mutating func turn(on isOn: Bool) {
    self.isOn = isOn
    if !isOn { order = [] }
  }

  mutating func note(_ conversation: [UInt8]) {
    guard isOn, order.last != conversation else { return }
    order.removeAll { $0 == conversation }
    order.append(conversation)
    if order.count > Limits.windowsMax { order.removeFirst() }
  }

  /// Those that were looked at since, in their order.
  mutating func take() -> [[UInt8]] {
    defer { order = [] }
    return order
  }

  /// They could not be written down.
  mutating func giveBack(_ looked: [[UInt8]], subscriber seq: UInt64?) {
    if let seq { noteSubscriber(seq) }
    let since = order
    order = looked
    for conversation in since { note(conversation) }
  }

  /// A subscriber asks for what comes behind an entry: it has done with all up to that.
  mutating func noteSubscriber(_ seq: UInt64) {
    if isOn { subscriberSeq = max(subscriberSeq ?? 0, seq) }
  }

  mutating func takeSubscriberSeq() -> UInt64? {
    defer { subscriberSeq = nil }
    return subscriberSeq
  }

  mutating func beginSlice() {
    slices &+= 1
    isPurging = true
  }

  mutating func endSlice() { isPurging = false }

  /// What a look holds when it begins; nil where nothing is purged.
  var stamp: Stamp? { isOn ? Stamp(slices: slices, isPurging: isPurging) : nil }

  /// Whether a purge may have come between what a look has read and what it has pinned.
  func isLate(_ stamp: Stamp?) -> Bool {
    guard let stamp else { return false }
    return stamp.isPurging || stamp.slices != slices
  }
}
