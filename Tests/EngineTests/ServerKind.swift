/// The kinds of server that every trap is tried on.
///
/// They differ in what has lost messages in real clients: which end of a cut page
/// is kept, whether the profile knows, how fine the times are, whether the server
/// gives less than it is asked for, and whether it echoes request ids.
import Engine
import ReferenceServer
import Testing

struct ServerKind: Sendable, CustomTestStringConvertible {
  var keeps: ServerKnobs.Truncation
  var isDeclared: Bool
  var resolutionUs: Int64
  var cap: Int
  var echoes: Bool
  var ties: ServerKnobs.Ties

  var testDescription: String {
    "keeps \(keeps.rawValue)\(isDeclared ? "" : " (unknown)"), \(resolutionUs) µs, cap \(cap), "
      + "ties by \(ties.rawValue), \(echoes ? "echoes ids" : "no ids")"
  }

  /// 16 kinds; echo and order of ties go along with the others, not crossed.
  static let all: [ServerKind] = {
    var kinds: [ServerKind] = []
    for keeps in [ServerKnobs.Truncation.oldest, .newest] {
      for isDeclared in [true, false] {
        for resolutionUs in [Int64(1_000_000), 1] {
          for cap in [0, 20] {
            kinds.append(
              ServerKind(
                keeps: keeps, isDeclared: isDeclared, resolutionUs: resolutionUs, cap: cap,
                echoes: isDeclared != (cap == 0),
                ties: (resolutionUs == 1) != (cap == 0) ? .id : .arrival))
          }
        }
      }
    }
    return kinds
  }()

  /// One kind of each end and declaration, for what depends on little else.
  static let few: [ServerKind] = [all[0], all[5], all[10], all[15]]

  var knobs: ServerKnobs {
    var knobs = ServerKnobs()
    knobs.truncates = keeps
    knobs.timeResolutionUs = resolutionUs
    knobs.pageCap = cap
    knobs.echoesRequestIDs = echoes
    knobs.ties = ties
    return knobs
  }

  var profile: Profile {
    var profile = Profile()
    if isDeclared { profile.truncates = keeps == .oldest ? .oldest : .newest }
    return profile
  }

  /// Messages in a page of this server.
  var pageSize: Int { cap == 0 ? 50 : cap }

  func world(
    seed: UInt64 = 1, knobs change: (inout ServerKnobs) -> Void = { _ in },
    profile tune: (inout Profile) -> Void = { _ in },
    config alter: (inout ClientConfig) -> Void = { _ in }
  ) throws -> World {
    var knobs = knobs
    change(&knobs)
    var profile = profile
    tune(&profile)
    return try World(knobs: knobs, profile: profile, seed: seed, change: alter)
  }
}
