/// From the items of a page to rows in the store.
///
/// A bad item is set aside with its bytes and a place, and the rest is kept: one
/// quarantined message never stops a conversation.
internal import Base
internal import Store
internal import Timeline
internal import Wire

/// A payload after the host's hook, or as it came.
struct OpenedPayload: Sendable {
  var payload: [UInt8]
  var flags: RowFlags
  /// The payload as it came, where the hook had no key for it yet.
  var sealed: [UInt8]?
  /// What the hook gave to be searched.
  var searchable: [UInt8]?
  /// Tells payloads as they came apart, where the hook opens them.
  var digest: Int64?
}

/// What one input could not apply.
struct SetAside {
  private(set) var count = 0
  /// The reason of the first, as its number in the file.
  private(set) var first: Int64?

  mutating func note(_ reason: Int64) {
    count &+= 1
    first = first ?? reason
  }

  mutating func add(_ other: SetAside) {
    count &+= other.count
    first = first ?? other.first
  }
}

/// What a page brought.
struct Ingested {
  /// The page in the order sent; nil for an unreadable item.
  var items: [Position?] = []
  /// Ids of the readable items.
  var ids = IDSet()
  /// Stamps of the readable items with their positions.
  var stamps: [(position: Position, stamp: Stamp)] = []
  var bad: [(index: Int, range: Range<Int>, reason: BadItem)] = []
  /// The bad ones at the ends of the page.
  var unread = Unreadable()
  /// Where the new ones stand.
  var insertedAt: [Position] = []
  var duplicates = 0
  /// How many of these are other messages than those that are stored under their ids.
  var others = 0
  /// How many different items it holds: one that comes twice is one.
  var distinct = 0
  var sawBuried = false
  var queuedMarks = false
  /// A message of this user's came with its client id.
  var sawClientID = false
  var copies = CopyCounter()

  /// With room for so many items.
  init(expecting count: Int = 0) {
    if count == 0 { return }
    items.reserveCapacity(count)
    insertedAt.reserveCapacity(count)
  }

  /// Notes which items they were and how they are stamped: the items as they came.
  mutating func record(_ page: [PageItem], frame: [UInt8]) {
    ids.reserve(items.count)
    stamps.reserveCapacity(items.count)
    for case (.message(let message), let position?) in zip(page, items) {
      ids.insert(position.id)
      stamps.append((position, message.stamp))
    }
    distinct = ids.count + Set(bad.map { WriteTransaction.digest(frame[$0.range]) }).count
  }

  /// Notes by what the bad items at the ends are known again. In a page whose order is
  /// not known, each of them may stand at either end.
  mutating func noteUnread(_ frame: [UInt8], descends: Bool?) {
    if bad.isEmpty { return }
    var digests: [Int: Int64] = [:]
    for item in bad { digests[item.index] = WriteTransaction.digest(frame[item.range]) }
    var first: [Int64] = []
    var last: [Int64] = []
    for index in items.indices {
      guard let digest = digests[index] else { break }
      first.append(digest)
    }
    for index in items.indices.reversed() {
      guard let digest = digests[index] else { break }
      last.append(digest)
    }
    guard let descends else {
      unread = Unreadable(newest: first + last, oldest: first + last)
      return
    }
    unread = Unreadable(newest: descends ? first : last, oldest: descends ? last : first)
  }

  /// Where its readable items stand, oldest first.
  var rows: [Position] { items.compactMap { $0 }.ascending() }

  /// The server's time of the item at a position.
  func time(at position: Position) -> Int64? {
    stamps.first { $0.position == position }?.stamp.timeUs
  }
}

/// How often each message came in a frame, once some came more than once.
struct CopyCounter {
  private var known = 0
  private var copies: [PushedID: Int] = [:]

  /// Another copy of a message that was stored.
  mutating func noteKnown() { known += 1 }

  /// Whether a message came so often that another copy is not to be read: each is laid over
  /// the whole row.
  mutating func isTooOften(_ id: [UInt8], in cid: Int64) -> Bool {
    guard known >= Limits.copiesMax else { return false }
    let count = copies[PushedID(cid: cid, id: id), default: 0] + 1
    copies[PushedID(cid: cid, id: id)] = count
    return count > Limits.copiesMax
  }
}

