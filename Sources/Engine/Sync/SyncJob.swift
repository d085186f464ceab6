/// One sync of one conversation, as a value: what it is after and how far it is.
///
/// A job holds no truth. Everything it has proven is in the store; a killed process
/// loses only the job, and the next one begins from the store's watermarks.
internal import Base
internal import Store
internal import Timeline
internal import Wire

struct SyncJob {
  /// Each stage has exactly one request in flight.
  enum Stage {
    /// Nothing asked yet; the store says where to begin.
    case start
    /// Everything from the bound on.
    case tail(WatermarkPolicy.Bound)
    /// The newest page, up to the present.
    case newest
    /// Back in time from the newest page until the bound is reached.
    case backward(BackwardPagination)
    /// Back in time from the oldest end of a known range.
    case older(BackwardPagination)
    /// Up by offset from the newest end of a known range.
    case forward(ForwardPagination)
    /// Looking by offset for a place.
    case search(OffsetSearch)
    /// One page at a place that the server can find.
    case spot(Spot)
    /// Deletions since a watermark; `knownUs` is the greatest server time when asked.
    case deletions(since: [UInt8], sinceUs: Int64, knownUs: Int64?)
    /// Changed messages since a watermark, the same.
    case changes(since: [UInt8], knownUs: Int64?)
    /// The list of conversations, page by page.
    case listing(Listing)
    /// The conversation itself, for how far the user has read.
    case asking

    /// It goes towards newer messages.
    var climbs: Bool {
      switch self {
      case .forward, .spot(.after): true
      default: false
      }
    }

    /// It is past catching up.
    var isReaching: Bool {
      switch self {
      case .older, .forward, .search, .spot: true
      case .start, .tail, .newest, .backward, .deletions, .changes, .listing, .asking: false
      }
    }
  }

  let id: UInt64
  var request: SyncRequest
  /// How many asked for it.
  var holders = 1
  var status = SyncStatus()
  var stage = Stage.start
  var inFlight = false
  var attempts = 0
  var notBeforeMs: Int64 = .min
  var pages = 0
  /// When its walk began to ask.
  var beganMs: Int64 = .min

