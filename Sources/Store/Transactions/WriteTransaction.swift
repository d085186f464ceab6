/// The one write transaction: everything that an input changes.
///
/// It reads like any other transaction and sees its own changes. What belongs
/// together by a rule of the store is done here and cannot be forgotten by who
/// calls: the sequence number, the feed entries, the counts.
internal import Base

package final class WriteTransaction: ReadTransaction {
  let rules: StoreRules
  /// For what is stored of contents.
  let digest: ContentDigest
  let before: Counters
  var counters: Counters
  /// Feed entries of this commit, in runs.
  var feed = FeedRuns()
  var asked = AskedOnce()
  /// What is to be kept twice.
  var own = OwnChanges()
  /// Pushes have arrived in order and without a loss since this commit; nil where the content may
  /// be older, as that of an answer.
  package var receivedSince: UInt64?
  /// Whether what goes out is sealed, and whether an edit that followed by itself is to be.
  package var seals = false
  /// The rank of the row that the last copy was applied to, and whether the copy is another message
  /// than the one that is stored under its id.
  package var applied = (rank: 0, isAnother: false)
  package internal(set) var mustSeal = false
  package var counting = UnreadCommit()
  var inserted = InsertedRows()
  /// What was changed of conversations and is not yet written.
  var changed = SmallDictionary<Int64, ConversationChange>()
  /// What is known of the server, where that changed: it goes into the row that counts.
  var changedFacts: ServerFacts?

  init(
    _ connection: Connection, counters: Counters, rules: StoreRules, positionKind: Int64,
    digest: ContentDigest
  ) {
    self.rules = rules
    self.digest = digest
    before = counters
    self.counters = counters
    if rules.traceMax > 0 { feed.trace = TraceNotes(max: rules.traceMax) }
    super.init(connection, positionKind: positionKind)
    // Numbers end long after the sun; wrapping keeps a damaged file from trapping.
    self.counters.lsn = counters.lsn &+ 1
  }

  /// Operations that the file had lost, and this commit has put back before all else.
  package var putBack: [UInt64] { own.putBack }

  /// The user of the file, for the read marks of this device.
  var user: [UInt8] { rules.user }

  override func changedTally(_ cid: Int64) -> UnreadCounters? { changed.value(cid)?.tally }

  override func changedRecord(_ cid: Int64) -> ConversationRecord? { changed.value(cid)?.record }

  override func knownOperation(_ seq: UInt64) throws(StoreFailure) -> OperationRecord? {
    _ = try connection
    return asked.operation.flatMap { $0.seq == seq ? $0 : nil }
  }

  override func know(_ operation: OperationRecord) {
    // A mark goes with its message.
    if !operation.verb.isMark { asked.operation = operation }
  }

  override func changedCount(_ cid: Int64) -> Int64 { changed.value(cid)?.count ?? 0 }

  override func recentRefs() -> InlineRefs { counters.recentRefs }

  override func kept() -> LastChangedState? { counters.kept }

  package override func facts() throws(StoreFailure) -> ServerFacts {
    if let changedFacts { return changedFacts }
    return try super.facts()
  }

  /// The sequence number that this commit will have.
  package override var lsn: UInt64 { counters.lsn }

  /// Marks the feed entries and events that follow as silent.
  package var isSilent: Bool {
    get { feed.isSilent }
    set { feed.isSilent = newValue }
  }

  /// Where what is written comes from, for the feed.
  package var origin: ChangeOrigin {
    get { feed.origin }
    set { feed.origin = newValue }
  }

  /// A trace is kept.
  package var isTraced: Bool { feed.trace != nil }

  /// The same for a trace.
  package func setSource(_ source: TraceSource) { feed.trace?.source = source }

  func begin() throws(StoreFailure) {
    hasBegun = true
    // A read that went before was left open.
    try connection.rollBack()
    try connection.runNoted("BEGIN IMMEDIATE")
    asked.changesAtBegin = try connection.totalChanges
    recall(before.lsn)
    memo?.inserted = InsertedRows()
  }

  /// Ends without effect, also after a failed commit.
  func abandon() {
    memo?.invalidate()
    end()
  }

  /// Writes what was gathered and commits. Where nothing was written nothing is
  /// committed and the sequence number is not used.
  func commit(isRefused: Bool = false) throws(StoreFailure) -> Counters {
    let connection = try connection
    let index = SearchIndex(connection: connection)
    // The counter wraps; as many rows no transaction writes.
    let rows = Int64(clamping: connection.totalChanges &- asked.changesAtBegin)
    if rows != 0, index.isOn, try index.indexCommit(rows: Swift.max(rows, 0)) {
      memo?.indexChanges &+= 1
    }
    try unreadTable.settle()
    try flushConversations()
    try feedTable.flushFeed()
    if isTraced { try traceTable.flush() }
    let isNoted =
      counters.lastChange != before.lastChange || counters.recentRefs != before.recentRefs
      || changedFacts != nil || counters.kept !== before.kept
    guard isNoted || connection.totalChanges != asked.changesAtBegin else {
      end()
      return before
    }
    try mustHaveGrown()
    try settleOwn()
    try flushMeta()
    if isRefused { throw .full }
    try connection.run("COMMIT")
    memo?.hold(counters.lsn)
    if let changedFacts { memo?.facts = changedFacts }
    memo?.inserted = inserted
    endAsItIs()
    return counters
  }

  private func settleOwn() throws(StoreFailure) {
    if own.isEmpty { return }
    var changes = own
    try changes.settle(self)
    own = changes
    if !changes.units.isEmpty || changes.isPutBack {
      counters.own = OwnStamp(lsn: counters.lsn, opening: counters.opening)
    }
  }

  /// What counts never goes back: numbers, once given, are never given again.
  private func mustHaveGrown() throws(StoreFailure) {
    try ensure(counters.lsn > before.lsn, "a commit without a number", or: StoreFailure.broken)
    try ensure(
      counters.lastNumber >= before.lastNumber && counters.lastOperation >= before.lastOperation,
      "a number that was given is free again", or: StoreFailure.broken)
    try ensure(
      counters.lastChange >= before.lastChange && counters.trimmedChange >= before.trimmedChange
        && counters.trimmedChange <= counters.lastChange,
      "the feed goes back, or ends before it begins", or: StoreFailure.broken)
  }

  /// A local number for a new message.
  func nextNumber() -> UInt64 {
    counters.lastNumber &+= 1
    return counters.lastNumber
  }

  // MARK: Who writes what

  package var annotationTable: AnnotationTable { AnnotationTable(tx: self) }
  package var feedTable: FeedTable { FeedTable(tx: self) }
  /// The rows of conversations themselves.
  var conversationTable: ConversationTable {
    get throws(StoreFailure) { ConversationTable(try connection) }
  }
  package var operationTable: OperationTable { OperationTable(tx: self) }
  var ownTable: OwnTable { OwnTable(tx: self) }
  package var quarantineTable: QuarantineTable { QuarantineTable(tx: self) }
  package var rankTable: RankTable { RankTable(tx: self) }
  var traceTable: TraceTable { TraceTable(tx: self) }
  package var unreadTable: UnreadTable { UnreadTable(tx: self) }
}
