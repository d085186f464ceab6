/// One window as a host's list holds it: only what the diffs said, in the order they said it.
///
/// A wrong, missing or doubled step shows here as another list than the window's own.

final class Screen {
  let number: Int
  let conversation: Int
  let place: SimPlace
  let window: any SimulatedWindow
  private(set) var rows: [SimWindowRow] = []
  private(set) var version: UInt64 = 0
  /// Set where the host asked for the newest messages and has not left them since.
  var followsPresent: Bool
  /// It holds back splits that heal.
  let holds: Bool
  /// Somebody has asked for a gap to be filled: that one is drawn while it is.
  var fills = false
  /// Nothing was asked for at the last look, and the user has not touched it since.
  var isAtRest = false
  var wasAtEnd = false
  /// Nobody touches it: what it shows is to stay.
  var isWatched = false
  let rowsMax: Int
  /// The rows whose splits are held back, and since which look.
  var heldSinceUs: [UInt64: Int64] = [:]

  init(
    number: Int, conversation: Int, place: SimPlace, window: any SimulatedWindow, holds: Bool,
    rowsMax: Int
  ) {
    self.rowsMax = rowsMax
    self.holds = holds
    self.number = number
    self.conversation = conversation
    self.place = place
    self.window = window
    followsPresent = place == .latest
  }

  /// Polls once and applies what came; false where nothing changed.
  func poll() throws -> Bool {
    guard let diff = try window.poll() else { return false }
    guard diff.fromVersion == version, diff.toVersion > version else {
      throw Violation("a diff from \(diff.fromVersion) to \(diff.toVersion) for version \(version)")
    }
    if diff.ops.isEmpty { throw Violation("a diff without a step") }
    let known = holds ? Set(rows.map(\.row.number)) : []
    try apply(diff)
    version = diff.toVersion
    if holds, !fills,
      let row = rows.first(where: { $0.healing && !known.contains($0.row.number) })
    {
      throw Violation("a split flashes before \(World.text(row.row.id))")
    }
    if rows.count != diff.rowCount {
      throw Violation("the steps lead to \(rows.count) rows, the diff says \(diff.rowCount)")
    }
    let sum = Self.checksum(rows.map(\.row.number))
    if sum != diff.checksum { throw Violation("the steps lead to another list than the checksum") }
    return true
  }

  private func apply(_ diff: SimDiff) throws {
    var list: [SimWindowRow?] = rows
    for op in diff.ops {
      switch op {
      case .insert(let row, let count):
        guard row >= 0, row <= list.count, count > 0 else { throw outside(op, list.count) }
        list.insert(contentsOf: [SimWindowRow?](repeating: nil, count: count), at: row)
      case .remove(let row, let count):
        guard row >= 0, count > 0, row + count <= list.count else { throw outside(op, list.count) }
        list.removeSubrange(row..<row + count)
      case .update(let row, let count):
        guard row >= 0, count > 0, row + count <= list.count else { throw outside(op, list.count) }
        for index in row..<row + count { list[index] = nil }
      case .move(let from, let row):
        guard list.indices.contains(from), row >= 0, row < list.count else {
          throw outside(op, list.count)
        }
        list.remove(at: from)
        list.insert(nil, at: row)
      }
    }
    rows = try filled(list)
  }

  private func outside(_ op: SimOp, _ count: Int) -> Violation {
    Violation("a step outside of the list: \(op) in \(count) rows")
  }

  /// Reads the rows that are new or changed, run by run.
  private func filled(_ list: [SimWindowRow?]) throws -> [SimWindowRow] {
    var result: [SimWindowRow] = []
    result.reserveCapacity(list.count)
    var index = 0
    while index < list.count {
      if let row = list[index] {
        result.append(row)
        index += 1
        continue
      }
      var end = index
      while end < list.count, list[end] == nil { end += 1 }
      let read = try window.rows(index, end - index)
      guard read.count == end - index else {
        throw Violation("rows \(index)..<\(end) were asked, \(read.count) came")
      }
      if read.contains(where: \.gone) { throw Violation("a row is gone right after the poll") }
      result += read
      index = end
    }
    return result
  }

  /// The whole list read anew must be the list that the diffs made.
  func compareWithWindow() throws {
    let read = rows.isEmpty ? [] : try window.rows(0, rows.count + 10)
    guard read.count == rows.count else {
      throw Violation("the window has \(read.count) rows, the diffs made \(rows.count)")
    }
    for (index, (new, old)) in zip(read, rows).enumerated() where !new.isShown(as: old) {
      throw Violation(
        "row \(index) of \(rows.count) is not what the diffs said: \(Self.difference(old, new))")
    }
  }

  private static func difference(_ old: SimWindowRow, _ new: SimWindowRow) -> String {
    if old.row.number != new.row.number { return "another message" }
    if old.gapBefore != new.gapBefore { return "split \(old.gapBefore), now \(new.gapBefore)" }
    if old.healing != new.healing { return "heals \(old.healing), now \(new.healing)" }
    if old.gone != new.gone { return "gone" }
    if old.row.unverified != new.row.unverified { return "unverified \(old.row.unverified)" }
    if old.stale, !new.stale { return "still stale" }
    let members = old.row.differences(from: new.row).joined(separator: ", ")
    return "other \(members), \(World.text(old.row.payload)) and \(World.text(new.row.payload))"
  }

  /// The formula of the header, written from its words.
  static func checksum(_ numbers: [UInt64]) -> UInt64 {
    var sum: UInt64 = 0
    var previous: UInt64 = 0
    for number in numbers {
      var z = previous &* 0x9E37_79B9_7F4A_7C15 &+ number
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      sum = sum &+ (z ^ (z >> 31))
      previous = number
    }
    return sum
  }
}

extension SimWindowRow {
  /// Equal but for what is told by no step: where the connection was lost all rows are stale.
  func isShown(as other: SimWindowRow) -> Bool {
    let isToldVerified = stale || !other.stale
    return row == other.row && gapBefore == other.gapBefore && healing == other.healing
      && gone == other.gone && isToldVerified
  }
}

extension Screen {
  /// What a load means for where the window stands.
  func note(_ load: SimLoad) {
    switch load {
    case .initial, .last: followsPresent = true
    case .before, .after, .around: followsPresent = false
    }
    // Where the list is made anew, all of its splits are held back anew.
    switch load {
    case .initial, .last, .around: heldSinceUs = [:]
    case .before, .after: break
    }
  }
}
