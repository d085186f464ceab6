/// What is to be purged next: one pass over the conversations after another.
///
/// Rule protected: each call does one slice, whatever is left, and what cannot go is not asked for
/// again and again. A pass looks first at conversations that are over their own bounds, then at
/// what is too old, then, while there is too much in all, at the conversations in the order in
/// which they were looked at, the least recent first. It ends where the budget is kept or nothing
/// more may go, and says which of the two it was.
internal import Base
internal import Store
internal import Timeline

/// What screens show, as a purge sees it.
struct ScreenView {
  var loaded: ([UInt8]) -> SpanSet
  /// A screen waits for an answer there, and has not looked since.
  var waits: ([UInt8]) -> Bool
}

struct Retention {
  /// Rows that one slice looks at, and pages that one gives back.
  static let sliceRows = 256
  /// How many conversations one slice asks for their oldest message.
  private static let sweepMax = 256
  /// A pass that had nothing more to do is followed by another after so many commits.
  private static let restCommits: UInt64 = 32

  private(set) var budget = Budget()
  /// What is protected took more than the budget when the last pass ended.
  private(set) var isOver = false
  private var pass: Pass?
  /// The commit at which the last pass ended; nil before the first.
  private var restedAt: UInt64?
  /// Something was purged since the file was cut.
  private var mustRelease = false
  private var freePages: Int64 = .max
  /// Messages in entries of the feed that a subscriber has not read.
  private(set) var untold = Untold()

  private enum Reason {
    case each, age, all
  }

  private struct Victim {
    var cid: Int64
    var from: Position
    var reason: Reason
  }

  private struct Pass {
    var queue: [Int64]
    var swept = 0
    var next = 0
    var isOverAll: Bool
    /// Of these nothing more may go in this pass.
    var done: Set<Int64> = []
    var victim: Victim?
  }

  /// What one slice did.
  struct Outcome {
    /// Nothing is left to do for now.
    var isIdle = false
    /// Where trust ended, and of which conversation.
    var conversation: [UInt8] = []
    var ranges = SpanSet()
    var rows: Int64 = 0
    /// What it changed of a log.
    var log: LogEffects?
  }

  mutating func set(_ budget: Budget) {
    self = Retention()
    self.budget = budget
  }

  /// Whether a call may have something to do that the last one has not seen.
  func isDue(at lsn: UInt64) -> Bool {
    guard budget.bounds else { return false }
    if pass != nil || mustRelease { return true }
    return restedAt.map { lsn &- $0 >= Self.restCommits } ?? true
  }

  /// The next pass begins at once.
  mutating func hurry() { restedAt = nil }

  /// Does one slice.
  mutating func slice(
    _ tx: WriteTransaction, _ screens: ScreenView, serverUs: Int64?, log: LogRetention? = nil
  ) throws(StoreFailure) -> Outcome {
    let control = try RetentionControl(tx)
    _ = try control.switchOn()
    guard try control.count() else { return Outcome() }
    if pass == nil, restedAt.map({ tx.lsn &- $0 >= Self.restCommits }) ?? true {
      pass = try begin(control)
    }
    var outcome = Outcome()
    while var pass {
      var victim = pass.victim
      if victim == nil { victim = try nextVictim(&pass, control, serverUs) }
      guard let victim else {
        if pass.swept < pass.queue.count, budget.ageUs > 0 {
          self.pass = pass
          return outcome
        }
        try end(control, at: tx.lsn)
        break
      }
      pass.victim = victim
      let isMore = try purge(&pass, victim, tx, control, screens, serverUs, log, &outcome)
      if !isMore { pass.victim = nil }
      self.pass = pass
      if outcome.rows > 0 {
        mustRelease = true
        freePages = .max
      }
      return outcome
    }
    outcome.isIdle = try !release(control)
    return outcome
  }

  private func begin(_ control: RetentionControl) throws(StoreFailure) -> Pass {
    Pass(
      queue: try control.byLook(), isOverAll: !budget.allows(try control.room(0)))
  }

  private mutating func end(_ control: RetentionControl, at lsn: UInt64) throws(StoreFailure) {
    let each = budget.each
    let beyond = try control.over(rows: each.rows, bytes: each.bytes)
    isOver = !budget.allows(try control.room(0)) || !beyond.isEmpty
    pass = nil
    restedAt = lsn
  }

  // MARK: - Who is next