/// Which messages are offered for a notification: each once, by who tells it first as new. The
/// store keeps that it was, or that a page showed it as nothing new, and does not offer this
/// user's, what is read, deleted or an event.
enum Offer {
  case none
  /// Those that a push tells as new.
  case pushed(isSilent: Bool)
  /// What an answer brings from here on: what lies below is history, as all of it is where the
  /// conversation was never fetched.
  case above(Position)

  func flags(_ message: WireMessage, at order: Int64, isNew: Bool) -> RowFlags {
    switch self {
    case .none: []
    case .pushed(let isSilent): isSilent ? .silent : isNew ? .offered : []
    case .above(let bound):
      Position(time: order, id: message.id) < bound ? .history : .offered
    }
  }

  var isPushed: Bool { if case .pushed = self { true } else { false } }
}

/// What of the settings and of the server says how an item is read.
struct IngestRules {
  let user: [UInt8]
  let autoMarkDelivered: Bool
  let scheme: PositionScheme
  /// Whether this server may be one that tells no client ids.
  let matchesPayloads: Bool
  /// Pages say the order of messages of one time.
  let learnsTies: Bool
  /// The host says that messages of one time stand as they arrive.
  let tiesAreByArrival: Bool
}

struct Ingest {
  let rules: IngestRules
  let autoMarkRead: Bool
  let frame: [UInt8]
  /// One for each readable item.
  let opened: ArraySlice<OpenedPayload>
  /// The commit after which the request was issued: the request stamp.
  let issued: UInt64
  /// The page size asked for.
  let asked: Int
  /// Ids of messages that are told as new: one that names no marks says nothing of
  /// them, for they may have overtaken it.
  var newIDs = IDSet()
  /// The client id that the message of an answer was sent under.
  var clientID: [UInt8]?
  /// Reactions of single users that a copy on its way may lack.
  var reacted = ReactionChanges()
  /// The copies that came before, in the same frame.
  var copies = CopyCounter()
  /// The edit that an answer is to: its message, as the rules.user wrote it.
  var edit: OperationRecord?
  /// Which messages are offered for a notification.
  var offer = Offer.none
  /// What was deleted is back where a copy shows it that was asked for after the deletion was told,
  /// but for these. Nil where no copy says so.
  var revivable: Set<PushedID>?
  /// A new message stands behind all of its time that are known: it did not come in a page.
  var placesBehind = false

  init(
    _ rules: IngestRules, frame: [UInt8], opened: ArraySlice<OpenedPayload>, issued: UInt64,
    autoMarkRead: Bool, asked: Int = 0
  ) {
    self.rules = rules
    self.autoMarkRead = autoMarkRead
    self.frame = frame
    self.opened = opened
    self.issued = issued
    self.asked = asked
  }

  /// Stores the items of a page.
  func page(
    _ items: some Sequence<PageItem>, of record: ConversationRecord, in tx: WriteTransaction
  ) throws(StoreFailure) -> Ingested {
    var result = Ingested(expecting: items.underestimatedCount)
    result.copies = copies
    var opened = opened
    for (index, item) in items.enumerated() {
      switch item {
      case .bad(let range, let reason):
        result.items.append(nil)
        result.bad.append((index, range, reason))
      case .message(let message):
        guard let payload = opened.popFirst(),
          message.conversation == nil || message.conversation == record.id
        else {
          result.items.append(nil)
          result.bad.append((index, message.object, .wrongConversation))
          continue
        }
        guard let order = rules.scheme.order(of: message) else {
          result.items.append(nil)
          result.bad.append((index, message.object, .noSequence))
          continue
        }
        if result.copies.isTooOften(message.id, in: record.cid) {
          result.items.append(nil)
          result.bad.append((index, message.object, .tooOften))
          continue
        }
        try one(message, order: order, payload: payload, of: record, result: &result, in: tx)
      }
    }
    return result
  }

