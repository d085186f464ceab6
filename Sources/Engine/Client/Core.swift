/// What of a client is locked: the state machine, the file, and the boards beside them.
///
/// Inputs are taken one at a time under one lock; reads run beside them on connections of their
/// own. Rule protected: no hook of the host's runs while anything is held. Nothing here, nor in
/// what an input or a screen is given, holds one: the time is a value, and log lines are handed
/// back.
internal import Base
internal import Store
internal import Timeline

/// What the core gets of a client's configuration: all but the host's hooks.
final class CoreConfig: Sendable {
  let account: [UInt8]
  let user: [UInt8]
  let device: [UInt8]
  let profile: Profile
  let autoMarkRead: Bool
  let seenMs: Int64
  let catchesUpAll: Bool
  let autoMarkDelivered: Bool
  let requestTimeoutMs: Int64
  let requestsMax: Int
  let seed: UInt64
  /// What goes out is sealed before, by the host.
  let seals: Bool
  let commits: (any CommitWatch)?

  init(_ config: ClientConfig) {
    account = config.account
    user = config.user
    device = config.device
    profile = config.profile
    autoMarkRead = config.autoMarkRead
    seenMs = config.seenMs
    catchesUpAll = config.catchesUpAll
    autoMarkDelivered = config.autoMarkDelivered
    requestTimeoutMs = config.requestTimeoutMs
    requestsMax = config.requestsMax
    seed = config.seed
    seals = config.seal != nil
    commits = config.commits
  }
}

/// Whether calls reach the file of a client.
enum Availability {
  case open
  /// It was given up, for another process.
  case released(KeptStore)
  case closed
}

final class Core: Sendable {
  private let engine: Lock<SyncEngine>
  /// Another one after the file was given up and taken again.
  private let held: Lock<MessageStore>
  let config: CoreConfig
  let signal = EventSignal()
  private let availability = Lock(Availability.open)
  /// A call has found damage since the file was last healed. Two pages that contradict each other
  /// are damaged, though each of them decrypts.
  let metDamage = Lock(false)
  /// What windows may know of the state machine without its lock.
  let snapshot: Lock<SharedSnapshot>
  /// Who looked at what, where not all is kept.
  let accessTimes = Lock(AccessTimes())
  /// The order of the conversations, as of the last read of a page of them.
  let listed = Lock(ListState(ListConfig(rowsMax: .max)))

  init(in store: MessageStore, engine: sending SyncEngine) {
    config = engine.config
    held = Lock(store)
    snapshot = engine.windows.snapshot
    self.engine = Lock(engine)
  }

  // Inlined, it is there once for each kind of answer.
  var store: MessageStore {
    @inline(never) get { held.withLock { $0 } }
  }

  /// False where it was closed.
  func close() -> Bool {
    let wasClosed = availability.withLock { state in
      if case .closed = state { return true }
      state = .closed
      return false
    }
    if wasClosed { return false }
    // Whoever is inside finishes first.
    engine.withLock { engine in
      engine.rememberSent()
      store.close()
    }
    return true
  }

  func endCopied() { engine.withLock { $0.endCopied() } }

  func wipe() throws(Failure) {
    try ensureOpen()
    availability.withLock { $0 = .closed }
    defer { signal.set() }
    try engine.withLock { _ throws(Failure) in
      do throws(StoreFailure) {
        try store.wipe()
      } catch .full {
        // As code 13 of SQLite. `full` says that nothing has changed, and this has.
        throw .storage(13)
      } catch {
        throw Failure(error)
      }
    }
  }

  func ensureOpen() throws(Failure) {
    switch availability.withLock({ $0 }) {
    case .open: break
    case .released: throw .released
    case .closed: throw .closed
    }
    if let failure = store.failure { throw failure }
  }

  // MARK: Hand-over

  /// Closes the file and ends the connection; false where that was done before. Whoever is inside
  /// finishes first.
  ///
  /// Rule protected: while it is given up nothing of the file is held, and no call reaches it. What
  /// is known of it is read anew when it is taken again; what the host knows by number goes on.
  func release(at now: Instant, logging lines: inout LogLines) throws(Failure) -> Bool {
    var isDone = false
    defer { if isDone { signal.set() } }
    return try engine.withLock { engine throws(Failure) in
      do throws(Failure) { try ensureOpen() } catch .released { return false }
      let store = engine.store
      if !store.isKept { throw .unsupported("a client in memory has no file") }
      engine.memory.asked.now = now
      engine.letGo(now)
      defer { _ = leave(engine, &lines) }
      guard let kept = store.release() else { throw .closed }
      isDone = true
      // A close on another thread has come before, or waits for this.
      availability.withLock { if case .open = $0 { $0 = .released(kept) } }
      return true
    }
  }

