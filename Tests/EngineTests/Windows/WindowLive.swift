import Base
import Engine
import ReferenceServer
import Testing

/// Live messages, marks and deletions folded into open windows.
@Suite struct WindowLive {
  private func live() throws -> (World, Int) {
    let world = try World.exact {
      $0.pushIsLossless = true
    } profile: {
      $0.pushIsLossless = true
    }
    world.post(300)
    try world.connect()
    let token = world.server.subscribe(user: "me")
    return (world, token)
  }

  @Test func aLiveMessageAtTheEndIsOneStep() throws {
    let (world, token) = try live()
    let screen = try world.window(count: 20)
    world.reset()
    world.post(1)
    try world.deliver(token)
    let diff = try #require(try screen.poll())
    #expect(diff.ops == [DiffOp(.insert, row: 20)])
    #expect(try screen.ids() == Array(world.truth().suffix(21)))
    #expect(try screen.splits().isEmpty)
    try screen.settle(world)
    #expect(world.requests.isEmpty)
  }

  @Test func aLiveMessageWhileTheWindowIsInTheMiddleIsNoStep() throws {
    let (world, token) = try live()
    try world.sync(.older, want: 400)
    let middle = Array(world.truth()[100].utf8)
    let screen = try world.window(.message(middle), count: 20)
    #expect(!(try screen.state().isAtEnd))
    let before = try screen.ids()
    world.post(1)
    try world.deliver(token)
    #expect(try screen.poll() == nil)
    #expect(try screen.ids() == before)
    #expect(!(try screen.state().isAtEnd))
  }

