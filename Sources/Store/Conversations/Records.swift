/// The plain values that go into the store and come out of it.
///
/// A record is loaded, changed and saved whole; saving an unchanged one writes
/// nothing.
package import Base
package import Timeline

/// A time up to which something is known, with the server's own print of it.
package struct Watermark: Equatable, Sendable {
  package var time: ServerTime
  /// The form in which it is echoed to the server.
  package var text: [UInt8]

  package init(at time: ServerTime, text: [UInt8]) {
    self.time = time
    self.text = text
  }
}

/// Up to where content was fetched.
package struct ContentMark: Equatable, Sendable {
  /// Of the newest timestamp group. A position has a key, whose copies would have to be counted.
  private let group: Int64
  /// The print of the server time that stands there.
  package let text: [UInt8]

  /// Up to and with the timestamp group of a position.
  package init(newest: Position, text: [UInt8]) {
    group = newest.time
    self.text = text
  }

  /// The boundary below the newest timestamp group that was fetched.
  package var newest: Position { .before(timestampGroup: group) }

  /// The boundary above all that was fetched.
  package var boundary: Position { .after(timestampGroup: group) }

  /// Whether a position is in the newest timestamp group, or below it.
  package func covers(_ position: Position) -> Bool { position.time <= group }

  /// No stamp bore it out: it asks for everything.
  package var isUnproven: Bool { group == 0 }
}

/// What is known of one conversation as a whole.
package struct ConversationRecord: Equatable, Sendable {
  package let cid: Int64
  package let id: [UInt8]
  /// Up to where messages were fetched. Lives only as the top of a stored span.
  package var fetch: ContentMark?
  /// Up to where deletions were fetched.
  package var deletions: Watermark?
  /// Up to where edits, reactions, pins and receipts were fetched.
  package var marks: Watermark?
  /// Where the newest verified range ends: it is kept here, and not in the row of that range. Nil
  /// where there is none.
  package internal(set) var top: Position?
  /// The oldest `since` that deletions were ever asked from.
  package var lowestSince: ServerTime?
  /// The server's last count.
  package var totalCount: Int64?
  /// Rows last changed before it belong to a lost epoch; 0 for none.
  package var restoredLSN: UInt64 = 0
  package var auditedTotal: Int64?
  package var auditedCount: Int64?
  /// Made by this user and not yet known to the server; its id is a client id.
  package internal(set) var isPending = false
  /// The commit at which it was last removed; 0 for never. What was asked for before is
  /// of the conversation that went.
  package internal(set) var deletedLSN: UInt64 = 0

  package init(cid: Int64, id: [UInt8]) {
    self.cid = cid
    self.id = id
  }
}

/// What is known of the server, for the whole account.
package struct ServerFacts: Equatable, Sendable {
  /// The greatest server time seen.
  package var serverTime: ServerTime?
  /// By how much the server's clock was seen to be ahead of the device's, at least.
  package var clockAheadUs: Int64?
  /// The largest page the server ever returned.
  package var largestPage: Int = 0
  /// The overlap in use; 0 for the default.
  package var overlapUs: Int64 = 0
  package var epoch: [UInt8]?
  /// The commit at which the server was last found restored; 0 for never.
  package var restoredLSN: UInt64 = 0
  /// A push about conversations could not be read, so their list has to be requested.
  package var needsList = false

  package init() {}
}

extension ConversationRecord {
  /// The spans that may be believed: a lost watermark means unknown, so that nothing
  /// is claimed but that an empty conversation began. Numbers in a row say it by themselves.
  package func trusted(_ spans: SpanSet, _ rx: ReadTransaction) -> SpanSet {
    if fetch != nil || rx.positionsAreNumbers { return spans }
    var kept = spans
    kept.remove(.before(timestampGroup: .min + 1), .max)
    return kept
  }

  /// Whether the newest of these ranges is the one that reached the present. On a log another may
  /// stand above it: by its times, until it is known to lie elsewhere.
  package func reachesPresent(_ spans: SpanSet, _ rx: ReadTransaction) -> Bool {
    guard let newest = spans.newest else { return true }
    guard rx.positionsMove else {
      // Numbers in a row say nothing of the present, where nothing was fetched.
      return fetch != nil || newest.high <= .before(timestampGroup: .min &+ 1)
    }
    guard let fetch, fetch.newest < .max else { return false }
    return newest.low < fetch.boundary
  }
}

