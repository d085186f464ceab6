/// What the host is told of the engine's work.
///
/// Rule protected: a counter, a line or a word that there is news has one owner; what an input set
/// aside is forgotten when the next one begins.
internal import Base

struct Report {
  var stats = Stats()
  var logLines = LogLines()
  /// What the input that is being taken has set aside.
  var aside = SetAside()
  /// Why it is of no use.
  var ignored: StaticText?
  /// Whether the host should look.
  private(set) var hasNews = false
  /// What a host is told of the store, as of a commit.
  private var counted: (lsn: UInt64, counts: StoredCounts)?

  mutating func beginInput() {
    aside = SetAside()
    ignored = nil
  }

  mutating func tellHost() { hasNews = true }

  /// A sync has ended.
  mutating func log(end status: SyncStatus, trouble: Failure?) {
    switch trouble {
    case nil:
      logLines.append(
        .info, "a sync ended; messages received", Int64(clamping: status.received))
    case .cancelled: logLines.append((.info, "a sync was cancelled"))
    case .incomplete: logLines.append((.warn, "a sync ended with a recorded gap"))
    case .refused:
      logLines.append(.warn, "a sync ended in vain", because: "the server refused for good")
    case let other?:
      logLines.append(.warn, "a sync ended in vain", because: other.reason.text)
    }
  }

  /// What was counted, where nothing was committed since.
  func counts(asOf lsn: UInt64) -> StoredCounts? {
    if let counted, counted.lsn == lsn { counted.counts } else { nil }
  }

  mutating func keep(_ counts: StoredCounts, asOf lsn: UInt64) { counted = (lsn, counts) }

  /// What was written since it was last taken, and whether the host should look.
  mutating func take() -> (lines: LogLines, hasNews: Bool) {
    defer {
      logLines = LogLines()
      hasNews = false
    }
    return (logLines, hasNews)
  }
}

/// What a host is told of the store.
struct StoredCounts {
  var readsPending: Int
  var changeSeq: UInt64
  var pendingReplies: Int
}
