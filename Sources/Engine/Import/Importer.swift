/// Taking in an older cache: messages of a file of the host's.
///
/// Rule protected: what is imported claims nothing. Its rows are detached, with gaps around them
/// until the server shows them; a row that a whole answer does not show goes, and speaks for no
/// restore. What the server has told, and what it has deleted, stays as it is. How far an import is
/// stands in the transaction of what it took.
package import Base
internal import Store
internal import Timeline
internal import Wire

package struct Importer {
  let client: Client

  package init(_ client: Client) { self.client = client }

  /// The work that takes it in, from where an earlier one of the name has ended.
  package func start(_ source: ImportSource) throws(Failure) -> Work {
    try client.ensureOpen()
    try client.check(source.name)
    if !source.conversation.isEmpty { try client.check(source.conversation) }
    if source.beginsAnew {
      try client.input { engine, _ throws(Failure) in
        try engine.storing { () throws(StoreFailure) in
          try engine.commit { tx throws(StoreFailure) in
            try ImportTable(tx).remove(source.name)
          }
        }
      }
    } else if let known = try record(source.name) {
      _ = try known.place(source)
    }
    return Work(client, ImportWork(client, source))
  }

  /// How far one is; nil where nothing is known of it.
  package func status(_ name: [UInt8]) throws(Failure) -> ImportStatus? {
    try record(name).map { ImportStatus($0) }
  }

  func record(_ name: [UInt8]) throws(Failure) -> ImportRecord? {
    try client.check(name)
    return try client.reading { reading throws(Failure) in
      try reading.storing { rx throws(StoreFailure) in try ImportTable(rx).record(name) }
    }
  }

  /// Lines of no use behind a number, and why; the first 10,000 of an import are known.
  package func bad(
    _ name: [UInt8], after number: UInt64, limit: Int
  ) throws(Failure) -> [(number: UInt64, reason: StaticText)] {
    try client.check(name)
    guard (1...Limits.readRowsMax).contains(limit) else {
      throw .invalid("limit is not between 1 and 10,000")
    }
    let lines = try client.reading { reading throws(Failure) in
      try reading.storing { rx throws(StoreFailure) in
        try ImportTable(rx).bad(name, after: Int64(clamping: number), limit: limit)
      }
    }
    return lines.map { line in
      let reason = BadItem.all.first { $0.code == line.reason }
      return (UInt64(clamping: line.number), reason?.text ?? "a reason of a later version")
    }
  }

  /// Takes some of it in, in one transaction. False where the file does not have `before`: all was
  /// cleared, or another work of the name went on, and nothing is taken.
  fileprivate func take(
    _ items: [ImportItem], of source: ImportSource, after before: ImportRecord?,
    to record: inout ImportRecord
  ) throws(Failure) -> Bool {
    var result = record
    let isTaken = try client.input { engine, _ throws(Failure) in
      engine.source = ChangeSource(.imported)
      defer { engine.source = ChangeSource() }
      let logs = try engine.storing { () throws(StoreFailure) in
        try engine.commit { tx throws(StoreFailure) -> [LogEffects]? in
          guard try ImportTable(tx).record(source.name) == before else { return nil }
          if let before, before.state == ItemSplitter.State.begun.rawValue {
            // It is read again, and named again where it is of no use still.
            try ImportTable(tx).clearBad(before.lines &+ 1, of: source.name)
            result.bad &-= 1
          }
          // No delivered mark is sent for them.
          let rules = IngestRules(
            user: engine.config.user, autoMarkDelivered: false,
            scheme: engine.scheme, matchesPayloads: false, learnsTies: false,
            tiesAreByArrival: false)
          var slice = ImportSlice(rules, source, tx)
          for item in items { try slice.take(item) }
          let logs = try slice.finishLogs(engine.memory)
          let room = max(0, Int64(clamping: Limits.importBadMax) &- result.bad)
          result.inserted &+= slice.inserted
          result.known &+= slice.known
          result.bad &+= Int64(clamping: slice.bad.count)
          try ImportTable(tx).save(result, Array(slice.bad.prefix(Int(clamping: room))))
          return logs
        }
      }
      for log in logs ?? [] { engine.note(log) }
      return logs != nil
    }
    if isTaken { record = result }
    return isTaken
  }
}

extension ImportRecord {
  /// Where the source goes on; a name has one form.
  fileprivate func place(_ source: ImportSource) throws(Failure) -> ItemSplitter.State {
    guard let place = ItemSplitter.State(rawValue: state), place.isOfLines != source.isArray else {
      throw .invalid("an import of this name has another form")
    }
    return place
  }
}

extension ItemSplitter.Fault {
  fileprivate var failure: Failure {
    switch self {
    case .noArray: .invalid("the source is no JSON array")
    case .isCut: .cut("the source is over before its array ends")
    case .goesOn: .invalid("the source goes on behind the end of its array")
    }
  }
}