/// What a stored message is. The values are part of the file's format.
package struct RowFlags: OptionSet, Hashable, Sendable {
  package let rawValue: Int64

  package init(rawValue: Int64) {
    self.rawValue = rawValue
  }

  /// Sent by this user.
  package static let mine = RowFlags(rawValue: 1 << 0)
  /// Read by this user; only grows.
  package static let readByMe = RowFlags(rawValue: 1 << 1)
  package static let edited = RowFlags(rawValue: 1 << 2)
  /// The server shows it as deleted; it stays visible as such.
  package static let deleted = RowFlags(rawValue: 1 << 3)
  package static let pinned = RowFlags(rawValue: 1 << 4)
  package static let event = RowFlags(rawValue: 1 << 5)
  /// The payload could not be opened yet.
  package static let sealed = RowFlags(rawValue: 1 << 6)
  /// Stored and never shown.
  package static let control = RowFlags(rawValue: 1 << 7)
  /// Removed by the user on this device: an erased placeholder without content.
  package static let forgotten = RowFlags(rawValue: 1 << 8)
  /// Listened to by this user; only grows.
  package static let listenedByMe = RowFlags(rawValue: 1 << 9)

  // What this user did and the server has not confirmed. These follow from the open
  // operations, like an index, and are kept in the transaction that changes them.

  /// Deleted by this user.
  package static let deleting = RowFlags(rawValue: 1 << 10)
  package static let readQueued = RowFlags(rawValue: 1 << 11)
  package static let listenQueued = RowFlags(rawValue: 1 << 12)
  package static let pinQueued = RowFlags(rawValue: 1 << 13)
  package static let unpinQueued = RowFlags(rawValue: 1 << 14)
  /// An edit or a reaction lies over it.
  package static let overlaid = RowFlags(rawValue: 1 << 15)

  /// A moderator has changed or hidden it, as the server says.
  package static let moderated = RowFlags(rawValue: 1 << 16)
  /// It was offered for a notification, or would have been; only grows.
  package static let offered = RowFlags(rawValue: 1 << 17)
  /// A page showed it as nothing new; only grows.
  package static let history = RowFlags(rawValue: 1 << 19)
  /// An update of it asked not to notify the user; only grows.
  package static let silent = RowFlags(rawValue: 1 << 18)

  /// It came out of an import, and the server has not shown it.
  package static let imported = RowFlags(rawValue: 1 << 20)

  // In place of those of all sets, which are not compiled into one instruction.
  package func contains(_ flag: RowFlags) -> Bool { rawValue & flag.rawValue == flag.rawValue }
  package func isDisjoint(with other: RowFlags) -> Bool { rawValue & other.rawValue == 0 }

  /// What a screen never shows: control, forgotten, deleting.
  package static let hidden = RowFlags(rawValue: 1 << 7 | 1 << 8 | 1 << 10)
  /// What follows from operations and comes from no server.
  static let derived: RowFlags = [
    .deleting, .readQueued, .listenQueued, .pinQueued, .unpinQueued, .overlaid,
  ]
  // Sets that each row shown is asked for: as numbers, since one made of its members at each
  // call costs more than the rest of the question.

  /// Nothing of these is unread.
  package static let ownOrRead = RowFlags(
    rawValue: 1 << 0 | 1 << 1 | 1 << 3 | 1 << 5 | 1 << 11)
  package static let listened = RowFlags(rawValue: 1 << 9 | 1 << 12)
  static let readOrListened = RowFlags(rawValue: 1 << 1 | 1 << 9)
  /// No count of unread messages has these.
  static let uncounted = RowFlags(rawValue: hidden.rawValue | ownOrRead.rawValue)
  /// In the list of pinned messages, unless a queued operation takes the pin away.
  static let pinnedOrQueued = RowFlags(rawValue: 1 << 4 | 1 << 13)
  static let laidOver = RowFlags(rawValue: 1 << 13 | 1 << 14 | 1 << 15)
  /// What only grows, whoever says it.
  static let growing: RowFlags = [.readByMe, .listenedByMe, .offered, .silent, .history]
  /// Offered for a notification, or silent: kept when the row is removed. By number for SQL.
  static let told = RowFlags(rawValue: 1 << 17 | 1 << 18)
  /// What follows the stamp of the request rather than the content's version.
  static let marks: RowFlags = [.pinned]
}

/// What a receipt says that a user did. The values are part of no file.
package enum ReceiptKind: Int64, Sendable {
  case read, delivered, listened
}

