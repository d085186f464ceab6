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

  /// The same way, on from what a page shows below a hole; nil where it shows nothing there, or
  /// where only what lies above is looked for.
  func behindHole(
    of parts: [LogPart], in book: LogBook<LogRows>
  ) throws(StoreFailure) -> LogStage? {
    guard case .down(let from, let bound) = aim, bound.next == nil,
      let above = try book.range(of: from), let id = parts.first?.page.entries.first?.id,
      let at = try book.range(of: id), at < above
    else { return nil }
    var next = LogStage(
      aim: .down(from: id, bound), walk: try LogWalk(.down(from: id), book), ask: ask)
    if let start = book.ranges[at].start, start.connection < book.facts.connection {
      next = LogStage(aim: .start(of: id), walk: try LogWalk(.start(of: id), book), ask: ask)
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
