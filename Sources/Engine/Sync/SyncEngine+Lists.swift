/// Syncs that are of no conversation: the server's list of them, and all of them one by one.
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
      for conversation in found { try applier.told(conversation) }
      for range in bad {
        try applier.setAside(range, reason: BadItem.badConversation.code, cid: 0)
      }
      effects = applier.effects
    }
    tell(effects)
    job.status.received += found.count
    var listing = listing
    let isOver = listing.add(
      found.map(\.id), count: found.count + bad.count, total: total)
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
    guard bad.isEmpty, listing.restarts < Listing.restartsMax else { return .ended(.incomplete) }
    job.stage = .listing(Listing(restarts: listing.restarts + 1))
    return .next
  }

  private func settleList() throws(StoreFailure) {
    guard memory.server.facts.owesList else { return }
    try commit { tx throws(StoreFailure) in
      memory.server.owe(list: false)
      try tx.save(memory.server.facts)
    }
  }

  // MARK: All conversations

  /// Begins it, or joins the one that is under way.
  func catchUpWithAll(marksRead: Bool, isCacheOnly: Bool = false) -> UInt64 {
    if let all = scheduler.all, !isCacheOnly {
      if marksRead { scheduler.all?.marksRead = true }
      return all.id
    }
    var all = CatchUpAll(id: scheduler.number(), marksRead: marksRead)
    if isCacheOnly {
      all.status.phase = .ended
      scheduler.remember(all.id, all.status)
      report.tellHost()
    } else {
      if !tracker.isUp { all.status.trouble = .offline }
      scheduler.all = all
    }
    return all.id
  }

  /// A new connection: what an earlier one has brought is asked for again where each connection
  /// catches up by itself.
  func catchUpWithAllAgain() {
    guard config.catchesUpAll else { return }
    if scheduler.all == nil { _ = catchUpWithAll(marksRead: false) }
    scheduler.all?.left = nil
  }

  /// False where it is another sync.
  func cancelCatchUp(_ id: UInt64, at now: Instant) -> Bool {
    guard let all = scheduler.all, all.id == id else { return false }
    endCatchUp(trouble: .cancelled)
    for sync in all.syncs.sorted() { release(sync, at: now) }
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
  func feedCatchUp() -> Bool {
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
      all.syncs.insert(join(next, marksRead: all.marksRead))
      began = true
    }
    return began
  }

  /// One of its syncs has ended, perhaps.
  func catchUpEnded(_ sync: UInt64, _ status: SyncStatus, trouble: Failure?) {
    guard scheduler.all?.syncs.remove(sync) != nil else { return }
    scheduler.all?.take(status, trouble: trouble)
  }

  private func endCatchUp(trouble: Failure?) {
    guard var status = scheduler.all?.status, let id = scheduler.all?.id else { return }
    scheduler.all = nil
    status.phase = .ended
    status.trouble = trouble
    scheduler.remember(id, status)
    report.tellHost()
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
      .sorted { $0.isShown != $1.isShown ? $1.isShown : $0.place > $1.place }
      .map(\.id)
  }
}
