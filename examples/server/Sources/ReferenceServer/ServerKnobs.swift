/// What kind of server the reference server plays.
///
/// Real chat servers differ in small ways that lose messages in careless
/// clients. Each difference is a knob here, so that a test or a demonstration
/// can turn it on by name. The defaults are the plain server: whole seconds
/// without a zone, exact pages, the newest end kept.
public struct ServerKnobs: Sendable, Equatable {
  /// Which end of a full `after_ts` page is kept.
  public enum Truncation: String, Sendable, CaseIterable { case oldest, newest }

  /// How times are written.
  public enum StampStyle: String, Sendable, CaseIterable { case bare, zulu, offset, space }

  /// The order of messages with the same printed time.
  public enum Ties: String, Sendable, CaseIterable { case id, arrival }

  /// How the array of a page is laid out; it says nothing about what is cut.
  public enum ArrayOrder: String, Sendable, CaseIterable { case ascending, descending }

  /// What new ids look like: without any order, or growing with the posting.
  public enum IDStyle: String, Sendable, CaseIterable { case random, ordered }

  /// The largest page, whatever limit is asked; 0 for no cap.
  public var pageCap = 0
  public var truncates = Truncation.newest
  /// Cuts each page at a size between 1 and the limit, drawn by the server.
  public var pageSizesVary = false
  /// The resolution in which times are printed, and also compared.
  public var timeResolutionUs: Int64 = 1_000_000
  public var stampStyle = StampStyle.bare
  /// The zone of printed times, in minutes east; `zulu` ignores it. It is also
  /// the zone of received times that name none.
  public var zoneMinutes = 0
  /// Whether `after_ts` and `since` include their own tick.
  public var afterInclusive = false
  public var ties = Ties.id
  public var echoesRequestIDs = true
  public var sendsServerTime = false
  public var sendsTotalCount = true
  /// Whether the answer to `subscribe` names the epoch.
  public var sendsEpoch = true
  /// A message is stamped when posted and visible up to this much later.
  public var commitLatenessMaxUs: Int64 = 0
  /// The same for deletions.
  public var deletionLatenessMaxUs: Int64 = 0
  /// The largest answer of deletions before it is continued; 0 for no cap.
  public var deletionPageCap = 0
  /// Whether each answer of deletions says what to ask the next time, by a word of its own.
  public var deletionCursors = false
  /// Whether pages name cursors of deletions and changes, and a time is no cursor.
  public var knowsCursorsAlone = false
  /// Whether pages go on showing what was deleted, and counts count it: only the log tells.
  public var keepsDeleted = false
  /// How long deletions are remembered; 0 for ever.
  public var deletionHorizonUs: Int64 = 0
  public var arrayOrder = ArrayOrder.ascending
  public var idStyle = IDStyle.random
  /// Whether some messages carry members that only the host knows.
  public var hostMembers = true

  /// Whether `get_messages` takes `before_ts` and `before_id`.
  public var takesBefore = false
  /// Whether `get_messages` takes `around_id` and `around_ts`.
  public var takesAround = false
  /// Whether there is `get_changed_since`.
  public var tellsChanges = false
  /// Whether messages carry `seq` and every page is in its order.
  public var numbersMessages = false
  /// Whether messages carry `prev_id`. Without numbers a message that would not
  /// stand at the end is then stamped like the newest, or one tick later, since
  /// a `prev_id` promises that nothing ever comes in between.
  public var sendsPreviousIDs = false
  /// Whether pages say `has_more`.
  public var sendsHasMore = false
  /// Whether pages around a message say what lies beyond their two ends.
  public var sendsHasMoreAround = true
  /// The largest answer of changes before it is continued; 0 for no cap.
  public var changePageCap = 0
  /// Whether `next_since` of changes is a word of the server's own, no time.
  public var opaqueCursors = false

  /// Whether each conversation is a log: pages are those of `get_entries`, and changes are entries.
  public var keepsLog = false
  /// How long a token of a log is known; 0 for ever.
  public var tokenLifeUs: Int64 = 0
  /// An `after` answer is the newest page, behind a gap, where more entries than so many are
  /// missing; 0 for never.
  public var logGapMin = 0
  /// Whether pushes of a log name the entry before, and the token there.
  public var sendsPreviousEntries = true

  /// Whether a second request with a client id makes nothing new and is answered
  /// `exists` with what the first one made; otherwise it makes a second copy.
  public var idempotentSends = false
  /// Whether messages carry the client id that they were sent with, and conversations, for who
  /// made them, the one that they were made with.
  public var echoesClientIDs = true
  /// Whether messages carry a version, and when they were edited.
  public var tellsVersions = true
  /// Whether the connection that asked for a change is told of it like all others.
  public var tellsSender = true
  /// Whether the answer to a change holds the message or the conversation as it is then.
  public var answersWithResult = true
  /// Prints payloads of sends and edits anew, with other spaces, as databases do that keep values.
  public var printsAnew = false
  /// Whether a connection is told only of what it has subscribed to. Updates go to
  /// accounts and are not asked for.
  public var needsSubscribing = false
  /// The largest payload that is taken, in bytes; 0 for any.
  public var payloadBytesMax = 0

  /// Whether what happens comes as updates that are repeated until replied to.
  public var envelope = false
  /// Whether answers to commands come in an envelope, or bare.
  public var answersInEnvelope = true
  /// How many of the newest messages are pushed to each new connection.
  public var pushesAtConnect = 0
  /// The share of pushes that are never made. An update that is not made is
  /// made at the next connection.
  public var pushDropShare = 0.0
  /// Whether the program's `dropRate` spares pushes and updates.
  public var pushIsLossless = false
  /// The share of answers and pushes that never leave; the program's alone.
  public var dropRate = 0.0
  /// The delay of each answer and push; the program's alone.
  public var latencyMs = 0

  public init() {}
}

/// The server's own chance (SplitMix64), so that one seed gives one run.
public struct ServerDice: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(seed: UInt64) {
    state = seed
  }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// Leaves for a place of its own that `count` names.
  mutating func goOn(from count: UInt64) {
    state ^= count
    state = next()
  }

  /// A number in `0..<bound`; 0 for a bound of 0.
  public mutating func below(_ bound: Int) -> Int {
    bound <= 0 ? 0 : Int(next() % UInt64(bound))
  }

  /// True with the probability `share`, between 0 and 1.
  public mutating func chance(_ share: Double) -> Bool {
    Double(next() >> 11) < share * 9_007_199_254_740_992
  }
}