extension ImportStatus {
  fileprivate init(_ record: ImportRecord) {
    lines = UInt64(clamping: record.lines)
    inserted = UInt64(clamping: record.inserted)
    known = UInt64(clamping: record.known)
    bad = UInt64(clamping: record.bad)
    offset = UInt64(clamping: record.offset)
    isDone = record.isDone
  }
}

/// One message of an import, read.
struct ImportItem {
  let number: UInt64
  let bytes: [UInt8]
  let item: PageItem
}

/// The messages of one transaction.
struct ImportSlice {
  let rules: IngestRules
  let source: ImportSource
  let tx: WriteTransaction
  var inserted: Int64 = 0
  var known: Int64 = 0
  var bad: [BadLine] = []
  private var records: [[UInt8]: ConversationRecord] = [:]
  /// What goes into logs, by conversation.
  private var copies: [[UInt8]: [IncomingMessage]] = [:]

  init(_ rules: IngestRules, _ source: ImportSource, _ tx: WriteTransaction) {
    self.rules = rules
    self.source = source
    self.tx = tx
  }

  mutating func take(_ item: ImportItem) throws(StoreFailure) {
    switch item.item {
    case .bad(_, let reason): note(reason, item)
    case .message(let message): try take(message, item)
    }
  }

  private mutating func note(_ reason: BadItem, _ item: ImportItem) {
    bad.append(BadLine(number: Int64(clamping: item.number), reason: reason.code))
  }

  private mutating func take(_ message: WireMessage, _ item: ImportItem) throws(StoreFailure) {
    guard
      let name = message.conversation ?? (source.conversation.isEmpty ? nil : source.conversation)
    else { return note(.badConversation, item) }
    try rules.scheme.history.take(imported: message, item, named: name, &self)
  }

  mutating func insert(
    _ message: WireMessage, _ item: ImportItem, _ name: [UInt8]
  ) throws(StoreFailure) {
    guard let order = rules.scheme.order(of: message) else {
      return note(.noSequence, item)
    }
    let record = try record(name)
    // The server's own copy counts.
    if let row = try tx.row(message.id, record.cid), !row.flags.contains(.imported) {
      known &+= 1
      return
    }
    var flags: RowFlags = .imported
    if source.isRead { flags.insert(.readByMe) }
    let payload = opened(message, item, flags)
    var ingest = Ingest(
      rules, frame: item.bytes, opened: [], issued: 0, autoMarkRead: false)
    ingest.offer = .above(.max)
    var result = Ingested()
    try ingest.one(
      message, order: order, payload: payload, of: record, result: &result, in: tx)
    if result.insertedAt.isEmpty {
      known &+= 1
    } else {
      inserted &+= 1
      for place in result.insertedAt { try unclaim(place, in: record.cid) }
    }
  }

  /// The payload, which the host has opened. One for machines is shown nowhere.
  private func opened(
    _ message: WireMessage, _ item: ImportItem, _ flags: RowFlags
  ) -> OpenedPayload {
    let payload = Array(item.bytes[message.payload])
    return OpenedPayload(
      payload: payload, flags: hasControlMember(payload) ? flags.union(.control) : flags)
  }

  /// A log gives it a place with the others of its slice.
  mutating func keep(
    _ message: WireMessage, _ item: ImportItem, _ name: [UInt8]
  ) throws(StoreFailure) {
    let record = try record(name)
    var flags: RowFlags = [.imported, .history]
    if source.isRead { flags.insert(.readByMe) }
    let payload = opened(message, item, flags)
    let ingest = Ingest(rules, frame: item.bytes, opened: [], issued: 0, autoMarkRead: false)
    copies[record.id, default: []].append(ingest.incoming(message, payload: payload))
  }

  /// Writes what goes into logs; what it changes in memory.
  mutating func finishLogs(_ memory: SyncMemory) throws(StoreFailure) -> [LogEffects] {
    var effects: [LogEffects] = []
    for name in Array(copies.keys).inByteOrder() {
      var input = try LogInput(memory, rules, of: try record(name), in: tx)
      let all = copies[name] ?? []
      let taken = try input.take(imported: all)
      inserted &+= Int64(clamping: taken)
      known &+= Int64(clamping: all.count &- taken)
      effects.append(input.effects)
    }
    return effects
  }

  /// The server has shown what stands there, and this was not in it: a gap until it is asked.
  private func unclaim(_ place: Position, in cid: Int64) throws(StoreFailure) {
    let stored = try tx.spans(cid)
    guard stored.holds(place) else { return }
    let before = try tx.rows(cid, from: .min, to: place, limit: 1, newestFirst: true).first
    let behind = try tx.rows(cid, from: place.successor, to: .max, limit: 1, newestFirst: false)
      .first
    var spans = stored
    spans.remove(
      before?.position.successor ?? .min, behind?.position ?? place.successor)
    spans.keepNewest(Limits.spansMax)
    try tx.save(spans: spans, replacing: stored, in: cid)
  }

