/// Shares of whole numbers, without an overflow on the way.

/// `value * part / whole`, toward 0, for a part between 0 and the whole, which is positive. So up
/// and down are the same.
func scaled(_ value: Int64, _ part: Int64, of whole: Int64) -> Int64 {
  guard whole > 0, part > 0 else { return 0 }
  if part >= whole { return value }
  let product = value.magnitude.multipliedFullWidth(by: part.magnitude)
  // The part is less than the whole, so the quotient is less than the value.
  let quotient = Int64(clamping: whole.magnitude.dividingFullWidth(product).quotient)
  return value < 0 ? 0 &- quotient : quotient
}

extension Comparable {
  func clamped(_ low: Self, _ high: Self) -> Self { min(max(self, low), high) }
}
