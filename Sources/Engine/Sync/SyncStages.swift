/// The stages of a sync, each with what is its own.
internal import Base
internal import Store
internal import Timeline
internal import Wire

/// What a sync asks now. Each stage has exactly one request in flight.
enum SyncStage {
  /// Nothing asked yet; the store says where to begin.
  case start
  /// On the way to where the content is whole up to the present.
  case catchUp(CatchUp)
  /// Going elsewhere than to the present.
  case gap(GapFill)
  case deletions(DeletionWalk)
  case changes(ChangeWalk)
  /// The list of conversations, page by page.
  case listing(Listing)
  /// The conversation itself, for how far the user has read.
  case asking
  /// Through a log.
  case log(LogStage)

  /// It goes towards newer messages.
  var climbs: Bool {
    guard case .gap(let gap) = self else { return false }
    switch gap.way {
    case .forward, .spot(.after): return true
    case .older, .search, .spot: return false
    }
  }

  /// It is past catching up.
  var isReaching: Bool { if case .gap = self { true } else { false } }

  /// Whether it asks for messages page by page.
  var asksPages: Bool {
    switch self {
    case .catchUp, .gap, .log: true
    case .start, .deletions, .changes, .listing, .asking: false
    }
  }

  /// Whether its request selects messages, so that a count of all says nothing of its pages.
  var selects: Bool {
    switch self {
    case .catchUp(let catchUp):
      switch catchUp.way {
      case .tail: true
      case .newest: false
      case .backward(let walk): walk.key != nil
      }
    case .gap(let gap):
      switch gap.way {
      case .spot: true
      case .older(let walk): walk.key != nil
      case .forward, .search: false
      }
    case .start, .deletions, .changes, .listing, .asking, .log: false
    }
  }

  /// Back in time, on either way.
  var walk: BackwardWalk? {
    switch self {
    case .catchUp(let catchUp):
      if case .backward(let walk) = catchUp.way { walk } else { nil }
    case .gap(let gap):
      if case .older(let walk) = gap.way { walk } else { nil }
    case .start, .deletions, .changes, .listing, .asking, .log: nil
    }
  }

  var spot: Spot? {
    guard case .gap(let gap) = self, case .spot(let spot) = gap.way else { return nil }
    return spot
  }

  /// The page that it asks for, and the offset; nil where it asks for something else.
  func place(limit: Int) -> (place: Request.Place, offset: Int)? {
    switch self {
    case .catchUp(let catchUp):
      switch catchUp.way {
      case .tail(let bound): (.offset(0, after: bound.after), 0)
      case .newest: (.offset(0, after: nil), 0)
      case .backward(let walk): walk.place
      }
    case .gap(let gap):
      switch gap.way {
      case .older(let walk): walk.place
      case .forward(let forward):
        (.offset(forward.offset(limit: limit), after: nil), forward.offset(limit: limit))
      case .search(let search): (.offset(search.offset, after: nil), search.offset)
      case .spot(let spot): (spot.place, 0)
      }
    case .start, .deletions, .changes, .listing, .asking, .log: nil
    }
  }
}

/// A catch-up under way, on the whole of it one run down from the present.
struct CatchUp {
  enum Way {
    /// Everything from the bound on.
    case tail(WatermarkPolicy.Bound)
    /// The newest page, up to the present.
    case newest
    /// Back in time from the newest page until the bound is reached.
    case backward(BackwardWalk)
  }

  var way = Way.newest
  /// It must reach down to here; nil when nothing was known before.
  var bound: Position?
  /// When its first page was taken, where that was cut within the overlap.
  var burstUs: Int64?
  /// The watermark of before, where a burst has raised it above all that is stored.
  var raised: ServerTime?
  /// The watermark that it will leave behind.
  var top: ContentMark?
  /// Its first page, where that does not reach the present.
  var tail: CutTail?
  /// Up to where its first page reached, stamps that moved nothing included.
  var present: Position?
  /// The greatest server time known when its first page was stored.
  var known: ServerTime?
  /// Its first page held nothing that could be borne out, and was asked for once more: another
  /// page bore out stamps up to here.
  var borneOut: ServerTime?
  /// Whether nothing of the conversation was stored before its first page; nil until that came.
  var isFresh: Bool?
  /// The commit that stored it: what is stored besides, came since.
  var freshLSN: UInt64 = 0
  /// Where it left off, if it stopped at the newest page.
  var left: Position?
}

