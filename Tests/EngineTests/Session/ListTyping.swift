/// Typing: what is heard, how long it is believed, and where it is shown.
import Base
import ReferenceServer
import Testing
import Wire

@testable import Engine

@Suite struct ListTyping {
  private let room = Array("room".utf8)
  private let eva = Array("eva".utf8)

  private func take(
    _ typing: inout Typing, _ event: TypingEvent, at atUs: Int64? = nil, now nowMs: Int64,
    server: Int64? = nil, user: String = "eva"
  ) -> Bool {
    typing.receive(
      event, of: Array(user.utf8), in: room, atUs: atUs, serverUs: server, nowMs: nowMs)
  }

  @Test func beginsPausesAndEnds() {
    var typing = Typing()
    #expect(take(&typing, .pause, now: 0) == false)
    #expect(take(&typing, .begin, now: 1))
    #expect(take(&typing, .begin, now: 2) == false)
    #expect(take(&typing, .other, now: 2) == false)
    #expect(take(&typing, .begin, now: 3, user: "ada"))
    #expect(typing.users(room) == [eva, Array("ada".utf8)])
    #expect(take(&typing, .pause, now: 4))
    #expect(take(&typing, .finished, now: 5) == false)
    #expect(take(&typing, .begin, now: 6))
    #expect(typing.users(room) == [Array("ada".utf8), eva])
    var spoke = typing.spoke(eva, in: room)
    #expect(spoke)
    spoke = typing.spoke(eva, in: room)
    #expect(!spoke)
    let cleared = typing.clear()
    #expect(cleared == [room])
    #expect(typing.users(room).isEmpty && typing.deadlineMs == nil)
  }

  @Test func endsByItselfAndIsRenewed() {
    var typing = Typing()
    #expect(take(&typing, .begin, now: 0))
    #expect(typing.deadlineMs == 10_000)
    #expect(take(&typing, .begin, now: 6_000) == false)
    var ended = typing.expire(nowMs: 15_999)
    #expect(ended.isEmpty && typing.deadlineMs == 16_000)
    ended = typing.expire(nowMs: 16_000)
    #expect(ended == [room] && typing.users(room).isEmpty)
    ended = typing.expire(nowMs: .max)
    #expect(ended.isEmpty)
    #expect(take(&typing, .begin, now: .max))
  }

  @Test func whatIsOlderThanTheLastSignIsIgnored() {
    var typing = Typing()
    #expect(take(&typing, .begin, at: 100, now: 0))
    #expect(take(&typing, .finished, at: 300, now: 1))
    #expect(take(&typing, .begin, at: 200, now: 2) == false)
    #expect(take(&typing, .begin, at: 300, now: 3))
    // One that says no time is taken as it comes.
    #expect(take(&typing, .finished, now: 4))
    // A stamp of the far future holds no longer than any other.
    #expect(take(&typing, .begin, at: .max, now: 5))
    #expect(take(&typing, .finished, at: 400, now: 6) == false)
    let ended = typing.expire(nowMs: 10_005)
    #expect(ended == [room])
    #expect(take(&typing, .begin, at: 500, now: 10_006))
    // Delivered long after it was made.
    #expect(take(&typing, .begin, at: 0, now: 10_007, server: 10_000_001, user: "ada") == false)
    #expect(take(&typing, .begin, at: 0, now: 10_007, server: 10_000_000, user: "ada"))
  }

  @Test func isBounded() {
    var typing = Typing()
    for user in 0...Typing.usersMax {
      #expect(take(&typing, .begin, now: 0, user: "u\(user)"))
    }
    #expect(typing.users(room).count == Typing.usersMax)
    for index in 1...Typing.conversationsMax {
      let isTaken = typing.receive(
        .begin, of: eva, in: Array("c\(index)".utf8), atUs: nil, serverUs: nil, nowMs: 0)
      #expect(isTaken == (index < Typing.conversationsMax))
    }
    let ended = typing.expire(nowMs: 10_000)
    #expect(ended.count == Typing.conversationsMax)
  }

  @Test func aListShowsWhoTypes() throws {
    let world = try World.lossless()
    world.server.createConversation("r", participants: ["me", "you", "ada"])
    world.postMessage("x", in: "r")
    try world.connectListening()
    let list = try TestList(world.client)
    try list.settle(world)
    func type(_ user: String, _ event: String = "begin") throws {
      world.advance(ms: 1_000)
      #expect(world.server.typing(conversation: "r", user: user, event: event))
      try world.run()
    }
    try type("you")
    #expect(try list.poll()?.ops == [DiffOp(.update, row: 0)])
    try type("ada")
    #expect(try list.poll()?.ops == [DiffOp(.update, row: 0)])
    #expect(try list.row("r").typing == #"["you","ada"]"#)
    #expect(
      world.client.typing(conversation: Array("r".utf8))
        == ["you", "ada"].map { Array($0.utf8) })
    // Repeated, it is no change.
    try type("you")
    #expect(try list.poll() == nil)
    try type("ada", "finished")
    #expect(try list.poll() != nil && list.row("r").typing == #"["you"]"#)
    let left = try world.client.advance()
    #expect(left > 0 && left <= 10_000)
    world.advance(ms: left)
    _ = try world.client.advance()
    #expect(try list.poll()?.ops == [DiffOp(.update, row: 0)])
    #expect(try list.row("r").typing.isEmpty)
    // A message ends it.
    try type("you")
    _ = try list.poll()
    world.postMessage("said", in: "r")
    try list.settle(world)
    #expect(try list.row("r").typing.isEmpty)
    try type("you")
    #expect(try list.poll() != nil)
    try world.disconnect()
    #expect(try list.poll() != nil && list.row("r").typing.isEmpty)
  }
}
