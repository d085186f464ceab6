/// The faults that builds for it can plant in the engine.
internal import Engine

enum EngineFaults {
  /// Each, with the worlds in which it is looked for.
  static var sought: [(name: String, worlds: Knobs.Worlds)] {
    #if DEBUG
      EngineFault.allCases.filter { !$0.isOfLogs }
        .map { ($0.rawValue, $0.worlds) }
    #else
      []
    #endif
  }
}

extension EngineFault {
  /// Only a server with a log can show it.
  var isOfLogs: Bool { self == .answeredStaysOpen }

  fileprivate var worlds: Knobs.Worlds {
    switch self {
    case .forgottenSendRepeated, .expiredSendRepeated, .printedAnewIsAnother, .confirmedEditLost,
      .confirmedReactionLost:
      .operations
    case .connectionsNotPaused, .syncNeverGivenUp, .otherEditsCount, .pageOffersNothing,
      .contradictionsCount:
      .all
    case .olderAnswerReplaces: .updates
    case .answeredStaysOpen: .all
    case .returnedStaysAway: [.all, .returns]
    }
  }
}
