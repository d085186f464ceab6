/// Lines for the host's log: constants with a number at most, and bounded.
///
/// Rules protected: a line holds nothing that came from outside. A server that means harm cannot
/// fill the host's log: of one kind of line so many are written in a minute, and the next one
/// says how many were left out.
internal import Base

/// One line.
struct LogLine: Equatable, Sendable {
  /// What makes two lines the same one.
  struct Kind: Hashable, Sendable {
    var level: LogLevel
    var text: StaticText
    /// Why, where that is known.
    var reason: StaticText?
  }

  var kind: Kind
  /// How many, or which; nil where there is nothing to count.
  var number: Int64?

  func text(leftOut: Int) -> String {
    var text = kind.text.description
    if let number { text += " (\(number))" }
    if let reason = kind.reason { text += ": \(reason)" }
    if leftOut > 0 { text += "; \(leftOut) such lines left out" }
    return text
  }
}

/// Lines in order, kept until nothing is held.
struct LogLines: Equatable, Sendable {
  private(set) var all: [LogLine] = []

  var isEmpty: Bool { all.isEmpty }

  mutating func append(_ line: (LogLevel, StaticText)) {
    append(line.0, line.1)
  }

  mutating func append(
    _ level: LogLevel, _ text: StaticText, _ number: Int64? = nil, because reason: StaticText? = nil
  ) {
    all.append(
      LogLine(kind: LogLine.Kind(level: level, text: text, reason: reason), number: number))
  }

  static func += (lines: inout LogLines, more: LogLines) {
    lines.all.append(contentsOf: more.all)
  }
}

/// How often each line was written of late.
struct LogBound: Sendable {
  private struct Count {
    var sinceMs: Int64
    var written = 0
    var leftOut = 0
  }

  /// There are as many as there are constants.
  private var counts: [LogLine.Kind: Count] = [:]

  /// The text to write now; nil where there were too many such lines.
  mutating func admit(_ line: LogLine, nowMs: Int64) -> String? {
    var count = counts[line.kind] ?? Count(sinceMs: nowMs)
    defer { counts[line.kind] = count }
    if nowMs.saturating(minus: count.sinceMs) >= Limits.logPeriodMs || nowMs < count.sinceMs {
      count.sinceMs = nowMs
      count.written = 0
    }
    guard count.written < Limits.logLinesMax else {
      count.leftOut &+= 1
      return nil
    }
    count.written &+= 1
    defer { count.leftOut = 0 }
    return line.text(leftOut: count.leftOut)
  }

  /// The counts of omitted lines that no line has reported yet, at the end.
  mutating func rest() -> [(LogLevel, String)] {
    let left = counts.filter { $0.value.leftOut > 0 }
    counts = [:]
    return left.map { kind, count in
      (kind.level, LogLine(kind: kind).text(leftOut: count.leftOut))
    }.ordered { $0.1 < $1.1 }
  }
}
