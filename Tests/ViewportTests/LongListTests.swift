/// Long lists: the checksum after every step, and all of it beside a plain array at times.
import Base
import Testing

@testable import Viewport

@Suite struct LongListTests {
  private struct Plain {
    var keys: [UInt64] = []
    var heights: [UInt64: Int64] = [:]
    var checksum: UInt64 = 0

    /// The checksum's terms of some rows and the one behind them.
    private func terms(_ rows: Range<Int>) -> UInt64 {
      var sum: UInt64 = 0
      for row in rows where row < keys.count {
        sum &+= checksumTerm(row == 0 ? 0 : keys[row - 1], number: keys[row])
      }
      return sum
    }

    mutating func insert(_ new: [UInt64], at row: Int) {
      checksum &-= terms(row..<row + 1)
      keys.insert(contentsOf: new, at: row)
      checksum &+= terms(row..<row + new.count + 1)
    }

    mutating func remove(_ rows: Range<Int>) {
      checksum &-= terms(rows.lowerBound..<rows.upperBound + 1)
      keys.removeSubrange(rows)
      checksum &+= terms(rows.lowerBound..<rows.lowerBound + 1)
    }
  }

  @Test(arguments: [3_000, 20_000]) func theChecksumHoldsAfterEachStep(_ length: Int) throws {
    var random = Random(seed: UInt64(length))
    var config = ViewportConfig()
    config.extent = 500
    config.direction = .bottomUp
    var viewport = try Viewport(config)
    var plain = Plain()
    var nextKey: UInt64 = 1
    for step in 0..<3_000 {
      let count = plain.keys.count
      let grows = count < length / 2 || count < length && random.chance(0.5)
      let row = random.below(count + (grows ? 1 : 0))
      var steps: [DiffOp] = []
      if grows {
        let new = (0..<1 + random.below(step < 100 ? length / 50 : 3)).map { _ in
          nextKey += 1
          return nextKey
        }
        plain.insert(new, at: row)
        steps.append(DiffOp(.insert, row: row, count: new.count))
      } else if random.chance(0.5) {
        let from = random.below(count)
        steps.append(DiffOp(.move, row: row, from: from))
        let key = plain.keys[from]
        plain.remove(from..<from + 1)
        plain.insert([key], at: row)
      } else {
        let rows = row..<min(count, row + 1 + random.below(4))
        plain.remove(rows)
        steps.append(DiffOp(.remove, row: row, count: rows.count))
      }
      let keys = plain.keys
      try viewport.update(
        steps, keyCount: keys.count, key: { keys[$0] }, kind: { UInt32(keys[$0] % 5) })
      let state = viewport.state()
      #expect(state.checksum == plain.checksum)
      for _ in 0..<3 where !keys.isEmpty {
        let key = keys[random.below(keys.count)]
        let height = Int64(random.below(90))
        plain.heights[key] = height
        _ = try viewport.measure([(key, height)])
      }
      if step % 1_000 == 999 { try rebuild(&viewport, plain) }
    }
  }

  /// A list that is built anew from the plain one stands as the one that was changed does.
  private func rebuild(_ viewport: inout Viewport, _ plain: Plain) throws {
    var top: Int64 = 0
    let first = viewport.find(plain.keys[0])
    for (row, key) in plain.keys.enumerated() {
      let place = viewport.find(key)
      let found = try #require(place)
      if let height = plain.heights[key] { #expect(found.height == height) }
      try #require(found.row == row && found.top == (first?.top ?? 0) + top)
      top += found.height
    }
    let state = viewport.state()
    #expect(state.total == top)
  }
}
