/// Sums and differences of times from outside: they stop at the edge of their type,
/// where others would end the host's process.
extension Int64 {
  package func saturating(plus other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  package func saturating(minus other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }
}
