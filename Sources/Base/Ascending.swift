/// Sorting of the kinds that are sorted in many places: the compiler makes a copy of the sort for
/// each place otherwise, of some 2,500 bytes.

extension [[UInt8]] {
  /// By their bytes.
  @inline(never)
  package func inByteOrder() -> [[UInt8]] { sorted { $0.lexicographicallyPrecedes($1) } }
}

extension [UInt64] {
  @inline(never)
  package func ascending() -> [UInt64] { sorted() }
}

extension [Int64] {
  @inline(never)
  package func ascending() -> [Int64] { sorted() }
}

extension [Int] {
  @inline(never)
  package func ascending() -> [Int] { sorted() }
}

extension [ClosedRange<UInt64>] {
  /// By where they begin.
  @inline(never)
  package func ascending() -> [ClosedRange<UInt64>] {
    sorted { $0.lowerBound < $1.lowerBound }
  }
}
