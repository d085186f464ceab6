/// Whether the server was put back to an older copy: what speaks for it, and when it is believed.
///
/// Rule protected: one answer, however odd, takes no row away. Two answers have to lack the same
/// rows, asked on two connections or a minute apart, and a server that seems restored again and
/// again contradicts itself.
internal import Base
internal import Timeline

struct RestoreDetection {
  /// Rows that a whole answer lacked and that no deletion explains.
  private struct Evidence {
    var missing: Set<[UInt8]>
    var lowest: Position
    var connection: UInt64
    var atMs: Int64
  }

  /// A conversation that is to be looked at once more, and down to where.
  struct Check {
    let conversation: [UInt8]
    let lowest: Position
  }

  private var evidence: [[UInt8]: Evidence] = [:]
  /// Where a server showed what it had said was deleted, and when it first did.
  private var buried: [[UInt8]: Evidence] = [:]
  /// Where an earlier process may have suspected rows, and that was looked at.
  private var recalled: Set<[UInt8]> = []
  /// Evidence was let go of: whatever is unverified may be suspected.
  private var isForgetful = false
  /// When the next look is due.
  private var dueMs: [[UInt8]: Int64] = [:]
  /// By conversation, when a restore was believed.
  private var believed: [[UInt8]: [Int64]] = [:]
  /// How many connections there were.
  private var connection: UInt64 = 0

  /// Whether a whole answer has lacked this row, and no other one has come yet: it is suspected.
  func isDoubted(_ id: [UInt8], in conversation: [UInt8]) -> Bool {
    isForgetful || evidence[conversation]?.missing.contains(id) ?? false
  }

  /// The rows of a conversation that are suspected to be missing on the server.
  func doubted(in conversation: [UInt8]) -> Set<[UInt8]> { evidence[conversation]?.missing ?? [] }

  /// Whether nothing is known of suspected rows in a conversation: another process may have
  /// received the answer that lacked them.
  func mustRecall(_ conversation: [UInt8]) -> Bool {
    !isForgetful && evidence[conversation] == nil && !recalled.contains(conversation)
  }

  /// An answer that an earlier process received, on another connection, has lacked these rows.
  /// Gives the look that is due for them: pages of what is new need not come down there.
  mutating func recall(_ missing: [Position], in conversation: [UInt8]) -> Check? {
    noteRecalled(conversation)
    guard let lowest = missing.min(), evidence.count < Limits.restoresDoubted else { return nil }
    evidence[conversation] = Evidence(
      missing: Set(missing.map(\.id)), lowest: lowest, connection: 0, atMs: .min)
    return Check(conversation: conversation, lowest: lowest)
  }

  private mutating func noteRecalled(_ conversation: [UInt8]) {
    if recalled.count >= Limits.restoresDoubted {
      recalled = []
      isForgetful = true
    }
    recalled.insert(conversation)
  }

  /// A whole answer lacks these rows; `unseen` are suspected ones outside of its range. True
  /// where an earlier answer that counts beside it lacked some of the same rows, and this one shows
  /// none that the other lacked. Else the suspected rows are kept, and another look is due.
  mutating func confirms(
    _ missing: [[UInt8]], unseen: Set<[UInt8]>, lowest: Position, in conversation: [UInt8],
    askedMs: Int64, nowMs: Int64
  ) -> Bool {
    let now = Set(missing)
    var doubt = Evidence(missing: now, lowest: lowest, connection: connection, atMs: nowMs)
    if let earlier = evidence[conversation] {
      let isShownAgain = !earlier.missing.subtracting(now).isSubset(of: unseen)
      let isSame = !isShownAgain && !earlier.missing.isDisjoint(with: now)
      if isSame, isIndependent(of: earlier, askedMs: askedMs) {
        clear(conversation)
        return true
      }
      doubt.missing.formUnion(unseen)
      doubt.lowest = min(lowest, earlier.lowest)
      if isSame {
        // The same answer within the minute says nothing new.
        doubt.connection = earlier.connection
        doubt.atMs = earlier.atMs
      }
    } else if evidence.count >= Limits.restoresDoubted {
      evidence = [:]
      dueMs = [:]
      isForgetful = true
    }
    evidence[conversation] = doubt
    noteRecalled(conversation)
    dueMs[conversation] = doubt.atMs.addingReportingOverflow(Limits.restoreApartMs).partialValue
    return false
  }

  /// Whether an answer that was asked for then counts beside an earlier one.
  private func isIndependent(of earlier: Evidence, askedMs: Int64) -> Bool {
    earlier.connection != connection || askedMs &- earlier.atMs >= Limits.restoreApartMs
  }

  /// A walk showed what is known to be deleted, and the count does not agree with what is stored.
  /// True where an earlier one that counts beside it did so too.
  mutating func confirmsBuried(in conversation: [UInt8], askedMs: Int64, nowMs: Int64) -> Bool {
    if let earlier = buried[conversation] {
      guard isIndependent(of: earlier, askedMs: askedMs) else { return false }
      buried[conversation] = nil
      return true
    }
    if buried.count >= Limits.restoresDoubted { buried = [:] }
    buried[conversation] = Evidence(
      missing: [], lowest: .min, connection: connection, atMs: nowMs)
    dueMs[conversation] = nowMs.addingReportingOverflow(Limits.restoreApartMs).partialValue
    return false
  }

  /// The count agrees.
  mutating func clearBuried(_ conversation: [UInt8]) { buried[conversation] = nil }

  /// A whole answer lacks nothing, and covered all suspected rows but these.
  mutating func keep(_ unseen: Set<[UInt8]>, in conversation: [UInt8]) {
    if unseen.isEmpty { return clear(conversation) }
    evidence[conversation]?.missing = unseen
  }

  /// Nothing is missing there any more, or it was believed.
  mutating func clear(_ conversation: [UInt8]) {
    evidence[conversation] = nil
    if buried[conversation] == nil { dueMs[conversation] = nil }
  }

  /// A new connection: what is doubted is looked at at once.
  mutating func connect(nowMs: Int64) {
    connection &+= 1
    for conversation in evidence.keys { dueMs[conversation] = nowMs }
    for conversation in buried.keys { dueMs[conversation] = nowMs }
  }

  /// The looks that are due, each once.
  mutating func takeDue(nowMs: Int64) -> [Check] {
    if dueMs.isEmpty { return [] }
    let due = Array(dueMs.filter { $0.value <= nowMs }.keys).inByteOrder()
    return due.compactMap { conversation in
      dueMs[conversation] = nil
      let lowest = buried[conversation] == nil ? evidence[conversation]?.lowest : .min
      return lowest.map { Check(conversation: conversation, lowest: $0) }
    }
  }

  var nextMs: Int64? { dueMs.values.min() }

  /// A restore is rare. A server that seems restored again and again contradicts itself, and
  /// to follow it each time would be to ask without end.
  mutating func mayBelieve(_ conversation: [UInt8], nowMs: Int64) -> Bool {
    let times = believed[conversation, default: []].filter {
      nowMs &- $0 < Limits.restoresWithinMs
    }
    guard times.count < Limits.restoresMax else { return false }
    believed[conversation] = times + [nowMs]
    return true
  }
}
