/// Syncs that are of no conversation: the server's list of them, and all of them one by one. And
/// those whose answer may not come from anywhere.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension SyncEngine {
  /// Takes a page of the list in one transaction.
  func takeListing(
    _ job: inout SyncJob, listing: Listing, found: [WireConversation], bad: [Range<Int>],
    total: Int64?, from ingest: Ingest, at now: Instant
  ) throws(StoreFailure) -> Step {
    var effects = UpdateApplier.Effects()
    try commit { tx throws(StoreFailure) in
      var applier = applier(tx, answer: .getConversations, from: ingest, at: now)
      applier.lasts = UpdateApplier.Lasts(isAsked: true, found)
      for conversation in found { try applier.applyConversation(conversation) }
      for range in bad {
        try applier.setAside(range, reason: BadItem.badConversation.code, cid: 0)
      }
      effects = applier.effects
    }
    runEffects(effects)
    job.status.received += found.count
    var listing = listing
    let isOver = listing.add(
      found.map(\.id), count: found.count &+ bad.count, total: total,
      limit: tracker.pacing.pageLimit)
    guard isOver else {
      if listing.isSpent(pagesMax: config.profile.pagesMax) {
        memory.left.leave(listing.left)
        return .ended(.incomplete)
      }
      job.stage = .listing(listing)
      return .next
    }
    if bad.isEmpty, listing.isWhole {
      list.becameWhole()
      report.tellHost()
      try settleList()
      return .ended(nil)
    }
    guard bad.isEmpty, !listing.isCut, listing.restarts < Listing.restartsMax else {
      return .ended(.incomplete)
    }
    job.stage = .listing(Listing(restarts: listing.restarts + 1))
    return .next
  }

  private func settleList() throws(StoreFailure) {
    guard memory.server.facts.needsList else { return }
    try commit { tx throws(StoreFailure) in
      memory.server.setNeedsList(false)
      try tx.save(memory.server.facts)
    }
  }

  // MARK: All conversations

  /// Begins it, or joins the one that is under way.
  func catchUpWithAll(marksRead: Bool) -> UInt64 {
    if let all = scheduler.all {
      if marksRead { scheduler.all?.marksRead = true }
      scheduler.all?.holders &+= 1
      return all.id
    }
    var all = CatchUpAll(id: scheduler.number(), marksRead: marksRead)
    if !tracker.isUp { all.status.trouble = .offline }
    scheduler.all = all
    return all.id
  }

  /// A new connection: what an earlier one has brought is asked for again where each connection
  /// catches up by itself.
  func catchUpWithAllAgain() {
    guard config.catchesUpAll else { return }
    if scheduler.all == nil { _ = catchUpWithAll(marksRead: false) }
    scheduler.all?.isOwn = true
    scheduler.all?.left = nil
  }

  /// False where it is another sync.
  func cancelCatchUp(_ id: UInt64, at now: Instant) -> Bool {
    guard let all = scheduler.all, all.id == id else { return false }
    let given = scheduler.cancelAll()
    remember(end: all, trouble: .cancelled)
    for sync in Array(given?.syncs ?? []).ascending() { release(sync, at: now) }
    return true
  }

  /// How far it is; nil where it is another sync.
  func catchUpStatus(_ id: UInt64) -> SyncStatus? {
    guard let all = scheduler.all, all.id == id else { return nil }
    var status = all.status
    status.phase = tracker.isUp && all.left != nil ? .running : .waiting
    if !tracker.isUp { status.trouble = .offline }
    for job in scheduler.jobs where all.syncs.contains(job.id) {
      status.requests += job.status.requests
      status.received += job.status.received
      status.inserted += job.status.inserted
      status.removed += job.status.removed
    }
    return status
  }

  /// Begins the next of its syncs; true where one was begun.
  func feedCatchUp(_ now: Instant) -> Bool {
    guard tracker.isUp, var all = scheduler.all else { return false }
    defer {
      scheduler.all = all
      if all.left?.isEmpty ?? false, all.syncs.isEmpty {
        endCatchUp(trouble: all.isIncomplete ? .incomplete : nil)
      }
    }
    if all.left == nil {
      do throws(StoreFailure) {
        let left = try conversationsByActivity()
        all.left = left
        all.beganMs = now.monotonicMs
        all.status.trouble = nil
        all.status.done = 0
        all.status.total = left.count + all.syncs.count
      } catch {
        report.logLines.append((.warn, "the conversations could not be read"))
        return false
      }
    }
    var began = false
    while all.syncs.count < CatchUpAll.syncsMax, scheduler.hasRoom,
      let next = all.left?.popLast()
    {
      if outbox.isUnmade(next) {
        // Nobody but this device knows it.
        all.status.done += 1
        continue
      }
      let sync = join(next, marksRead: all.marksRead)
      all.syncs.insert(sync)
      // What another has asked for already is as old as that.
      if let since = scheduler.job(sync)?.turn.beganMs, since != .min {
        all.beganMs = min(all.beganMs, since)
      }
      began = true
    }
    return began
  }

  /// One of its syncs has ended, perhaps.
  func catchUpEnded(_ sync: UInt64, _ status: SyncStatus, trouble: Failure?) {
    guard scheduler.all?.syncs.remove(sync) != nil else { return }
    scheduler.all?.take(status, trouble: trouble)
  }

  func endCatchUp(trouble: Failure?) {
    guard let all = scheduler.all else { return }
    scheduler.all = nil
    keepPromises(of: all.id, remember(end: all, trouble: trouble))
  }

  @discardableResult
  private func remember(end all: CatchUpAll, trouble: Failure?) -> SyncStatus {
    var status = all.status
    status.end(
      trouble, isAnswered: all.isAnswered,
      asOfUs: trouble == nil ? note(.all, beganMs: all.beganMs) : asOfUs(.all))
    scheduler.remember(all.id, status)
    report.tellHost()
    return status
  }

  /// The sync of one of them; who asked for the same already is joined.
  private func join(_ conversation: [UInt8], marksRead: Bool) -> UInt64 {
    var request = SyncRequest(conversation: conversation, kind: .live)
    request.marksRead = marksRead
    return scheduler.join(request)?.id ?? scheduler.add(request)
  }

  /// Those of open windows first, then the others as they stand in a list; the next one last.
  private func conversationsByActivity() throws(StoreFailure) -> [[UInt8]] {
    let all = try store.read { rx throws(StoreFailure) in
      var found: [ConversationSummary] = []
      var last = Int64.min
      while true {
        let some = try rx.summaries(after: last, limit: Limits.readRowsMax)
        found += some.filter { $0.isListed && !$0.isPending }
        guard some.count == Limits.readRowsMax, let end = some.last?.cid else { break }
        last = end
      }
      return found
    }
    let shown = Set(windows.windows.values.map(\.conversation))
    return all.map { (isShown: shown.contains($0.id), place: $0.position, id: $0.id) }
      .ordered { $0.isShown != $1.isShown ? $1.isShown : $0.place > $1.place }
      .map(\.id)
  }

  // MARK: Policies

  /// Takes up what the host asks for, and answers as it says that it may be answered.
  func answer(_ asked: SyncRequest, at now: Instant) throws(Failure) -> UInt64 {
    let choice = asked.choice
    var request = asked
    request.choice = PolicyChoice()
    if asked.kind != .all {
      request.conversation = try storing { () throws(StoreFailure) in
        try canonical(asked.conversation)
      }
    }
    let subject = AskedTimes.Subject(request)
    switch choice.policy {
    case .cacheThenNetwork, .host: return try sync(request, at: now)
    case .cacheOnly: return answer(nil, subject)
    case .maximumAge:
      try keepAskedTimes()
      if asked.kind.isCatchUp, isYoung(subject, choice.ageUs, at: now) {
        return answer(nil, subject)
      }
      return try sync(request, at: now)
    case .networkOnly, .networkFirst:
      try keepAskedTimes()
      let mayWait = choice.policy == .networkFirst && choice.limitMs > 0
      if !tracker.isUp, !mayWait {
        return answer(.offline, subject, isFailure: choice.policy == .networkOnly)
      }
    }
    let sync = try sync(request, at: now)
    let number = scheduler.number()
    scheduler.policies.add(
      PolicyBoard.Promise(
        number: number, choice: choice, subject: subject, sync: sync,
        deadlineMs: choice.limitMs > 0
          ? now.monotonicMs.saturating(plus: choice.limitMs) : nil))
    let status = try syncStatus(sync)
    if status.phase == .ended { keepPromises(of: sync, status) }
    // The host is to ask when something is due.
    report.tellHost()
    return number
  }

  /// An answer at once, from the cache.
  private func answer(
    _ reason: Failure?, _ subject: AskedTimes.Subject, isFailure: Bool = false
  ) -> UInt64 {
    let number = scheduler.number()
    remember(number, SyncStatus(), reason: reason, subject, isFailure: isFailure)
    return number
  }

  private func remember(
    _ number: UInt64, _ status: SyncStatus, reason: Failure?, _ subject: AskedTimes.Subject,
    isFailure: Bool
  ) {
    var status = status
    status.end(reason, asOfUs: asOfUs(subject))
    status.basis = .cache
    if !isFailure { status.trouble = nil }
    scheduler.remember(number, status)
    report.tellHost()
  }

  /// A sync ended, and with it what was promised of it. Where the network comes first, a cache that
  /// is there is an answer, too.
  func keepPromises(of sync: UInt64, _ ended: SyncStatus) {
    for promise in scheduler.policies.take(of: sync) {
      var status = ended
      if promise.choice.policy == .networkFirst, ended.trouble != .cancelled {
        status.trouble = nil
      }
      scheduler.remember(promise.number, status)
    }
  }

  /// Somebody else has cancelled the sync beneath: another one keeps what was promised. Where none
  /// can be begun it ends with that.
  func keepOn(
    _ promises: [PolicyBoard.Promise], with request: SyncRequest, at now: Instant
  ) {
    for promise in promises {
      do throws(Failure) {
        let sync = try sync(request, at: now)
        scheduler.pass([promise], to: sync)
        if let status = scheduler.status(sync), status.phase == .ended {
          keepPromises(of: sync, status)
        }
      } catch {
        breakPromises([promise], error, at: now)
      }
    }
  }

  /// These cannot be kept. What the network brings later is taken all the same, where the cache may
  /// have answered.
  func breakPromises(_ promises: [PolicyBoard.Promise], _ reason: Failure, at now: Instant) {
    for promise in promises {
      let isFailure = promise.choice.policy == .networkOnly
      let known = catchUpStatus(promise.sync) ?? scheduler.status(promise.sync) ?? SyncStatus()
      remember(promise.number, known, reason: reason, promise.subject, isFailure: isFailure)
      if isFailure { release(promise.sync, at: now) }
    }
  }

  /// False where it is no promise.
  func cancelPromise(_ number: UInt64, at now: Instant) -> Bool {
    guard let promise = scheduler.policies.take(number) else { return false }
    let known = catchUpStatus(promise.sync) ?? scheduler.status(promise.sync) ?? SyncStatus()
    remember(number, known, reason: .cancelled, promise.subject, isFailure: true)
    release(promise.sync, at: now)
    return true
  }

  // MARK: As of when

  /// Times are kept in the file from now on.
  func keepAskedTimes() throws(Failure) {
    if memory.asked.isKept == true { return }
    try storing { () throws(StoreFailure) in
      try commit { tx throws(StoreFailure) in _ = try AskedTable(tx).switchOn() }
    }
    memory.asked.isKept = true
  }

  /// A sync ended: gives when the server was last asked for all that is new there.
  func noteAsked(_ job: SyncJob, trouble: Failure?) -> Int64 {
    let subject = AskedTimes.Subject(job.request)
    let isWhole = job.isLive || job.request.kind == .live || subject == .list
    guard trouble == nil, isWhole else { return asOfUs(subject) }
    return note(subject, beganMs: job.turn.beganMs)
  }

  private func note(_ subject: AskedTimes.Subject, beganMs: Int64) -> Int64 {
    let time = AskedTimes.Time(beganMs: beganMs, now: memory.asked.now)
    memory.asked.note(time, of: subject)
    switch subject {
    case .conversation(let conversation): windows.note(asOfUs: time.us, conversation)
    case .list: windows.noteList(asOfUs: time.us)
    case .all: break
    }
    guard memory.asked.now.wallUs != nil else { return time.us }
    do {
      guard try areAskedTimesKept() else { return time.us }
      try commit { tx throws(StoreFailure) in
        if let cid = try subject.cid(tx) { try AskedTable(tx).note(time.us, of: cid) }
      }
    } catch {
      report.logLines.append((.warn, "when a conversation was caught up with was not written"))
    }
    return time.us
  }

  private func areAskedTimesKept() throws(StoreFailure) -> Bool {
    if let isKept = memory.asked.isKept { return isKept }
    let isKept = try store.read { rx throws(StoreFailure) in try AskedTable(rx).isOn }
    memory.asked.isKept = isKept
    return isKept
  }

  /// When it was asked for; nil where that is not known, or nothing of it is believed any more.
  private func askedTime(_ subject: AskedTimes.Subject) throws(StoreFailure) -> AskedTimes.Time? {
    let known = memory.asked.known[subject]
    let found = try store.read { rx throws(StoreFailure) -> AskedTimes.Time? in
      if case .conversation(let id) = subject {
        guard let record = try rx.conversation(id), record.fetch != nil,
          !memory.server.mustDistrust(record)
        else { return nil }
      }
      if let known { return known }
      guard let cid = try subject.cid(rx) else { return nil }
      return try AskedTable(rx).us(cid).map { AskedTimes.Time(us: $0) }
    }
    if known == nil { memory.asked.note(found, of: subject) }
    return found
  }

  /// What a sync that is under way asks for.
  func subject(of sync: UInt64) -> AskedTimes.Subject? {
    if scheduler.all?.id == sync { return .all }
    return scheduler.job(sync).map { AskedTimes.Subject($0.request) }
  }

  func asOfUs(_ subject: AskedTimes.Subject) -> Int64 {
    do { return try askedTime(subject)?.us ?? 0 } catch { return 0 }
  }

  /// Whether what is known of it is young enough not to be asked for.
  func isYoung(_ subject: AskedTimes.Subject, _ ageUs: Int64, at now: Instant) -> Bool {
    if case .conversation(let id) = subject,
      scheduler.isPending(id) || memory.live.isDoubted(id)
    {
      return false
    }
    do { return try askedTime(subject)?.isWithin(ageUs, at: now) ?? false } catch { return false }
  }
}

extension AskedTimes.Subject {
  /// Where its time stands in the file.
  fileprivate func cid(_ rx: ReadTransaction) throws(StoreFailure) -> Int64? {
    switch self {
    case .conversation(let id): try rx.conversation(id)?.cid
    case .list: AskedTable.list
    case .all: AskedTable.all
    }
  }
}
