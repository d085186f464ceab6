/// What a change of the items costs, counted; and long lists.
import Base
import Testing

@testable import Timeline

@Suite struct ItemCostTests {
  /// A list of so many rows, of which every fifth begins a group of three.
  private func fixture(_ count: Int) -> ItemFixture {
    let fixture = ItemFixture(rowsMax: count * 2)
    _ = fixture.add((0..<count).map { $0 % 5 > 1 ? 1 : 0 })
    return fixture
  }

  private func cost(_ fixture: ItemFixture, _ body: (ItemFixture) -> [DiffOp]) -> Int {
    let fixture = ItemFixture(fixture)
    let before = fixture.list.work
    #expect(!body(fixture).isEmpty)
    return fixture.list.work - before
  }

  /// A hundred times the items: no more than the links that a tree has more.
  @Test func aStepCostsTheSameInAHundredThousandItems() {
    let (small, large) = (fixture(1_700), fixture(170_000))
    #expect(large.list.count > 100_000)
    func both(_ body: (ItemFixture) -> [DiffOp]) -> (small: Int, large: Int) {
      (cost(small, body), cost(large, body))
    }
    let costs = [
      // A live message.
      both { fixture in fixture.add(from: UInt64(fixture.window.count), [0]) },
      // An edit, and a deletion in the middle.
      both { fixture in
        fixture.apply(WindowChange(upserted: [fixture.key(UInt64(fixture.window.count / 2))]))
      },
      both { fixture in fixture.remove(UInt64(fixture.window.count / 2)) },
      // A group that is opened.
      both { fixture in
        _ = fixture.list.setOpen(2, true)
        return fixture.merge()
      },
      // The unread line.
      both { fixture in
        fixture.line = fixture.window.position(ofRow: fixture.window.count / 2)
        return fixture.merge()
      },
    ]
    for cost in costs {
      // A treap of a hundred times the nodes is some 10 links higher on the way.
      #expect(cost.large < cost.small * 5 / 2, "\(cost)")
      #expect(cost.large < 3_000, "\(cost)")
    }
  }

  @Test func aLiveMessageIsOneInsertAndOneUpdate() {
    let list = fixture(1_000)
    let last = list.list.count - 1
    let steps = list.add(from: 1_000, [0])
    #expect(steps == [DiffOp(.insert, row: last + 1)])
    let joined = list.add(from: 1_001, [0])
    // The one before is the last of its run no more.
    #expect(joined == [DiffOp(.insert, row: last + 2), DiffOp(.update, row: last + 1)])
  }

  /// Thousands of lives leave nothing behind.
  @Test func memoryDoesNotGrowWithTime() {
    let fixture = ItemFixture(rowsMax: 100)
    for number in 0..<100 { _ = fixture.add(from: UInt64(number), [0], sender: "\(number)") }
    let before = fixture.list.memoryBytes
    for number in 100..<3_000 { _ = fixture.add(from: UInt64(number), [0], sender: "\(number)") }
    #expect(fixture.list.count == 100)
    #expect(fixture.list.senderTable.count == 100)
    #expect(fixture.list.memoryBytes < 2 * before)
  }
}
