/// Servers as a client finds them: by time with much, little and next to nothing to tell, by
/// number, and a log. What a screen shows is to be right with each of them.
import Engine
import ReferenceServer
import Testing
import Timeline

enum FoundServer: String, CaseIterable, CustomTestStringConvertible, Sendable {
  /// Places, changes, counts, its clock, repeated sends known.
  case rich
  /// Counts and versions.
  case poor
  /// Neither counts nor versions nor client ids, and no request ids.
  case bare
  case numbered, log

  static let byTime: [FoundServer] = [.rich, .poor, .bare]
  static let withPages: [FoundServer] = [.rich, .poor, .bare, .numbered]

  var testDescription: String { rawValue }

  var knobs: ServerKnobs {
    var knobs = ServerKnobs()
    switch self {
    case .rich:
      knobs.takesBefore = true
      knobs.takesAround = true
      knobs.tellsChanges = true
      knobs.sendsServerTime = true
      knobs.sendsHasMore = true
      knobs.idempotentSends = true
    case .poor: break
    case .bare:
      knobs.sendsTotalCount = false
      knobs.tellsVersions = false
      knobs.echoesClientIDs = false
      knobs.echoesRequestIDs = false
      knobs.sendsEpoch = false
    case .numbered:
      knobs.numbersMessages = true
      knobs.sendsServerTime = true
    case .log: knobs.keepsLog = true
    }
    return knobs
  }

  var profile: Profile {
    var profile = Profile()
    switch self {
    case .rich: profile.capabilities = [.before, .around, .changedSince, .idempotentSend]
    case .poor, .bare: break
    case .numbered: profile.capabilities = .sequence
    case .log: profile.log = LogProfile(refusesUnknown: true, namesEpoch: true)
    }
    return profile
  }

  func world(
    file: ClientConfig.File = .memory, knobs change: (inout ServerKnobs) -> Void = { _ in },
    profile tune: (inout Profile) -> Void = { _ in },
    config alter: (inout ClientConfig) -> Void = { _ in }
  ) throws -> World {
    var knobs = knobs
    change(&knobs)
    var profile = profile
    tune(&profile)
    return try World(knobs: knobs, profile: profile, file: file, change: alter)
  }
}
