/// What the worlds of the log ask of Tideline, and which server they say that it has.
internal import Engine
internal import Timeline

extension TidelineClient {
  static func log(_ knobs: Knobs) -> LogProfile? {
    guard let room = knobs.log else { return nil }
    var profile = LogProfile(refusesUnknown: room.refusesUnknown, namesEpoch: room.namesEpoch)
    if let rangesMax = knobs.logRangesMax { profile.rangesMax = rangesMax }
    #if DEBUG
      profile.planted = knobs.logFault.flatMap { LogFault(rawValue: $0) }
    #endif
    return profile
  }

  func sync(_ conversation: [UInt8], _ asked: LogAsked) throws -> UInt64 {
    var request = SyncRequest(conversation: conversation)
    switch asked {
    case .latest: break
    case .live: request.kind = .live
    case .older(let want): (request.kind, request.want) = (.older, want)
    case .at(let id): request.kind = .at(Array(id.utf8))
    case .time(let us): request.kind = .time(us)
    }
    return try client.sync(request)
  }
}

/// The faults that builds for it can plant in a log.
package enum LogFaults {
  /// Each that the worlds have to find.
  static var sought: [String] {
    #if DEBUG
      LogFault.allCases.map(\.rawValue).filter { !leftToRules.contains($0) }
        + EngineFault.allCases.filter(\.isOfLogs).map(\.rawValue)
    #else
      []
    #endif
  }

  /// Those that no world has shown, of 860 for the first four, of 200 for the fifth, of 150 for the
  /// last two and of 60 for the others: each needs several rare things at once. `LogRuleTests` has
  /// a test for each, which is red with it.
  package static let leftToRules: Set<String> = [
    "outerPartStays", "partStays", "absentStays", "carriedIsNew", "inPlaceUnnamed",
    "endlessWalk", "presentByTime", "changeBelow", "otherRangeFirst", "trimsChanges",
    "olderCopyWins", "trimmedClaims", "restoredIsClaimed", "markStays",
    "tokenStaysEnd", "laterGoesAlong",
  ]
}
