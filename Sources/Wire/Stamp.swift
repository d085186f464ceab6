/// A time as a server printed it, and the same form for other times.
///
/// Servers are asked with their own printed times, so the text is kept exactly;
/// a time made from it is floored to what that form can say, never rounded up,
/// because a cursor that is too late loses messages and one too early does not.
package import Base

package struct Stamp: Hashable, Sendable {
  /// Digits finer than microseconds are dropped.
  package let time: ServerTime
  /// As printed.
  package let text: [UInt8]

  private let separator: UInt8
  private let hasSeconds: Bool
  private let fractionDigits: Int
  /// Where the zone begins in `text`; its end where no zone is printed.
  private let zoneStart: Int
  private let offsetUs: Int64

  /// Parses `2026-02-15T22:15:45`, with `T`, `t` or a space, any fraction of a second or no
  /// seconds at all, and no zone, `Z`, `z`, `±hh:mm`, `±hhmm` or `±hh`.
  ///
  /// Nil for anything else, for days that no calendar has, and outside the years
  /// 1 to 9999. A leap second counts as the last microsecond of its minute.
  package init?(_ text: [UInt8], zoneOffsetMinutes: Int) {
    guard text.count <= Limits.stampBytesMax, text.count >= 16,
      text[4] == ASCII.minus, text[7] == ASCII.minus,
      text[10] | 0x20 == UInt8(ascii: "t") || text[10] == 0x20, text[13] == ASCII.colon
    else { return nil }
    // Java leaves seconds out that are zero.
    hasSeconds = text.count >= 19 && text[16] == ASCII.colon
    guard
      let year = number(text[0..<4]), let month = number(text[5..<7]),
      let day = number(text[8..<10]), let hour = number(text[11..<13]),
      let minute = number(text[14..<16]), let second = hasSeconds ? number(text[17..<19]) : 0,
      year >= 1, month >= 1, month <= 12, day >= 1, day <= daysOfMonth(month, year: year),
      hour <= 23, minute <= 59, second <= 60
    else { return nil }
    guard let fraction = hasSeconds ? Stamp.fraction(text) : (0, 0, 16) else { return nil }
    guard let offset = Stamp.offset(text[fraction.end...], assumedMinutes: zoneOffsetMinutes) else {
      return nil
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + min(second, 59)
    let micros = second == 60 ? 999_999 : fraction.micros
    let time = seconds * 1_000_000 + micros - offset
    guard Stamp.range.contains(time) else { return nil }
    self.text = text
    self.time = ServerTime(us: time)
    separator = text[10]
    fractionDigits = fraction.digits
    zoneStart = fraction.end
    offsetUs = offset
  }

  package var timeUs: Int64 { time.us }

  /// The smallest step that the printed form can show, in microseconds.
  package var resolutionUs: Int64 {
    hasSeconds ? powersOfTen[max(0, 6 - fractionDigits)] : 60_000_000
  }

  /// Another time in the same form, resolution and zone, floored.
  ///
  /// A time outside the years 1 to 9999 gives the nearest one inside.
  package func printed(_ time: ServerTime) -> [UInt8] {
    let local = Stamp.clamped(Stamp.clamped(time.us) + offsetUs)
    let (second, micros) = floorDivide(local, by: 1_000_000)
    let (day, inDay) = floorDivide(second, by: 86_400)
    let date = calendarDate(day)
    var out: [UInt8] = []
    out.reserveCapacity(text.count)
    appendPadded(date.year, width: 4, to: &out)
    out.append(ASCII.minus)
    appendPadded(date.month, width: 2, to: &out)
    out.append(ASCII.minus)
    appendPadded(date.day, width: 2, to: &out)
    out.append(separator)
    appendPadded(inDay / 3_600, width: 2, to: &out)
    out.append(ASCII.colon)
    appendPadded(inDay / 60 % 60, width: 2, to: &out)
    if hasSeconds {
      out.append(ASCII.colon)
      appendPadded(inDay % 60, width: 2, to: &out)
    }
    if fractionDigits > 0 {
      out.append(ASCII.point)
      let shown = min(fractionDigits, 6)
      appendPadded(micros / powersOfTen[6 - shown], width: shown, to: &out)
      out += [UInt8](repeating: ASCII.zero, count: fractionDigits - shown)
    }
    return out + text[zoneStart...]
  }

  /// Year 1 to the last microsecond of year 9999.
  private static let range: ClosedRange<Int64> =
    (days(1, 1, 1) * 86_400_000_000)...(days(10_000, 1, 1) * 86_400_000_000 - 1)

  private static func clamped(_ timeUs: Int64) -> Int64 {
    min(max(timeUs, range.lowerBound), range.upperBound)
  }

  /// The fraction behind the seconds: its digits, its microseconds, its end.
  private static func fraction(_ text: [UInt8]) -> (digits: Int, micros: Int64, end: Int)? {
    guard text.count > 19, text[19] == ASCII.point else { return (0, 0, 19) }
    var end = 20
    var micros: Int64 = 0
    while end < text.count, isDigit(text[end]) {
      if end < 26 { micros = micros * 10 + Int64(text[end] - ASCII.zero) }
      end += 1
    }
    let digits = end - 20
    guard digits > 0 else { return nil }
    return (digits, micros * powersOfTen[max(0, 6 - digits)], end)
  }

  /// Microseconds east of UTC that a printed zone means.
  private static func offset(_ zone: ArraySlice<UInt8>, assumedMinutes: Int) -> Int64? {
    guard let sign = zone.first else {
      // A day is more than any zone; what is beyond it is a slip of the host's.
      return Int64(min(max(assumedMinutes, -1_439), 1_439)) * 60_000_000
    }
    if sign | 0x20 == UInt8(ascii: "z") { return zone.count == 1 ? 0 : nil }
    guard sign == ASCII.plus || sign == ASCII.minus else { return nil }
    var digits = zone.dropFirst()
    if digits.count == 5 {
      guard digits[digits.startIndex + 2] == ASCII.colon else { return nil }
      digits = digits.prefix(2) + digits.suffix(2)
    }
    guard digits.count == 2 || digits.count == 4, let hours = number(digits.prefix(2)),
      let minutes = number(digits.dropFirst(2)), hours <= 23, minutes <= 59
    else { return nil }
    let offset = (hours * 60 + minutes) * 60_000_000
    return sign == ASCII.minus ? -offset : offset
  }
}

// MARK: - The calendar

private let powersOfTen: [Int64] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]

