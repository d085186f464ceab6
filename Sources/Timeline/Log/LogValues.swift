/// What is received of a log, and what is kept of it: entries, tokens, claims, ranges.
///
/// A log is a server's order of arrival, named by opaque tokens. `docs/reference/protocol-log.md`
/// has the words of the wire, decision 070 how a log fits in. Rules are named by the
/// numbers there.
///
/// Instants are counted in requests: `issued` is how many had been issued when something was
/// stored, and a page knows the number of its own. What was stored before a page was requested
/// was in the log when the page was made, or had left it.
internal import Base

/// One entry of a log: a message, or a change to one. Both have ids of one kind.
package struct LogEntry: Equatable, Sendable {
  package var id: [UInt8]
  /// Of a message.
  package var sender: [UInt8]
  /// Nil for a message.
  package var change: LogChange?
  package var timeUs: Int64?
  /// It was taken away and stands in its place, without effect.
  package var isDeleted = false
  /// A message shown with a content that is not its first one.
  package var edited = LogEditedInPlace.no
  /// What the message or the edit says.
  package var content: [UInt8]

  package init(
    id: [UInt8], sender: [UInt8] = [], change: LogChange? = nil, timeUs: Int64? = nil,
    isDeleted: Bool = false, edited: LogEditedInPlace = .no, content: [UInt8] = []
  ) {
    (self.id, self.sender, self.change, self.timeUs) = (id, sender, change, timeUs)
    (self.isDeleted, self.edited, self.content) = (isDeleted, edited, content)
  }
}

package enum LogEditedInPlace: Equatable, Sendable {
  case no
  /// By which entry is not told.
  case unnamed
  case by([UInt8])
}

/// What an entry does that is no message.
package struct LogChange: Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    case edit, delete
    /// One user's reactions: one more, one less, or these and no others.
    case react([UInt8])
    case unreact([UInt8])
    case reactions([[UInt8]])
    case pin, unpin
    case moderate
    /// Keeps its place and has no effect that is derived here.
    case none
  }

  package var kind: Kind
  package var target: [UInt8]?
  package var user: [UInt8]

  package init(_ kind: Kind, of target: [UInt8]?, by user: [UInt8] = []) {
    (self.kind, self.target, self.user) = (kind, target, user)
  }
}

/// An opaque word of the server's for a place in the log.
package struct LogToken: Equatable, Sendable {
  package var bytes: [UInt8]
  /// The entry at which it stands; nil where a page without entries gave it.
  package var id: [UInt8]?
  package var connection: UInt64
  package var epoch: [UInt8]?

  package init(bytes: [UInt8], id: [UInt8]?, connection: UInt64, epoch: [UInt8]?) {
    (self.bytes, self.id, self.connection, self.epoch) = (bytes, id, connection, epoch)
  }
}

/// That a range starts the log, or reached its end: as of the moment in which a request was issued.
package struct LogClaim: Equatable, Sendable {
  package var request: UInt64
  package var connection: UInt64

  package init(request: UInt64, connection: UInt64) {
    (self.request, self.connection) = (request, connection)
  }
}

/// Where a part stood that a page did not show beside its neighbour.
package struct LogNote: Equatable, Sendable {
  package enum Side: Equatable, Sendable { case above, below }

  package var side: Side
  package var id: [UInt8]
  /// How many requests had been issued when it was split off.
  package var issued: UInt64

  package init(_ side: Side, of id: [UInt8], issued: UInt64) {
    (self.side, self.id, self.issued) = (side, id, issued)
  }
}

/// A range of entries that stand directly behind each other in the log. Unless it is unverified,
/// all between its lowest and its highest place is known (rule 27): content, deletions and
/// annotations as of the highest, as it was read in the range's connection.
package struct LogRange: Equatable, Sendable {
  /// The places of its lowest and its highest entry.
  package var low: Place
  package var high: Place
  package var start: LogClaim?
  package var present: LogClaim?
  /// Tokens to go on with, the better one first; mostly one, and none that stands elsewhere.
  package var lower: [LogToken] = []
  package var upper: [LogToken] = []
  package var note: LogNote?
  /// Its entries are shown where they stood, and nothing is claimed of them.
  package var isUnverified = false
  /// It holds what goes by its times, as what was imported: it claims nothing either, not even that
  /// its neighbours are some.
  package var isByTime = false { didSet { if isByTime { isUnverified = true } } }
  /// The connection in which it was last read.
  package var connection: UInt64

  package init(low: Place, high: Place, connection: UInt64) {
    (self.low, self.high, self.connection) = (low, high, connection)
  }

  package func holds(_ place: Place) -> Bool { low <= place && place <= high }
}

