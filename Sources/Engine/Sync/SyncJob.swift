/// One sync of one conversation, as a value: what it is after and how far it is.
///
/// A job holds no truth. Everything it has proven is in the store; a killed process
/// loses only the job, and the next one begins from the store's watermarks.
internal import Base
internal import Timeline
internal import Wire

struct SyncJob {
  let id: UInt64
  var request: SyncRequest
  /// How many asked for it.
  var holders = 1
  var status = SyncStatus()
  var turn = SyncTurn()
  var stage = SyncStage.start
  var aim: SyncAim
  var caughtUp = CatchUpResult.none
  var run = PageRun()
  var evidence = Evidence()
  var suspicion = Suspicion.none
  /// How often the server was found restored.
  var restores = 0
  /// How many answers of a log in a row brought nothing, over all connections.
  var idle = 0
  /// How many pages it has taken since it began, or began again.
  var budget = PageBudget()

  init(id: UInt64, request: SyncRequest) {
    self.id = id
    self.request = request
    aim = SyncAim(wanted: request.want)
  }

  /// What is the catch-up's own, while it is under way.
  var catchUp: CatchUp {
    get { if case .catchUp(let catchUp) = stage { catchUp } else { CatchUp() } }
    set { if case .catchUp = stage { stage = .catchUp(newValue) } }
  }

  /// What it goes for beyond catching up, while it does.
  var goal: Goal {
    get { if case .gap(let gap) = stage { gap.goal } else { Goal() } }
    set {
      guard case .gap(var gap) = stage else { return }
      gap.goal = newValue
      stage = .gap(gap)
    }
  }

  /// Its catch-up ended well, on this connection.
  var isLive: Bool { if case .live = caughtUp { true } else { false } }

  /// It is content with the newest page: what lies between is left as a gap.
  var stopsAtPage: Bool {
    switch request.kind {
    case .latest, .older: false
    case .live, .below, .above, .at, .marker, .near, .time, .refresh, .count, .conversations, .all:
      true
    }
  }

  /// The present is not known because of it yet.
  var isCatchingUp: Bool {
    switch stage {
    case .start: caughtUp.isNone && (!stopsAtPage || request.kind == .live)
    case .catchUp: true
    case .log(let stage): stage.aim.isPresent && caughtUp.isNone
    case .gap, .deletions, .changes, .listing, .asking: false
    }
  }

  /// Where its walk stands: the next page has to show rows of there again.
  var edge: Position? {
    switch stage {
    case .catchUp(let catchUp):
      if case .backward(let walk) = catchUp.way { walk.pages.low } else { nil }
    case .gap(let gap):
      switch gap.way {
      case .older(let walk): walk.pages.low
      case .forward(let pages): pages.high
      case .search, .spot: gap.goal.from
      }
    case .start, .deletions, .changes, .listing, .asking, .log: nil
    }
  }

  /// Whether it may ask for more pages than it has.
  var hasPagesLeft: Bool { request.pagesMax <= 0 || turn.pages < request.pagesMax }

  /// Whether there is something to do beyond catching up.
  var hasGoal: Bool {
    switch request.kind {
    case .latest: aim.floor != nil
    case .live, .count, .conversations, .all: false
    case .older, .below, .above, .at, .marker, .near, .time, .refresh: true
    }
  }

  /// Forgets what it was about and begins again from the store.
  mutating func beginAgain() {
    stage = .start
    caughtUp = .none
    run = PageRun()
    evidence.restart()
    budget = PageBudget()
  }

  /// The same where nothing is left of what it brought.
  mutating func beginAnew() {
    beginAgain()
    idle = 0
    aim.isDone = false
    aim.wanted = request.want
  }

  /// The request of this stage.
  mutating func wireRequest(limit: Int) -> Request? {
    let conversation = request.conversation
    turn.offset = 0
    switch stage {
    case .start:
      return nil
    case .deletions(let walk):
      return .getDeletedSince(conversation: conversation, since: walk.cursors.since)
    case .changes(let walk):
      return .getChangedSince(conversation: conversation, since: walk.cursors.since)
    case .listing(let listing):
      return listing.request(limit: limit)
    case .asking:
      let last = Array("\"include_last_message\":true".utf8)
      return .operation(
        OperationRequest(verb: .getConversation, conversation: conversation, body: last))
    case .log(let stage):
      return .getEntries(conversation: conversation, limit: limit, place: stage.place)
    case .catchUp, .gap:
      guard let (place, offset) = stage.place(limit: limit) else { return nil }
      turn.offset = offset
      return .getMessages(conversation: conversation, limit: limit, place: place)
    }
  }
}

/// Its turn among the others, and the request that is under way.
struct SyncTurn {
  var inFlight = false
  var attempts = 0
  var notBeforeMs: Int64 = .min
  var pages = 0
  /// When its walk began to ask.
  var beganMs: Int64 = .min
  /// The offset of the request in flight.
  var offset = 0
}

/// What a sync is to bring, however often it begins again.
struct SyncAim {
  /// Messages still wanted of the goal.
  var wanted: Int
  /// The goal is reached; only deletions are still asked.
  var isDone = false
  /// From here on all is read again, known or not.
  var recheckFrom: Position?
  /// Another sync moved the watermark over what this one was to bring: down to here
  /// it is its goal.
  var floor: Position?
  /// It looks through so many messages only, for nothing says down to where. It is no catch-up
  /// that anybody asked for.
  var isBounded = false

  init(wanted: Int) { self.wanted = wanted }
}

/// What became of the catch-up of a sync.
enum CatchUpResult {
  case none
  /// It was not needed; what follows is the goal.
  case passedOver
  /// It ended well, on this connection, and left what lies below `left` if it stopped at the
  /// newest page.
  case live(left: Position?, changesAreDone: Bool)

  var isNone: Bool { if case .none = self { true } else { false } }

  var left: Position? { if case .live(let left, _) = self { left } else { nil } }

  /// Changed messages were asked for.
  var changesAreDone: Bool { if case .live(_, let areDone) = self { areDone } else { false } }

  /// Changed messages need not be asked for any more.
  mutating func noteChanges() {
    if case .live(let left, _) = self { self = .live(left: left, changesAreDone: true) }
  }
}

/// What a job does after an answer.
enum Step {
  /// Its stage is set; ask again.
  case next
  case ended(Failure?)
}
