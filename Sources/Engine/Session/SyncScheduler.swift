/// The syncs that have not ended, in the order asked; how the last ones ended; and what is pending.
///
/// Rules protected: one request at a time in each conversation, what a screen waits for first; who
/// asks for what is asked already joins it, and the last who lets go of it ends it; what arrives
/// beside a sync is caught up with when that ends.
internal import Base
internal import Timeline

struct SyncScheduler {
  /// A request that fails for now is tried so many times.
  static let attemptsMax = 6

  private(set) var jobs: [SyncJob] = []
  private var ended: [UInt64: SyncStatus] = [:]
  private var endedOrder: [UInt64] = []
  private var next: UInt64 = 1
  /// Conversations in which something came beside a sync: another one is to follow.
  private(set) var pending: Set<[UInt8]> = []
  /// Conversations with pushes that are to be checked.
  var checks = PushChecks()
  /// Who was promised what of those under way.
  var policies = PolicyBoard()
  /// All conversations are being caught up with.
  var all: CatchUpAll?

  // MARK: Looking

  /// Syncs that have not ended, and those that wait for more pushes.
  var count: Int { jobs.count &+ checks.waiting.count }

  var hasRoom: Bool { jobs.count < Limits.syncsMax }

  func job(_ id: UInt64) -> SyncJob? { jobs.first { $0.id == id } }

  func asks(_ conversation: [UInt8]) -> Bool {
    jobs.contains { $0.request.conversation == conversation }
  }

  /// Whether a catch-up of a conversation is under way, or follows a sync of it.
  func isCatchingUp(_ conversation: [UInt8]) -> Bool {
    jobs.contains {
      $0.request.conversation == conversation && ($0.isCatchingUp || pending.contains(conversation))
    }
  }

  var asksList: Bool { jobs.contains { $0.request.kind == .conversations } }

  /// How it stands, or how it ended; nil where nothing is known of it any more.
  func status(_ id: UInt64) -> SyncStatus? { job(id)?.status ?? ended[id] }

  /// When the next of those that rest may go on.
  func deadlineMs(after nowMs: Int64) -> Int64? {
    let next = jobs.lazy.filter { !$0.turn.inFlight && $0.turn.notBeforeMs > nowMs }
      .map(\.turn.notBeforeMs).min()
    return [next, checks.deadlineMs(after: nowMs)].compactMap { $0 }.min()
  }

  // MARK: Coming and going

  mutating func number() -> UInt64 {
    defer { next += 1 }
    return next
  }

  /// One more at the end of the queue.
  @discardableResult
  mutating func add(
    _ request: SyncRequest, trouble: Failure? = nil, setUp: (inout SyncJob) -> Void = { _ in }
  ) -> UInt64 {
    var job = SyncJob(id: number(), request: request)
    job.status.trouble = trouble
    setUp(&job)
    jobs.append(job)
    return job.id
  }

  /// Joins one that asks for the same; `isRaised` where it goes before others only now.
  mutating func join(_ request: SyncRequest) -> (id: UInt64, isRaised: Bool)? {
    guard
      let index = jobs.firstIndex(where: { !$0.aim.isBounded && $0.request.isTwin(of: request) })
    else { return nil }
    jobs[index].holders += 1
    let isRaised = request.isUrgent && !jobs[index].request.isUrgent
    if isRaised { jobs[index].request.isUrgent = true }
    return (jobs[index].id, isRaised)
  }

  /// One of those who asked wants it no more; gives it where that was the last.
  mutating func leave(_ id: UInt64) -> SyncJob? {
    guard let index = jobs.firstIndex(where: { $0.id == id }) else { return nil }
    jobs[index].holders -= 1
    return jobs[index].holders <= 0 ? jobs[index] : nil
  }

  /// Where syncs of a conversation stand.
  func edges(of conversation: [UInt8]) -> [Position] {
    jobs.compactMap { $0.request.conversation == conversation ? $0.edge : nil }
  }

  /// What was purged is not claimed by what syncs of the conversation have seen of it.
  mutating func notePurged(_ ranges: SpanSet, of conversation: [UInt8]) {
    for index in jobs.indices where jobs[index].request.conversation == conversation {
      jobs[index].run.purged = jobs[index].run.purged.union(ranges)
    }
  }

  mutating func replace(_ job: SyncJob) {
    guard let index = jobs.firstIndex(where: { $0.id == job.id }) else { return }
    jobs[index] = job
  }

  /// Takes a job out of the queue with its result, and gives that.
  mutating func end(_ job: SyncJob, trouble: Failure?, asOfUs: Int64 = 0) -> SyncStatus {
    jobs.removeAll { $0.id == job.id }
    var status = job.status
    // What is live where pushes are lossless needs no request.
    let isAnswered = status.requests > 0 || job.request.kind == .live
    status.end(trouble, isAnswered: isAnswered, asOfUs: asOfUs)
    remember(job.id, status)
    return status
  }

  mutating func remember(_ id: UInt64, _ status: SyncStatus) {
    ended[id] = status
    endedOrder.append(id)
    if endedOrder.count > Limits.syncsRemembered {
      ended[endedOrder.removeFirst()] = nil
    }
  }

  /// A request failed for now; `pauseMs` says for how long after that many attempts. Gives the job
  /// where it was the last attempt.
  mutating func fail(
    _ id: UInt64, _ failure: Failure, nowMs: Int64, pauseMs: (_ attempts: Int) -> Int64
  ) -> (isRetried: Bool, given: SyncJob?) {
    guard let index = jobs.firstIndex(where: { $0.id == id }) else { return (false, nil) }
    jobs[index].turn.inFlight = false
    jobs[index].turn.attempts += 1
    if jobs[index].turn.attempts >= Self.attemptsMax { return (false, jobs[index]) }
    jobs[index].status.phase = .waiting
    jobs[index].status.trouble = failure
    jobs[index].turn.notBeforeMs = nowMs + pauseMs(jobs[index].turn.attempts)
    return (true, nil)
  }

