/// One input of a conversation that a server keeps as a log: what is known of it is read, changed,
/// and written, in one transaction.
///
/// Rule protected: entries, ranges, tokens, the rows that a screen reads, what is whole, and what
/// is pending for the server change together. The log alone decides what is proven; nothing here
/// compares a time.
internal import Base
internal import Store
internal import Timeline
internal import Wire

/// What an input of a log changes in memory, once its transaction is committed.
struct LogEffects {
  var cid: Int64 = 0
  var conversation: [UInt8] = []
  /// The book knows of this connection.
  var isConnected = false
  /// The token behind the log, where that is empty.
  var emptyEnd: [UInt8]?
  /// What is as of now where a page or a push of this connection showed it.
  var fresh = SpanSet()
  var inserted = 0
  var removed = 0
  var duplicates = 0
  var quarantined = 0
  var aside = SetAside()
  var sawClientID = false
  var queuedMarks = false
  /// Something stands apart: a catch-up has to say where.
  var needsCatchUp = false
}

struct LogInput {
  let memory: SyncMemory
  let rules: IngestRules
  let tx: WriteTransaction
  var record: ConversationRecord
  var book: LogBook<LogRows>
  var effects = LogEffects()
  private var known: LogShape

  init(
    _ memory: SyncMemory, _ rules: IngestRules, of record: ConversationRecord,
    in tx: WriteTransaction
  ) throws(StoreFailure) {
    self.memory = memory
    self.rules = rules
    self.tx = tx
    self.record = record
    known = try LogRanges(tx).load(record.cid)
    var profile = memory.server.profile.log ?? LogProfile()
    profile.othersEdit = memory.server.profile.othersEdit
    book = LogBook(
      table: LogRows(tx, record.cid), ranges: known.ranges, facts: known.facts, profile: profile)
    effects.cid = record.cid
    effects.conversation = record.id
    effects.fresh = memory.fresh[record.cid]
    if memory.logs.mustConnect(record.cid) {
      book.connected()
      effects.isConnected = true
    } else {
      book.emptyEnd = memory.logs.emptyEnd(of: record.cid)
      effects.emptyEnd = book.emptyEnd
    }
  }

  // MARK: What is heard

  /// Takes a push. What does not come by the connection, or not for the first time, proves nothing
  /// of its place.
  mutating func take(
    _ push: EntryPush, from ingest: Ingest, isFirst: Bool, offer: RowFlags
  ) throws(StoreFailure) -> LogEntries {
    let entries = try LogEntries(
      push.items, from: ingest, of: record, in: book.table, offer: offer)
    try noteUnknownDeletions(entries)
    let runs = entries.entries.split(separator: nil).map { $0.compactMap { $0 } }
    for (index, run) in runs.enumerated() {
      let isLowest = index == 0 && entries.entries.first.map { $0 != nil } ?? false
      let isHighest = index == runs.indices.last && entries.entries.last.map { $0 != nil } ?? false
      try book.take(
        LogPush(
          entries: run, previous: isLowest ? push.previous : nil,
          before: isLowest ? push.before : nil, after: isHighest ? push.after : nil,
          isFirst: isFirst && isLowest), behind: runs[..<index].last?.last?.id)
    }
    if runs.isEmpty || entries.hasHoles { effects.needsCatchUp = true }
    return entries
  }

  /// What is told to be deleted and is not stored may be among the unread ones that were counted.
  func noteUnknownDeletions(_ entries: LogEntries) throws(StoreFailure) {
    for case let entry? in entries.entries {
      guard case .delete? = entry.change?.kind, let target = entry.change?.target,
        try book.table.row(entry.id) == nil, try book.table.row(target) == nil
      else { continue }
      return try tx.unreadTable.noteUnreadUnknown(record.cid)
    }
  }

  // MARK: The end of an input

  /// Writes what changed.
  ///
  /// - Parameters:
  ///   - listed: what a page showed, whose copies count also where they are not new.
  ///   - news: which messages are new to this device, and which are not.
  mutating func finish(
    _ entries: LogEntries? = nil, frame: [UInt8] = [], marksRead: Bool = false,
    listed: [[UInt8]]? = nil, arrivals: [[UInt8]: IncomingMessage] = [:],
    news: [[UInt8]: RowFlags] = [:]
  ) throws(StoreFailure) {
    var step = book.takeStep()
    let cid = record.cid
    for id in news.keys {
      // What is stored already, and nobody knew of it whether it is new.
      guard let row = try tx.row(id, cid), row.flags.isDisjoint(with: [.offered, .history]) else {
        continue
      }
      step.touched.append(id)
    }
    let projection = LogProjection(tx, cid)
    let written = try projection.write(
      step, of: book, arrivals: entries?.arrivals ?? arrivals, news: news)
    effects.inserted = written.inserted.count
    effects.removed = written.removed
    effects.needsCatchUp = effects.needsCatchUp || step.needsCatchUp
    if let entries {
      effects.sawClientID = entries.sawClientID
      effects.duplicates = max(0, entries.arrivals.count &- written.inserted.count)
      try setAside(entries, frame)
      try note(entries.receipts)
    }
    try queueMarks(written.inserted, marksRead: marksRead)
    try saveFacts()
    try projection.writeSpans(of: book)
    noteTop(entries)
    try tx.save(record)
    effects.fresh = try fresh(step, shown: listed ?? step.inserted)
    effects.emptyEnd = book.emptyEnd
    if !memory.server.profile.isPlanted(.answeredStaysOpen) {
      try LogSends(tx, cid).settle(by: book)
    }
  }

