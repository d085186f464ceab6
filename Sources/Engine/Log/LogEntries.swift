/// From the entries of a frame to what the log takes, and to what the store keeps of each.
///
/// An entry that cannot be read keeps its place. One whose id cannot be read either is a hole, and
/// the entries on its two sides are told as two pages.
internal import Base
internal import Store
internal import Timeline
internal import Wire

/// What a frame of a log brought.
struct LogEntries {
  /// In their order; nil for a hole.
  private(set) var entries: [LogEntry?] = []
  /// The messages, with what each copy says of how it came.
  private(set) var arrivals: [[UInt8]: IncomingMessage] = [:]
  private(set) var receipts: [LogReceipt] = []
  private(set) var bad: [LogBadEntry] = []
  /// Who has said something.
  private(set) var senders: [[UInt8]] = []
  private(set) var sawClientID = false
  /// The newest time that was read, as the server printed it.
  private(set) var stamp: Stamp?

  var hasHoles: Bool { entries.contains { $0 == nil } }

  /// - Parameter offer: what the store is to know of new messages; of those of a page `LogNews`
  ///   says it later.
  init(
    _ items: [EntryItem], from ingest: Ingest, of record: ConversationRecord, in rows: LogRows,
    offer: RowFlags = []
  ) throws(StoreFailure) {
    var opened = ingest.opened
    for item in items {
      switch item {
      case .message(let message):
        let payload = opened.popFirst()
        guard let payload, message.conversation == nil || message.conversation == record.id else {
          try keepPlace(of: message.id, message.object, BadItem.wrongConversation.code, rows)
          continue
        }
        take(message, payload, ingest, offer)
      case .change(let change):
        if let conversation = change.conversation, conversation != record.id {
          if case .edit = change.kind, change.target != nil { _ = opened.popFirst() }
          try keepPlace(of: change.id, change.object, BadItem.wrongConversation.code, rows)
          continue
        }
        take(change, &opened, ingest)
      case .unreadable(let id, let range, let reason):
        try keepPlace(of: id, range, BadItem.code(of: reason), rows)
      case .hole(let range, let reason):
        entries.append(nil)
        bad.append(LogBadEntry(id: nil, range: range, reason: BadItem.code(of: reason)))
      }
    }
  }

  private mutating func note(_ stamp: Stamp) {
    if self.stamp.map({ $0.timeUs <= stamp.timeUs }) ?? true { self.stamp = stamp }
  }

  private mutating func take(
    _ message: WireMessage, _ payload: OpenedPayload, _ ingest: Ingest, _ offer: RowFlags
  ) {
    var copy = ingest.incoming(message, payload: payload)
    copy.digest = payload.digest
    copy.searchable = payload.searchable
    copy.flags.formUnion(offer)
    if copy.flags.contains(.mine) {
      copy.clientID = message.clientID
      sawClientID = sawClientID || message.clientID != nil
      if message.clientID == nil, ingest.rules.matchesPayloads {
        copy.sentPayload = Array(ingest.frame[message.payload])
      }
    }
    entries.append(
      LogEntry(
        id: message.id, sender: message.sender, timeUs: message.stamp.timeUs,
        isDeleted: message.deleted,
        edited: message.edited ? .unnamed : .no, content: LogBody.packed(copy)))
    arrivals[message.id] = copy
    senders.append(message.sender)
    note(message.stamp)
  }

