/// What a sync asks of a server that keeps a log: where it goes, and how far it is.
internal import Base
internal import Store
internal import Timeline
internal import Wire

struct LogStage {
  let aim: LogAim
  var walk: LogWalk
  /// The request that is next, or under way.
  var ask: LogAsk
  /// How many requests it has made before this one.
  var requests = 0
  /// The unverified entries that it has read again, each once.
  var reread: [[UInt8]] = []
  /// They are those of a screen, and not unverified ones.
  var refresh: LogRefresh?

  init(_ aim: LogAim, in book: LogBook<LogRows>, idle: Int = 0) throws(StoreFailure) {
    self.aim = aim
    walk = try LogWalk(aim.goal, book, idle: idle)
    ask = LogAsk(.newest, request: 0, connection: book.facts.connection)
  }

  /// The same way, on from what a page shows below a hole; nil where it shows nothing there, or
  /// where only what lies above is looked for.
  func behindHole(
    of parts: [LogPart], in book: LogBook<LogRows>
  ) throws(StoreFailure) -> LogStage? {
    guard case .down(let from, let bound) = aim, bound.next == nil,
      let above = try book.range(of: from), let id = parts.first?.page.entries.first?.id,
      let at = try book.range(of: id), at < above
    else { return nil }
    var next = try LogStage(.down(from: id, bound), in: book)
    if let start = book.ranges[at].start, start.connection < book.facts.connection {
      next = try LogStage(.start(of: id), in: book)
    }
    next.requests = requests
    return next
  }

  var place: Request.EntryPlace {
    switch ask.place {
    case .newest: .newest
    case .before(let token): .before(token.bytes)
    case .after(let token): .after(token.bytes)
    case .around(let id): .around(id)
    }
  }
}

/// Where a walk through a log goes.
enum LogAim {
  /// The present; down to what was known, or, where somebody waits, with a gap left below.
  case present(stopsAtPage: Bool)
  /// Down from the range that holds an entry.
  case down(from: [UInt8], WalkBound)
  case up(from: [UInt8], WalkBound)
  case entry([UInt8])
  /// Where the range that holds an entry starts, by an answer of now.
  case start(of: [UInt8])

  var isPresent: Bool { if case .present = self { true } else { false } }

  fileprivate var goal: LogWalk.Goal {
    switch self {
    case .present: .present
    case .down(let id, _): .down(from: id)
    case .up(let id, _): .up(from: id)
    case .entry(let id): .entry(id)
    case .start(let id): .start(of: id)
    }
  }
}

/// When a walk down or up has what it is for, beside its messages.
struct WalkBound {
  /// An entry of the next range on the way: where that is reached, the gap is filled.
  var next: [UInt8]?
  /// It ends where messages are this old.
  var timeUs: Int64?
  /// Messages wanted do not end it.
  var isOfTime: Bool { timeUs != nil }
}