  private func nextVictim(
    _ pass: inout Pass, _ control: RetentionControl, _ serverUs: Int64?
  ) throws(StoreFailure) -> Victim? {
    let each = budget.each
    if let cid = try control.over(rows: each.rows, bytes: each.bytes).first(where: {
      !pass.done.contains($0)
    }) {
      return Victim(cid: cid, from: .min, reason: .each)
    }
    if let cutoff = cutoff(budget.ageUs, serverUs) {
      var asked = 0
      while pass.swept < pass.queue.count {
        if asked == Self.sweepMax { return nil }
        let cid = pass.queue[pass.swept]
        pass.swept &+= 1
        asked &+= 1
        if pass.done.contains(cid) { continue }
        if let oldest = try control.oldestUs(cid, from: .min), oldest < cutoff {
          return Victim(cid: cid, from: .min, reason: .age)
        }
      }
    } else {
      pass.swept = pass.queue.count
    }
    guard pass.isOverAll, !budget.target.allows(try control.room(0)) else { return nil }
    while pass.next < pass.queue.count {
      let cid = pass.queue[pass.next]
      pass.next &+= 1
      if !pass.done.contains(cid) { return Victim(cid: cid, from: .min, reason: .all) }
    }
    return nil
  }

  private func cutoff(_ ageUs: Int64, _ serverUs: Int64?) -> Int64? {
    guard ageUs > 0, let serverUs else { return nil }
    return serverUs.saturating(minus: ageUs)
  }

  // MARK: - A slice

  /// Takes rows of a victim; whether more of it may go.
  private mutating func purge(
    _ pass: inout Pass, _ victim: Victim, _ tx: WriteTransaction, _ control: RetentionControl,
    _ screens: ScreenView, _ serverUs: Int64?, _ log: LogRetention?, _ outcome: inout Outcome
  ) throws(StoreFailure) -> Bool {
    guard let record = try tx.conversation(cid: victim.cid), !record.isPending,
      !screens.waits(record.id)
    else {
      pass.done.insert(victim.cid)
      return false
    }
    var young = cutoff(budget.youngUs, serverUs)
    if victim.reason == .age, let cutoff = cutoff(budget.ageUs, serverUs) {
      young = min(young ?? cutoff, cutoff)
    }
    // Entries written since the slice before are unread too.
    var kept: [ClosedRange<UInt64>] = []
    if budget.keepsUntold {
      // Who is far behind is read after in slices, and nothing goes before.
      guard let untold = try untold.readFeed(tx) else { return true }
      kept = untold
    }
    let protection = try Protection(
      victim.cid, loaded: screens.loaded(record.id), youngUs: young, untold: kept, in: tx)
    let target = budget.target
    let (all, own) = (try control.room(0), try control.room(victim.cid))
    func isEnough(_ slice: PurgeSlice) -> Bool {
      switch victim.reason {
      case .age: false
      case .all: target.allows(all.without(slice))
      case .each:
        (target.messagesEach == 0 || own.rows &- slice.rows <= target.messagesEach)
          && (target.bytesEach == 0 || own.bytes &- slice.bytes <= target.bytesEach)
      }
    }
    let slice: PurgeSlice
    if let log {
      (slice, outcome.log) = try log.slice(
        record, from: victim.from, besides: protection, limit: Self.sliceRows, in: tx,
        until: isEnough)
    } else {
      slice = try Purge(tx).slice(
        record, from: victim.from, besides: protection, limit: Self.sliceRows, until: isEnough)
    }
    (outcome.conversation, outcome.ranges, outcome.rows) = (record.id, slice.ranges, slice.rows)
    guard let next = slice.next else {
      // What is young enough may go all the same where there is too much.
      if victim.reason != .age { pass.done.insert(victim.cid) }
      return false
    }
    pass.victim?.from = next
    switch victim.reason {
    case .age: return true
    case .all: return !target.allows(all.without(slice))
    case .each:
      return target.messagesEach > 0 && own.rows &- slice.rows > target.messagesEach
        || target.bytesEach > 0 && own.bytes &- slice.bytes > target.bytesEach
    }
  }

  // MARK: - Space

  /// Gives a slice of what holds nothing back; whether something is left to do.
  private mutating func release(_ control: RetentionControl) throws(StoreFailure) -> Bool {
    guard mustRelease else { return false }
    let free = try control.freePages()
    // Where none can be given back, as in memory, nobody asks again.
    guard free > 0, free < freePages else {
      mustRelease = false
      return false
    }
    freePages = free
    try control.release()
    return true
  }
}

extension Room {
  fileprivate func without(_ slice: PurgeSlice) -> Room {
    var room = self
    room.rows = rows &- slice.rows
    room.bytes = bytes &- slice.bytes
    return room
  }
}
