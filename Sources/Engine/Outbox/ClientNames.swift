/// Names of what the user makes: client ids of messages and of conversations.
///
/// Rule protected: two processes make other names, also where the host gives both the same seed.
internal import Base

struct ClientNames {
  private var random: Random

  init(seed: UInt64) {
    var mixed = Random(seed: seed)
    random = Random(seed: mixed.next())
  }

  /// 26 characters of 128 random bits.
  mutating func next() -> [UInt8] {
    let letters = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
    var name: [UInt8] = []
    for _ in 0..<2 {
      var bits = random.next()
      for _ in 0..<13 {
        name.append(letters[Int(bits & 31)])
        bits >>= 5
      }
    }
    return name
  }
}