/// An entry as it is stored.
package struct LogRow: Equatable, Sendable {
  package var entry: LogEntry
  package var place: Place
  /// How many requests had been issued when it came first.
  package var stored: UInt64
  /// The same for the copy that is here.
  package var received: UInt64
  /// What it shows is what a page of this history showed.
  package var isClaimed = true

  package init(entry: LogEntry, place: Place, stored: UInt64, received: UInt64) {
    (self.entry, self.place, self.stored, self.received) = (entry, place, stored, received)
  }

  package var id: [UInt8] { entry.id }
}

/// What is asked of the server.
package struct LogAsk: Equatable, Sendable {
  package enum Place: Equatable, Sendable {
    case newest
    case before(LogToken)
    case after(LogToken)
    case around([UInt8])
  }

  package var place: Place
  package var request: UInt64
  package var connection: UInt64
  /// The present was claimed by the answer without entries that gave the token.
  package var carried: LogClaim?

  package init(_ place: Place, request: UInt64, connection: UInt64, carried: LogClaim? = nil) {
    (self.place, self.request, self.connection) = (place, request, connection)
    self.carried = carried
  }

  package var token: LogToken? {
    switch place {
    case .before(let token), .after(let token): token
    case .newest, .around: nil
    }
  }
}

/// What the server answered.
package struct LogPage: Sendable {
  /// Oldest first.
  package var entries: [LogEntry]
  /// Absent: the log starts with the page, unless that is not known.
  package var before: [UInt8]?
  /// Absent of a part that another one stands above.
  package var after: [UInt8]?
  /// What lies below the page is not known.
  package var isCutBelow = false
  package var present = false
  package var gap = false
  package var epoch: [UInt8]?

  package init(
    entries: [LogEntry], before: [UInt8]?, after: [UInt8]?, present: Bool = false,
    gap: Bool = false, epoch: [UInt8]? = nil
  ) {
    (self.entries, self.before, self.after, self.present) = (entries, before, after, present)
    (self.gap, self.epoch) = (gap, epoch)
  }
}

/// What the server pushed: entries directly behind each other.
package struct LogPush: Sendable {
  package var entries: [LogEntry]
  /// The entry directly before the first one.
  package var previous: [UInt8]?
  /// A token that stands there.
  package var before: [UInt8]?
  package var after: [UInt8]?
  /// It came by the connection, and for the first time.
  package var isFirst = true

  package init(
    entries: [LogEntry], previous: [UInt8]? = nil, before: [UInt8]? = nil, after: [UInt8]? = nil,
    isFirst: Bool = true
  ) {
    (self.entries, self.previous, self.before, self.after) = (entries, previous, before, after)
    self.isFirst = isFirst
  }
}

/// What is known of a server that keeps a log.
package struct LogProfile: Equatable, Sendable {
  /// A token that it does not know it refuses, and never takes for another place.
  package var refusesUnknown = false
  /// It names an epoch, another one after each restore.
  package var namesEpoch = false
  /// Users edit messages of others, too.
  package var othersEdit = false
  /// How many ranges are told apart.
  package var rangesMax = Limits.logRangesMax
  #if DEBUG
    /// A fault that is planted on purpose.
    package var planted: LogFault?
  #endif

  package init(refusesUnknown: Bool = false, namesEpoch: Bool = false) {
    (self.refusesUnknown, self.namesEpoch) = (refusesUnknown, namesEpoch)
  }
}

/// How far apart places are given: between entries, and between ranges.
package struct LogSpacing: Sendable {
  package var step: Int64
  package var gap: Int64

  package static let normal = LogSpacing(step: 1 << 16, gap: 1 << 40)

  package init(step: Int64, gap: Int64) {
    self.step = max(step, 2)
    self.gap = max(gap, 4)
  }
}
