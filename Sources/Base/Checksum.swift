/// One term of the checksum of a list, which windows, their items and viewports have in common.

/// The finalizer of SplitMix64 over two neighbours.
package func checksumTerm(_ previous: UInt64, number: UInt64) -> UInt64 {
  var z = previous &* 0x9E37_79B9_7F4A_7C15 &+ number
  z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
  z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
  return z ^ (z >> 31)
}