  @Test func marksEditsAndDeletionsAreSteps() throws {
    let (world, token) = try live()
    let screen = try world.window(count: 20)
    let truth = Array(world.truth().suffix(20))
    #expect(
      world.server.react(
        conversation: world.room, id: truth[3], user: "you", reaction: "+", isSet: true))
    try world.deliver(token)
    #expect(try screen.poll()?.ops == [DiffOp(.update, row: 3)])
    #expect(world.server.edit(conversation: world.room, id: truth[4], payload: "\"new\""))
    try world.deliver(token)
    #expect(try screen.poll()?.ops == [DiffOp(.update, row: 4)])
    world.server.delete(conversation: world.room, ids: [truth[5]])
    try world.deliver(token)
    #expect(try screen.poll()?.ops == [DiffOp(.remove, row: 5)])
    #expect(try screen.ids() == truth.filter { $0 != truth[5] })
  }

  /// T20: what is pushed at a reconnect is an island until it is proven.
  @Test func t20TheReconnectBatchIsAnIslandInTheWindow() throws {
    let world = try World.exact()
    world.post(100)
    try world.connect()
    let screen = try world.window(count: 20)
    let seen = try screen.ids()
    try world.client.disconnected()
    world.post(300)
    let truth = world.truth()
    try world.connect()
    var batch: [String] = []
    // The batch comes before any answer does.
    for id in truth.suffix(10) {
      let row = try #require(world.server.message(world.room, id))
      batch.append(row.id)
      let frame =
        #"{"type":"message_new","conversation_id":"room","message":{"message_id":"\#(id)","#
        + #""conversation_id":"room","sender_id":"you","created_at":"\#(stamp(row.stampUs))","#
        + #""payload":"x"}}"#
      _ = try world.client.receive(Array(frame.utf8))
    }
    try screen.poll()
    #expect(try screen.ids() == seen + batch)
    #expect(try screen.splits().contains(20))
    try screen.settle(world)
    #expect(try screen.ids() == seen + truth.suffix(20))
    #expect(try screen.splits().last == 20)
    #expect(try screen.window.fill(row: 20))
    try screen.settle(world)
    #expect(try screen.splits().isEmpty)
    #expect(try screen.ids() == Array(truth[80...]))
  }

  /// Whole seconds as the server prints them.
  private func stamp(_ timeUs: Int64) -> String {
    let seconds = (timeUs - World.epochUs) / 1_000_000 + 45
    let minute = 15 + seconds / 60 + 22 * 60
    func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
    return "2026-02-15T\(two(minute / 60)):\(two(minute % 60)):\(two(seconds % 60))"
  }

  @Test func aReadMarkOfThisDeviceIsAStep() throws {
    let (world, _) = try live()
    let screen = try world.window(count: 20)
    let id = Array(try screen.ids()[7].utf8)
    try world.client.markRead(conversation: Array(world.room.utf8), ids: [id])
    #expect(try screen.poll()?.ops == [DiffOp(.update, row: 7)])
    let row = try #require(try screen.window.rows(first: 7, count: 1)?.rows.first)
    #expect(row.flags & (1 << 1) == 0)
  }

  /// Until the next poll: what is read meanwhile still belongs to the rows that are shown.
  @Test(arguments: [[7], [0, 1, 19], Array(0..<20)])
  func aRowThatWentKeepsItsPlace(rows: [Int]) throws {
    let (world, _) = try live()
    let screen = try world.window(count: 20)
    let ids = try screen.ids()
    let before = try #require(try screen.window.rows(first: 0, count: 20)).rows
    for row in rows {
      try world.client.forget(conversation: Array(world.room.utf8), id: Array(ids[row].utf8))
    }
    let page = try #require(try screen.window.rows(first: 0, count: 20))
    #expect(page.rows.map(\.number) == before.map(\.number))
    for (index, row) in page.rows.enumerated() {
      let isGone = rows.contains(index)
      #expect((row.flags & (1 << 11) != 0) == isGone)
      #expect(String(decoding: page[row.id], as: UTF8.self) == (isGone ? "" : ids[index]))
      #expect(row.flags == (isGone ? 1 << 11 : before[index].flags))
    }
    let last = try #require(try screen.window.rows(first: 19, count: 1))
    #expect((last.rows[0].flags & (1 << 11) != 0) == rows.contains(19))
    #expect(try screen.poll()?.rowCount == 20 - rows.count)
  }

  /// What is stale on screen is verified once a connection, and only there.
  @Test func staleRowsOnScreenAreRefreshed() throws {
    let (world, _) = try live()
    try world.sync(.older, want: 400)
    try world.client.disconnected()
    let truth = world.truth()
    #expect(
      world.server.react(
        conversation: world.room, id: truth[102], user: "you", reaction: "+", isSet: true))
    try world.connect()
    try world.run()
    let screen = try world.window(.message(Array(truth[100].utf8)), count: 20)
    func stale() throws -> [Bool] {
      try #require(try screen.window.rows(first: 0, count: 20)).rows.map {
        $0.flags & (1 << 9) != 0
      }
    }
    #expect(try stale() == [Bool](repeating: true, count: 20))
    world.reset()
    try screen.settle(world)
    #expect(world.requests.isEmpty)
    try screen.window.show(first: 8, count: 6)
    #expect(try screen.state().waiting == .refresh)
    try screen.settle(world)
    #expect(try Array(stale()[8..<14]) == [Bool](repeating: false, count: 6))
    let row = try #require(try screen.window.rows(first: 12, count: 1))
    #expect(!row.rows[0].reactions.isEmpty)
    world.reset()
    try screen.window.show(first: 8, count: 6)
    try screen.settle(world)
    #expect(world.requests.isEmpty)
  }

  /// A host that wants no refresh is left its stale rows: nothing is asked for what it shows,
  /// and nothing is waited for; another window of the same rows verifies them for both.
  @Test func aWindowWithoutRefreshAsksForNoMarks() throws {
    let (world, _) = try live()
    try world.sync(.older, want: 400)
    try world.client.disconnected()
    try world.connect()
    try world.run()
    let place = At.message(Array(world.truth()[100].utf8))
    let quiet = try TestScreen(world, place, count: 20) { $0.leavesStale = true }
    try quiet.settle(world)
    func stale() throws -> Int {
      try #require(try quiet.window.rows(first: 0, count: 20)).rows
        .count { $0.flags & (1 << 9) != 0 }
    }
    world.reset()
    try quiet.window.show(first: 0, count: 20)
    #expect(try quiet.state().waiting == .nothing)
    try quiet.settle(world)
    #expect(world.requests.isEmpty)
    #expect(try stale() == 20)
    let other = try world.window(place, count: 20)
    try other.window.show(first: 0, count: 20)
    #expect(try other.state().waiting == .refresh)
    try other.settle(world)
    #expect(!world.requests.isEmpty)
    #expect(try quiet.poll()?.ops.allSatisfy { $0.kind == .update } == true)
    #expect(try stale() == 0)
  }

  /// A row that was drawn as stale is drawn anew once it is verified, in one step for all of
  /// them; that a lost connection makes all rows stale is none.
  @Test func whatIsVerifiedIsUpdated() throws {
    let (world, token) = try live()
    try world.sync(.older, want: 400)
    let screen = try world.window(count: 20)
    try world.client.disconnected()
    #expect(try screen.poll() == nil)
    try world.connect()
    _ = try screen.poll()
    func stale() throws -> Int {
      let page = try #require(try screen.window.rows(first: 0, count: 100))
      return page.rows.count { $0.flags & (1 << 9) != 0 }
    }
    #expect(try stale() == 20)
    let known = screen.diffs.count
    try screen.window.show(first: 0, count: 20)
    try screen.settle(world)
    #expect(try stale() == 0)
    let ops = screen.diffs[known...].flatMap(\.ops)
    #expect(ops.allSatisfy { $0.kind == .update })
    #expect(Set(ops.flatMap { $0.row..<$0.row + $0.count }) == Set(0..<20))
    #expect(ops.count <= 3)
    world.post(1)
    try world.deliver(token)
    #expect(try screen.poll()?.ops == [DiffOp(.insert, row: 20)])
  }

  /// A cached row outside of every trusted range is updated when a range comes to cover it,
  /// also where it is the first one and has no split that could go.
  @Test func aRowThatATrustedRangeComesToCoverIsUpdated() throws {
    let world = try World.exact()
    world.post(120)
    try world.connect()
    let token = world.server.subscribe(user: "me")
    world.post(1)
    try world.deliver(token)
    let screen = try TestScreen(world, count: 1)
    try screen.poll()
    func isUnverified() throws -> Bool {
      let row = try #require(try screen.window.rows(first: 0, count: 1)?.rows.first)
      return row.flags & (1 << 7) != 0
    }
    #expect(try screen.ids() == Array(world.truth().suffix(1)))
    #expect(try isUnverified())
    let known = screen.diffs.count
    try screen.settle(world)
    #expect(!(try isUnverified()))
    #expect(screen.diffs[known...].flatMap(\.ops).contains { $0.kind == .update })
  }
}
