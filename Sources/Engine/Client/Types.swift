/// The values that cross the engine's border: configuration in, pages and states out.
///
/// They mirror the structs of the header one to one, without pointers.
package import Base
package import Timeline

/// What the host knows of its server. The defaults are the first server's.
package struct Profile: Equatable, Sendable {
  package enum Truncates: Sendable { case unknown, oldest, newest }
  package enum Ties: Sendable { case unknown, id, arrival }

  package var pageLimit = 50
  package var truncates = Truncates.unknown
  package var ties = Ties.unknown
  package var pageSizeVaries = false
  package var absenceIsDeletion = false
  /// The server's count is no count of visible messages.
  package var countsHidden = false
  /// Pages go on showing what was deleted: a deletion is a later entry, and only its log tells it.
  package var deletionsAreLater = false
  /// 0 reads it off the strings.
  package var timeResolutionUs: Int64 = 0
  package var overlapUs: Int64 = 5_000_000
  /// 0 is for ever.
  package var deletionHorizonUs: Int64 = 0
  package var zoneOffsetMinutes = 0
  package var capabilities: Capabilities = []
  /// While connected, nothing pushed is dropped or overtaken.
  package var pushIsLossless = false
  /// Frames of a type that is not the protocol's are for the host.
  package var tellsUnknownFrames = false
  /// How long, and how many, refs of updates are remembered.
  package var refDays = 30
  package var refsMax = 100_000
  /// Pages that a sync asks for at most where the server tells no count.
  package var pagesMax = Limits.pagesMax
  /// Names of the members that are searched, with spaces between them; nil for the usual ones.
  package var searchMembers: [UInt8]?
  /// Who tells a send twice that is done once.
  package var idempotencyScope = IdempotencyScope.account
  /// For how long after it was told first; 0 for as long as the message is there.
  package var idempotencyUs: Int64 = 0
  /// Users edit messages of others, too.
  package var othersEdit = false
  /// The server keeps logs, and this is known of them.
  package var log: LogProfile?
  #if DEBUG
    /// A fault that is planted on purpose.
    package var planted: EngineFault?
  #endif

  package init() {}

  /// The server keeps logs; it refuses tokens that it does not know, and names an epoch.
  package mutating func keepsLog(refusesUnknown: Bool, namesEpoch: Bool) {
    log = LogProfile(refusesUnknown: refusesUnknown, namesEpoch: namesEpoch)
  }

  /// Of whom the server remembers what was sent.
  package enum IdempotencyScope: Sendable { case account, device, connection }

  /// What the server can do beyond paging by offset.
  package struct Capabilities: OptionSet, Equatable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
      self.rawValue = rawValue
    }

    package static let before = Capabilities(rawValue: 1 << 0)
    package static let around = Capabilities(rawValue: 1 << 1)
    package static let changedSince = Capabilities(rawValue: 1 << 2)
    package static let idempotentSend = Capabilities(rawValue: 1 << 3)
    package static let sequence = Capabilities(rawValue: 1 << 4)
    package static let envelope = Capabilities(rawValue: 1 << 5)
  }
}

/// The answer of the payload hook.
package enum Opened: Sendable {
  case plain([UInt8], control: Bool, event: Bool, searchable: [UInt8]? = nil)
  case notYet
  case failed
}

/// A message offered to the payload hook; the ranges point into `frame`.
package struct Sealed: Sendable {
  package var frame: [UInt8]
  package var conversation: [UInt8]
  package var id: [UInt8]
  package var sender: [UInt8]
  package var payload: Range<Int>
  package var message: Range<Int>
}

package enum LogLevel: Int32, Sendable {
  case error = 1
  case warn
  case info
  case debug
}

/// How to open a client.
package struct ClientConfig: Sendable {
  package enum File: Sendable {
    case memory
    case path(String, key: HostKey, create: Bool, strict: Bool)
  }

  package var file: File
  package var account: [UInt8]
  package var user: [UInt8]
  /// The server's name of this login, or empty.
  package var device: [UInt8] = []
  package var profile = Profile()
  package var cacheBytes: UInt64 = 16 << 20
  /// What was on a screen for so long is marked read.
  package var autoMarkRead = false
  package var seenMs: Int64 = 1_000
  /// Each connection catches up with all conversations.
  package var catchesUpAll = false
  /// Tells senders that their messages have arrived.
  package var autoMarkDelivered = false
  package var requestTimeoutMs: Int64 = 30_000
  package var requestsMax = 4
  /// Seed of request ids and of jitter.
  package var seed: UInt64 = 0
  /// Name of the VFS below the vault; tests put a faulty one there.
  package var baseVFS: String?
  /// A commit that the host knows of: a file that lacks it is an older one.
  package var leastCommit: UInt64 = 0
  /// A file that lacks commits is refused.
  package var refusesLoss = false
  /// Entries of the trace of changes; 0 for none.
  package var traceMax = 0
  /// Keeps what would be in a file, under the name that its path is.
  package var storage: (any HostStorage)?
  package var open: (@Sendable (borrowing Sealed) -> Opened)?
  /// Says where an answer may come from, where a request leaves that to the host.
  package var choose: (@Sendable (PolicyQuestion) -> PolicyChoice)?
  /// Makes what goes out of a payload; nil sends payloads as they are given.
  package var seal: (@Sendable (borrowing Sealable) -> SealAnswer)?
  package var log: (@Sendable (LogLevel, String) -> Void)?
  /// Both clocks; tests and the simulator put their own here.
  package var clock: @Sendable () -> Instant = { SystemClock.now() }
  /// Tests have commits fail by it.
  package var commits: (any CommitWatch)?

  package init(file: File, account: [UInt8], user: [UInt8]) {
    self.file = file
    self.account = account
    self.user = user
  }
}

