/// Budgets as a host sets and asks them, and the work that keeps them.
///
/// Rule protected: no call does more than one slice. What is counted, purged and given back is
/// done in `advance` by the way, or at once by work that the host steps through.
internal import Base
internal import Store
internal import Timeline

package struct RetentionService {
  let client: Client
  /// What `advance` asks to be called again after, while there is something to do.
  static let pauseMs: Int64 = 5

  package init(_ client: Client) {
    self.client = client
  }

  /// How much is kept from now on, in this process; one without bounds keeps all, and takes what
  /// was counted out of the file.
  package func set(_ budget: Budget) throws(Failure) {
    try client.input { engine, _ throws(Failure) in
      try engine.storing { () throws(StoreFailure) in
        try engine.commit { tx throws(StoreFailure) in
          let control = try RetentionControl(tx)
          _ = budget.bounds ? try control.switchOn() : try control.switchOff()
        }
      }
      engine.memory.retention.set(budget)
      client.accessTimes.withLock { $0.turn(on: budget.bounds) }
    }
  }

  /// What a conversation takes; nil is all of them.
  package func room(_ conversation: [UInt8]?) throws(Failure) -> RoomStatus {
    if let conversation { try client.check(conversation) }
    let isOver = try client.input { engine, _ throws(Failure) in engine.memory.retention.isOver }
    let found = try client.reading { rx throws(Failure) -> RoomStatus? in
      try rx.storing { rx throws(StoreFailure) -> RoomStatus? in
        try status(of: conversation, isOver: isOver, in: rx)
      }
    }
    guard let found else { throw .noConversation }
    return found
  }

  private func status(
    of conversation: [UInt8]?, isOver: Bool, in rx: ReadTransaction
  ) throws(StoreFailure) -> RoomStatus? {
    var status = RoomStatus()
    var cid: Int64 = 0
    if let conversation {
      guard let record = try rx.conversation(conversation) else { return nil }
      cid = record.cid
    }
    if let (room, isCounted) = try rx.room(cid) {
      status.messages = UInt64(clamping: room.rows)
      status.bytes = UInt64(clamping: room.bytes)
      status.purgedMessages = UInt64(clamping: room.purgedRows)
      status.purgedBytes = UInt64(clamping: room.purgedBytes)
      status.isCounted = isCounted
    }
    status.freeBytes = UInt64(clamping: try rx.freeBytes())
    status.isOver = isOver
    return status
  }

  /// The work that keeps the budget now.
  package func purge() throws(Failure) -> Work {
    let isBound = try client.input { engine, _ throws(Failure) in
      engine.memory.retention.hurry()
      return engine.memory.retention.budget.bounds
    }
    guard isBound else { throw .invalid("no budget is set") }
    return Work(client, PurgeWork(client: client))
  }

  /// One slice in the course of things; how long it may rest, -1 for as long as nothing happens. An
  /// input that has committed something does not purge as well.
  func advance(resting ms: Int64, since lsn: UInt64) throws(Failure) -> Int64 {
    guard client.accessTimes.withLock({ $0.isOn }) else { return ms }
    var isIdle = false
    if client.store.lsn == lsn { isIdle = try slice().isIdle }
    return isIdle ? ms : ms < 0 ? Self.pauseMs : min(ms, Self.pauseMs)
  }

  /// What a purge must know of screens.
  private func screens(
    _ windows: WindowRegistry, _ scheduler: SyncScheduler, isUp: Bool
  ) -> ScreenView {
    ScreenView(
      loaded: { conversation in
        var loaded = client.pinned(conversation)
        // A walk joins its next page by rows of where it stands.
        for edge in scheduler.edges(of: conversation) where edge != .max {
          loaded.insert(edge, edge.successor)
        }
        return loaded
      }, waits: { isUp && windows.waits(for: $0) })
  }

  /// One slice, where there is something to do.
  func slice() throws(Failure) -> Retention.Outcome {
    try client.input { engine, _ throws(Failure) in
      let memory = engine.memory
      let (looked, subscriber) = client.accessTimes.withLock { ($0.take(), $0.takeSubscriberSeq()) }
      guard memory.retention.isDue(at: engine.lastLSN) || !looked.isEmpty || subscriber != nil
      else {
        return Retention.Outcome(isIdle: true)
      }
      client.accessTimes.withLock { $0.beginSlice() }
      defer { client.accessTimes.withLock { $0.endSlice() } }
      let log = engine.scheme.history.retention(engine)
      let screens = screens(engine.windows, engine.scheduler, isUp: engine.tracker.isUp)
      engine.source = ChangeSource(.retention)
      defer { engine.source = ChangeSource() }
      do throws(StoreFailure) {
        let outcome = try engine.commit { tx throws(StoreFailure) in
          let control = try RetentionControl(tx)
          _ = try control.switchOn()
          try control.noteLooks(looked)
          if let subscriber { try control.noteSubscriber(subscriber) }
          return try memory.retention.slice(
            tx, screens, serverUs: memory.server.time?.us, log: log)
        }
        if let log = outcome.log { engine.note(log) }
        if !outcome.ranges.isEmpty {
          engine.scheduler.notePurged(outcome.ranges, of: outcome.conversation)
        }
        return outcome
      } catch {
        client.accessTimes.withLock { $0.giveBack(looked, subscriber: subscriber) }
        throw Failure(error)
      }
    }
  }
}

/// The purge of a host that wants it now.
private struct PurgeWork: WorkBody {
  let client: Client
  private let begun = Lock(Done())

  private struct Done {
    var rows: UInt64 = 0
    var isOver = false
  }

  init(client: Client) { self.client = client }

  func step() throws(Failure) -> Bool {
    let outcome = try RetentionService(client).slice()
    return begun.withLock { done in
      done.rows &+= UInt64(clamping: outcome.rows)
      done.isOver = outcome.isIdle
      return done.isOver
    }
  }

  func progress() throws(Failure) -> WorkProgress {
    let room = try RetentionService(client).room(nil)
    let budget = try client.input { engine, _ throws(Failure) in engine.memory.retention.budget }
    let done = begun.withLock { $0 }
    var left: UInt64 = 0
    if !done.isOver, budget.messages > 0 {
      left = room.messages &- min(room.messages, UInt64(clamping: budget.target.messages))
    }
    return WorkProgress(done: done.rows, total: done.rows &+ left, isDone: done.isOver)
  }
}
