/// The values of policies that cross the engine's border: where an answer may come from, and what
/// one stands on.
///
/// They mirror the structs of the header one to one, without pointers.
internal import Base

package enum Policy: Int32, Sendable {
  case cacheThenNetwork = 0
  case cacheOnly
  case networkFirst
  case networkOnly
  case maximumAge
  /// The host's function chooses one of the others.
  case host
}

/// A policy with what it needs.
package struct PolicyChoice: Equatable, Sendable {
  package var policy: Policy
  /// How long the network is waited for; 0 for as long as it takes.
  package var limitMs: Int64
  /// What was asked no longer ago is not asked again.
  package var ageUs: Int64

  package init(_ policy: Policy = .cacheThenNetwork, limitMs: Int64 = 0, ageUs: Int64 = 0) {
    self.policy = policy
    self.limitMs = limitMs
    self.ageUs = ageUs
  }

  /// Whether nothing of the cache is an answer before the network has been waited for.
  var waitsForNetwork: Bool { policy == .networkFirst || policy == .networkOnly }
}

/// The arguments of the host's function.
package struct PolicyQuestion: Equatable, Sendable {
  /// Empty for the list of conversations, and for all of them.
  package var conversation: [UInt8]
  package var kind: SyncRequest.Kind
  package var isWindow: Bool

  package init(conversation: [UInt8], kind: SyncRequest.Kind, isWindow: Bool) {
    self.conversation = conversation
    self.kind = kind
    self.isWindow = isWindow
  }
}

/// What an answer stands on.
package enum Basis: Int32, Sendable {
  case cache = 0
  case network
}

extension PolicyChoice {
  /// The policy itself, or what the host's function makes of it. Called while nothing is locked. An
  /// answer that chooses nothing is the usual one.
  func made(
    by config: ClientConfig, for conversation: [UInt8], _ kind: SyncRequest.Kind,
    isWindow: Bool = false
  ) throws(Failure) -> PolicyChoice {
    guard policy == .host else { return self }
    guard let choose = config.choose else {
      throw .invalid("policy is the host's, and the configuration has no function for it")
    }
    let answer = choose(
      PolicyQuestion(conversation: conversation, kind: kind, isWindow: isWindow))
    return answer.policy == .host ? PolicyChoice() : answer
  }
}
