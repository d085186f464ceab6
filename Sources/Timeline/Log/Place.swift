/// Where an entry of a log stands among those of its conversation.
///
/// The device gives places, and no server knows of them. In a file whose server keeps a log, the
/// time of a `Position` is one. What the file holds may be anything, so sums stop at the ends.
internal import Base

package struct Place: Hashable, Comparable, Sendable, BitwiseCopyable, ExpressibleByIntegerLiteral {
  package let value: Int64

  package init(_ value: Int64) { self.value = value }

  package init(integerLiteral value: Int64) { self.value = value }

  package static let min = Place(.min)
  package static let max = Place(.max)

  package static func < (a: Place, b: Place) -> Bool { a.value < b.value }

  package func saturating(plus steps: Int64) -> Place { Place(value.saturating(plus: steps)) }
  package func saturating(minus steps: Int64) -> Place { Place(value.saturating(minus: steps)) }

  static func + (place: Place, steps: Int64) -> Place { place.saturating(plus: steps) }
  static func - (place: Place, steps: Int64) -> Place { place.saturating(minus: steps) }

  func distance(to other: Place) -> Int64 { other.value.saturating(minus: value) }
}

extension Position {
  package init(place: Place, id: [UInt8]) { self.init(time: place.value, id: id) }

  package static func before(_ place: Place) -> Position { before(timestampGroup: place.value) }
  package static func after(_ place: Place) -> Position { after(timestampGroup: place.value) }

  /// In a file whose server keeps a log.
  package var place: Place { Place(time) }
}
