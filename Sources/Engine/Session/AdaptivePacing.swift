/// How long to wait for an answer and how much to ask at once, as the network is.
///
/// A bad network loses large answers first, so a time-out halves the page; quick
/// answers let it grow again. How long an answer may take follows how long answers
/// took. Rule protected: nothing is asked twice because it was given up too early,
/// and nobody waits half a minute where answers take a tenth of a second.
internal import Base

struct AdaptivePacing: Equatable {
  /// Answers are never given up sooner.
  static let timeoutMsMin: Int64 = 5_000
  /// Granted beside four times the usual, for a server that is busy once.
  static let slackMs: Int64 = 4_000
  /// The smallest page that is worth a request.
  static let pageMin = 10
  /// An answer within this time says that there is room for a larger page.
  static let quickMs: Int64 = 2_000

  private let configuredMs: Int64
  private let pageMax: Int
  /// A running mean; nil before the first answer.
  private(set) var smoothedMs: Int64?
  /// Messages to ask for in one page now.
  private(set) var pageLimit: Int

  init(configuredMs: Int64, pageLimit: Int) {
    self.configuredMs = max(1, min(configuredMs, 86_400_000))
    pageMax = pageLimit
    self.pageLimit = pageLimit
  }

  /// How long the next answer may take. Before any answer: as configured.
  var timeoutMs: Int64 {
    guard let smoothedMs else { return configuredMs }
    let highest = configuredMs * 4
    return min(max(4 * smoothedMs + Self.slackMs, Self.timeoutMsMin), highest)
  }

  /// An answer came after so long.
  mutating func answered(afterMs: Int64) {
    let took = max(0, min(afterMs, 86_400_000))
    // An eighth of each answer: one slow one among many changes little.
    smoothedMs = smoothedMs.map { ($0 * 7 + took) / 8 } ?? took
    if took <= Self.quickMs { pageLimit = min(pageMax, pageLimit + max(1, pageLimit / 2)) }
  }

  /// None came in time: such a network gets more time and smaller pages.
  mutating func timedOut() {
    smoothedMs = min(timeoutMs, configuredMs * 4)
    pageLimit = max(min(Self.pageMin, pageMax), pageLimit / 2)
  }
}
