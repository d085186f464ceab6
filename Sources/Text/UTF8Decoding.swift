/// Reading UTF-8 by the code point.

/// A code point of a text, and how many bytes it takes.
struct DecodedScalar {
  let code: UInt32
  let count: Int

  /// What stands for bytes that are no UTF-8.
  static let replacement: UInt32 = 0xFFFD

  init(_ code: UInt32, _ count: Int) {
    self.code = code
    self.count = count
  }

  /// The code point at a place. Bytes that are none are U+FFFD, one for each maximal subpart of a
  /// sequence (The Unicode Standard, 3.9), as other decoders have it.
  @inline(__always)
  init(_ text: Span<UInt8>, at place: Int) {
    let lead = UInt32(text[place])
    if lead < 0x80 {
      self.init(lead, 1)
    } else if lead >= 0xC2, lead < 0xE0, place &+ 1 < text.count, text[place &+ 1] & 0xC0 == 0x80 {
      self.init((lead & 0x1F) &<< 6 | UInt32(text[place &+ 1] & 0x3F), 2)
    } else {
      self.init(long: text, lead, at: place)
    }
  }

  private init(long text: Span<UInt8>, _ lead: UInt32, at place: Int) {
    guard lead >= 0xE0, lead < 0xF5 else {
      self.init(Self.replacement, 1)
      return
    }
    let length = lead < 0xF0 ? 3 : 4
    var code = lead & (lead < 0xF0 ? 0x0F : 0x07)
    // Neither what fits into fewer bytes, nor surrogates, nor beyond the last code point.
    var allowed: ClosedRange<UInt8> = 0x80...0xBF
    switch lead {
    case 0xE0: allowed = 0xA0...0xBF
    case 0xED: allowed = 0x80...0x9F
    case 0xF0: allowed = 0x90...0xBF
    case 0xF4: allowed = 0x80...0x8F
    default: break
    }
    for offset in 1..<length {
      guard place &+ offset < text.count, allowed.contains(text[place &+ offset]) else {
        self.init(Self.replacement, offset)
        return
      }
      code = code &<< 6 | UInt32(text[place &+ offset] & 0x3F)
      allowed = 0x80...0xBF
    }
    self.init(code, length)
  }

  /// Code units of UTF-16 that it takes.
  var utf16Count: Int { code >= 0x10000 ? 2 : 1 }
}
