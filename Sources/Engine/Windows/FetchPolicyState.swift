/// What keeps a window shut until the network has answered, where the host wants that first.
///
/// Rule protected: what was shown stays. It opens once, and never shuts again: on the answer, or
/// where the cache may stand for it, on the time limit or a failure.
internal import Base

struct FetchPolicyState {
  private(set) var isShut: Bool
  /// It was before this look.
  private(set) var wasShut = false
  private var choice: PolicyChoice
  /// When the network was first waited for; nil before the first look.
  private var sinceMs: Int64?
  /// When it is to be looked at again though nothing happens.
  private(set) var deadlineMs: Int64?
  /// Why it cannot open, as the host was told.
  var said: Failure?
  /// The present was asked for, and that failed.
  var hasFailed = false
  /// When the server was last asked for all that is new.
  var asOfUs: Int64 = 0

  init(_ choice: PolicyChoice) {
    self.choice = choice
    isShut = choice.waitsForNetwork
  }

  /// What the host wants of it from this look on.
  mutating func choose(_ choice: PolicyChoice) { self.choice = choice }

  /// Looks whether it opens; gives why what was promised cannot be kept so far.
  mutating func judge(isUp: Bool, isCaughtUp: Bool, nowMs: Int64) -> Failure? {
    wasShut = isShut
    deadlineMs = nil
    guard isShut else { return nil }
    let since = sinceMs ?? nowMs
    sinceMs = since
    if isUp && isCaughtUp || !choice.waitsForNetwork {
      isShut = false
      return nil
    }
    let untilMs = choice.limitMs > 0 ? since.saturating(plus: choice.limitMs) : nil
    let isLate = untilMs.map { $0 <= nowMs } ?? false
    if !isLate { deadlineMs = untilMs }
    if choice.policy == .networkOnly { return !isUp ? .offline : isLate ? .timeout : nil }
    if isLate || hasFailed || untilMs == nil && !isUp { isShut = false }
    if !isShut { deadlineMs = nil }
    return nil
  }
}

extension WindowState {
  /// Whether the cache may be shown from this look on.
  mutating func pass(at now: Instant) {
    let failure = fetchPolicy.judge(
      isUp: connection.isUp, isCaughtUp: connection.isCaughtUp, nowMs: now.monotonicMs)
    if fetchPolicy.said != nil, requested.trouble == fetchPolicy.said { requested.trouble = nil }
    fetchPolicy.said = failure
    if let failure { requested.trouble = failure }
  }
}
