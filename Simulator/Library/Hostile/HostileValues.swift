/// What a hostile server puts where a number, a time, an id or a flag is to be: mostly what could
/// be meant, and with the seed's share what lies at the edge of its type, beyond it, or is of
/// another kind.
internal import Base

struct HostileValues {
  var dice: Random
  /// How often a value is out of its bounds.
  let wildness: Double

  /// What it says again and again, so that the same lie adds up.
  private var favouriteNumber = "7"
  private var favouriteTime = ""

  init(seed: UInt64) {
    dice = Random(seed: seed)
    wildness = [0.01, 0.05, 0.2, 0.6, 0.9][dice.below(5)]
    favouriteNumber = pick(Self.edges)
    favouriteTime = pick(Self.oddTimes)
  }

  mutating func pick<Value>(_ values: [Value]) -> Value { values[dice.below(values.count)] }

  mutating func isWild() -> Bool { dice.chance(wildness) }

  // MARK: Numbers

  private static let edges = [
    "0", "-1", "1", "-0", "1.5", "1e3", "1e18", "1e19", "1e308", "-1e400", "255", "65536",
    "2147483647", "2147483648", "4294967295", "4294967296", "1099511627775", "1099511627776",
    "1099511627777", "4503599627370496", "9007199254740991", "9007199254740992",
    "4611686018427387903", "4611686018427387904", "9223372036854775806", "9223372036854775807",
    "9223372036854775808", "-9223372036854775807", "-9223372036854775808",
    "-9223372036854775809", "18446744073709551615", "18446744073709551616",
  ]
  private static let others = ["null", "true", "\"7\"", "{}", "[]", "[7]", "\"\""]

  mutating func number(_ meant: Int) -> String {
    guard isWild() else { return String(meant) }
    if dice.chance(0.5) { return favouriteNumber }
    return dice.chance(0.85) ? pick(Self.edges) : pick(Self.others)
  }

  mutating func flag(_ meant: Bool) -> String {
    isWild() ? pick(["true", "false", "null", "1", "\"true\""]) : meant ? "true" : "false"
  }

  // MARK: Times

  private static let oddTimes = [
    "0001-01-01T00:00:00", "0001-01-01T00:00:00.000001Z", "0001-01-01T00:00:00-00:01",
    "0001-01-01T00:00:00+00:01", "0001-01-02T00:00:00+23:59", "9999-12-31T23:59:59.999999Z",
    "9999-12-31T23:59:60", "9999-12-31T23:59:59-23:59", "9999-12-30 23:59:59-23:59",
    "1969-12-31T23:59:59.999999", "1970-01-01T00:00:00Z", "1700-01-01T00:00:00",
    "2026-02-30T00:00:00", "2500-01-01T00:00:00.123456789012345678901234567890Z",
    "3000-06-15T12:00:00", "0000-01-01T00:00:00", "10000-01-01T00:00:00", "2026-02-15T24:00:00",
    "soon", "",
  ]

  /// Seconds from 1970 on in the form of this seed's server, or something else.
  mutating func time(_ second: Int) -> String {
    guard isWild() else { return "\"\(Self.printed(second))\"" }
    if dice.chance(0.4) { return "\"\(favouriteTime)\"" }
    if dice.chance(0.1) { return pick(Self.others) }
    if dice.chance(0.2) {
      return "\"\(Self.printed(dice.below(320_000_000_000) - 62_000_000_000))\""
    }
    return "\"\(pick(Self.oddTimes))\""
  }

  /// The date of a second, by the calendar of all years.
  static func printed(_ second: Int) -> String {
    let bounded = min(max(second, -62_135_596_800), 253_402_300_799)
    let day = (bounded - (bounded % 86_400 + 86_400) % 86_400) / 86_400
    let inDay = bounded - day * 86_400
    let era = (day + 719_468 >= 0 ? day + 719_468 : day + 719_468 - 146_096) / 146_097
    let inEra = day + 719_468 - era * 146_097
    let yearOfEra = (inEra - inEra / 1_460 + inEra / 36_524 - inEra / 146_096) / 365
    let inYear = inEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let part = (5 * inYear + 2) / 153
    let month = part < 10 ? part + 3 : part - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return padded(year, 4) + "-" + padded(month, 2) + "-"
      + padded(inYear - (153 * part + 2) / 5 + 1, 2) + "T" + padded(inDay / 3_600, 2) + ":"
      + padded(inDay / 60 % 60, 2) + ":" + padded(inDay % 60, 2)
  }

  private static func padded(_ value: Int, _ width: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }

  // MARK: Ids and texts

  /// An id as a JSON string.
  mutating func id(_ meant: String) -> String {
    guard isWild() else { return "\"\(meant)\"" }
    switch dice.below(9) {
    case 0: return "\"\""
    case 1: return Self.longestID
    case 2: return Self.tooLongID
    case 3: return "\"\\ud83d\""
    case 4: return "\"\\u0000\""
    case 5: return "\"\(meant)\\u0000\""
    case 6: return "7"
    case 7: return pick(Self.others)
    default: return "\"\u{10FFFF}\(dice.below(4))\""
    }
  }

  mutating func room() -> String { "c\(dice.below(5))" }

  mutating func user() -> String { pick(["me", "you", "u1", "u2", "u3"]) }

  mutating func users() -> String {
    let count = isWild() ? pick([0, 1, 1, 70]) : dice.below(4)
    return "[" + (0..<count).map { "\"u\($0)\"" }.joined(separator: ",") + "]"
  }

  private static let longestID = "\"" + String(repeating: "x", count: 512) + "\""
  private static let tooLongID = "\"" + String(repeating: "x", count: 513) + "\""
  private static let payloads = [
    "null", "{}", "[]", "{\"_control\":{}}", "\"\"", "1e400", "\"\\ud83d\"",
    String(repeating: "[", count: 100) + String(repeating: "]", count: 100),
  ]
  private static let longPayload = "\"" + String(repeating: "y", count: 20_000) + "\""

  /// Any JSON value, for a payload.
  mutating func payload() -> String {
    guard isWild() else { return "\"text \(dice.below(100))\"" }
    return dice.chance(0.01) ? Self.longPayload : pick(Self.payloads)
  }
}