  private mutating func record(_ name: [UInt8]) throws(StoreFailure) -> ConversationRecord {
    if let record = records[name] { return record }
    let record = try tx.conversation(creating: name)
    records[name] = record
    return record
  }
}

/// An import in steps.
private final class ImportWork: WorkBody {
  private let client: Client
  private let source: ImportSource
  private let kept: Lock<State?>
  /// As of the last step.
  private let seen = Lock(WorkProgress(done: 0, total: 0, isDone: false))

  /// How far it is, as the file has it, and what was read behind that.
  private struct State {
    var record: ImportRecord?
    /// What the file has; nil where it knows no import of the name.
    var stored: ImportRecord?
    var splitter = ItemSplitter(.lines)
    var bytes: ArraySlice<UInt8> = []
    var isOver = false
  }

  init(_ client: Client, _ source: ImportSource) {
    self.client = client
    self.source = source
    kept = Lock(State())
  }

  func step() throws(Failure) -> Bool {
    let taken = kept.withLock { kept in
      defer { kept = nil }
      return kept
    }
    guard var state = taken else { throw .invalid("a step of this import is under way") }
    do throws(Failure) {
      let isDone = try step(&state)
      kept.withLock { $0 = state }
      return isDone
    } catch {
      // It goes on from what the file has.
      kept.withLock { $0 = State() }
      throw error
    }
  }

  private func step(_ state: inout State) throws(Failure) -> Bool {
    var record: ImportRecord
    if let known = state.record { record = known } else { record = try begin(&state) }
    if !record.isDone {
      var items: [ImportItem] = []
      // What holds no message counts as well: a step ends whatever it has read.
      let end = state.splitter.next &+ UInt64(clamping: Limits.importBytesMax)
      while items.count < Limits.importItemsMax, let item = try next(&state, before: end) {
        items.append(item)
      }
      record.offset = Int64(clamping: state.splitter.offset)
      record.lines = Int64(clamping: state.splitter.number)
      record.state = state.splitter.state.rawValue
      record.isDone = state.isOver && state.splitter.fault == nil
      if !items.isEmpty || record != state.stored {
        let isTaken = try Importer(client).take(
          items, of: source, after: state.stored, to: &record)
        guard isTaken else {
          // It goes on from what the file has.
          state = State()
          return false
        }
        state.stored = record
      }
      // What there was before it is taken, and stays.
      if let fault = state.splitter.fault { throw fault.failure }
    }
    state.record = record
    // Of a line that has no end yet the file has nothing, and it goes on in the next step.
    let (done, isDone) = (state.splitter.next, record.isDone)
    let total = isDone ? done : max(source.size, done)
    seen.withLock { $0 = WorkProgress(done: done, total: total, isDone: isDone) }
    return isDone
  }

  private func begin(_ state: inout State) throws(Failure) -> ImportRecord {
    let form: ItemSplitter.State = source.isArray ? .opening : .lines
    state.stored = try Importer(client).record(source.name)
    guard let record = state.stored else {
      state.splitter = ItemSplitter(form)
      var record = ImportRecord(name: source.name)
      record.state = form.rawValue
      return record
    }
    state.splitter = ItemSplitter(
      try record.place(source), offset: UInt64(clamping: record.offset),
      number: UInt64(clamping: record.lines))
    // Lines may have been added since.
    var found = record
    if !source.isArray { found.isDone = false }
    return found
  }

  /// The next message; nil where the source is over, or is none, or was read to a place.
  private func next(_ state: inout State, before end: UInt64) throws(Failure) -> ImportItem? {
    while !state.isOver, state.splitter.fault == nil, state.splitter.next < end {
      if state.bytes.isEmpty {
        let bytes = try source.read(state.splitter.next, Self.chunk)
        if bytes.isEmpty {
          state.isOver = true
          var last: ImportItem?
          _ = state.splitter.end { item in
            let found = read(item)
            last = found
            if case .message = found.item { return true }
            return false
          }
          return last
        }
        state.bytes = bytes[...]
      }
      let (item, count) = state.splitter.take(state.bytes)
      state.bytes = state.bytes.dropFirst(count)
      if let item { return read(item) }
    }
    return nil
  }

  private static let chunk = 65_536

  private func read(_ item: ItemSplitter.Item) -> ImportItem {
    let found: PageItem =
      item.isTooLong || item.isSpoiled
      ? .bad(0..<0, item.isSpoiled ? .notJSON : .tooLarge)
      : readLine(item.bytes, zoneOffsetMinutes: client.config.profile.zoneOffsetMinutes)
    return ImportItem(number: item.number, bytes: item.bytes, item: found)
  }

  func progress() throws(Failure) -> WorkProgress { seen.withLock { $0 } }
}