/// A few digits and nothing else; 0 for none.
private func number(_ digits: ArraySlice<UInt8>) -> Int64? {
  var value: Int64 = 0
  for byte in digits {
    guard isDigit(byte) else { return nil }
    value = value * 10 + Int64(byte - ASCII.zero)
  }
  return value
}

private func appendPadded(_ value: Int64, width: Int, to out: inout [UInt8]) {
  var rest = value
  var digits = [UInt8](repeating: ASCII.zero, count: width)
  for index in digits.indices.reversed() {
    digits[index] += UInt8(truncatingIfNeeded: rest % 10)
    rest /= 10
  }
  out += digits
}

private func floorDivide(_ value: Int64, by: Int64) -> (quotient: Int64, rest: Int64) {
  let (quotient, rest) = value.quotientAndRemainder(dividingBy: by)
  return rest < 0 ? (quotient - 1, rest + by) : (quotient, rest)
}

private func daysOfMonth(_ month: Int64, year: Int64) -> Int64 {
  switch month {
  case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
  case 4, 6, 9, 11: 30
  default: 31
  }
}

/// Days since 1970 of a date in the proleptic Gregorian calendar, years above 0.
///
/// The year is taken to begin in March, so that a leap day is its last.
private func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
  let years = month > 2 ? year : year - 1
  let months = (month + 9) % 12
  let leaps = years / 4 - years / 100 + years / 400
  return years * 365 + leaps + (months * 153 + 2) / 5 + day - 719_469
}

/// The date of a day since 1970; the reverse of `days`.
private func calendarDate(_ day: Int64) -> (year: Int64, month: Int64, day: Int64) {
  // Days since the first of March of year 0, cut into 400, 100, 4 and 1 years.
  let (era, inEra) = floorDivide(day + 719_468, by: 146_097)
  let years = (inEra - inEra / 1_460 + inEra / 36_524 - inEra / 146_096) / 365
  let inYear = inEra - (years * 365 + years / 4 - years / 100)
  let months = (inYear * 5 + 2) / 153
  let month = months < 10 ? months + 3 : months - 9
  return (
    era * 400 + years + (month <= 2 ? 1 : 0), month, inYear - (months * 153 + 2) / 5 + 1
  )
}
