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

final class Core: Sendable {
  private let engine: Lock<SyncEngine>
  let store: MessageStore
  let config: CoreConfig
  let signal: EventSignal
  private let isClosed = Lock(false)
  /// What windows may know of the state machine without its lock.
  let snapshot: Lock<SharedSnapshot>
  /// Who looked at what, where not all is kept.
  let accessTimes = Lock(AccessTimes())
  /// The order of the conversations, as of the last read of a page of them.
  let listed = Lock(ListState(ListConfig(rowsMax: .max)))

  init(in store: MessageStore, engine: sending SyncEngine, signal: EventSignal) {
    config = engine.config
    self.store = store
    snapshot = engine.windows.snapshot
    self.engine = Lock(engine)
    self.signal = signal
  }

  /// False where it was closed.
  func close() -> Bool {
    let wasClosed = isClosed.withLock { closed in
      defer { closed = true }
      return closed
    }
    if wasClosed { return false }
    // Whoever is inside finishes first.
    engine.withLock { engine in
      engine.rememberSent()
      store.close()
    }
    return true
  }

  func wipe() throws(Failure) {
    try ensureOpen()
    isClosed.withLock { $0 = true }
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
    if isClosed.withLock({ $0 }) { throw .closed }
    if let failure = store.failure { throw failure }
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
        throw error
      }
    }
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
        try body(Reading(rx, fresh: board.fresh, permille: board.permille, scheme: board.scheme))
      }
      if takesLong { return try store.readBeside(failure: { Failure($0) }, look) }
      return try store.read(failure: { Failure($0) }, look)
    } catch {
      throw try cause(of: error)
    }
  }

  /// What a read has to know beside the file.
  private struct Board {
    var fresh: FreshRanges
    var permille: [UInt64: UInt32]
    let scheme: PositionScheme
  }

  /// In `reading` it would be there once for each kind of answer, as would what follows.
  @inline(never)
  private func board() throws(Failure) -> Board {
    try ensureOpen()
    var board = Board(
      fresh: FreshRanges(), permille: [:], scheme: PositionScheme(config.profile, overlapUs: 0))
    snapshot.withLock { snapshot in
      board.permille = snapshot.permille
      board.fresh = snapshot.fresh
    }
    return board
  }

  /// Why a read failed. A storage of the host's that is given up is closed.
  @inline(never)
  private func cause(of error: Failure) throws(Failure) -> Failure {
    try engine.withLockIfFree { _ throws(Failure) in try store.endWhereGivenUp() }
    return store.failure ?? error
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