  private mutating func take(
    _ change: WireChange, _ opened: inout ArraySlice<OpenedPayload>, _ ingest: Ingest
  ) {
    var content: [UInt8] = []
    let kind: LogChange.Kind
    switch change.kind {
    case .edit:
      kind = .edit
      if change.target != nil, let payload = opened.popFirst() {
        var copy = IncomingMessage(
          id: change.id, sender: change.sender ?? [], timeUs: change.stamp?.timeUs ?? 0,
          stamp: change.stamp?.text ?? [], payload: payload.payload, flags: payload.flags,
          editedUs: change.stamp?.timeUs, raw: payload.sealed)
        copy.digest = payload.digest
        copy.searchable = payload.searchable
        content = LogBody.packed(copy)
      }
    case .delete: kind = .delete
    case .react(let reaction): kind = .react(reaction)
    case .unreact(let reaction): kind = .unreact(reaction)
    case .reactions(let all): kind = .reactions(all)
    case .pin: kind = .pin
    case .unpin: kind = .unpin
    case .moderate: kind = .moderate
    case .read, .delivered, .listened, .none: kind = .none
    }
    if let receipt = LogReceipt(change) { receipts.append(receipt) }
    entries.append(
      LogEntry(
        id: change.id, change: LogChange(kind, of: change.target, by: change.sender ?? []),
        timeUs: change.stamp?.timeUs, isDeleted: change.isDeleted, content: content))
    if let stamp = change.stamp { note(stamp) }
  }

  /// A copy that cannot be read takes nothing from one that could.
  private mutating func keepPlace(
    of id: [UInt8], _ range: Range<Int>, _ reason: Int64, _ rows: LogRows
  ) throws(StoreFailure) {
    let known = try rows.row(id)?.entry
    entries.append(known ?? .unreadable(id))
    // One that could not be read before either hides its place as it did.
    let isHidden = known?.isUnreadable ?? true
    bad.append(LogBadEntry(id: isHidden ? id : nil, range: range, reason: reason))
  }
}

/// One that could not be read: its id where it keeps a place that is hidden now.
struct LogBadEntry {
  let id: [UInt8]?
  let range: Range<Int>
  let reason: Int64
}

/// That somebody has read a message, or it reached him: that only grows, whatever else happens.
struct LogReceipt {
  let kind: ReceiptKind
  let user: [UInt8]
  let message: [UInt8]

  fileprivate init?(_ change: WireChange) {
    switch change.kind {
    case .read: kind = .read
    case .delivered: kind = .delivered
    case .listened: kind = .listened
    default: return nil
    }
    guard !change.isDeleted, let target = change.target, let sender = change.sender else {
      return nil
    }
    user = sender
    message = target
  }
}

// MARK: Pages with holes

/// What lies between two holes of a page.
struct LogPart {
  var page: LogPage
  var ask: LogAsk
  /// The last entry of the part below it.
  var below: [UInt8]?
  /// It is the one that was asked for, in the eyes of the walk.
  var isAsked = false
}

extension LogEntries {
  /// A page as one part, or as those between its holes; none where nothing of it can be read.
  func parts(of page: EntryPage, to ask: LogAsk) -> [LogPart] {
    var whole = LogPage(
      entries: [], before: nil, after: page.after, present: page.isPresent, gap: page.isGap,
      epoch: page.epoch)
    switch page.before {
    case .start: break
    case .token(let token): whole.before = token
    case .unknown: whole.isCutBelow = true
    }
    let runs = entries.split(separator: nil, omittingEmptySubsequences: false)
      .map { $0.compactMap { $0 } }
    guard runs.count > 1 else {
      whole.entries = runs.first ?? []
      return [LogPart(page: whole, ask: ask, isAsked: true)]
    }
    var parts: [LogPart] = []
    for (index, run) in runs.enumerated() {
      guard let first = run.first else { continue }
      var part = LogPart(page: whole, ask: ask, below: parts.last?.page.entries.last?.id)
      part.page.entries = run
      let (isLowest, isHighest) = (index == runs.startIndex, index == runs.indices.last)
      if !isLowest {
        part.page.before = nil
        part.page.isCutBelow = true
      }
      if !isHighest {
        part.page.after = nil
        part.page.present = false
      }
      switch ask.place {
      case .after: part.isAsked = isLowest
      case .before, .newest: part.isAsked = isHighest
      case .around(let id): part.isAsked = run.contains { $0.id == id }
      }
      if !part.isAsked { part.ask.place = .around(first.id) }
      parts.append(part)
    }
    return parts
  }
}
