/// How many rows of each class have no known height.
///
/// Eight fields by hand and no array: one stands in every node of the tree and is summed on each
/// way to its root.
internal import Base

struct ClassCounts: Equatable, Sendable {
  private var c0: Int32 = 0
  private var c1: Int32 = 0
  private var c2: Int32 = 0
  private var c3: Int32 = 0
  private var c4: Int32 = 0
  private var c5: Int32 = 0
  private var c6: Int32 = 0
  private var c7: Int32 = 0

  init() {}

  /// One row of a class.
  init(one kind: UInt8) {
    switch kind {
    case 0: c0 = 1
    case 1: c1 = 1
    case 2: c2 = 1
    case 3: c3 = 1
    case 4: c4 = 1
    case 5: c5 = 1
    case 6: c6 = 1
    default: c7 = 1
    }
  }

  mutating func add(_ other: ClassCounts) {
    c0 &+= other.c0
    c1 &+= other.c1
    c2 &+= other.c2
    c3 &+= other.c3
    c4 &+= other.c4
    c5 &+= other.c5
    c6 &+= other.c6
    c7 &+= other.c7
  }

  /// The height of them all. A list has 2^20 rows of 2^40 at most, so no sum overflows.
  func height(_ estimates: Estimates) -> Int64 {
    Int64(c0) &* estimates.e0 &+ Int64(c1) &* estimates.e1 &+ Int64(c2) &* estimates.e2
      &+ Int64(c3) &* estimates.e3 &+ Int64(c4) &* estimates.e4 &+ Int64(c5) &* estimates.e5
      &+ Int64(c6) &* estimates.e6 &+ Int64(c7) &* estimates.e7
  }
}

/// What a row of each class is taken to measure until it is measured: the mean of those that were.
struct Estimates: Sendable {
  fileprivate(set) var e0: Int64
  fileprivate(set) var e1: Int64
  fileprivate(set) var e2: Int64
  fileprivate(set) var e3: Int64
  fileprivate(set) var e4: Int64
  fileprivate(set) var e5: Int64
  fileprivate(set) var e6: Int64
  fileprivate(set) var e7: Int64

  /// Rows with a known height, and the sum of these, by class.
  private var counts = [Int64](repeating: 0, count: Limits.viewportClasses)
  private var sums = [Int64](repeating: 0, count: Limits.viewportClasses)

  /// No row is taken for less high.
  private let least: Int64

  init(_ estimate: Int64, atLeast least: Int64) {
    self.least = least
    let first = max(estimate, least)
    (e0, e1, e2, e3) = (first, first, first, first)
    (e4, e5, e6, e7) = (first, first, first, first)
  }

  subscript(kind: UInt8) -> Int64 {
    switch kind {
    case 0: e0
    case 1: e1
    case 2: e2
    case 3: e3
    case 4: e4
    case 5: e5
    case 6: e6
    default: e7
    }
  }

  /// A row's height became known, or is so no more.
  mutating func count(_ height: Int64, _ kind: UInt8, by one: Int64) {
    let at = Int(kind)
    guard counts.indices.contains(at) else { return }
    counts[at] &+= one
    sums[at] &+= one &* height
  }

  /// Takes the mean of what is known. That is when rows are measured: rows that go take nothing of
  /// what they taught with them.
  mutating func learn(_ kind: UInt8) {
    let at = Int(kind)
    guard counts.indices.contains(at), counts[at] > 0 else { return }
    // Many rows of no height must not hide one that nobody has measured.
    set(kind, max(least, sums[at] / counts[at]))
  }

  private mutating func set(_ kind: UInt8, _ mean: Int64) {
    switch kind {
    case 0: e0 = mean
    case 1: e1 = mean
    case 2: e2 = mean
    case 3: e3 = mean
    case 4: e4 = mean
    case 5: e5 = mean
    case 6: e6 = mean
    default: e7 = mean
    }
  }
}