/// What became of a received frame.
package enum Receipt: Equatable, Sendable { case applied, ignored, quarantined }

/// An item that could not be applied.
package struct QuarantinedView: Equatable, Sendable {
  package var seq: UInt64
  package var isCut: Bool
  /// Server times of the place that it hides; the least and the greatest where unknown.
  package var lowUs: Int64
  package var highUs: Int64
  package var size: UInt64
  /// Empty where it names none that is known.
  package var conversation: [UInt8]
  /// Empty for one of an earlier or a later version that this one does not know.
  package var reason: StaticText?
  package var item: [UInt8]
}

/// One frame to send.
package struct OutgoingFrame: Equatable, Sendable {
  package var id: UInt64
  package var bytes: [UInt8]
}

package enum Phase: Int32, Sendable {
  case offline = 0
  case catchingUp
  case upToDate
}

package struct ClientState: Equatable, Sendable {
  package var phase = Phase.offline
  package var syncsLeft = 0
  package var requestsInFlight = 0
  package var framesWaiting = 0
  package var reconnectWanted = false
  /// Read and listened marks.
  package var readsPending = 0
  package var repliesOwed = 0
  package var changeSeq: UInt64 = 0
  package var asOfUs: Int64 = 0
  /// Operations that are queued or in flight, and those that the user must decide on.
  package var operationsOpen = 0
  package var operationsStuck = 0
  /// The newest commit that is known to be on disk.
  package var commitSeq: UInt64 = 0
  /// Commits were lost before the opening, or the file was older than the host knows.
  package var isLogLost = false
  package var isOlder = false
}

/// One wish of the host or of a window: which part of a conversation to bring.
package struct SyncRequest: Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    /// Everything newer than what is known, and deletions.
    case latest
    /// Back in time from the oldest end of the newest range.
    case older
    /// The newest page and deletions; a gap may stay below it, recorded.
    case live
    /// The gap next below this boundary, page by page: until `want` messages came,
    /// it is filled, or the start is reached.
    case below(Position)
    /// The same upwards, from this boundary on.
    case above(Position)
    /// The page around a message that is not stored.
    case at([UInt8])
    /// The page around the last message read, where the server named one that is not stored;
    /// nothing where it cannot be found.
    case marker
    /// A page around this place, joined to nothing.
    case near(Position)
    /// A page around a server time; where positions are times, as `near`.
    case time(Int64)
    /// Asks the pages of a trusted range again: what is absent, and all marks.
    case refresh(Position, Position)
    /// The server's list of conversations; `conversation` is empty.
    case conversations
    /// What the server says of the conversation itself, for its count of unread messages.
    case count
    /// Each conversation that is known, as `live`; `conversation` is empty.
    case all
  }

  package var conversation: [UInt8]
  package var kind: Kind
  /// Where the answer may come from; the syncs themselves have the usual one.
  package var choice: PolicyChoice
  /// For `.older`, `.below` and `.above`: how many more messages; 0 is one page.
  package var want: Int
  /// 0 is no bound.
  package var pagesMax: Int
  /// A screen waits for it: it goes before all that is not urgent, also between two
  /// pages of a longer sync of the same conversation.
  package var isUrgent: Bool
  /// Messages of others that it brings are marked read.
  package var marksRead = false

  package init(
    conversation: [UInt8] = [], kind: Kind = .latest, choice: PolicyChoice = PolicyChoice(),
    want: Int = 0, pagesMax: Int = 0, isUrgent: Bool = false
  ) {
    self.conversation = conversation
    self.kind = kind
    self.choice = choice
    self.want = want
    self.pagesMax = pagesMax
    self.isUrgent = isUrgent
  }

  /// Whether both bring the same, however urgent.
  func isTwin(of other: SyncRequest) -> Bool {
    conversation == other.conversation && kind == other.kind && choice == other.choice
      && want == other.want && pagesMax == other.pagesMax && marksRead == other.marksRead
  }
}

package enum SyncPhase: Int32, Sendable {
  case waiting = 0
  case running
  case ended
}