/// A walk back in time.
struct BackwardWalk {
  var pages: BackwardPagination
  /// What it pages through; nil for all.
  var key: PositionScheme.Key?

  fileprivate var place: (place: Request.Place, offset: Int) {
    let offset = pages.offset
    return (
      key.map { .before(stamp: $0.text, id: nil, offset: offset) } ?? .offset(offset, after: nil),
      offset
    )
  }
}

/// A way to a place that is not the present.
struct GapFill {
  enum Way {
    /// Back in time from the oldest end of a known range.
    case older(BackwardWalk)
    /// Up by offset from the newest end of a known range.
    case forward(ForwardPagination)
    /// Looking by offset for a place.
    case search(OffsetSearch)
    /// One page at a place that the server can find.
    case spot(Spot)
  }

  var goal: Goal
  var way: Way
}

/// Deletions since a watermark.
struct DeletionWalk {
  var cursors: Cursors
  /// The greatest server time when they were first asked for.
  let known: ServerTime?
}

/// Changed messages since a watermark.
struct ChangeWalk {
  var cursors: Cursors
  let known: ServerTime?
}

/// A place that a server can find by itself.
enum Spot {
  case aroundID([UInt8])
  case aroundTime([UInt8])
  /// From a time on, where the server keeps the oldest of what it cuts.
  case after(WatermarkPolicy.Bound)
  /// Up to a time.
  case before(PositionScheme.Key)

  fileprivate var place: Request.Place {
    switch self {
    case .aroundID(let id): .aroundID(id)
    case .aroundTime(let text): .aroundTime(text)
    case .after(let bound): .offset(0, after: bound.after)
    case .before(let key): .before(stamp: key.text, id: nil, offset: 0)
    }
  }
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

/// What the first page of a catch-up claims that is cut before the present.
struct CutTail {
  let span: SpanSet.Span
  /// The newest commit when it was asked for.
  let issued: UInt64
  /// The page was made so long before it was taken, at most.
  let tookMs: Int64
  let taken: Instant
}

/// Where deletions or changes are asked from, page after page, so that a walk never goes round.
struct Cursors {
  /// Where the page under way is asked from.
  private(set) var since: [UInt8]
  /// Where the walk began, and where it was left.
  let first: [UInt8]
  private(set) var left: [UInt8]?
  private var asked: Set<[UInt8]> = []
  /// Answers in a row that brought nothing new, and that held nothing.
  private var idleAnswers = 0
  private var emptyAnswers = 0

  /// Begins a walk: where it was left before, if it is the same one.
  init(_ since: [UInt8], left: LeftCursor?) {
    first = since
    self.since = since
    if let left, left.from == since { self.since = left.next }
  }

  /// Goes on to the next page. False where the server leads nowhere: a cursor that was asked
  /// before, none at all, or answers without an end. Then `left` says from where the next sync
  /// may go on.
  mutating func goOn(to next: [UInt8]?, isIdle: Bool, isEmpty: Bool, pagesMax: Int) -> Bool {
    idleAnswers = isIdle ? idleAnswers + 1 : 0
    emptyAnswers = isEmpty ? emptyAnswers + 1 : 0
    left = nil
    asked.insert(since)
    guard let next, !asked.contains(next) else { return false }
    guard idleAnswers < Limits.idleAnswersMax, emptyAnswers <= Limits.emptyAnswersMax,
      asked.count < pagesMax
    else {
      left = next
      return false
    }
    since = next
    return true
  }
}