  /// The catch-up must reach down to here; nil when nothing was known before.
  var bound: Position?
  /// The watermark that the catch-up will leave behind.
  var top: Watermark?
  /// Its first page, where that does not reach the present.
  var tail: CutTail?
  /// Up to where its first page reached, stamps that moved nothing included.
  var present: Position?
  /// The newest commit when the first page of its run was asked for: what came later by another
  /// way bounds what the run may claim.
  var runIssued: UInt64?
  /// What came another way and was shown by a page of it since.
  var shownPushes: Set<PushedID> = []
  /// Where the claims of its run end, because something came another way from there on.
  var claimLimit: Position?
  /// Something came another way that a claim ends below: another catch-up is to follow.
  var isBehind = false
  /// The greatest server time known when its first page was stored.
  var knownUs: Int64?
  /// Its first page held nothing that could be borne out, and was asked for once more: another
  /// page bore out stamps up to here.
  var borneOutUs: Int64?
  /// No page was taken since it began, or began again.
  var isAtBeginning = true
  /// Nothing of the conversation was stored before that page.
  var isFresh = false
  /// The catch-up part is over, or was not needed; what follows is the goal.
  var caughtUp = false
  /// From here on all is read again, known or not.
  var recheckFrom: Position?
  /// Its catch-up ended well, on this connection.
  var isLive = false
  /// Where a catch-up that stopped at the newest page left off.
  var left: Position?
  /// Another sync moved the watermark over what this one was to bring: down to here
  /// it is its goal.
  var floor: Position?
  /// It looks through so many messages only, for nothing says down to where. It is no catch-up
  /// that anybody asked for.
  var isBounded = false
  /// The goal is reached; only deletions are still asked.
  var goalIsDone = false
  var goal = Goal()
  /// What `backward` and `older` page through; nil for all.
  var key: PositionScheme.Key?
  /// Messages still wanted of the goal.
  var wanted = 0
  /// The offset of the request in flight.
  var offset = 0
  /// What its pages showed whole, marks included.
  var shown = SpanSet()
  /// The same with what its runs passed, and the places of unreadable items on the way.
  var passed = SpanSet()
  /// Changed messages were asked for.
  var changesAreDone = false
  /// Stored messages that a whole answer did not show; a deletion may explain them.
  var suspects: [[UInt8]] = []
  /// The same, stamped so late that the server may not show them yet.
  var unsettled: Set<[UInt8]> = []
  /// The timestamp group that the walk's low end cuts, with what was shown of it so far.
  var openGroup: OpenTimestampGroup?
  /// The request stamp of the answer being taken, and the page size asked.
  var issued: UInt64 = 0
  var asked = 0
  /// An answer counted more than it showed, and said that there was no more: what it lacks speaks
  /// for nothing.
  var isContradicted = false
  /// The server showed a message whose deletion is recorded here.
  var sawBuried = false
  /// Where deletions or changes were asked from by this job, so that it never goes
  /// round.
  var cursors: Set<[UInt8]> = []
  /// Answers in a row that brought nothing new, and that held nothing.
  var idleAnswers = 0
  var emptyAnswers = 0
  /// The cursor that deletions or changes were first asked from, and where they were left.
  var firstCursor: [UInt8] = []
  var leftCursor: [UInt8]?
  /// How many pages it has taken since it began, or began again.
  var budget = PageBudget()
  /// The server's count of the conversation, from the last page.
  var total: Int64?
  var restores = 0
  /// An answer counted as whole because it was short, which is as good as what was learned
  /// of this server's pages.
  var trustedSize = false
  /// What was learned of them was forgotten, and all is looked at once more.
  var isSecondLook = false
  var isRecheck = false
  var isRevalidation = false

  init(id: UInt64, request: SyncRequest) {
    self.id = id
    self.request = request
    wanted = request.want
  }

  /// It is content with the newest page: what lies between is left as a gap.
  var stopsAtPage: Bool {
    switch request.kind {
    case .latest, .older: false
    case .live, .below, .above, .at, .marker, .near, .time, .refresh, .conversations, .all:
      true
    }
  }

  /// The present is not known because of it yet.
  var isCatchingUp: Bool {
    switch stage {
    case .start: !caughtUp && (!stopsAtPage || request.kind == .live)
    case .tail, .newest, .backward: true
    case .older, .forward, .search, .spot, .deletions, .changes, .listing, .asking: false
    }
  }

  /// From where on what it brings is new to this device; nil where it is history.
  var newFrom: Position? {
    guard restores == 0, !isSecondLook, !isRecheck, recheckFrom == nil else { return nil }
    return switch stage {
    case .tail, .newest, .backward: bound
    case .older, .forward, .search, .spot: request.kind == .latest ? floor : nil
    case .start, .deletions, .changes, .listing, .asking: nil
    }
  }

  /// Whether its request selects messages, so that a count of all says nothing of its pages.
  var selects: Bool {
    switch stage {
    case .tail, .spot: true
    case .backward, .older: key != nil
    case .start, .newest, .forward, .search, .deletions, .changes, .listing, .asking: false
    }
  }

  /// Whether it asks for messages page by page.
  var asksPages: Bool {
    switch stage {
    case .tail, .newest, .backward, .older, .forward, .search, .spot: true
    case .start, .deletions, .changes, .listing, .asking: false
    }
  }

  /// Whether it may ask for more pages than it has.
  var hasPagesLeft: Bool { request.pagesMax <= 0 || pages < request.pagesMax }

