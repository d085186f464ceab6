/// How well a message answers what was asked, from how often it has each piece, how rare the piece
/// is, and how long the message is: BM25, with bounds in place of what only a count of all tells.
///
/// Rule protected: the order goes by what is stored of the hits themselves. It does not depend on
/// how far the index is merged, nor on messages that are no hits.
internal import Glibc

enum Relevance {
  /// The newest hits, among which the order is made.
  static let most = 10_000
  /// More of a piece in one message counts less and less.
  private static let saturation = 1.2
  /// How much of the length counts.
  private static let lengthShare = 0.75
  /// Bytes of text of a usual message.
  private static let usualBytes = 64.0

  /// What a piece weighs that so many messages have, counted up to `most`.
  static func weight(_ messages: Int64) -> Double {
    log(1 + Double(most) / Double(Swift.max(messages, 1)))
  }

  /// `counts` are of the pieces in turn, `bytes` the size of the text.
  static func score(_ counts: some Sequence<UInt8>, _ weights: [Double], bytes: Int64) -> Double {
    let length = Double(Swift.max(bytes, 0)) / usualBytes
    let damping = saturation * (1 - lengthShare + lengthShare * length)
    var score = 0.0
    for (count, weight) in zip(counts, weights) {
      let count = Double(count)
      score += weight * count * (saturation + 1) / (count + damping)
    }
    return score
  }
}

/// Hits in an order that was made once; pages give them in turn.
package struct RankedHits: Equatable, Sendable {
  /// Numbers of messages, the best first.
  package var numbers: [UInt64]
  /// How many of them were given.
  package var given: Int
  /// There are older hits, which the order has not.
  package var isCut: Bool

  package init(numbers: [UInt64] = [], given: Int = 0, isCut: Bool = false) {
    self.numbers = numbers
    self.given = Swift.min(Swift.max(given, 0), numbers.count)
    self.isCut = isCut
  }
}
