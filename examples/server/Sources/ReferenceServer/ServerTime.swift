/// Times as the server prints and reads them.
///
/// One place makes the printed resolution also the compared one: what a client
/// echoes is read back and floored exactly as it was printed.
public enum ServerTime {
  private static let dayUs: Int64 = 86_400_000_000

  /// The start of the tick that `us` lies in.
  public static func tick(_ us: Int64, resolutionUs: Int64) -> Int64 {
    let unit = max(1, resolutionUs)
    let rest = us % unit
    return us - (rest < 0 ? rest + unit : rest)
  }

  /// `us` as this server writes it.
  public static func text(_ us: Int64, _ knobs: ServerKnobs) -> String {
    var bytes: [UInt8] = []
    write(us, knobs, into: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  static func write(_ us: Int64, _ knobs: ServerKnobs, into out: inout [UInt8]) {
    let zone = knobs.stampStyle == .zulu ? 0 : knobs.zoneMinutes
    let local = tick(us, resolutionUs: knobs.timeResolutionUs) + Int64(zone) * 60_000_000
    var days = local / dayUs
    var rest = local % dayUs
    if rest < 0 {
      days -= 1
      rest += dayUs
    }
    let (year, month, day) = civil(days)
    digits(year, 4, into: &out)
    out.append(0x2D)
    digits(month, 2, into: &out)
    out.append(0x2D)
    digits(day, 2, into: &out)
    out.append(knobs.stampStyle == .space ? 0x20 : 0x54)
    let second = rest / 1_000_000
    digits(second / 3600, 2, into: &out)
    out.append(0x3A)
    digits(second / 60 % 60, 2, into: &out)
    out.append(0x3A)
    digits(second % 60, 2, into: &out)
    let places = fractionDigits(knobs.timeResolutionUs)
    if places > 0 {
      out.append(0x2E)
      var fraction = rest % 1_000_000
      for _ in places..<6 { fraction /= 10 }
      digits(fraction, places, into: &out)
    }
    switch knobs.stampStyle {
    case .bare, .space: break
    case .zulu: out.append(0x5A)
    case .offset:
      out.append(zone < 0 ? 0x2D : 0x2B)
      digits(Int64(abs(zone) / 60), 2, into: &out)
      out.append(0x3A)
      digits(Int64(abs(zone) % 60), 2, into: &out)
    }
  }

  /// The microseconds since 1970 UTC of an ISO 8601 time, or nil. Digits finer
  /// than a microsecond are dropped; `zoneMinutes` is for times without a zone.
  public static func parse(_ text: String, zoneMinutes: Int = 0) -> Int64? {
    let b = Array(text.utf8)
    guard b.count >= 19, b.count <= 64, b[4] == 0x2D, b[7] == 0x2D,
      b[10] == 0x54 || b[10] == 0x74 || b[10] == 0x20, b[13] == 0x3A, b[16] == 0x3A,
      let year = number(b, 0, 4), let month = number(b, 5, 2), let day = number(b, 8, 2),
      let hour = number(b, 11, 2), let minute = number(b, 14, 2), let second = number(b, 17, 2),
      (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second <= 60
    else { return nil }
    var at = 19
    var fraction: Int64 = 0
    if at < b.count, b[at] == 0x2E || b[at] == 0x2C {
      at += 1
      let start = at
      var unit: Int64 = 100_000
      while at < b.count, (0x30...0x39).contains(b[at]) {
        fraction += Int64(b[at] - 0x30) * unit
        unit /= 10
        at += 1
      }
      guard at > start else { return nil }
    }
    guard let zone = readZone(b, at, zoneMinutes) else { return nil }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - zone * 60
    return seconds * 1_000_000 + fraction
  }

  private static func readZone(_ b: [UInt8], _ at: Int, _ absent: Int) -> Int64? {
    guard at < b.count else { return Int64(absent) }
    if b[at] == 0x5A || b[at] == 0x7A { return at + 1 == b.count ? 0 : nil }
    guard b[at] == 0x2B || b[at] == 0x2D, let hours = number(b, at + 1, 2), hours < 24
    else { return nil }
    let sign: Int64 = b[at] == 0x2D ? -1 : 1
    var rest = at + 3
    if rest == b.count { return sign * hours * 60 }
    if b[rest] == 0x3A { rest += 1 }
    guard rest + 2 == b.count, let minutes = number(b, rest, 2), minutes < 60 else { return nil }
    return sign * (hours * 60 + minutes)
  }

  private static func number(_ b: [UInt8], _ at: Int, _ count: Int) -> Int64? {
    guard at + count <= b.count else { return nil }
    var value: Int64 = 0
    for i in at..<(at + count) {
      guard (0x30...0x39).contains(b[i]) else { return nil }
      value = value * 10 + Int64(b[i] - 0x30)
    }
    return value
  }

  private static func digits(_ value: Int64, _ count: Int, into out: inout [UInt8]) {
    var unit: Int64 = 1
    for _ in 1..<count { unit *= 10 }
    while unit > 0 {
      out.append(UInt8(0x30 + value / unit % 10))
      unit /= 10
    }
  }

  /// How many digits behind the point the resolution needs.
  private static func fractionDigits(_ resolutionUs: Int64) -> Int {
    var places = 0
    var unit: Int64 = 1_000_000
    while places < 6, resolutionUs % unit != 0 {
      unit /= 10
      places += 1
    }
    return places
  }

  /// Days since 1970 of a Gregorian date, years counted from March.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let y = month <= 2 ? year - 1 : year
    let era = (y >= 0 ? y : y - 399) / 400
    let ofEra = y - era * 400
    let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
  }

  private static func civil(_ days: Int64) -> (Int64, Int64, Int64) {
    let z = days + 719_468
    let era = (z >= 0 ? z : z - 146_096) / 146_097
    let ofEra = z - era * 146_097
    let year = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * year + year / 4 - year / 100)
    let month = (5 * ofYear + 2) / 153
    let day = ofYear - (153 * month + 2) / 5 + 1
    let civilMonth = month < 10 ? month + 3 : month - 9
    return (year + era * 400 + (civilMonth <= 2 ? 1 : 0), civilMonth, day)
  }
}