  /// Whether there is something to do beyond catching up.
  var hasGoal: Bool {
    switch request.kind {
    case .latest: floor != nil
    case .live, .conversations, .all: false
    case .older, .below, .above, .at, .marker, .near, .time, .refresh: true
    }
  }

  /// Forgets what it was about and begins again from the store.
  mutating func beginAgain() {
    stage = .start
    isAtBeginning = true
    isFresh = false
    bound = nil
    tail = nil
    top = nil
    present = nil
    borneOutUs = nil
    runIssued = nil
    claimLimit = nil
    shownPushes = []
    suspects = []
    unsettled = []
    openGroup = nil
    caughtUp = false
    isLive = false
    left = nil
    goal = Goal()
    key = nil
    shown = SpanSet()
    passed = SpanSet()
    changesAreDone = false
    sawBuried = false
    isContradicted = false
    cursors = []
    idleAnswers = 0
    emptyAnswers = 0
    budget = PageBudget()
  }

  /// The same where nothing is left of what it brought.
  mutating func beginAnew() {
    beginAgain()
    goalIsDone = false
    wanted = request.want
  }

  /// The request of this stage.
  mutating func wireRequest(limit: Int) -> Request? {
    let conversation = request.conversation
    offset = 0
    let place: Request.Place
    switch stage {
    case .start:
      return nil
    case .deletions(let since, _, _):
      return .getDeletedSince(conversation: conversation, since: since)
    case .changes(let since, _):
      return .getChangedSince(conversation: conversation, since: since)
    case .listing(let listing):
      return listing.request(limit: limit)
    case .asking:
      let last = Array("\"include_last_message\":true".utf8)
      return .operation(
        OperationRequest(verb: .getConversation, conversation: conversation, body: last))
    case .tail(let bound), .spot(.after(let bound)):
      place = .offset(0, after: bound.after)
    case .newest:
      place = .offset(0, after: nil)
    case .backward(let backward), .older(let backward):
      offset = backward.offset
      place =
        key.map { .before(stamp: $0.text, id: nil, offset: backward.offset) }
        ?? .offset(backward.offset, after: nil)
    case .forward(let forward):
      offset = forward.offset(limit: limit)
      place = .offset(offset, after: nil)
    case .search(let search):
      offset = search.offset
      place = .offset(offset, after: nil)
    case .spot(.aroundID(let id)):
      place = .aroundID(id)
    case .spot(.aroundTime(let text)):
      place = .aroundTime(text)
    case .spot(.before(let key)):
      place = .before(stamp: key.text, id: nil, offset: 0)
    }
    return .getMessages(conversation: conversation, limit: limit, place: place)
  }
}

/// A place that a server can find by itself.
enum Spot {
  case aroundID([UInt8])
  case aroundTime([UInt8])
  /// From a time on, where the server keeps the oldest of what it cuts.
  case after(WatermarkPolicy.Bound)
  /// Up to a time.
  case before(PositionScheme.Key)
}

/// How far a job goes beyond catching up.
struct Goal {
  /// Down: not below this.
  var floor = Position.min
  /// Known ranges on the way are passed over.
  var jumps = true
  /// It ends at the next known range.
  var endsJoined = false
  /// The end of the known range that it goes on from.
  var from = Position.min
  /// The server was already asked for its own page at that end, and it brought nothing.
  var isStuck = false
}

/// A timestamp group that lies on both sides of a page's end.
struct OpenTimestampGroup {
  var time: Int64
  /// When the page that cut it was asked for: what came later may stand above all that was seen.
  var issued: UInt64
  var seen: IDSet
}

/// What a job does after an answer.
enum Step {
  /// Its stage is set; ask again.
  case next
  case ended(Failure?)
}

/// What the first page of a catch-up claims that is cut before the present.
struct CutTail {
  let span: SpanSet.Span
  /// The newest commit when it was asked for.
  let issued: UInt64
  /// The page was made so long before it was taken, at most.
  let tookMs: Int64
  let taken: Instant
}
