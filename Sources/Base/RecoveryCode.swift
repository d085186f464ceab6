/// Codes that open a file when the key is lost, made to be printed and typed.
///
/// 26 random characters of Crockford's base 32 are 130 bits. Four more are the check of a
/// Reed-Solomon code over 32 elements: up to four wrong characters, and so two that changed places,
/// are always noticed, before anything is tried.
internal import CSodium

package enum RecoveryCode {
  /// Characters of a code, without what stands between its groups.
  package static let count = 30
  private static let checked = 26
  private static let group = 5
  /// Bytes of a printed code.
  package static let printedBytes = count + count / group - 1

  private static let letters = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

  /// Writes a new code, `printedBytes` long. It is made where it is written, so there is no copy.
  package static func make(_ out: UnsafeMutablePointer<UInt8>) -> Bool {
    guard sodium_init() >= 0 else { return false }
    unsafe randombytes_buf(out, printedBytes)
    var check = Check()
    for place in 0..<count {
      let printed = place + place / group
      var value = unsafe Int(out[printed] & 31)
      if place < checked { check.add(value) } else { value = check.next() }
      unsafe out[printed] = letters[value]
      if place % group == group - 1, place + 1 < count {
        unsafe out[printed + 1] = UInt8(ascii: "-")
      }
    }
    return true
  }

  /// What was typed, in the one form that opens a slot; nil where it has a typing error.
  package static func read(_ source: UnsafeRawBufferPointer) -> HostKey? {
    var check = Check()
    var place = 0
    var isRight = true
    let key = unsafe HostKey(.code, count: count) { out in
      for index in source.indices {
        let byte = unsafe source[index]
        if isBetween(byte) { continue }
        guard place < count, let value = value(of: byte) else {
          isRight = false
          return
        }
        if place < checked {
          check.add(value)
        } else if value != check.next() {
          isRight = false
        }
        unsafe out[place] = letters[value]
        place += 1
      }
    }
    return key.count == 0 || isRight && place == count ? key : nil
  }

  private static func isBetween(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "-") || byte == UInt8(ascii: " ") || (9...13).contains(byte)
  }

  private static func value(of byte: UInt8) -> Int? {
    let isSmall = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
    let letter = isSmall ? byte & ~32 : byte
    switch letter {
    case UInt8(ascii: "O"): return 0
    case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
    default: return letters.firstIndex(of: letter)
    }
  }

  /// The remainder of a division by (x - a)(x - a²)(x - a³)(x - a⁴), where a is 2.
  private struct Check {
    private var rest = (0, 0, 0, 0)

    mutating func add(_ value: Int) {
      let head = value ^ rest.0
      rest = (
        rest.1 ^ times(head, 30), rest.2 ^ times(head, 6), rest.3 ^ times(head, 9), times(head, 17)
      )
    }

    /// The next check character.
    mutating func next() -> Int {
      defer { rest = (rest.1, rest.2, rest.3, 0) }
      return rest.0
    }

    /// The product of two elements; they are polynomials modulo x⁵ + x² + 1.
    private func times(_ a: Int, _ b: Int) -> Int {
      var product = 0
      for bit in 0..<5 where b >> bit & 1 != 0 { product ^= a << bit }
      for bit in 0..<4 where product >> (8 - bit) & 1 != 0 { product ^= 0b100101 << (3 - bit) }
      return product
    }
  }
}
