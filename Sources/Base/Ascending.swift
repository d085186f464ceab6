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

extension Array {
  /// The elements in the order of `isBefore`; of equal ones the first stays the first. For what is
  /// sorted seldom or is short: each comparison costs a call.
  package func ordered(_ isBefore: (Element, Element) -> Bool) -> [Element] {
    if count < 2 { return self }
    return ranks(count) { isBefore(self[$0], self[$1]) }.map { self[$0] }
  }

  package mutating func order(_ isBefore: (Element, Element) -> Bool) {
    if count > 1 { self = ordered(isBefore) }
  }
}

@inline(never)
private func ranks(_ count: Int, _ isBefore: (Int, Int) -> Bool) -> [Int] {
  (0..<count).sorted(by: isBefore)
}
