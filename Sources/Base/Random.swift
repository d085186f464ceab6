/// The only door to chance: a small seeded generator (SplitMix64).
///
/// Good for jitter and request ids, not for secrets: keys, codes and nonces come
/// from libsodium. Seeded by the caller, so a run can be replayed.
package struct Random: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) {
    state = seed
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// A number in `0..<bound`; 0 for a bound of 0.
  package mutating func below(_ bound: Int) -> Int {
    bound <= 0 ? 0 : Int(next() % UInt64(bound))
  }

  /// True with the probability `share`, between 0 and 1.
  package mutating func chance(_ share: Double) -> Bool {
    Double(next() >> 11) < share * 9_007_199_254_740_992
  }
}