package struct SyncStatus: Equatable, Sendable {
  package var phase = SyncPhase.waiting
  /// Nil is success; while waiting, the last trouble.
  package var trouble: Failure?
  package var requests = 0
  package var received = 0
  package var inserted = 0
  package var removed = 0
  /// Of `.all`: how many conversations are done, of how many.
  package var done = 0
  package var total = 0
  package var basis = Basis.cache
  /// Of a log: by how much times were seen to step back in its order, at most. By so much a search
  /// by time may be off.
  package var stepBackUs: Int64 = 0
  /// Why it stands on the cache though the network was to be asked.
  package var reason: Failure?
  /// When the server was last asked for all that is new there, by the device's clock; 0 where that
  /// is not known.
  package var asOfUs: Int64 = 0
}

extension SyncStatus {
  /// It is over; `isAnswered` where the server has said what there is.
  mutating func end(_ trouble: Failure?, isAnswered: Bool = false, asOfUs: Int64) {
    phase = .ended
    self.trouble = trouble
    reason = trouble
    basis = trouble == nil && isAnswered ? .network : .cache
    self.asOfUs = asOfUs
  }
}

extension SyncRequest.Kind {
  /// Whether it asks for all that is new.
  var isCatchUp: Bool {
    switch self {
    case .latest, .live, .conversations, .all: true
    case .older, .below, .above, .at, .marker, .near, .time, .refresh, .count: false
    }
  }
}

/// Which messages to read.
package struct MessageQuery: Equatable, Sendable {
  package enum From: Equatable, Sendable {
    case latest, oldest
    case before(UInt64)
    case after(UInt64)
    /// At or after this time, going newer.
    case time(Int64)
    /// Before this time, going older.
    case beforeTime(Int64)
  }

  package var conversation: [UInt8]
  package var from: From
  package var descending: Bool
  package var limit: Int
  package var isPinnedOnly = false

  package init(
    conversation: [UInt8], from: From = .latest, descending: Bool = false, limit: Int = 50
  ) {
    self.conversation = conversation
    self.from = from
    self.descending = descending
    self.limit = limit
  }
}

package enum Stop: Int32, Sendable {
  case limit = 0
  case start
  case gap
  case present
  /// The server counts other than what is here.
  case count
}

package struct GapView: Equatable, Sendable {
  package var beforeRow: Int
  package var poisoned: Bool
  package var lowUs: Int64
  package var highUs: Int64
}

package struct Coverage: Equatable, Sendable {
  package var whole = false
  package var stop = Stop.gap
  package var gaps: [GapView] = []
  package var deletionsAsOfUs: Int64 = 0
  package var contentAsOfUs: Int64 = 0
  package var totalCount: Int64 = -1
  package var knownCount = 0
  package var marksAsOfUs: Int64 = 0
  package var staleCount = 0
  /// Of a log: the entry as of which a page that is whole is so.
  package var asOfEntry: [UInt8] = []
}

/// Messages, and how complete they are.
package struct MessagePage: Sendable {
  package var conversation: [UInt8]
  package var page: RowPage
  package var coverage: Coverage

  /// A copy of the rows.
  package var rows: [MessageRow] { page.rows }

  /// The bytes of a text of one of them.
  package subscript(_ text: Range<Int>) -> [UInt8] { page[text] }
}

/// One entry of the change feed.
package struct ChangeView: Equatable, Sendable {
  package var seq: UInt64
  /// `TL_CHANGE_` kind of the header.
  package var kind: Int32
  package var isSilent: Bool
  /// It offers messages for a notification.
  package var notifies: Bool
  /// `TL_ORIGIN_` of the header.
  package var origin: Int32
  package var first: UInt64
  package var last: UInt64
  package var conversation: [UInt8]
}

package enum ChangePage: Equatable, Sendable {
  case none
  case resync
  case changes([ChangeView])
}

package struct Stats: Equatable, Sendable {
  package var walFramesRejected: UInt32 = 0
  package var conversations: UInt64 = 0
  package var messages: UInt64 = 0
  package var tombstones: UInt64 = 0
  package var quarantined: UInt64 = 0
  package var framesIn: UInt64 = 0
  package var framesBad: UInt64 = 0
  package var framesIgnored: UInt64 = 0
  package var answersUnmatched: UInt64 = 0
  package var framesOut: UInt64 = 0
  package var bytesIn: UInt64 = 0
  package var bytesOut: UInt64 = 0
  package var requests: UInt64 = 0
  package var timeouts: UInt64 = 0
  package var retries: UInt64 = 0
  package var duplicates: UInt64 = 0
  package var openFailures: UInt64 = 0
  package var walksIncomplete: UInt64 = 0
  package var restores: UInt64 = 0
  package var auditMismatches: UInt64 = 0
  package var commits: UInt64 = 0
  package var fileBytes: UInt64 = 0
  package var overlapUs: Int64 = 0
  package var updates: UInt64 = 0
  package var updatesRepeated: UInt64 = 0
  package var replies: UInt64 = 0
  package var waiting: UInt64 = 0
  package var waitingDropped: UInt64 = 0
  package var pageLimit: UInt32 = 0
  package var requestTimeoutMs: UInt32 = 0

  package init() {}
}
