/// One message, or one conversation, goes from the cache and comes anew.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct Dropping {
  private func caughtUp(_ count: Int = 60) throws -> World {
    let world = try World()
    world.post(count)
    try world.connect()
    try world.sync(.older, want: count)
    #expect(try world.cached() == world.truth())
    world.reset()
    return world
  }

  private func drop(_ id: String, _ world: World) throws {
    try world.client.drop(conversation: Array("room".utf8), id: Array(id.utf8))
  }

  /// The row goes and leaves a gap; a sync of older messages brings it, whole.
  @Test(arguments: [0, 30, 58, 59])
  func aMessageComesAnew(_ index: Int) throws {
    let world = try caughtUp()
    let id = world.truth()[index]
    try drop(id, world)
    #expect(try world.cached() == world.truth().filter { $0 != id })
    let coverage = try world.page().coverage
    #expect(!coverage.gaps.isEmpty)
    #expect(try world.lies() == [])
    #expect(try world.client.stats().tombstones == 0)
    try world.sync(.older, want: 60)
    #expect(try world.cached() == world.truth())
    #expect(try world.page().coverage.gaps.isEmpty)
    #expect(try world.lies() == [])
  }

  /// A window shows the gap by its next poll, and a fill closes it.
  @Test func aWindowFillsTheGap() throws {
    let world = try caughtUp()
    let screen = try world.window(count: 20)
    let id = try screen.ids()[10]
    try drop(id, world)
    _ = try screen.poll()
    #expect(try screen.ids().count == 19)
    #expect(try screen.splits() == [10])
    #expect(try screen.window.fill(row: 10))
    try screen.settle(world)
    #expect(try screen.ids() == world.truth().suffix(20))
    #expect(try screen.splits() == [])
  }

  /// Not like a message that is forgotten: a page brings it again. One that is forgotten stays so.
  @Test func whatIsForgottenStaysSo() throws {
    let world = try caughtUp()
    let (forgotten, dropped) = (world.truth()[20], world.truth()[40])
    try world.client.forget(conversation: Array("room".utf8), id: Array(forgotten.utf8))
    try drop(dropped, world)
    try drop(forgotten, world)
    try world.sync(.older, want: 60)
    #expect(try world.cached() == world.truth().filter { $0 != forgotten })
    try drop("", world)
    try world.sync(.older, want: 60)
    #expect(try world.cached() == world.truth().filter { $0 != forgotten })
  }

  /// All of a conversation: nothing is known of it, and another one keeps what it has.
  @Test func aConversationComesAnew() throws {
    let world = try caughtUp()
    world.server.createConversation("other", participants: ["me", "you"])
    for _ in 0..<5 { world.put(in: "other") }
    try world.sync(in: "other")
    try world.client.setDraft(
      conversation: Array("room".utf8), body: Array("mine".utf8))
    try world.client.markRead(
      conversation: Array("room".utf8), ids: [Array(world.truth()[3].utf8)])
    try world.run()
    let asked = world.asked("mark_read").count
    try drop("", world)
    #expect(try world.cached() == [])
    #expect(try !world.page().coverage.whole)
    #expect(try world.cached(in: "other") == world.truth(in: "other"))
    #expect(try world.lies() == [])
    world.reset()
    try world.sync(.older, want: 60)
    #expect(try world.cached() == world.truth())
    #expect(try world.lies() == [])
    try world.client.markRead(
      conversation: Array("room".utf8), ids: [Array(world.truth()[3].utf8)])
    try world.run()
    #expect(asked == 1 && world.asked("mark_read").isEmpty)
    let draft = try world.client.draft(conversation: Array("room".utf8))
    #expect(draft?.body == Array("mine".utf8))
  }

  /// An open window empties and loads again by itself.
  @Test func aWindowOnADroppedConversationLoadsAgain() throws {
    let world = try caughtUp()
    let screen = try world.window(count: 20)
    try drop("", world)
    try screen.settle(world)
    #expect(try screen.ids() == world.truth().suffix(20))
    #expect(try screen.splits() == [])
    #expect(try world.lies() == [])
  }

  /// Answers that are on their way when it goes claim nothing of what they no longer join.
  @Test func anAnswerUnderWayDoesNoHarm() throws {
    let world = try caughtUp()
    world.post(80)
    var isDropped = false
    world.alter = { request, answer in
      if request.contains("get_messages"), !isDropped {
        isDropped = true
        try? world.client.drop(conversation: Array("room".utf8), id: [])
      }
      return answer
    }
    try world.sync()
    #expect(isDropped)
    #expect(try world.lies() == [])
    try world.sync(.older, want: 200)
    #expect(try world.cached() == world.truth())
  }

  /// A queued mark of a message that goes is still told.
  @Test func whatIsOwedStaysOwed() throws {
    let world = try caughtUp()
    try world.client.disconnected()
    let id = world.truth()[30]
    try world.client.markRead(conversation: Array("room".utf8), ids: [Array(id.utf8)])
    try drop(id, world)
    try world.connect()
    try world.run()
    #expect(world.asked("mark_read").contains { $0.contains("\"\(id)\"") })
    #expect(try world.client.state().readsPending == 0)
  }

  @Test func whatIsNotThereIsNotFound() throws {
    let world = try caughtUp()
    #expect(throws: Failure.noMessage) { try drop("nobody", world) }
    #expect(throws: Failure.noConversation) {
      try world.client.drop(conversation: Array("nowhere".utf8), id: [])
    }
    // Offline as well.
    try world.client.disconnected()
    try drop(world.truth()[5], world)
    #expect(try world.cached().count == 59)
  }
}
