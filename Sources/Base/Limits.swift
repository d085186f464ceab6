/// Every bound that outside bytes meet, in one place.
///
/// Each limit has a test at n-1, n and n+1 in the room that enforces it.
package enum Limits {
  /// Bytes of one frame from the server.
  package static let frameBytesMax = 16 << 20
  /// Nesting of a frame's JSON.
  package static let jsonDepthMax = 128
  /// Bytes of an id: message, conversation, user.
  package static let idBytesMax = 512
  /// Bytes of a token that names a place in a log, unescaped.
  package static let tokenBytesMax = 2048
  /// Bytes of a path.
  package static let pathBytesMax = 1024
  /// Bytes of a passphrase, and of what is typed as a recovery code.
  package static let passphraseBytesMax = 1024
  /// Bytes of the label of a key slot.
  package static let slotLabelBytesMax = 48
  /// Figures of Argon2id, those of the host and those that a file from outside asks for.
  package static let operationsRange: ClosedRange<UInt32> = 1...16
  package static let operationsDefault: UInt32 = 3
  package static let hashBytesRange: ClosedRange<UInt64> = 1 << 20...256 << 20
  package static let hashBytesDefault: UInt64 = 64 << 20
  /// The greatest number that is believed to be a count: 8,388,607 of them have a sum.
  package static let countMax: Int64 = 1 << 40
  /// The longest wait that a server may ask for.
  package static let retryAfterMsMax: Int64 = 86_400_000
  /// Bytes of a printed time.
  package static let stampBytesMax = 64
  /// Bytes of one message object, and of one opened payload.
  package static let messageBytesMax = 4 << 20
  /// Bytes of one line or element of an import, with space around the message.
  package static let itemBytesMax = messageBytesMax + 65_536
  /// What one step of an import takes at most: messages, and bytes of the source, whatever these
  /// hold. The last 64 KiB that it reads may lie beyond.
  package static let importItemsMax = 256
  package static let importBytesMax = 1 << 20
  /// Lines of an import that are of no use and are remembered.
  package static let importBadMax = 10_000
  /// Messages looked through for a send that may have arrived, where nothing says from when on.
  package static let lookMax = 1_000
  /// Items of one page; more than any server is asked for.
  package static let pageItemsMax = 10_000
  /// Entries of any other list in a frame, and of a message's set of reactions or list of readers.
  package static let listItemsMax = 10_000
  /// Ranges that are proven whole in one conversation; the oldest beyond them are gaps.
  package static let spansMax = 4_096
  /// Ranges of places that are known of one log; the oldest beyond them claim nothing.
  package static let logRangesMax = 256
  /// Changes of one register of a message that are looked at, since later ones were taken back; and
  /// changes of one user's reactions to it.
  package static let logLooksMax = 64
  /// Copies of one message in a frame.
  package static let copiesMax = 16
  /// Rows of one read.
  package static let readRowsMax = 10_000
  /// Changes given by one pull.
  package static let changesMax = 10_000
  /// Entries of the change feed that are kept.
  package static let changesKept = 100_000
  /// How long a policy may have the network waited for.
  package static let policyLimitMsMax = 3_600_000
  /// Syncs waiting or running.
  package static let syncsMax = 4_096
  /// Ended syncs remembered.
  package static let syncsRemembered = 1_024
  /// Frames waiting for the host.
  package static let framesMax = 256
  /// Ids of one `mark_read` call, and of one `mark_read` request.
  package static let markReadMax = 10_000
  package static let markReadBatch = 200
  /// Pushed messages remembered until a page shows them.
  package static let pushesRemembered = 4_096
  /// Answers in a row that bring nothing new, and pages beyond those that a count needs, after
  /// which a sync ends; and pages where nothing is counted, unless the host says otherwise.
  package static let idleAnswersMax = 64
  /// The same of those that hold nothing at all and promise more.
  package static let emptyAnswersMax = 16
  package static let sparePages = 64
  package static let pagesMax = 1_000
  /// A server found restored more often than this in a conversation within that time is
  /// not believed.
  package static let restoresMax = 3
  package static let restoresWithinMs: Int64 = 3_600_000
  /// Two answers on one connection speak for a restore where they are as far apart; and
  /// conversations of which one answer has spoken.
  package static let restoreApartMs: Int64 = 60_000
  package static let restoresDoubted = 4_096
  /// A number of unread messages is asked for so far apart, when all else has rested for so long.
  package static let recountApartMs: Int64 = 60_000
  package static let recountRestMs: Int64 = 1_000
  /// Unread messages that are read to find the first of them, if the server names no marker.
  package static let markerWalkMax = 500
  /// Lines of one kind that the host's log gets in a period.
  package static let logLinesMax = 10
  package static let logPeriodMs: Int64 = 60_000
  /// Unread quarantined items kept with their bytes.
  package static let quarantineKept = 10_000
  /// More of them than one commit sets aside, so that each has numbers of its own.
  package static let quarantinedInCommit: Int64 = 1 << 20
  /// Bytes of one quarantined item that are kept.
  package static let quarantineBytesMax = 64 << 10
  /// Messages not yet known for which marks are kept.
  package static let waitingKept = 10_000
  /// Messages that are not stored any more of which it is kept that they were offered, or silent.
  package static let offersKept = 10_000
  /// Events kept for the host.
  package static let eventsKept = 10_000
  /// Of those, signs of typing have a bound of their own beside the others.
  package static let typingEventsKept = 256
  /// Operations kept after they were done.
  package static let operationsKept = 1_000
  /// Bytes of what the user asks to be done.
  package static let requestBytesMax = 1 << 20
  /// Bytes of a draft.
  package static let draftBytesMax = 64 << 10
  /// Bytes kept of why a server refused.
  package static let refusalBytesMax = 1_024
  /// Requests in flight.
  package static let requestsMax = 64
  /// Messages a server is asked for in one page.
  package static let pageLimitMax = 1_000
  /// Open windows, messages in one of them, and messages of one load.
  package static let windowsMax = 1_024
  package static let seenMsMax = 3_600_000
  package static let holdMsMax = 60_000
  package static let windowRowsMin = 100
  package static let windowRowsMax = 200_000
  package static let windowLoadMax = 1_000
  /// Lists of items over one window, rows that are read at once for them, and minutes of a gap.
  package static let itemsMax = 8
  package static let itemRowsRead = 256
  package static let gapMinutesMax = 527_040
  /// Entries of the feed that a window follows one by one; beyond, it reads itself anew.
  package static let windowChangesMax = 5_000
  /// Conversations that are read from the server's list.
  package static let conversationsMax = 200_000
  /// Replies held ready for the host, the others wait in the file; and those handed
  /// out whose sending is waited for.
  package static let repliesReady = 256
  package static let repliesHanded = 4_096
  /// Operations that are not done, and bytes of an answer that is kept with its operation.
  package static let operationsMax = 100_000
  package static let resultBytesMax = 256 << 10
  /// Bytes of a client id.
  package static let clientIDBytesMax = 128
  /// Rows of a viewport, and the greatest length it is told: their product has no overflow.
  package static let viewportRowsMax = 1 << 20
  package static let viewportLengthMax: Int64 = 1 << 40
  /// Classes of rows that are estimated apart. `ClassCounts` has as many fields.
  package static let viewportClasses = 8
  /// Rows of one layout, and layouts after which one is complete with what is known.
  package static let viewportPlacedMax = 4_096
  package static let viewportRoundsMax = 16
  /// How far rows are pulled beyond an end at most.
  package static let viewportPullMax: Int64 = 1 << 30
  /// The longest animation.
  package static let viewportAnimationMsMax: Int64 = 60_000
  /// Characters of a word that are searched for, and characters that may be composed together.
  package static let wordCharactersMax = 64
  package static let segmentCharactersMax = 64
  /// Pieces of a query, and tokens of all of them.
  package static let queryPiecesMax = 32
  package static let queryTokensMax = 256
  /// Bytes of what a person types to search for, hits of one answer, marks of a hit, and a step of
  /// work.
  package static let searchBytesMax = 4 << 20
  package static let searchHitsMax = 1_000
  package static let searchMarksMax = 256
  /// Bytes of the texts of one message that are searched: what stands behind them is in no index.
  package static let searchedBytesMax = 64 << 10
  /// Bytes of the names of members that are searched.
  package static let searchMembersMax = 1_024
  package static let stepMsMax = 60_000
  /// Entries of a trace.
  package static let traceMax = 1_000_000
}
