/// What a sync has seen on its way, and what it makes of it.
internal import Base
internal import Timeline

/// One unbroken range of pages.
struct PageRun {
  /// The newest commit when its first page was asked for: what came later by another way bounds
  /// what it may claim.
  var issued: UInt64?
  /// Where its claims end, because something came another way from there on.
  var limit: Position?
  /// What came another way and was shown by a page of it since.
  var shownPushes: Set<PushedID> = []
  /// The timestamp group that its low end cuts, with what was shown of it so far.
  var openGroup: OpenTimestampGroup?
  /// What was purged since: it is not claimed by what the run has passed.
  var purged = SpanSet()
}

/// A timestamp group that lies on both sides of a page's end.
struct OpenTimestampGroup {
  var time: Int64
  /// When the page that cut it was asked for: what came later may stand above all that was seen.
  var issued: UInt64
  var seen: IDSet
}

/// What the pages of a sync have shown, and what they lack.
struct Evidence {
  /// The server's count of the conversation, from the last page.
  var total: Int64?
  /// What its pages showed whole, marks included.
  var shown = SpanSet()
  /// The same with what its runs passed, and the places of unreadable items on the way.
  var passed = SpanSet()
  /// Stored messages that a whole answer did not show; a deletion may explain them.
  var suspects: [[UInt8]] = []
  /// The same, stamped so late that the server may not show them yet.
  var unsettled: Set<[UInt8]> = []
  /// The server showed a message whose deletion is recorded here.
  var sawBuried = false
  /// Pages show what was deleted, and deletions were not asked for from as far back as these.
  var needsDeletions = false
  /// An answer counted more than it showed, and said that there was no more: what it lacks speaks
  /// for nothing.
  var isContradicted = false
  /// A page named a cursor of deletions.
  var namesCursors = false
  /// An answer counted as whole because it was short, which is as good as what was learned of
  /// this server's pages.
  var trustedSize = false

  /// Begins again with what is said of the server.
  mutating func restart() { self = Evidence(total: total, trustedSize: trustedSize) }
}

/// How far a sync doubts what it found, before it doubts the server.
enum Suspicion {
  case none
  /// What was learned of the server's pages was forgotten, and all is looked at once more.
  case secondLook
  /// The server counts other messages: all is looked at once more, as after a second look too.
  case recheck(isSecondLook: Bool)
  /// It does so still: the conversation is walked through by offset.
  case revalidation(isSecondLook: Bool)

  var isNone: Bool { if case .none = self { true } else { false } }

  var isRevalidation: Bool { if case .revalidation = self { true } else { false } }

  /// Forgets once what was learned of the server's pages; false where that was done before.
  mutating func lookAgain() -> Bool {
    switch self {
    case .none: self = .secondLook
    case .recheck(false): self = .recheck(isSecondLook: true)
    case .revalidation(false): self = .revalidation(isSecondLook: true)
    case .secondLook, .recheck, .revalidation: return false
    }
    return true
  }

  /// The counts differ: one step on; false where all was looked into.
  mutating func rise() -> Bool {
    switch self {
    case .none: self = .recheck(isSecondLook: false)
    case .secondLook: self = .recheck(isSecondLook: true)
    case .recheck(let isSecondLook): self = .revalidation(isSecondLook: isSecondLook)
    case .revalidation: return false
    }
    return true
  }
}
