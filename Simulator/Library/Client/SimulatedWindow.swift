/// What a host can do with a window and see of it, as the world drives it.
///
/// Plain values, so that the mirror and the checks share nothing with the library's own list.

package enum SimPlace: Equatable, Sendable {
  case latest, unread
  case message([UInt8])
  case time(Int64)
}

package enum SimLoad: Equatable, Sendable {
  case initial, last
  /// Beside the message with this number; 0 is the first or the last row.
  case before(UInt64)
  case after(UInt64)
  case around(SimPlace)
}

/// How a call that may be refused went.
package enum SimAnswer: Equatable, Sendable {
  case done, nothing
  case refused(String)
}

package enum SimOp: Equatable, Sendable {
  case insert(row: Int, count: Int)
  case remove(row: Int, count: Int)
  case update(row: Int, count: Int)
  case move(from: Int, row: Int)
}

package struct SimDiff: Equatable, Sendable {
  package var fromVersion: UInt64
  package var toVersion: UInt64
  package var checksum: UInt64
  package var rowCount: Int
  package var ops: [SimOp]
}

package struct SimWindowRow: Equatable {
  package var row: SimRow
  package var gapBefore: Bool
  package var healing: Bool
  package var stale: Bool
  package var gone: Bool
}

package struct SimWindowState: Equatable, Sendable {
  package var version: UInt64 = 0
  package var checksum: UInt64 = 0
  package var rowCount = 0
  package var splits = 0
  package var atStart = false
  package var atEnd = false
  package var gapBefore = false
  package var gapAfter = false
  /// Nothing is asked for.
  package var isIdle = true
  /// What it waits for and why it failed, in words.
  package var text = ""
}

/// A place between messages; an empty id stands before all messages of its first part.
package struct SimPoint: Equatable, Sendable {
  package var order: Int64
  package var id: [UInt8]

  package init(_ order: Int64, _ id: [UInt8]) {
    self.order = order
    self.id = id
  }

  static func < (a: SimPoint, b: SimPoint) -> Bool {
    a.order != b.order ? a.order < b.order : a.id.lexicographicallyPrecedes(b.id)
  }
}

package struct SimSpan: Equatable, Sendable {
  package var low: SimPoint
  package var high: SimPoint

  /// Whether it holds everything after `a` up to and with `b`.
  func covers(after a: SimRow, through b: SimRow) -> Bool {
    let from = Self.point(a)
    return !(SimPoint(from.order, from.id + [0]) < low) && Self.point(b) < high
  }

  func contains(_ row: SimRow) -> Bool {
    let point = Self.point(row)
    return !(point < low) && point < high
  }

  private static func point(_ row: SimRow) -> SimPoint {
    guard row.isPending else { return SimPoint(row.order, row.key) }
    // A byte that is in no text, then the number of the operation.
    let id = [0xFF] + (1..<8).map { UInt8(truncatingIfNeeded: row.operation >> (56 - 8 * $0)) }
    return SimPoint(row.order, id)
  }
}

package protocol SimulatedWindow: AnyObject {
  /// Nil where nothing changed.
  func poll() throws -> SimDiff?
  func rows(_ first: Int, _ count: Int) throws -> [SimWindowRow]
  func load(_ load: SimLoad, count: Int, pastGaps: Bool) throws -> SimAnswer
  func find(_ id: [UInt8]) throws -> Int?
  func fill(_ row: Int) throws -> SimAnswer
  func show(_ first: Int, _ count: Int) throws
  func trim(_ first: Int, _ count: Int) throws
  func state() throws -> SimWindowState
  /// What it has loaded, for the slow model.
  func loaded() throws -> [SimSpan]
  func close()
}
