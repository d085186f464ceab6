/// Connections that a server takes down with their requests: how long the next one asks nothing.
///
/// Rule protected: whatever ends connections, and however soon the host opens the next, they are
/// bounded: by pauses that grow while nothing is answered, and by a number a minute.
struct ConnectionLosses {
  /// So many connections a minute may end with a request under way.
  private static let endsMax = 12

  /// Connections in a row on which a request was taken, and since which no answer came.
  private var inVain = 0
  /// Whether a request of this connection was taken.
  private var hasAsked = false
  /// When the last connections ended that took a request with them.
  private var endedMs: [Int64] = []
  /// The last connection ended without an answer, and it was the sixth in a row.
  private(set) var isGivenUp = false
  /// Nothing is asked sooner.
  private(set) var restsUntilMs: Int64 = .min

  mutating func noteRequest() {
    if !hasAsked { inVain &+= 1 }
    hasAsked = true
  }

  mutating func noteAnswer() { inVain = 0 }

  /// Which pause follows where the connection ends now; nil for none.
  var attempt: Int? { hasAsked && inVain > 1 ? inVain &- 1 : nil }

  /// The connection ended, with requests under way or not.
  mutating func end(taking isTaking: Bool, pauseMs: Int64?, nowMs: Int64) {
    if let pauseMs { restsUntilMs = nowMs &+ pauseMs }
    if isTaking {
      endedMs = endedMs.suffix(Self.endsMax &- 1)
      endedMs.append(nowMs)
      if endedMs.count == Self.endsMax { restsUntilMs = max(restsUntilMs, endedMs[0] &+ 60_000) }
    }
    isGivenUp = hasAsked && inVain >= SyncScheduler.attemptsMax
    hasAsked = false
  }
}