  /// The next one whose turn it is, from a place in the queue on: those that a screen waits for,
  /// or the others. `busy` holds the conversations that are asked already.
  func ready(
    from first: Int, isUrgent: Bool, nowMs: Int64, besides busy: Set<[UInt8]>,
    waitsFor isPending: ([UInt8]) -> Bool
  ) -> Int? {
    jobs.indices.dropFirst(first).first { index in
      guard jobs[index].request.isUrgent == isUrgent, !jobs[index].turn.inFlight,
        jobs[index].turn.notBeforeMs <= nowMs
      else { return false }
      let conversation = jobs[index].request.conversation
      return !busy.contains(conversation) && !isPending(conversation)
    }
  }

  // MARK: What happens to those under way

  /// A connection is there: nothing rests any more.
  mutating func wake() {
    for index in jobs.indices { jobs[index].turn.notBeforeMs = .min }
    checks.wake()
  }

  /// The connection is lost with a request that was sent, which counts as a try in vain.
  mutating func noteLost(_ id: UInt64) {
    guard let index = jobs.firstIndex(where: { $0.id == id }) else { return }
    jobs[index].turn.attempts += 1
  }

  /// The connection is lost, and with it the requests of these: offsets and bounds belong to the
  /// time they were asked in.
  mutating func disconnect(losing lost: [UInt64]) {
    for index in jobs.indices where lost.contains(jobs[index].id) {
      jobs[index].turn.inFlight = false
      jobs[index].status.phase = .waiting
      jobs[index].status.trouble = .offline
    }
    for index in jobs.indices where !jobs[index].turn.inFlight { jobs[index].beginAgain() }
  }

  /// What they know of the store, or of what is to come, holds no more.
  mutating func beginAgain(where isMeant: (SyncRequest) -> Bool = { _ in true }) {
    for index in jobs.indices where isMeant(jobs[index].request) { jobs[index].beginAgain() }
  }

  /// Nothing is claimed of a conversation any more: what its syncs were about to join is gone.
  mutating func beginAnew(in conversation: [UInt8]) {
    for index in jobs.indices where jobs[index].request.conversation == conversation {
      jobs[index].beginAnew()
    }
  }

  /// The requests of a conversation's syncs, or of all, are let go of: where an answer cannot be
  /// told from the next one it is still waited for, as `isPending` says.
  mutating func letGo(of conversation: [UInt8]?, isPending: (UInt64) -> Bool) {
    for index in jobs.indices {
      if let conversation, jobs[index].request.conversation != conversation { continue }
      jobs[index].turn.inFlight = isPending(jobs[index].id)
      jobs[index].status.phase = .waiting
    }
  }

  /// A catch-up ended well, and left a gap from its newest page down to `left`: the longer ones of
  /// the conversation have it as their goal, and begin again at the watermark. Else they would take
  /// for known what was still to come within the overlap below it.
  mutating func pass(_ job: SyncJob) {
    for index in jobs.indices {
      let other = jobs[index]
      guard other.id != job.id, other.request.conversation == job.request.conversation,
        other.caughtUp.isNone
      else { continue }
      if let left = job.caughtUp.left, !other.stopsAtPage {
        jobs[index].aim.floor = min(other.aim.floor ?? left, left)
      }
      if other.isCatchingUp, !other.turn.inFlight { jobs[index].beginAnew() }
    }
  }

  mutating func rename(_ old: [UInt8], _ new: [UInt8]) {
    for index in jobs.indices where jobs[index].request.conversation == old {
      jobs[index].request.conversation = new
    }
    checks.rename(old, new)
  }

  // MARK: What was promised

  /// Others were promised what one brings that is cancelled by who knows its number: from now on
  /// another one keeps that.
  mutating func pass(_ promises: [PolicyBoard.Promise], to sync: UInt64) {
    for promise in promises { policies.add(promise.kept(by: sync)) }
  }

  /// Who knows all of them by their number wants them no more: they go on under another one where
  /// others were promised them. Gives what nobody wants any more.
  mutating func cancelAll() -> CatchUpAll? {
    guard var given = all else { return nil }
    let kept = policies.take(of: given.id)
    all = nil
    if kept.isEmpty { return given }
    given.id = number()
    given.holders = kept.count
    all = given
    pass(kept, to: given.id)
    return nil
  }

  /// One of those who asked for all of them wants them no more; true where that was the last.
  mutating func leaveAll() -> Bool {
    all?.holders &-= 1
    return all.map { $0.holders <= 0 && !$0.isOwn } ?? false
  }

  // MARK: What is pending

  mutating func markPending(_ conversation: [UInt8]) { pending.insert(conversation) }

  /// What another catch-up or a check is still to ask.
  func isPending(_ conversation: [UInt8]) -> Bool {
    pending.contains(conversation) || checks.waiting.contains(conversation)
  }

  mutating func clearPending(_ conversation: [UInt8]) { pending.remove(conversation) }

  /// Nothing more is asked of a conversation, or of all.
  mutating func leave(_ conversation: [UInt8]) {
    pending.remove(conversation)
    checks.remove(conversation)
  }

  mutating func clearAllPending() {
    pending = []
    checks.removeAll()
  }
}
