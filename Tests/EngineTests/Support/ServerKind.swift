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
  var capabilities: Profile.Capabilities = []
  var sendsPreviousIDs = false
  var pushIsLossless = false

  var testDescription: String {
    var words = capabilityNames
    if sendsPreviousIDs { words.append("prev_id") }
    if pushIsLossless { words.append("lossless") }
    return plainDescription + (words.isEmpty ? "" : ", \(words.joined(separator: " "))")
  }

  private var capabilityNames: [String] {
    let all: [(Profile.Capabilities, String)] = [
      (.before, "before"), (.around, "around"), (.changedSince, "changed_since"),
      (.sequence, "sequence"), (.envelope, "envelope"),
    ]
    return all.filter { capabilities.contains($0.0) }.map(\.1)
  }

  private var plainDescription: String {
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

  /// One kind for each thing that a server may be able to do, and some of all.
  static let capable: [ServerKind] = {
    let sets: [Profile.Capabilities] = [
      [], .before, .around, [.before, .around], .changedSince, .sequence,
      [.sequence, .before, .around], .envelope, [.before, .around, .changedSince, .envelope],
      [.sequence, .before, .around, .changedSince, .envelope],
    ]
    return sets.enumerated().map { index, capabilities in
      var kind = few[index % few.count]
      kind.capabilities = capabilities
      kind.pushIsLossless = index % 3 == 2
      kind.sendsPreviousIDs = index % 4 == 3
      if capabilities.contains(.envelope) { kind.echoes = true }
      return kind
    }
  }()

  var knobs: ServerKnobs {
    var knobs = ServerKnobs()
    knobs.takesBefore = capabilities.contains(.before)
    knobs.takesAround = capabilities.contains(.around)
    knobs.tellsChanges = capabilities.contains(.changedSince)
    knobs.numbersMessages = capabilities.contains(.sequence)
    knobs.envelope = capabilities.contains(.envelope)
    knobs.sendsPreviousIDs = sendsPreviousIDs
    knobs.pushIsLossless = pushIsLossless
    knobs.truncates = keeps
    knobs.timeResolutionUs = resolutionUs
    knobs.pageCap = cap
    knobs.echoesRequestIDs = echoes
    knobs.ties = ties
    return knobs
  }

  var profile: Profile {
    var profile = Profile()
    profile.capabilities = capabilities
    profile.pushIsLossless = pushIsLossless
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
