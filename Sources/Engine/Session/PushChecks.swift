/// When conversations in which something was pushed are asked for what was lost before it.
///
/// Rule protected: a lone push is checked at once; those that come within a second of a check are
/// checked together, and while they come steadily there is one check in three seconds.
internal import Base

struct PushChecks {
  /// From one check of a conversation to the next, at least.
  static let gapMs: Int64 = 1_000
  /// The same while messages come steadily.
  static let steadyGapMs: Int64 = 3_000
  /// Two checks that are no further apart say that messages come steadily.
  static let steadyMs: Int64 = 5_000
  /// So many conversations are kept before those that rest are let go of.
  static let keptMax = 256

  /// Conversations with a push that nothing has checked yet.
  private(set) var waiting: Set<[UInt8]> = []
  private var last: [[UInt8]: (askedMs: Int64, nextMs: Int64)] = [:]

  mutating func add(_ conversation: [UInt8]) { waiting.insert(conversation) }

  mutating func remove(_ conversation: [UInt8]) { waiting.remove(conversation) }

  mutating func removeAll() { waiting = [] }

  mutating func rename(_ old: [UInt8], _ new: [UInt8]) {
    if waiting.remove(old) != nil { waiting.insert(new) }
  }

  /// A connection is there: what was pushed on an earlier one is asked for at once.
  mutating func wake() { last = [:] }

  /// When a conversation may be checked; in the past where it may be now.
  func dueMs(_ conversation: [UInt8]) -> Int64 { last[conversation]?.nextMs ?? .min }

  /// When the next of those that wait is due, where that is later than now.
  func deadlineMs(after nowMs: Int64) -> Int64? {
    waiting.lazy.map { dueMs($0) }.filter { $0 > nowMs }.min()
  }

  /// Takes those that are due; they are asked for now.
  mutating func takeDue(_ nowMs: Int64) -> [[UInt8]] {
    if waiting.isEmpty { return [] }
    let due = Array(waiting.filter { dueMs($0) <= nowMs }).inByteOrder()
    if last.count > Self.keptMax {
      last = last.filter { $0.value.askedMs.saturating(plus: Self.steadyMs) > nowMs }
    }
    for conversation in due {
      waiting.remove(conversation)
      let isSteady =
        last[conversation].map { nowMs.saturating(minus: $0.askedMs) <= Self.steadyMs } ?? false
      let gapMs = isSteady ? Self.steadyGapMs : Self.gapMs
      last[conversation] = (nowMs, nowMs.saturating(plus: gapMs))
    }
    return due
  }
}
