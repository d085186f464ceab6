/// A hash over all inputs and outputs of a world, and on demand its last lines.
///
/// The lines are built only when recording: a failing seed is run a second time to get them, which
/// works because a seed replays exactly.
package struct Trace {
  package enum Recording: Sendable {
    case off
    case last(Int)
    case print
    /// With frames as they are.
    case printWhole
  }

  package private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  package private(set) var lines: [String] = []
  private let recording: Recording
  private var start = 0

  package init(_ recording: Recording) {
    self.recording = recording
  }

  package mutating func mix(_ value: UInt64) {
    hash = (hash ^ value) &* 0x9E37_79B9_7F4A_7C15
    hash ^= hash >> 29
  }

  package mutating func mix(_ value: Int64) {
    mix(UInt64(bitPattern: value))
  }

  package mutating func mix(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { raw in
      var offset = 0
      while offset + 8 <= raw.count {
        mix(raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        offset += 8
      }
      var tail = UInt64(raw.count) << 56
      while offset < raw.count {
        tail = tail << 8 ^ UInt64(raw[offset])
        offset += 1
      }
      mix(tail)
    }
  }

  /// Notes one event. The text is built only where someone will read it.
  package mutating func note(_ timeUs: Int64, _ text: @autoclosure () -> String) {
    mix(timeUs)
    switch recording {
    case .off:
      return
    case .last(let count):
      lines.append(Self.line(timeUs, text()))
      if lines.count > 2 * count { lines.removeFirst(lines.count - count) }
    case .print, .printWhole:
      print(Self.line(timeUs, text()))
    }
  }

  /// Notes a frame that came or went.
  package mutating func note(
    _ timeUs: Int64, _ text: @autoclosure () -> String, frame: [UInt8]
  ) {
    if case .printWhole = recording {
      note(timeUs, "\(text()) \(String(decoding: frame, as: UTF8.self))")
    } else {
      note(timeUs, "\(text()) \(Frames.brief(frame))")
    }
  }

  private static func line(_ timeUs: Int64, _ text: String) -> String {
    let ms = timeUs / 1_000
    let fraction = String(1_000 + ms % 1_000).dropFirst()
    return "\(ms / 1_000).\(fraction) \(text)"
  }
}
