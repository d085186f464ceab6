/// Finds a slot by a hash: open addressing with linear probing over 4-byte cells.
///
/// It keeps no keys: whoever owns the slots says what they hash to and whether one
/// is meant. Small on purpose, in memory and in code. Hashes are not keyed, so a
/// hostile server can make look-ups slow, within the bound on a window's rows.
internal import Base

package struct SlotTable: Sendable {
  /// 0 for an empty cell, else the slot plus one.
  private(set) var cells: [UInt32] = []
  private var used = 0

  package init() {}

  package static func hash(_ id: [UInt8]) -> UInt64 { checksumTerm(foldedBytes(of: id), number: 0) }

  package func find(_ hash: UInt64, _ isMeant: (Int) -> Bool) -> Int? {
    guard let cell = cell(hash, isMeant) else { return nil }
    return Int(cells[cell]) - 1
  }

  package mutating func insert(_ slot: Int, _ hash: UInt64, rehash: (Int) -> UInt64) {
    reserve(used + 1, rehash: rehash)
    place(UInt32(slot) + 1, hash)
    used += 1
  }

  /// Makes room for so many slots. Whoever knows how many come saves hashing them again.
  mutating func reserve(_ count: Int, rehash: (Int) -> UInt64) {
    if count * 4 <= cells.count * 3 { return }
    let old = cells
    var room = max(16, old.count * 2)
    while count * 4 > room * 3 { room *= 2 }
    cells = [UInt32](repeating: 0, count: room)
    for cell in old where cell != 0 { place(cell, rehash(Int(cell) - 1)) }
  }

  mutating func remove(_ slot: Int, _ hash: UInt64, rehash: (Int) -> UInt64) {
    guard var hole = cell(hash, { $0 == slot }) else { return }
    let mask = cells.count - 1
    var next = (hole + 1) & mask
    // What was pushed past the hole moves back into it, so no search ends early.
    while cells[next] != 0 {
      let home = Int(truncatingIfNeeded: rehash(Int(cells[next]) - 1)) & mask
      if (next - home) & mask >= (next - hole) & mask {
        cells[hole] = cells[next]
        hole = next
      }
      next = (next + 1) & mask
    }
    cells[hole] = 0
    used -= 1
  }

  private func cell(_ hash: UInt64, _ isMeant: (Int) -> Bool) -> Int? {
    if cells.isEmpty { return nil }
    let mask = cells.count - 1
    var cell = Int(truncatingIfNeeded: hash) & mask
    while cells[cell] != 0 {
      if isMeant(Int(cells[cell]) - 1) { return cell }
      cell = (cell + 1) & mask
    }
    return nil
  }

  private mutating func place(_ value: UInt32, _ hash: UInt64) {
    let mask = cells.count - 1
    var cell = Int(truncatingIfNeeded: hash) & mask
    while cells[cell] != 0 { cell = (cell + 1) & mask }
    cells[cell] = value
  }
}
