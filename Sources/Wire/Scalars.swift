/// What numbers mean, once the scanner has found where they lie.
///
/// Only well-formed input reaches these functions, yet none of them relies on it:
/// a wrong byte gives a wrong value, never a trap.

/// The integer that a JSON number stands for, where it is one exactly and fits.
///
/// `1.0` and `1e3` are integers too; `1.5`, `1e-1` and anything beyond 64 bits
/// give nil rather than something near.
func exactInteger(_ text: ArraySlice<UInt8>) -> Int64? {
  var at = text.startIndex
  let negative = at < text.endIndex && text[at] == ASCII.minus
  if negative { at += 1 }
  // The digits without the point, and how many stood behind it.
  var digits: [UInt8] = []
  var behindPoint = 0
  var seenPoint = false
  while at < text.endIndex, text[at] | 0x20 != UInt8(ascii: "e") {
    if text[at] == ASCII.point {
      seenPoint = true
    } else {
      digits.append(text[at] &- ASCII.zero)
      behindPoint += seenPoint ? 1 : 0
    }
    at += 1
  }
  while digits.last == 0 {
    digits.removeLast()
    behindPoint -= 1
  }
  guard let first = digits.firstIndex(where: { $0 != 0 }) else { return 0 }
  guard let exponent = exponent(text[at...]), digits.count - first <= 19 else { return nil }
  // What is left ends in a digit that is not zero, so the scale must not be negative.
  let scale = exponent - behindPoint
  guard scale >= 0, scale < 19 else { return nil }
  var value: Int64 = 0
  for digit in digits[first...] + [UInt8](repeating: 0, count: scale) {
    let (tens, over) = value.multipliedReportingOverflow(by: 10)
    let step = negative ? -Int64(digit) : Int64(digit)
    let (sum, carry) = tens.addingReportingOverflow(step)
    guard !over, !carry else { return nil }
    value = sum
  }
  return value
}

/// The exponent of a number from its `e` on, 0 without one, nil when absurd.
private func exponent(_ text: ArraySlice<UInt8>) -> Int? {
  var negative = false
  var value = 0
  for byte in text.dropFirst() {
    if byte == ASCII.minus { negative = true }
    guard isDigit(byte) else { continue }
    value = value * 10 + Int(byte - ASCII.zero)
    // No frame is long enough to need more.
    guard value < 1 << 28 else { return nil }
  }
  return negative ? -value : value
}