/// One message as the server gave it, ready to be stored.
package struct IncomingMessage: Equatable, Sendable {
  package var id: [UInt8]
  package var sender: [UInt8]
  /// When the server made it.
  package var timeUs: Int64
  /// First part of its position: its time, or the server's number.
  package var order: Int64
  /// Where it stands among those with the same.
  package var rank = 0
  /// `created_at` as printed.
  package var stamp: [UInt8]
  package var payload: [UInt8]
  package var flags: RowFlags
  package var version: Int64?
  package var editedUs: Int64?
  package var replyTo: [UInt8]?
  /// JSON object, as it came.
  package var reactions: [UInt8]?
  /// JSON arrays of user ids.
  package var readBy: [UInt8]?
  package var deliveredBy: [UInt8]?
  package var listenedBy: [UInt8]?
  /// JSON object of all other members, or empty.
  package var rest: [UInt8]
  /// The payload as it came, where it could not be opened yet.
  package var raw: [UInt8]?
  /// What the host's hook gave to be searched in place of the payload, where it was opened.
  package var searchable: [UInt8]?
  /// Tells payloads as they came apart, where a hook opens them.
  package var digest: Int64?
  /// The text that this user knows it by, where the copy cannot be opened. Not stored.
  package var written: [UInt8]?
  /// The client id under which this user sent it. Not stored: it settles the operation.
  package var clientID: [UInt8]?
  /// The payload as it came, for a server that tells no client ids. Not stored.
  package var sentPayload: [UInt8]?

  package var position: Position { Position(time: order, rank: rank, id: id) }

  /// One column has both: what is sealed is not searched.
  var rawColumn: [UInt8]? {
    get { raw ?? searchable }
    set { if isSealed { raw = newValue } else { searchable = newValue } }
  }

  /// Drops what says how the copy came, and what no server can say.
  mutating func keepWhatIsStored() {
    flags = flags.kept
    clientID = nil
    sentPayload = nil
    written = nil
  }
}

extension IncomingMessage {
  // Made in one step: what is made member by member is copied once more by the compiler.
  package init(
    id: [UInt8], sender: [UInt8], timeUs: Int64, stamp: [UInt8], payload: [UInt8],
    flags: RowFlags = [], version: Int64? = nil, editedUs: Int64? = nil,
    replyTo: [UInt8]? = nil, reactions: [UInt8]? = nil, readBy: [UInt8]? = nil,
    rest: [UInt8] = [], raw: [UInt8]? = nil, order: Int64? = nil,
    deliveredBy: [UInt8]? = nil, listenedBy: [UInt8]? = nil, clientID: [UInt8]? = nil,
    sentPayload: [UInt8]? = nil
  ) {
    self.init(
      id: id, sender: sender, timeUs: timeUs, order: order ?? timeUs, rank: 0, stamp: stamp,
      payload: payload, flags: flags, version: version, editedUs: editedUs, replyTo: replyTo,
      reactions: reactions, readBy: readBy, deliveredBy: deliveredBy, listenedBy: listenedBy,
      rest: rest, raw: raw, searchable: nil, digest: nil, written: nil, clientID: clientID,
      sentPayload: sentPayload)
  }
}

extension RowFlags {
  /// Those that a server can say, and that are kept.
  var kept: RowFlags { subtracting(RowFlags.derived.union(.forgotten)) }
}

/// What became of an incoming message. The number is the row's local one.
package enum Applied: Equatable, Sendable {
  case inserted(UInt64)
  /// The same, over the tombstone of a deletion that was known when the copy was asked for.
  case returned(UInt64)
  case updated(UInt64)
  case unchanged(UInt64)
  /// Its deletion was known when the copy was asked for; nothing was stored.
  case tombstoned
  /// Its deletion became known meanwhile; nothing was stored.
  case overtaken
  /// The user removed it from this device; the erased placeholder stays empty.
  case forgotten(UInt64)
}

/// Where a row stands, without its content.
package struct StoredRow: Equatable, Sendable {
  package var position: Position
  package var number: UInt64
  /// The commit that last changed it.
  package var lsn: UInt64
  package var flags: RowFlags
  /// When the server made the message; its position may say something else.
  package var timeUs: Int64

  package init(
    position: Position, number: UInt64, lsn: UInt64, flags: RowFlags, timeUs: Int64? = nil
  ) {
    self.position = position
    self.number = number
    self.lsn = lsn
    self.flags = flags
    self.timeUs = timeUs ?? position.time
  }
}

/// Where a change came from. The values are `TL_ORIGIN_` ones of the header, and part of the file's
/// format.
package enum ChangeOrigin: Int64, Sendable {
  /// Written by an earlier version.
  case none = 0
  /// The library asked for it.
  case fetched
  /// The server pushed it.
  case pushed
  /// This user or host did it, or it answers what they did.
  case own
}

/// What a change was. The values are part of the file's format.
package enum ChangeKind: Int64, Sendable {
  case inserted = 1
  case updated = 2
  case removed = 3
  case coverage = 4
  /// The numbers are those of events.
  case events = 5
  case entities = 6
  /// The numbers are those of operations.
  case operations = 7
  /// What a row of a conversation list shows beside its messages; no numbers.
  case conversations = 8
  /// Rows that went from here and are still on the server.
  case purged = 9
}

/// Marks of one kind and one conversation that the server has not confirmed.
package struct PendingMarks: Equatable, Sendable {
  package var kind: ReceiptKind
  package var cid: Int64
  package var conversation: [UInt8]
  package var ids: [[UInt8]]
}

/// How much the store holds.
package struct StoreCounts: Equatable, Sendable {
  package var conversations: UInt64
  package var messages: UInt64
  package var tombstones: UInt64
  package var quarantined: UInt64
  /// Messages not yet known for which marks wait, and how many were let go.
  package var waiting: UInt64
  package var waitingDropped: UInt64
}
