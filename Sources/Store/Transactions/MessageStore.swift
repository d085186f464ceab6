/// The store: one writer behind one lock, readers beside it.
///
/// Rule protected: an input's rows, spans, watermarks, tombstones and feed
/// entries are committed together or not at all, and a read sees exactly one
/// committed state and waits for no writer. A memory store has the one
/// connection only; everything else is the same code.
package import Base
internal import Text
internal import Vault

package final class MessageStore: Sendable {
  /// Readers kept open while nobody reads.
  private static let idleReadersMax = 2

  let vault: Vault?
  private let rules: StoreRules
  let binding: Schema.Binding
  let readerCacheBytes: UInt64
  let members: MemberNames
  let indexesLater: Bool
  let gate = Gate()
  let writer: Lock<Writer>
  let readers = Lock(Readers())
  /// Writers that wait for the connection, or are about to.
  private let waiting = Lock(0)
  /// Copies under way.
  let copies = Lock<[VaultCopy]>([])
  let indexed = Lock(0 as UInt64)
  /// No connection is open, and the next call that needs one opens it. It changes where the writer
  /// is held: to true where nobody is in the gate, to false beside those who are.
  let resting = Lock(false)
  /// At the opening the file lacked own work. Who writes asks, too.
  let isBehind = Lock(false)
  /// At the opening the file lacked a commit that the host knows of.
  package let isOlder: Bool

  /// The writing connection, and the counters as of the last commit.
  struct Writer {
    var connection: Connection?
    var counters: Counters
    /// What is kept twice; nil in memory, and until the file is accepted.
    var own: OwnIndex?
    /// What was found beside the file, until it is accepted.
    var read: OwnRead?
    /// What the file lacks of that: the next commit puts it back.
    var lost: OwnLoss?
    var floor = OwnFloor()
    /// A new data key under way.
    var rotation: VaultRotation?
    /// Whether a trace that the host does not want has been looked for.
    var hasLookedForTrace = false
    /// The newest commit that was seen to be on disk.
    var synced: UInt64 = 0
  }

  struct Readers {
    var idle: [Connection] = []
    var isClosed = false
    /// It was closed to be opened again.
    var isReleased = false
  }

  private init(
    vault: Vault?, connection: sending Connection, counters: Counters, config: StoreConfig,
    isOlder: Bool = false
  ) {
    self.vault = vault
    self.isOlder = isOlder
    rules = StoreRules(config)
    binding = Schema.Binding(config)
    readerCacheBytes = config.cacheBytes / 4
    members = config.members
    indexesLater = config.indexesLater
    writer = Lock(Writer(connection: connection, counters: counters))
  }

  // MARK: Open and close

  /// Opens a store, creating or migrating it where that is due. A failure leaves the file, its
  /// log and what lies beside them as they were; so does `refuse` of one that was opened
  /// tentatively and not accepted.
  package static func open(
    _ config: StoreConfig, isTentative: Bool = false
  ) throws(StoreFailure) -> MessageStore {
    let binding = Schema.Binding(config)
    switch config.kind {
    case .memory:
      let connection = try Connection.memory()
      connection.members = config.members
      connection.indexesLater = config.indexesLater
      let counters = try prepare(connection, binding: binding, cacheBytes: config.cacheBytes)
      return MessageStore(vault: nil, connection: connection, counters: counters, config: config)
    case .file(let path, let key, let create, let strict, let baseVFS):
      let mustBeThere = config.refusesLoss && config.leastCommit > 0
      var settings = VaultConfig(
        path: path, key: key, create: create && !mustBeThere, strict: strict, isTentative: true)
      settings.refusesLoss = config.refusesLoss
      if let baseVFS { settings.baseVFS = baseVFS }
      settings.storage = config.storage
      settings.kept = config.kept?.file
      let vault: Vault
      do throws(VaultFailure) { vault = try Vault.open(settings) } catch {
        throw StoreFailure(error)
      }
      do throws(StoreFailure) {
        let connection = try connect(vault, role: .writer)
        connection.keepLog(true)
        connection.members = config.members
        connection.indexesLater = config.indexesLater
        let counters: Counters
        let isOlder: Bool
        do throws(StoreFailure) {
          counters = try prepare(connection, binding: binding, cacheBytes: config.cacheBytes / 2)
          if let kept = config.kept, counters.lsn < kept.lsn { throw .vault(.replaced) }
          isOlder = counters.lsn < config.leastCommit
          if isOlder && config.refusesLoss { throw .vault(.lost) }
        } catch {
          // Before the vault, which closes after all its connections.
          connection.close()
          throw error
        }
        let store = MessageStore(
          vault: vault, connection: connection, counters: counters, config: config,
          isOlder: isOlder)
        store.readOwn(key)
        if !isTentative {
          store.accept()
          store.putBackOwn()
        }
        return store
      } catch {
        vault.refuse()
        throw error
      }
    }
  }

  /// Keeps what was opened tentatively. The first commit puts back what the file lacks.
  package func accept() {
    writer.withLock { $0.connection?.keepLog(false) }
    vault?.accept()
    settleOwn()
  }

  /// Ends what was opened tentatively.
  package func refuse() {
    if shut() { vault?.refuse() }
  }

  static func connect(
    _ vault: Vault, role: ConnectionRole
  ) throws(StoreFailure) -> Connection {
    do throws(VaultFailure) {
      return unsafe Connection(adopting: try vault.connect(role))
    } catch {
      throw StoreFailure(error)
    }
  }

  static func prepare(
    _ connection: Connection, binding: Schema.Binding, cacheBytes: UInt64
  ) throws(StoreFailure) -> Counters {
    connection.setCache(bytes: cacheBytes)
    // What a user removes must not linger in free pages, sealed as they are: who
    // has the key could read it there. Messages are rarely removed, so it is cheap.
    try connection.execute("PRAGMA secure_delete = ON")
    try connection.execute("PRAGMA temp_store = MEMORY")
    let meta = try Schema.prepare(connection, binding: binding)
    try SearchIndex(connection: connection).renewIfStale()
    connection.memo.see(meta.counters.lsn)
    connection.memo.facts = meta.facts
    return meta.counters
  }

  /// Closes all connections and the file. It waits for reads and a write that
  /// have begun; a second call does nothing.
  package func close() {
    guard shut() else { return }
    endOwn()
    vault?.close()
  }

  /// The same for a file that is to be opened again; gives what opens it. Nothing of it is held
  /// when this returns, and what is called on the store is `released`. In memory it does nothing.
  package func release() -> KeptStore? {
    guard vault?.kept != nil else { return nil }
    readers.withLock { $0.isReleased = true }
    let isEnded = shut()
    if isEnded { endOwn() }
    // It may have a new data key by now.
    defer { if isEnded { vault?.close() } }
    return vault?.kept.map { KeptStore(file: $0, lsn: lsn) }
  }

  /// It is in a file, or on a storage of the host's.
  package var isKept: Bool { vault != nil }

  /// What a call on the closed store is told.
  var ended: StoreFailure { readers.withLock { $0.isReleased ? .released : .closed } }

  /// Closes the store and destroys its file for good.
  package func wipe() throws(StoreFailure) {
    do throws(StoreFailure) { try gate.enter { () throws(StoreFailure) in try wake() } } catch {
      // What lies beside a file that is gone would be put back into the next one.
      vault?.removeOwnWithoutFile()
      close()
      throw error
    }
    guard shut() else { throw ended }
    do throws(VaultFailure) { try vault?.destroy() } catch {
      // Its lock and its keys are given up all the same, so that it can be opened again.
      vault?.close()
      throw StoreFailure(error)
    }
  }

  /// Ends every connection: false where that had been done.
  private func shut() -> Bool {
    readers.withLock { $0.isClosed = true }
    let isGivenUp = givenUp != nil
    return gate.drain {
      closeReaders()
      for copy in copies.withLock({ $0 }) { copy.end() }
      // The writer last: it alone writes the log back into the file.
      return writer.withLock { writer in
        let wasResting = resting.withLock { isResting in
          defer { isResting = false }
          return isResting
        }
        guard let connection = writer.connection else { return wasResting }
        if isGivenUp { connection.keepLog(true) }
        writer.rotation?.end()
        writer.rotation = nil
        connection.close()
        writer.connection = nil
        return true
      }
    }
  }

  // MARK: Write

  /// Runs `body` in the one write transaction and commits what it did. When it
  /// throws, nothing of it remains. Not to be nested, nor called from a read. For tests the COMMIT
  /// may be refused, as on a full disk.
  package func write<Result>(
    isRefused: Bool = false, _ body: (WriteTransaction) throws(StoreFailure) -> Result
  ) throws(StoreFailure) -> Result {
    waiting.withLock { $0 += 1 }
    return try writer.withLock { (writer) throws(StoreFailure) -> Result in
      waiting.withLock { $0 -= 1 }
      let connection = try awake(&writer)
      let transaction = WriteTransaction(
        connection, counters: writer.counters, rules: rules, positionKind: binding.positionKind,
        digest: contentDigest)
      transaction.counters.raise(to: writer.floor)
      transaction.own.index = writer.own
      try transaction.begin()
      let loss = writer.lost.flatMap { $0.isBlocked ? nil : $0 }
      var isWithoutTrace = true
      let result: Result
      do throws(StoreFailure) {
        if let loss { try putBack(loss, transaction) }
        if !writer.hasLookedForTrace, rules.traceMax == 0 {
          isWithoutTrace = try transaction.traceTable.drop()
        }
        result = try body(transaction)
        writer.counters = try transaction.commit(isRefused: isRefused)
      } catch {
        transaction.abandon()
        if error == .damaged { blockOwn(&writer) }
        throw error
      }
      writer.hasLookedForTrace = writer.hasLookedForTrace || isWithoutTrace
      if let loss {
        endLoss(loss, connection, &writer)
      } else if !transaction.own.isEmpty {
        keepTwice(transaction.own, connection, &writer)
      }
      indexed.withLock { $0 = connection.memo.indexChanges }
      return result
    }
  }

  /// The same for one of many slices of long work. The log is written back at less of it, so that
  /// none of them has much of that to do; all together have more.
  package func writeSlice<Result>(
    _ body: (WriteTransaction) throws(StoreFailure) -> Result
  ) throws(StoreFailure) -> Result {
    func setLog(_ pages: Int) {
      if vault != nil { writer.withLock { $0.connection?.setLog(pages: pages) } }
    }
    setLog(Self.sliceLogPages)
    defer { setLog(Vault.logPages) }
    return try write(body)
  }

  private static let sliceLogPages = 800

  // MARK: Read

  /// Runs `body` on one committed state, on a connection of its own: for a body beside which
  /// something is written. `failure` names the store's errors.
  package func readBeside<Result, Failure: Error>(
    failure: (StoreFailure) -> Failure,
    _ body: (ReadTransaction) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard let vault else {
      return try writer.withLock { (writer) throws(Failure) -> Result in
        guard let connection = writer.connection else { throw failure(ended) }
        return try snapshot(connection, counters: writer.counters, failure: failure, body)
      }
    }
    return try gate.enter { () throws(Failure) -> Result in
      let connection: Connection
      do throws(StoreFailure) { connection = try takeReader(vault) } catch {
        throw failure(error)
      }
      defer { giveBack(connection) }
      return try snapshot(connection, counters: nil, failure: failure, body)
    }
  }

  /// Runs `body` on one committed state; it writes nothing, here or elsewhere.
  ///
  /// While nobody writes, it has the writer's connection, which knows the newest pages: one of
  /// its own forgets all that it has decrypted with each commit. It waits for no writer, and
  /// comes after one that waits.
  package func read<Result, Failure: Error>(
    failure: (StoreFailure) -> Failure,
    _ body: (ReadTransaction) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if waiting.withLock({ $0 }) == 0 {
      var result: Result?
      // An optional of an optional of any type would be made anew at each call.
      let isFree: Bool? = try writer.withLockIfFree { (writer) throws(Failure) -> Bool in
        let connection: Connection
        do throws(StoreFailure) { connection = try awake(&writer) } catch { throw failure(error) }
        result = try snapshot(connection, counters: writer.counters, failure: failure, body)
        return true
      }
      if isFree ?? false, let result { return result }
    }
    return try readBeside(failure: failure, body)
  }

  package func read<Result>(
    _ body: (ReadTransaction) throws(StoreFailure) -> Result
  ) throws(StoreFailure) -> Result {
    try read(failure: { $0 }, body)
  }

  func snapshot<Result, Failure: Error>(
    _ connection: Connection,
    counters: Counters?,
    failure: (StoreFailure) -> Failure,
    _ body: (ReadTransaction) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let transaction = ReadTransaction(connection, positionKind: binding.positionKind)
    var isSound = false
    defer {
      // On the writer's connection only a write makes another state, and ends this one itself.
      if isSound, counters != nil { transaction.endAsItIs() } else { transaction.end() }
    }
    do throws(StoreFailure) { try transaction.beginSnapshot(counters) } catch {
      throw failure(error)
    }
    let result = try body(transaction)
    isSound = true
    return result
  }

  private func takeReader(_ vault: Vault) throws(StoreFailure) -> Connection {
    let kept = try readers.withLock { (readers) throws(StoreFailure) -> Connection? in
      guard !readers.isClosed else { throw readers.isReleased ? .released : .closed }
      return readers.idle.popLast()
    }
    if let kept { return kept }
    try wake()
    let connection = try Self.connect(vault, role: .reader)
    connection.setCache(bytes: readerCacheBytes)
    connection.members = members
    return connection
  }

  private func giveBack(_ connection: Connection) {
    let isKept = readers.withLock { readers in
      guard !readers.isClosed, readers.idle.count < Self.idleReadersMax else { return false }
      readers.idle.append(connection)
      return true
    }
    if !isKept { connection.close() }
  }

  // MARK: Keys

  /// Adds a key, or puts it in the place of another; gives its number, or nil in memory. Nobody
  /// waits while it is made slow to guess.
  package func putKey(
    _ new: NewSlot, replacing number: Int?
  ) throws(StoreFailure) -> Int? {
    guard let vault else { return nil }
    let slot: PreparedSlot
    do throws(VaultFailure) { slot = try vault.slot(for: new) } catch { throw keyFailure(error) }
    return try changingKeys { () throws(VaultFailure) in try vault.put(slot, replacing: number) }
  }

  /// False in memory.
  package func removeKey(_ number: Int) throws(StoreFailure) -> Bool {
    guard let vault else { return false }
    try changingKeys { () throws(VaultFailure) in try vault.removeSlot(number) }
    return true
  }

  private func changingKeys<Result>(
    _ body: () throws(VaultFailure) -> Result
  ) throws(StoreFailure) -> Result {
    try gate.enter { () throws(StoreFailure) in
      try wake()
      do throws(VaultFailure) { return try body() } catch { throw keyFailure(error) }
    }
  }

  /// What the key slots say; nil in memory.
  package func keySlots() throws(StoreFailure) -> [SlotView]? {
    guard let vault else { return nil }
    do throws(VaultFailure) { return try vault.slots() } catch { throw keyFailure(error) }
  }

  private func keyFailure(_ failure: VaultFailure) -> StoreFailure {
    readers.withLock { $0.isClosed } ? ended : StoreFailure(failure)
  }

  // MARK: State

  /// Returns when everything committed so far is on disk.
  package func syncDurable() throws(StoreFailure) {
    guard let vault else { return }
    try gate.enter { () throws(StoreFailure) in
      guard !readers.withLock({ $0.isClosed }) else { throw ended }
      do throws(VaultFailure) { try vault.syncLog() } catch { throw StoreFailure(error) }
      vault.syncOwn()
    }
  }

  /// The sequence number of the last commit.
  package var lsn: UInt64 { writer.withLock { $0.counters.lsn } }

  /// The newest commit that is known to be on disk; 0 where that is not known yet, and in memory.
  package var syncedCommit: UInt64 {
    writer.withLock { writer in
      if vault?.isAllSynced ?? false { writer.synced = writer.counters.lsn }
      return writer.synced
    }
  }

  /// The number of the newest entry of the change feed.
  package var lastChange: UInt64 { writer.withLock { $0.counters.lastChange } }

  /// How often the index of words has followed what was committed since the opening.
  package var indexChanges: UInt64 { indexed.withLock { $0 } }

  /// There was no file before.
  package var isMade: Bool { vault?.isMade ?? true }

  /// The form of the tables.
  package var schemaVersion: Int64 { Schema.version }

  /// Log frames that were rejected at the opening: a lost tail.
  package var rejectedFrames: UInt32 { vault?.rejectedFrames ?? 0 }

  /// At the opening the log was missing, or cut, or another one.
  package var isLogLost: Bool { vault?.isLogLost ?? false }

  /// Tells contents apart.
  var contentDigest: ContentDigest { ContentDigest(vault: vault) }

  /// Why a storage of the host's is not to be used any more; nil for a file and in memory.
  package var givenUp: StoreFailure? {
    guard let failure = vault?.givenUp else { return nil }
    return StoreFailure(failure)
  }

  /// Own work that lies beside the file is to be put back.
  package var lacksOwnWork: Bool { writer.withLock { $0.lost != nil } }

  /// Size of the file with all that lies beside it; 0 in memory.
  package var fileBytes: UInt64 { vault?.fileBytes ?? 0 }
}
