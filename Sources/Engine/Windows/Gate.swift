/// What keeps a window shut until the network has answered, where the host wants that first.
///
/// Rule protected: what was shown stays. It opens once, and never shuts again: on the answer, or
/// where the cache may stand for it, on the time limit or a failure.
internal import Base

struct Gate {
  private(set) var isShut: Bool
  /// It was before this look.
  private(set) var wasShut = false
  /// The network alone opens it.
  private let isNetworkOnly: Bool
  private let limitMs: Int64
  /// When the network has been waited for long enough; nil before the first look.
  private var untilMs: Int64?
  /// Why it cannot open, as the host was told.
  var said: Failure?
  /// The present was asked for, and that failed.
  var hasFailed = false
  /// When the server was last asked for all that is new.
  var asOfUs: Int64 = 0

  init(_ config: WindowConfig) {
    isShut = config.choice.waitsForNetwork
    isNetworkOnly = config.choice.policy == .networkOnly
    limitMs = config.choice.limitMs
  }

  /// When it is to be looked at again though nothing happens.
  var deadlineMs: Int64? { isShut ? untilMs : nil }

  /// Looks whether it opens; gives why what was promised cannot be kept so far.
  mutating func judge(isUp: Bool, isCaughtUp: Bool, nowMs: Int64) -> Failure? {
    wasShut = isShut
    guard isShut else { return nil }
    if limitMs > 0, untilMs == nil { untilMs = nowMs.saturating(plus: limitMs) }
    if isUp, isCaughtUp {
      isShut = false
      return nil
    }
    let isLate = untilMs.map { $0 <= nowMs } ?? false
    if isNetworkOnly {
      if isLate { untilMs = .max }
      return !isUp ? .offline : isLate ? .timeout : nil
    }
    if isLate || hasFailed || limitMs == 0 && !isUp { isShut = false }
    return nil
  }
}

extension WindowState {
  /// Whether the cache may be shown from this look on.
  mutating func pass(at now: Instant) {
    let failure = gate.judge(
      isUp: connection.isUp, isCaughtUp: connection.isCaughtUp, nowMs: now.monotonicMs)
    if gate.said != nil, requested.trouble == gate.said { requested.trouble = nil }
    gate.said = failure
    if let failure { requested.trouble = failure }
  }
}