  /// Stores one message and tells the feed.
  func one(
    _ message: WireMessage, order: Int64, payload: OpenedPayload,
    of record: ConversationRecord, result: inout Ingested, in tx: WriteTransaction
  ) throws(StoreFailure) {
    let place = result.items.count
    result.items.append(Position(time: order, id: message.id))
    let isMine = message.sender == rules.user
    let readByMe = isMine || message.readBy?.contains(rules.user) ?? false
    var row = incoming(message, payload: payload, isMine: isMine, readByMe: readByMe)
    row.reactions = reacted.laid(
      over: row.reactions, of: PushedID(cid: record.cid, id: message.id), version: message.version,
      issued: newIDs.contains(message.id) ? nil : issued)
    row.order = order
    row.digest = payload.digest
    row.searchable = payload.searchable
    row.flags.formUnion(offer.flags(message, at: order, isNew: newIDs.contains(message.id)))
    if let edit, edit.target == message.id { row.written = edit.plain }
    if isMine {
      row.clientID = clientID ?? message.clientID
      if row.clientID != nil {
        result.sawClientID = result.sawClientID || message.clientID != nil
      } else if rules.matchesPayloads {
        row.sentPayload = Array(frame[message.payload])
      }
    }
    let saysMarks =
      row.reactions != nil || message.pinned || !newIDs.contains(message.id)
    let behind = try rankBehind(row, previous: message.previousID, of: record, in: tx)
    if let behind {
      row.rank = behind.rank
      result.items[place] = row.position
    }
    let isNew = newIDs.contains(message.id)
    switch try tx.apply(
      row, record.cid, issued: issued, saysMarks: saysMarks, isFirst: offer.isPushed && isNew,
      isEdit: offer.isPushed && !isNew,
      revives: revivable.map { !$0.contains(PushedID(cid: record.cid, id: message.id)) } ?? false)
    {
    case .inserted:
      result.insertedAt.append(row.position)
      if behind?.isGuess ?? false { try tx.note(guessAt: order, in: record.cid) }
      if rules.autoMarkDelivered,
        try tx.annotationTable.enqueueMark(.delivered, id: message.id, in: record.cid)
      {
        result.queuedMarks = true
      }
    case .returned:
      // It was there before, so it says nothing of what is committed late.
      result.sawBuried = true
    case .updated, .unchanged, .forgotten:
      result.duplicates += 1
      if tx.applied.isAnother { result.others &+= 1 }
      result.copies.noteKnown()
      // It stands where it stood.
      if tx.applied.rank != row.rank {
        result.items[place] = Position(time: order, rank: tx.applied.rank, id: message.id)
      }
    case .tombstoned:
      result.sawBuried = true
      return
    case .overtaken:
      return
    }
    if autoMarkRead, !readByMe,
      try tx.annotationTable.enqueueMark(.read, id: message.id, in: record.cid)
    {
      result.queuedMarks = true
    }
  }

  private func rankBehind(
    _ row: IncomingMessage, previous: [UInt8]?, of record: ConversationRecord,
    in tx: WriteTransaction
  ) throws(StoreFailure) -> (rank: Int, isGuess: Bool)? {
    guard placesBehind else { return nil }
    let (rank, isGuess) = try tx.rankTable.rankBehind(row, previous: previous, in: record.cid)
    return (rank, isGuess && !rules.tiesAreByArrival)
  }

  func incoming(_ message: WireMessage, payload: OpenedPayload) -> IncomingMessage {
    let isMine = message.sender == rules.user
    let readByMe = isMine || message.readBy?.contains(rules.user) ?? false
    return incoming(message, payload: payload, isMine: isMine, readByMe: readByMe)
  }

  private func incoming(
    _ message: WireMessage, payload: OpenedPayload, isMine: Bool, readByMe: Bool
  ) -> IncomingMessage {
    var flags = payload.flags
    if isMine { flags.insert(.mine) }
    if message.listenedBy?.contains(rules.user) ?? false { flags.insert(.listenedByMe) }
    if readByMe { flags.insert(.readByMe) }
    if message.edited { flags.insert(.edited) }
    if message.deleted { flags.insert(.deleted) }
    if message.pinned { flags.insert(.pinned) }
    if message.isEvent { flags.insert(.event) }
    if message.moderated { flags.insert(.moderated) }
    return IncomingMessage(
      id: message.id, sender: message.sender, timeUs: message.stamp.timeUs,
      stamp: message.stamp.text, payload: payload.payload, flags: flags,
      version: message.version, editedUs: message.editedUs, replyTo: message.replyTo,
      reactions: message.reactions.map { Array(frame[$0]) },
      readBy: message.readBy.map { mergedReadBy(stored: nil, adding: $0) },
      rest: message.rest, raw: payload.sealed,
      deliveredBy: message.deliveredBy.map { mergedReadBy(stored: nil, adding: $0) },
      listenedBy: message.listenedBy.map { mergedReadBy(stored: nil, adding: $0) })
  }
}
