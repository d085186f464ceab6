/// Codes that are printed and typed: each typing error is told before anything is tried.
import Testing

@testable import Base

struct RecoveryCodeTests {
  private func made() -> [UInt8] {
    var out = [UInt8](repeating: 0, count: RecoveryCode.printedBytes)
    #expect(RecoveryCode.make(&out))
    return out
  }

  private func read(_ text: [UInt8]) -> [UInt8]? {
    text.withUnsafeBytes { RecoveryCode.read($0) }?.withBytes { start in
      (0..<RecoveryCode.count).map { start[$0] }
    }
  }

  private func read(_ text: String) -> [UInt8]? { read(Array(text.utf8)) }

  private let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

  @Test func aCodeIsSixGroupsOfFive() {
    let code = made()
    #expect(code.count == 35)
    let groups = code.split(separator: UInt8(ascii: "-"))
    #expect(groups.map(\.count) == [5, 5, 5, 5, 5, 5])
    #expect(groups.joined().allSatisfy { alphabet.contains($0) })
    #expect(read(code) == Array(groups.joined()))
    #expect(made() != made())
  }

  /// Protects: each of the 26 characters is random, so a code has 130 bits.
  @Test func eachCharacterIsRandom() {
    let codes = (0..<400).map { _ in made() }
    for place in 0..<35 where place % 6 != 5 && place < 31 {
      #expect(Set(codes.map { $0[place] }).count > 24, "place \(place)")
    }
  }

  @Test func whatPeopleMixUpIsForgiven() {
    let code = made()
    let printed = String(decoding: code, as: UTF8.self)
    let right = read(code)
    #expect(right != nil)
    #expect(read(printed.lowercased()) == right)
    #expect(read(printed.filter { $0 != "-" }) == right)
    #expect(read("\t " + printed.split(separator: "-").joined(separator: " \n") + "\r\n") == right)
    for (typed, meant) in [("O", "0"), ("o", "0"), ("I", "1"), ("i", "1"), ("L", "1"), ("l", "1")] {
      #expect(read(printed.replacing(meant, with: typed)) == right)
    }
  }

  /// Protects: any four wrong characters are noticed, one and two of them wherever they are.
  @Test func wrongCharactersAreNoticed() {
    let code = made().filter { $0 != UInt8(ascii: "-") }
    for first in 0..<30 {
      for letter in alphabet where letter != code[first] {
        var wrong = code
        wrong[first] = letter
        #expect(read(wrong) == nil)
        for second in (first + 1)..<max(first + 1, 30) where code[second] != letter {
          wrong = code
          wrong[first] = letter
          wrong[second] = letter
          #expect(read(wrong) == nil)
        }
      }
      for second in 0..<first where code[first] != code[second] {
        var swapped = code
        swapped.swapAt(first, second)
        #expect(read(swapped) == nil)
      }
    }
    var random = Random(seed: 4)
    for _ in 0..<20_000 {
      var wrong = code
      for _ in 0..<4 { wrong[random.below(30)] = alphabet[random.below(32)] }
      #expect(wrong == code || read(wrong) == nil)
    }
  }

  /// Protects: the check is zero at 2, 4, 8 and 16, by which any four errors are noticed. Powers
  /// and logarithms are another way to multiply.
  @Test func theCheckIsThatOfAReedSolomonCode() {
    var powers = [1]
    for _ in 1..<31 {
      let next = (powers.last ?? 0) << 1
      powers.append(next & 32 == 0 ? next : next ^ 37)
    }
    for _ in 0..<100 {
      let values = (read(made()) ?? []).map { alphabet.firstIndex(of: $0) ?? 0 }
      #expect(values.count == 30)
      for point in 1...4 {
        let sum = values.reduce(0) { sum, value in
          value ^ (powers.firstIndex(of: sum).map { powers[($0 + point) % 31] } ?? 0)
        }
        #expect(sum == 0)
      }
    }
  }

  @Test func whatIsNoCodeIsNone() {
    let code = made()
    #expect(read("") == nil)
    #expect(read(Array(code.dropLast())) == nil)
    #expect(read(code + [code[0]]) == nil)
    #expect(read(code + code) == nil)
    for byte in (UInt8.min...UInt8.max) where !alphabet.contains(byte) {
      var wrong = code
      wrong[7] = byte
      let isForgiven = "oOiIlL".utf8.contains(byte) || (97...122).contains(byte)
      if !isForgiven { #expect(read(wrong) == nil, "byte \(byte)") }
    }
    #expect(read([UInt8](repeating: UInt8(ascii: "U"), count: 30)) == nil)
  }

  @Test func aWipedKeyIsGone() {
    let key = HostKey([1, 2, 3])
    #expect(key.withBytes { [$0[0], $0[1], $0[2]] } == [1, 2, 3])
    key.wipe()
    #expect(key.withBytes { [$0[0], $0[1], $0[2]] } == nil)
    key.wipe()
  }
}
