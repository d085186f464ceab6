/// Reads JSON once, front to back, and writes down where each value lies.
///
/// Strict: anything that RFC 8259 does not allow is refused, here and nowhere
/// else, so all later readers may rely on the shape of the tape. Open arrays and
/// objects are kept on a list of bounded length instead of the call stack.
internal import Base

/// The bytes that JSON gives a meaning to.
enum ASCII {
  static let quote = UInt8(ascii: "\"")
  static let backslash = UInt8(ascii: "\\")
  static let slash = UInt8(ascii: "/")
  static let openBrace = UInt8(ascii: "{")
  static let closeBrace = UInt8(ascii: "}")
  static let openBracket = UInt8(ascii: "[")
  static let closeBracket = UInt8(ascii: "]")
  static let colon = UInt8(ascii: ":")
  static let comma = UInt8(ascii: ",")
  static let minus = UInt8(ascii: "-")
  static let plus = UInt8(ascii: "+")
  static let point = UInt8(ascii: ".")
  static let zero = UInt8(ascii: "0")
  static let nine = UInt8(ascii: "9")
  static let t = UInt8(ascii: "t")
  static let f = UInt8(ascii: "f")
  static let n = UInt8(ascii: "n")
  static let u = UInt8(ascii: "u")
}

struct Scanner {
  /// One value: its range, and the place on the tape behind everything inside it.
  ///
  /// Twelve bytes, since a hostile frame can hold a value in every second byte.
  struct Entry: Sendable {
    private var startAndMark: UInt32
    private var stopBits: UInt32
    private var nextBits: UInt32

    private static let mark: UInt32 = 1 << 31

    // A document is at most `Limits.frameBytesMax` long, far below 2^31.
    init(start: Int, stop: Int, next: Int, isEscaped: Bool = false) {
      startAndMark = UInt32(truncatingIfNeeded: start) | (isEscaped ? Entry.mark : 0)
      stopBits = UInt32(truncatingIfNeeded: stop)
      nextBits = UInt32(truncatingIfNeeded: next)
    }

    var start: Int { Int(startAndMark & ~Entry.mark) }
    var stop: Int { Int(stopBits) }
    var next: Int { Int(nextBits) }
    /// A string with at least one escape.
    var isEscaped: Bool { startAndMark & Entry.mark != 0 }
  }

  /// What may come next.
  private enum Expected {
    case value, elementOrEnd, keyOrEnd, key, commaOrEnd
  }

  private(set) var tape: [Entry] = []
  private var at = 0
  /// Places on the tape of the arrays and objects that are still open.
  private var open: [Int] = []
  private let depthMax: Int

  /// - Parameter depth: arrays and objects that the text is to stand in.
  init(expecting count: Int, inside depth: Int) {
    depthMax = Limits.jsonDepthMax - depth
    tape.reserveCapacity(count / 12 + 8)
    open.reserveCapacity(16)
  }

  /// Scans the whole text, which holds one value.
  mutating func scan(_ text: Span<UInt8>) throws(WireFailure) {
    var expected = Expected.value
    repeat {
      skipSpace(text)
      guard at < text.count else { throw .syntax }
      let byte = text[at]
      switch expected {
      case .value:
        expected = try value(byte, text: text)
      case .elementOrEnd:
        expected = byte == ASCII.closeBracket ? close() : try value(byte, text: text)
      case .keyOrEnd:
        expected = byte == ASCII.closeBrace ? close() : try key(byte, text)
      case .key:
        expected = try key(byte, text)
      case .commaOrEnd:
        expected = try afterValue(byte, text: text)
      }
    } while !(open.isEmpty && expected == .commaOrEnd)
    skipSpace(text)
    guard at == text.count else { throw .syntax }
  }

  /// Reads a value, or the opening of one.
  private mutating func value(
    _ byte: UInt8, text: Span<UInt8>
  ) throws(WireFailure) -> Expected {
    switch byte {
    case ASCII.quote:
      try string(text)
    case ASCII.openBrace:
      try opening()
      return .keyOrEnd
    case ASCII.openBracket:
      try opening()
      return .elementOrEnd
    case ASCII.minus, ASCII.zero...ASCII.nine:
      try number(text)
    case ASCII.t:
      try literal(0x7472_7565, count: 4, text: text)
    case ASCII.f:
      try literal(0x66_616C_7365, count: 5, text: text)
    case ASCII.n:
      try literal(0x6E75_6C6C, count: 4, text: text)
    default:
      throw .syntax
    }
    return .commaOrEnd
  }

  /// Reads a key and its colon.
  private mutating func key(
    _ byte: UInt8, _ text: Span<UInt8>
  ) throws(WireFailure) -> Expected {
    guard byte == ASCII.quote else { throw .syntax }
    try string(text)
    skipSpace(text)
    guard at < text.count, text[at] == ASCII.colon else { throw .syntax }
    at += 1
    return .value
  }

  /// Reads the comma or the end that follows a value inside an open one.
  private mutating func afterValue(
    _ byte: UInt8, text: Span<UInt8>
  ) throws(WireFailure) -> Expected {
    guard let parent = open.last else { throw .syntax }
    let inObject = text[tape[parent].start] == ASCII.openBrace
    switch byte {
    case ASCII.comma:
      at += 1
      return inObject ? .key : .value
    case ASCII.closeBrace where inObject, ASCII.closeBracket where !inObject:
      return close()
    default:
      throw .syntax
    }
  }

