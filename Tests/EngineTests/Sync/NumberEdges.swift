/// Times and rows at the edges of their types: none of them ends the process.
import Base
import Engine
import Testing

@Suite struct NumberEdges {
  @Test func timesAreRoundedDownToTheEdgeAndNotBeyond() {
    #expect(ServerTime.min.floored(to: 1_000_000) == .min)
    #expect(ServerTime(us: .min + 1).floored(to: 1_000_000) == .min)
    #expect(ServerTime(us: -1).floored(to: 1_000_000) == ServerTime(us: -1_000_000))
    #expect(ServerTime.max.floored(to: 1) == .max)
  }

  @Test func sumsOfTimesStopAtTheEdge() {
    #expect(ServerTime.max.saturating(plus: 1) == .max)
    #expect(ServerTime.min.saturating(minus: 1) == .min)
    #expect(ServerTime.max.us(since: .min) == .max && ServerTime.min.us(since: .max) == .min)
  }

  @Test func rowsBeyondTheLastOne() throws {
    let world = try World()
    world.post(10)
    try world.connect()
    try world.sync()
    let window = try world.client.openWindow(WindowConfig(conversation: Array(world.room.utf8)))
    // What the first page cut comes with the next one.
    for _ in 0..<4 {
      _ = try window.poll()
      try world.run()
    }
    #expect(try window.rows(first: 1, count: .max)?.rows.count == 9)
    #expect(try window.rows(first: .max, count: .max) == nil)
    #expect(throws: Failure.invalid("rows are asked for that no list has")) {
      try window.rows(first: 0, count: -1)
    }
    #expect(throws: Failure.invalid("rows are asked for that no list has")) {
      try window.rows(first: -1, count: 1)
    }
    try window.show(first: 1, count: .max)
    try window.trim(first: 1, count: .max)
    _ = try window.poll()
    #expect(try window.state().rowCount == 9)
  }
}