  /// Opens the file again; false where it was not given up. After a failure it stays so.
  func reacquire(
    _ config: StoreConfig, at now: Instant, logging lines: inout LogLines
  ) throws(Failure) -> Bool {
    try engine.withLock { engine throws(Failure) in
      guard case .released(let kept) = availability.withLock({ $0 }) else {
        try ensureOpen()
        return false
      }
      do throws(StoreFailure) {
        let next = try MessageStore.open(config.again(kept), isTentative: true)
        do throws(StoreFailure) {
          engine.memory.asked.now = now
          let later = try SyncEngine(self.config, in: next, after: engine)
          next.accept()
          try later.recoverOperations()
          later.endCopied()
          engine = later
        } catch {
          next.refuse()
          throw error
        }
        held.withLock { $0 = next }
      } catch {
        throw Failure(error)
      }
      engine.postAskedTimes()
      for number in engine.windows.takeLeaving() { engine.closeWindow(number, at: now) }
      _ = leave(engine, &lines)
      let isClosed = availability.withLock { state in
        guard case .released = state else { return true }
        state = .open
        return false
      }
      // Closed by another thread meanwhile, which closes what there is after this.
      if isClosed { throw .closed }
      return true
    }
  }

  /// A window or a list was closed while the file was given up.
  func closeLater(_ number: UInt64) {
    engine.withLock { engine in
      if case .released = availability.withLock({ $0 }) {
        engine.windows.closeLater(number)
      } else {
        engine.closeWindow(number, at: engine.memory.asked.now)
      }
    }
  }

  /// Runs one input alone. The caller has asked the clock before, and logs once he holds nothing.
  func input<Result>(
    at now: Instant, logging lines: inout LogLines,
    _ body: (SyncEngine, Instant) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var news = false
    defer { if news { signal.set() } }
    return try engine.withLock { engine throws(Failure) in
      try ensureOpen()
      defer { news = leave(engine, &lines) }
      engine.memory.asked.now = now
      do throws(Failure) {
        let result = try body(engine, now)
        try store.endWhereGivenUp()
        return result
      } catch {
        try store.endWhereGivenUp()
        throw noted(error)
      }
    }
  }

  /// In `input` it would be there once for each kind of answer.
  @inline(never)
  private func noted(_ error: Failure) -> Failure {
    if error == .damaged { metDamage.withLock { $0 = true } }
    return error
  }

  /// Takes what the host is to hear of an input; whether there are news. In `input` it would be
  /// there once for each kind of answer.
  @inline(never)
  private func leave(_ engine: SyncEngine, _ lines: inout LogLines) -> Bool {
    let told = engine.report.take()
    if !told.lines.isEmpty { lines += told.lines }
    engine.postToWindows()
    return told.hasNews
  }

  /// Whoever is inside finishes first.
  func waitForInput() { engine.withLock { _ in } }

  /// - Parameter takesLong: it may take long, and is not to hold up who writes.
  func reading<Result>(
    takesLong: Bool = false, _ body: (Reading) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let board = try board()
    do throws(Failure) {
      let look = { (rx: ReadTransaction) throws(Failure) in
        try body(Reading(rx, board))
      }
      if takesLong { return try board.store.readBeside(failure: { Failure($0) }, look) }
      return try board.store.read(failure: { Failure($0) }, look)
    } catch {
      throw try cause(of: error)
    }
  }

  /// In `reading` it would be there once for each kind of answer, as would what follows.
  @inline(never)
  private func board() throws(Failure) -> ReadBoard {
    try ensureOpen()
    let scheme = PositionScheme(config.profile, overlapUs: 0)
    return snapshot.withLock { snapshot in
      ReadBoard(
        fresh: snapshot.fresh, permille: snapshot.permille, scheme: scheme, store: store)
    }
  }

  /// Why a read failed. A storage of the host's that is given up is closed.
  @inline(never)
  private func cause(of error: Failure) throws(Failure) -> Failure {
    try engine.withLockIfFree { _ throws(Failure) in try store.endWhereGivenUp() }
    return noted(store.failure ?? error)
  }

  /// Whether a message that is not stored can be looked for.
  var canLookAround: Bool {
    config.profile.log != nil || config.profile.capabilities.contains(.around)
  }

  func check(_ id: [UInt8]) throws(Failure) {
    if id.isEmpty { throw .invalid("an id is empty") }
    if id.count > Limits.idBytesMax { throw .tooLarge("an id is over 512 bytes") }
  }
}
