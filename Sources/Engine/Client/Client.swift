/// One account's cache and sync, for any thread: the engine's whole face.
///
/// It alone has the host's hooks. What is locked lies in `Core` and in what is built on that, none
/// of which can reach a hook: the clock is read and payloads are opened before, log lines leave
/// after.
package import Base
internal import Store
internal import Timeline
internal import Vault
internal import Wire

package final class Client: Sendable {
  let core: Core
  let config: ClientConfig
  /// By which what another client gave is told apart, also one of another copy of the library.
  let mark = UInt64.random(in: .min ... .max)
  let (logBound, upkeep) = (Lock(LogBound()), Lock(IndexUpkeep()))

  private init(_ config: ClientConfig, _ core: Core) {
    self.config = config
    self.core = core
  }

  var store: MessageStore { core.store }
  var snapshot: Lock<SharedSnapshot> { core.snapshot }
  var accessTimes: Lock<AccessTimes> { core.accessTimes }

  // MARK: Opening

  package static func open(_ config: ClientConfig) throws(Failure) -> Client {
    var config = config
    if config.seed == 0 {
      var system = SystemRandomNumberGenerator()
      config.seed = system.next()
    }
    do throws(StoreFailure) {
      let store = try MessageStore.open(config.storeConfig, isTentative: true)
      if store.isLogLost {
        config.log?(.warn, "the log was missing, cut or another one: commits are lost")
      } else if store.rejectedFrames > 0 {
        config.log?(.warn, "the end of the log was rejected; what it held is fetched again")
      }
      if store.isOlder { config.log?(.warn, "the file is older than the host knows") }
      do throws(StoreFailure) {
        let engine = try SyncEngine(CoreConfig(config), in: store)
        store.accept()
        try engine.recoverOperations()
        let core = Core(in: store, engine: engine)
        core.endCopied()
        if store.lacksOwnWork {
          config.log?(.warn, "own work of the -own file waits for room to be put back")
        }
        let client = Client(config, core)
        client.logOpening()
        return client
      } catch {
        store.refuse()
        throw error
      }
    } catch {
      throw Failure(error)
    }
  }

  /// Idempotent. Later calls fail; a waiter on the descriptor wakes.
  package func close() {
    if core.close() {
      let left = logBound.withLock { $0.rest() }
      for (level, text) in left { config.log?(level, text) }
    }
    signalNews()
  }

  /// Destroys the data for good.
  package func wipe() throws(Failure) { try core.wipe() }

  /// Gives the file up for another process; false where that was done before.
  package func release() throws(Failure) -> Bool {
    var lines = LogLines()
    defer { log(lines) }
    return try core.release(at: now(), logging: &lines)
  }

  /// Takes the file again; false where it was not given up.
  package func reacquire() throws(Failure) -> Bool {
    var lines = LogLines()
    defer { log(lines) }
    guard try core.reacquire(config.storeConfig, at: now(), logging: &lines) else { return false }
    upkeep.withLock { $0 = IndexUpkeep() }
    signalNews()
    return true
  }

  /// Closes the files until a call needs them; false where nothing was closed.
  package func rest() throws(Failure) -> Bool {
    try input { engine, _ throws(Failure) in
      // A kill while it rests would have the replies told again.
      engine.rememberSent()
      return try engine.storing { () throws(StoreFailure) in try engine.store.rest() }
    }
  }

  /// A descriptor that can be read once somebody has let go of the file at `path`; the caller's.
  package static func watch(_ path: String) throws(Failure) -> Int32 {
    let found: Int32?
    do throws(VaultFailure) { found = try Vault.watch(path) } catch { throw Failure(error) }
    guard let found else { throw .noDescriptor }
    return found
  }

  func ensureOpen() throws(Failure) { try core.ensureOpen() }

  /// Makes the descriptor readable.
  func signalNews() { core.signal.set() }

  /// Runs one input alone, then tells the host what it should hear.
  func input<Result>(
    _ body: (SyncEngine, Instant) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var lines = LogLines()
    defer { log(lines) }
    return try core.input(at: now(), logging: &lines, body)
  }

  /// What the host's clock says; asked while no lock is held.
  func now() -> Instant { config.clock().bounded }

  // MARK: Turn

  package func connected() throws(Failure) {
    try input { engine, now throws(Failure) in engine.connected(now) }
  }

  package func disconnected() throws(Failure) {
    try input { engine, now throws(Failure) in engine.disconnected(now) }
  }

  package func formerConnectionIsDead() throws(Failure) {
    try input { engine, now throws(Failure) in engine.formerConnectionIsDead(now) }
  }

  package func receive(_ bytes: [UInt8]) throws(Failure) -> Receipt {
    try take(bytes).receipt
  }

  /// Takes a frame, and says why where it is ignored or a part of it was set aside.
  package func take(
    _ bytes: [UInt8]
  ) throws(Failure) -> (receipt: Receipt, reason: StaticText?) {
    let frame: Frame
    do throws(WireFailure) {
      frame = try Frame(bytes, zoneOffsetMinutes: config.profile.zoneOffsetMinutes)
    } catch {
      throw try refuse(bytes.count, Failure(frame: error))
    }
    // Not ours: nothing of it is looked at, and no hook sees it.
    if frame.isForNobody { throw try refuse(bytes.count, .mismatch("account is not a string")) }
    if let account = frame.account, account != config.account {
      throw try refuse(bytes.count, .mismatch("account is not that of the client"))
    }
    try ensureOpen()
    let (opened, failures) = openPayloads(frame)
    let (receipt, reason, mustSeal) = try input { engine, now throws(Failure) in
      engine.report.stats.framesIn += 1
      engine.report.stats.bytesIn += UInt64(bytes.count)
      engine.report.stats.openFailures += failures
      if failures > 0 {
        engine.report.logLines.append(
          .warn, "the open hook failed for payloads", Int64(clamping: failures))
      }
      guard engine.tracker.link != .unusable else { throw .offline }
      let (receipt, reason) = try engine.take(frame, opened: opened, at: now)
      return (receipt, reason, engine.outbox.takeSeal())
    }
    do throws(Failure) {
      if mustSeal { _ = try sealWaiting(nil) }
    } catch {
      // The frame was taken all the same.
      var lines = LogLines()
      lines.append(
        .error, "what followed could not be sealed and waits until payloads are reopened")
      log(lines)
    }
    return (receipt, reason)
  }

  /// Counts a frame that is over 16 MiB, and says that it is too large.
  package func refuse(tooLarge size: Int) throws(Failure) -> Failure {
    try refuse(size, Failure(frame: .tooLarge))
  }

  /// Counts a frame of which nothing is looked at.
  private func refuse(_ size: Int, _ failure: Failure) throws(Failure) -> Failure {
    try input { engine, _ throws(Failure) in
      engine.report.stats.framesIn += 1
      engine.report.stats.framesBad += 1
      if case .mismatch = failure {
      } else {
        engine.report.stats.bytesIn &+= UInt64(clamping: size)
      }
      engine.report.logLines.append(.warn, "a frame was refused", because: failure.reason.text)
      return failure
    }
  }

  package func nextFrame() throws(Failure) -> OutgoingFrame? {
    try input { engine, now throws(Failure) in
      var next: OutgoingFrame?
      // Also where a reply fails: there is nothing more to take then.
      defer { if next == nil { self.core.signal.clear() } }
      next = try engine.takeFrame(now)
      if next == nil { next = try engine.nextAcknowledgement() }
      guard let frame = next else { return nil }
      engine.report.stats.framesOut += 1
      engine.report.stats.bytesOut += UInt64(frame.bytes.count)
      return frame
    }
  }

  /// False for an unknown frame.
  package func frameSent(_ id: UInt64) throws(Failure) -> Bool {
    try input { engine, now throws(Failure) in
      if engine.acknowledgementSent(id) { return true }
      return engine.tracker.startTimer(id, nowMs: now.monotonicMs)
    }
  }

  /// Milliseconds until the next deadline, -1 for none. A clock that was set back by weeks makes
  /// more of them than the `int` that `poll` takes.
  package func advance() throws(Failure) -> Int64 {
    do throws(Failure) {
      try core.ensureOpen()
    } catch .released {
      // Whoever polls the event has heard of it by now, and nothing else would clear it.
      core.signal.clear()
      throw .released
    }
    let lsn = store.lsn
    let due = try input { engine, now throws(Failure) in
      // Nothing is taken offline, so nothing else would let it rest.
      if !engine.tracker.isUp { self.core.signal.rest() }
      return (waitMs: engine.advance(now), nowMs: now.monotonicMs)
    }
    let waitMs = try RetentionService(self).advance(resting: due.waitMs, since: lsn)
    return min(try SearchService(self).keepIndex(due.nowMs, before: waitMs), Self.waitMsMax)
  }

  private static let waitMsMax: Int64 = 2_147_483_647

  package func eventDescriptor() throws(Failure) -> Int32 {
    guard let descriptor = core.signal.descriptor else { throw .noDescriptor }
    return descriptor
  }

  package func state() throws(Failure) -> ClientState {
    try input { engine, _ throws(Failure) in
      var state = ClientState()
      let isAll = engine.scheduler.all != nil
      var isDone = engine.scheduler.jobs.isEmpty && !isAll
      if !isDone, !isAll { isDone = try engine.waitsForUser() }
      if !engine.scheduler.checks.waiting.isEmpty { isDone = false }
      state.phase = engine.tracker.isUp ? (isDone ? .upToDate : .catchingUp) : .offline
      state.syncsLeft = engine.scheduler.count &+ (isAll ? 1 : 0)
      state.requestsInFlight = engine.tracker.inFlight
      state.framesWaiting = engine.tracker.outbox.count + engine.acknowledgements.ready.count
      state.reconnectWanted = engine.tracker.link == .unusable
      state.asOfUs = engine.memory.server.time?.us ?? 0
      let counts = try engine.countStored()
      state.readsPending = counts.readsPending
      state.changeSeq = counts.changeSeq
      state.commitSeq = store.syncedCommit
      (state.isLogLost, state.isOlder) = (store.isLogLost, store.isOlder)
      state.repliesOwed = max(0, counts.pendingReplies - engine.acknowledgements.settled.count)
      for operation in engine.outbox.open {
        switch operation.state {
        case .unknown, .refused: state.operationsStuck += 1
        case .queued, .inFlight, .answered, .done: state.operationsOpen += 1
        }
      }
      return state
    }
  }

  package func sync(_ request: SyncRequest) throws(Failure) -> UInt64 {
    if request.kind != .conversations, request.kind != .all { try check(request.conversation) }
    var request = request
    request.choice = try request.choice.made(
      by: config, for: request.conversation, request.kind)
    return try input { engine, now throws(Failure) in try engine.answer(request, at: now) }
  }

  /// False when it had ended.
  package func cancel(_ sync: UInt64) throws(Failure) -> Bool {
    try input { engine, now throws(Failure) in try engine.cancel(sync, at: now) }
  }

  package func syncStatus(_ sync: UInt64) throws(Failure) -> SyncStatus {
    try input { engine, _ throws(Failure) in try engine.syncStatus(sync) }
  }

  // MARK: Act

  package func markRead(conversation: [UInt8], ids: [[UInt8]]) throws(Failure) {
    try mark(.read, conversation, ids)
  }

  package func markListened(conversation: [UInt8], ids: [[UInt8]]) throws(Failure) {
    try mark(.listened, conversation, ids)
  }

  func mark(
    _ kind: ReceiptKind, _ conversation: [UInt8], _ ids: [[UInt8]]
  ) throws(Failure) {
    try check(conversation)
    guard ids.count <= Limits.markReadMax else { throw .tooLarge("over 10,000 ids") }
    for id in ids { try check(id) }
    try input { engine, now throws(Failure) in
      try engine.mark(kind, in: conversation, ids: ids, at: now)
    }
  }

  func check(_ id: [UInt8]) throws(Failure) { try core.check(id) }

  // MARK: Read

  package func messages(_ query: MessageQuery) throws(Failure) -> MessagePage {
    try check(query.conversation)
    guard (1...Limits.readRowsMax).contains(query.limit) else {
      throw .invalid("limit is not between 1 and 10,000")
    }
    accessTimes.withLock { $0.note(query.conversation) }
    return try reading { rx throws(Failure) in try rx.page(query) }
  }

  package func message(conversation: [UInt8], id: [UInt8]) throws(Failure) -> MessagePage {
    try check(conversation)
    try check(id)
    return try reading { rx throws(Failure) in try rx.page(conversation: conversation, id: id) }
  }

  /// JSON that explains a message.
  package func explain(
    conversation: [UInt8], id: [UInt8], limit: Int
  ) throws(Failure) -> [UInt8] {
    try check(conversation)
    try check(id)
    guard (1...Limits.readRowsMax).contains(limit) else {
      throw .invalid("limit is not between 1 and 10,000")
    }
    // Another type of answer would make another copy of each of the two.
    var found = Explanation(conversation, id: id)
    try reading(takesLong: true) { rx throws(Failure) in try rx.explain(&found, limit: limit) }
    var next = Explanation.Next.none
    try input { engine, _ throws(Failure) in next = engine.next(after: found) }
    return found.json(next)
  }

  package func changes(after: UInt64, limit: Int) throws(Failure) -> ChangePage {
    guard (1...Limits.changesMax).contains(limit) else {
      throw .invalid("limit is not between 1 and 10,000")
    }
    accessTimes.withLock { $0.noteSubscriber(after) }
    return try reading { rx throws(Failure) in try rx.changePage(after: after, limit: limit) }
  }

  package func events(after: UInt64, limit: Int) throws(Failure) -> EventPage {
    guard (1...Limits.changesMax).contains(limit) else {
      throw .invalid("limit is not between 1 and 10,000")
    }
    return try reading { rx throws(Failure) in try rx.eventPage(after: after, limit: limit) }
  }

  /// Items that could not be applied, with a greater number, those of one conversation where it is
  /// given.
  package func quarantined(
    conversation: [UInt8]?, after: UInt64, limit: Int
  ) throws(Failure) -> [QuarantinedView] {
    if let conversation { try check(conversation) }
    guard (1...Limits.readRowsMax).contains(limit) else {
      throw .invalid("limit is not between 1 and 10,000")
    }
    return try reading { rx throws(Failure) in
      try rx.quarantined(in: conversation, after: after, limit: limit)
    }
  }

  /// Entities of one kind, in pages.
  package func entities(_ query: EntityQuery) throws(Failure) -> [EntityView] {
    for id in [query.conversation, query.id] { if let id { try check(id) } }
    if query.role == .member, query.id != nil, query.conversation == nil {
      throw .invalid("a member is asked for without its conversation")
    }
    return try reading { rx throws(Failure) in try rx.entities(query) }
  }

  package func stats() throws(Failure) -> Stats {
    var stats = try input { engine, _ throws(Failure) in
      var stats = engine.report.stats
      stats.overlapUs = engine.overlapUs
      stats.pageLimit = UInt32(clamping: engine.tracker.pacing.pageLimit)
      stats.requestTimeoutMs = UInt32(clamping: engine.tracker.pacing.timeoutMs)
      return stats
    }
    stats.walFramesRejected = store.rejectedFrames
    stats.fileBytes = store.fileBytes
    let counts = try reading { rx throws(Failure) in try rx.counts() }
    stats.conversations = UInt64(clamping: counts.conversations)
    stats.messages = UInt64(clamping: counts.messages)
    stats.tombstones = UInt64(clamping: counts.tombstones)
    stats.quarantined = UInt64(clamping: counts.quarantined)
    stats.waiting = UInt64(clamping: counts.waiting)
    stats.waitingDropped = UInt64(clamping: counts.waitingDropped)
    return stats
  }

  /// - Parameter takesLong: it may take long, and is not to hold up who writes.
  func reading<Result>(
    takesLong: Bool = false, _ body: (Reading) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try core.reading(takesLong: takesLong, body)
  }

  // MARK: Payloads

  /// Opens every readable payload of a frame, in order, before any lock is taken.
  private func openPayloads(_ frame: Frame) -> ([OpenedPayload], failures: UInt64) {
    if let entries = frameEntries(frame) { return open(entries, of: frame) }
    var failures: UInt64 = 0
    let opened = frameMessages(frame).map {
      open($0.message, in: $0.conversation, frame: frame, failures: &failures)
    }
    return (opened, failures)
  }

  private func open(
    _ message: WireMessage, in conversation: [UInt8], frame: Frame, failures: inout UInt64
  ) -> OpenedPayload {
    let raw = Array(frame.bytes[message.payload])
    guard config.open != nil else { return asItIs(raw) }
    let sealed = Sealed(
      frame: frame.bytes, conversation: message.conversation ?? conversation, id: message.id,
      sender: message.sender, payload: message.payload, message: message.object)
    let found = open(sealed)
    if found == nil { failures += 1 }
    var opened = found ?? OpenedPayload(payload: raw, flags: .sealed, sealed: raw)
    opened.digest = store.digest(raw[...])
    return opened
  }

  func asItIs(_ payload: [UInt8]) -> OpenedPayload {
    let flags = hasControlMember(payload) ? RowFlags.control : RowFlags()
    return OpenedPayload(payload: payload, flags: flags, sealed: nil)
  }

  /// What the hook makes of a payload; without one it is taken as it is. Nil where the
  /// hook failed.
  func open(_ sealed: Sealed) -> OpenedPayload? {
    let raw = Array(sealed.frame[sealed.payload])
    guard let hook = config.open else { return asItIs(raw) }
    switch hook(sealed) {
    case .plain(let payload, let control, let event, let searchable)
    where payload.count <= Limits.messageBytesMax
      && searchable?.count ?? 0 <= Limits.messageBytesMax:
      var flags = event ? RowFlags.event : RowFlags()
      if control || hasControlMember(payload) { flags.insert(.control) }
      return OpenedPayload(payload: payload, flags: flags, sealed: nil, searchable: searchable)
    case .notYet:
      return OpenedPayload(payload: raw, flags: .sealed, sealed: raw)
    case .plain, .failed:
      return nil
    }
  }
}