  private mutating func opening() throws(WireFailure) {
    guard open.count < depthMax else { throw .tooDeep }
    open.append(tape.count)
    tape.append(Entry(start: at, stop: at, next: 0))
    at += 1
  }

  private mutating func close() -> Expected {
    at += 1
    if let index = open.popLast() {
      tape[index] = Entry(start: tape[index].start, stop: at, next: tape.count)
    }
    return .commaOrEnd
  }

  /// Notes a value without children that ends at `at`.
  private mutating func appendEntry(from start: Int, isEscaped: Bool = false) {
    tape.append(Entry(start: start, stop: at, next: tape.count + 1, isEscaped: isEscaped))
  }

  /// Reads `true`, `false` or `null`, given as one number with the last letter lowest.
  private mutating func literal(
    _ word: UInt64, count: Int, text: Span<UInt8>
  ) throws(WireFailure) {
    let start = at
    var read: UInt64 = 0
    while at < text.count, at - start < count {
      read = read << 8 | UInt64(text[at])
      at += 1
    }
    guard read == word else { throw .syntax }
    appendEntry(from: start)
  }

  private mutating func skipSpace(_ text: Span<UInt8>) {
    while at < text.count {
      let byte = text[at]
      guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
      at += 1
    }
  }
}

// MARK: - Numbers and strings

extension Scanner {
  private mutating func number(_ text: Span<UInt8>) throws(WireFailure) {
    let start = at
    if text[at] == ASCII.minus { at += 1 }
    if at < text.count, text[at] == ASCII.zero {
      at += 1
    } else {
      try digits(text)
    }
    if at < text.count, text[at] == ASCII.point {
      at += 1
      try digits(text)
    }
    if at < text.count, text[at] | 0x20 == UInt8(ascii: "e") {
      at += 1
      if at < text.count, text[at] == ASCII.minus || text[at] == ASCII.plus { at += 1 }
      try digits(text)
    }
    appendEntry(from: start)
  }

  /// At least one digit.
  private mutating func digits(_ text: Span<UInt8>) throws(WireFailure) {
    let start = at
    while at < text.count, isDigit(text[at]) { at += 1 }
    guard at > start else { throw .syntax }
  }

  private mutating func string(_ text: Span<UInt8>) throws(WireFailure) {
    let start = at
    var isEscaped = false
    at += 1
    while true {
      at = behindOrdinary(text, start: at)
      guard at < text.count else { throw .syntax }
      let byte = text[at]
      if byte == ASCII.quote {
        at += 1
        appendEntry(from: start, isEscaped: isEscaped)
        return
      }
      guard byte >= 0x20 else { throw .syntax }
      if byte == ASCII.backslash {
        isEscaped = true
        try escape(text)
      } else {
        at += 1
      }
    }
  }

  /// The place behind bytes that are neither a quote, a backslash nor a control, eight
  /// at a time while eight are left. It may be too early, never too late.
  @inline(__always)
  private func behindOrdinary(_ text: Span<UInt8>, start: Int) -> Int {
    var at = start
    while let word = eightBytes(text, at: at) {
      let found =
        marks(ASCII.quote, word) | marks(ASCII.backslash, word) | marks(below: 0x20, word: word)
      guard found == 0 else { return at &+ found.trailingZeroBitCount >> 3 }
      at &+= 8
    }
    return at
  }

  /// Checks one escape.
  private mutating func escape(_ text: Span<UInt8>) throws(WireFailure) {
    at += 1
    guard at < text.count else { throw .syntax }
    switch text[at] {
    case ASCII.quote, ASCII.backslash, ASCII.slash, UInt8(ascii: "b"),
      ASCII.f, ASCII.n, UInt8(ascii: "r"), ASCII.t:
      at += 1
    case ASCII.u:
      at += 1
      for _ in 0..<4 {
        guard at < text.count, hexDigit(text[at]) != nil else { throw .syntax }
        at += 1
      }
    default:
      throw .syntax
    }
  }
}

// MARK: - Eight bytes at once

/// Eight bytes of a text as a number, the first lowest; nil where fewer are left.
@inline(__always)
func eightBytes(_ text: Span<UInt8>, at: Int) -> UInt64? {
  guard at &+ 8 <= text.count else { return nil }
  // The load is checked against the bounds of the span; any bits are a number.
  return unsafe UInt64(
    littleEndian: text.bytes.unsafeLoadUnaligned(fromByteOffset: at, as: UInt64.self))
}

/// The high bit of each byte that is the given one. The lowest mark is exact; those above it
/// may be borrows.
@inline(__always)
func marks(_ byte: UInt8, _ word: UInt64) -> UInt64 {
  marks(below: 1, word: word ^ (0x0101_0101_0101_0101 &* UInt64(byte)))
}

/// The same of each byte below a limit of at most 128.
@inline(__always)
func marks(below limit: UInt8, word: UInt64) -> UInt64 {
  (word &- 0x0101_0101_0101_0101 &* UInt64(limit)) & ~word & 0x8080_8080_8080_8080
}

func isDigit(_ byte: UInt8) -> Bool {
  byte >= ASCII.zero && byte <= ASCII.nine
}