  /// Writes what is known beside the entries, as the number of the request that is next.
  mutating func saveFacts() throws(StoreFailure) {
    let shape = LogShape(ranges: book.ranges, facts: book.facts)
    try LogRanges(tx).save(shape, replacing: known, in: record.cid)
    known = shape
  }

  /// Each message is written once, however many have read it.
  private mutating func note(_ receipts: [LogReceipt]) throws(StoreFailure) {
    var users: [[UInt8]: [ReceiptKind: [[UInt8]]]] = [:]
    var order: [[UInt8]] = []
    for receipt in receipts {
      if users[receipt.message] == nil { order.append(receipt.message) }
      users[receipt.message, default: [:]][receipt.kind, default: []].append(receipt.user)
    }
    for id in order {
      let kinds = users[id] ?? [:]
      let mine = kinds.filter { $0.value.contains(rules.user) }.keys
      _ = try tx.annotationTable.receipts(
        kinds, of: id, in: record.cid, areMine: Set(mine))
    }
  }

  /// Keeps what could not be read, and hides the places of those that have any.
  private mutating func setAside(_ entries: LogEntries, _ frame: [UInt8]) throws(StoreFailure) {
    for bad in entries.bad {
      effects.quarantined &+= 1
      effects.aside.note(bad.reason)
      var (low, high) = (Position.min, Position.min)
      if let id = bad.id, let row = try book.table.row(id), row.entry.isUnreadable {
        low = Position(place: row.place, id: id)
        high = low.successor
      }
      try tx.quarantineTable.quarantine(
        record.cid, bytes: Array(frame[bad.range]), reason: bad.reason, low: low, high: high)
      if low != .min { try tx.quarantineTable.seeQuarantine(record.cid, low: low, high: high) }
    }
  }

  /// Queues the marks of new messages for the server.
  private mutating func queueMarks(_ inserted: [Position], marksRead: Bool) throws(StoreFailure) {
    for position in inserted {
      if rules.autoMarkDelivered,
        try tx.annotationTable.enqueueMark(.delivered, id: position.id, in: record.cid)
      {
        effects.queuedMarks = true
      }
      if marksRead, try tx.annotationTable.enqueueMark(.read, id: position.id, in: record.cid) {
        effects.queuedMarks = true
      }
    }
  }

  /// Where the range that reached the present ends is the watermark; while none has, it lies above
  /// all that there is. Its text is the newest time that was read.
  private mutating func noteTop(_ entries: LogEntries?) {
    guard !book.ranges.isEmpty || book.facts.empty != nil else { return }
    var place = Place.max
    if let newest = book.newest {
      place = book.ranges[newest].high
    } else if book.ranges.isEmpty {
      place = .min
    }
    record.fetch = ContentMark(
      newest: .before(place), text: entries?.stamp?.text ?? record.fetch?.text ?? [])
  }
}

/// What this process knows of logs beside the file. It may be lost.
struct LogConnections {
  /// Conversations whose log book knows of this connection.
  private var connected: Set<Int64> = []
  /// The tokens behind logs that are empty.
  private var emptyEnds: [Int64: [UInt8]] = [:]
  private var isUp = false

  func mustConnect(_ cid: Int64) -> Bool { isUp && !connected.contains(cid) }

  mutating func noteConnected(_ cid: Int64) { connected.insert(cid) }

  func emptyEnd(of cid: Int64) -> [UInt8]? { emptyEnds[cid] }

  mutating func note(emptyEnd: [UInt8]?, of cid: Int64) { emptyEnds[cid] = emptyEnd }

  mutating func connect() {
    removeAll()
    isUp = true
  }

  mutating func disconnect() { isUp = false }

  mutating func remove(_ cid: Int64) {
    connected.remove(cid)
    emptyEnds[cid] = nil
  }

  mutating func removeAll() { (connected, emptyEnds) = ([], [:]) }
}
