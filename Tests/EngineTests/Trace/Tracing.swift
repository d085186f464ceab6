/// The trace of changes: what it tells, what it costs, how much is kept, and when it goes.
import Base
import Foundation
import ReferenceServer
import TestSupport
import Testing

@testable import Engine
@testable import Store

@Suite struct Tracing {
  private func caughtUp(_ count: Int = 10) throws -> World {
    let world = try World.tracing()
    world.post(count)
    try world.connect()
    try world.sync()
    return world
  }

  /// The answer that brought it: its request, when, on which connection, by which commit.
  @Test func anAnswerIsNamed() throws {
    let world = try caughtUp()
    let id = try #require(world.truth().last)
    let found = try world.explain(id)
    #expect(found.steps == ["answer inserted"] && found.all["traced"] as? Bool == true)
    let entry = try #require(found.trace.first)
    #expect(entry["verb"] as? String == "get_messages")
    let request = try #require(entry["request"] as? String)
    #expect(world.requests.contains { $0.contains("\"\(request)\"") })
    #expect(entry["connection"] as? Int == 1)
    #expect(entry["at_us"] as? Int64 == world.clock.read().wallUs)
    #expect(entry["number"] as? UInt64 == (try world.shown(id))?.view.number)
    #expect(entry["commit"] as? Int ?? 0 > 0)
    // What comes again unchanged is no entry.
    try world.sync(.refresh(.min, .max))
    #expect(try world.explain(id).steps == ["answer inserted"])
  }

  /// A message's life by push: made, marked, edited, deleted, and shown again too late.
  @Test func pushesAreNamed() throws {
    let world = try caughtUp()
    let (atUs, first) = (World.epochUs + 60_000_000, #"{"text":"first secret"}"#)
    try world.hand(Frames.push(Frames.message("p", atUs: atUs, payload: first)))
    try world.hand(
      #"{"type":"messages_read","conversation_id":"room","user_id":"you","message_ids":["p"]}"#)
    try world.hand(
      Frames.edit(
        Frames.message(
          "p", atUs: atUs, payload: #""second secret""#,
          more: #","edited_at":"\#(Frames.time(atUs + 1_000_000))""#)))
    #expect(try world.explain("p").steps == ["push changed", "push inserted"])
    try world.hand(Frames.push(Frames.message("p", atUs: atUs, payload: first)))
    #expect(try world.explain("p").steps.first == "push ignored")
    try world.hand(
      #"{"type":"message_deleted","conversation_id":"room","message_ids":["p","q"]}"#)
    #expect(try world.explain("p").steps.first == "push deleted")
    #expect(try world.explain("q").steps == ["push deleted"])
    for _ in 0..<3 { try world.hand(Frames.push(Frames.message("q", atUs: atUs))) }
    // A server may list a deleted message for ever.
    #expect(try world.explain("q").steps == ["push ignored", "push deleted"])
    let json = try world.client.explain(
      conversation: Array("room".utf8), id: Array("p".utf8), limit: 100)
    #expect(!String(decoding: json, as: UTF8.self).contains("secret"))
  }

  /// An update is named by its ref.
  @Test func anUpdateIsNamedByItsRef() throws {
    var profile = Profile()
    profile.capabilities = [.envelope]
    let world = try World.tracing(profile: profile)
    try world.connect()
    try world.hand(
      Frames.update("r7", "message", [Frames.message("u", atUs: World.epochUs)]))
    #expect(try world.explain("u").steps == ["push inserted"])
    #expect(try world.explain("u").trace.first?["request"] as? String == "r7")
  }

  /// A send keeps its story under both of its names.
  @Test func aSendIsOneStory() throws {
    let world = try World.forgetful { $0.traceMax = 100 }
    world.post(2)
    try world.connect()
    try world.sync()
    let said = try world.say("mine", as: "own")
    try world.run()
    #expect(try world.standing(said.operation) == .done)
    for id in ["own", try #require(world.truth().last)] {
      let found = try world.explain(id)
      #expect(found.reason == "shown")
      #expect(found.steps.first == "answer confirmed")
      #expect(found.steps.last == "operation inserted")
      #expect(found.trace.first?["verb"] as? String == "send_message")
      #expect(found.trace.allSatisfy { $0["operation"] as? UInt64 == said.operation })
      #expect(Set(found.trace.compactMap { $0["number"] as? UInt64 }).count == 1)
    }
  }

  /// What this user does to a message, and takes back.
  @Test func operationsOnAMessageAreNamed() throws {
    let world = try caughtUp()
    try world.disconnect()
    let id = world.truth()[4]
    let operation = try world.act("delete_message", id)
    #expect(try world.explain(id).steps.first == "operation hidden")
    #expect(try world.explain(id).trace.first?["operation"] as? UInt64 == operation)
    #expect(try world.explain(id).trace.first?["connection"] == nil)
    #expect(try world.client.cancel(operation: operation))
    #expect(try world.explain(id).steps.first == "operation shown")
    try world.client.forget(conversation: Array("room".utf8), id: Array(id.utf8))
    #expect(try world.explain(id).steps.first == "call hidden")
  }

  @Test func importsAndPurgesAreNamed() throws {
    let world = try caughtUp(100)
    let line = Frames.message("old", atUs: World.epochUs - 60_000_000)
    let work = try Importer(world.client).start(
      ImportSource(name: Array("i".utf8)) { offset, _ in
        offset == 0 ? Array((line + "\n").utf8) : []
      })
    while try !work.step(milliseconds: 0).isDone {}
    #expect(try world.explain("old").steps == ["import inserted"])
    try world.keep { $0.messages = 20 }
    try world.purge()
    #expect(try world.explain("old").steps == ["retention removed", "import inserted"])
    #expect(try world.explain("old").reason == "purged")
  }

  // MARK: Cost and bounds

  /// Protects: off by default. There is no table, and no commit or row more than before.
  @Test func itIsOffByDefault() throws {
    func run(_ world: World) throws -> (commits: UInt64, rows: Int?, reason: String?) {
      world.post(60)
      try world.connect()
      try world.sync(.older, want: 60)
      try world.hand(Frames.push(Frames.message("p", atUs: World.epochUs + 90_000_000)))
      try world.client.drop(conversation: Array("room".utf8), id: [])
      let found = try world.explain(world.truth()[3])
      return (try world.client.stats().commits, try world.traced(), found.reason)
    }
    let off = try run(World())
    let on = try run(World.tracing())
    #expect(off.rows == nil && on.rows ?? 0 > 61)
    #expect(off.reason == "unfetched" && on.reason == "dropped")
    #expect(off.commits == on.commits)
  }

  /// Protects: the newest entries stay, of all conversations together.
  @Test func itIsBounded() throws {
    let world = try World.tracing(max: 25)
    world.post(100)
    try world.connect()
    try world.sync(.older, want: 100)
    #expect(try world.traced() == 25)
    try world.hand(Frames.push(Frames.message("p", atUs: World.epochUs + 200_000_000)))
    #expect(try world.traced() == 25)
    #expect(try world.explain("p").steps == ["push inserted"])
    for index in 0..<30 {
      try world.hand(
        Frames.edit(
          Frames.message(
            "p", atUs: World.epochUs + 200_000_000, payload: "\"\(index)\"",
            more: #","edited_at":"\#(Frames.time(World.epochUs + 201_000_000 + Int64(index)))""#)))
    }
    #expect(try world.traced() == 25)
    #expect(try world.explain("p").steps == Array(repeating: "push changed", count: 25))
    #expect(try world.explain("p", limit: 3).trace.count == 3)
  }

  /// Rows of a conversation that goes are one entry, which each of its messages shows.
  @Test func aConversationIsOneEntry() throws {
    let world = try caughtUp(50)
    let id = world.truth()[40]
    let before = try #require(try world.traced())
    try world.client.drop(conversation: Array("room".utf8), id: [])
    #expect(try world.traced() == before + 1)
    #expect(try world.explain(id).steps == ["call removed", "answer inserted"])
    #expect(try world.explain(id).trace.first?["all"] as? Bool == true)
    #expect(try world.explain(id).reason == "dropped")
    try world.sync()
    try world.client.clear()
    #expect(
      try world.explain(id).steps == [
        "call removed", "answer inserted", "call removed", "answer inserted",
      ])
    // One that came later has nothing of it.
    try world.hand(Frames.push(Frames.message("p", atUs: World.epochUs + 90_000_000)))
    #expect(try world.explain("p").steps == ["push inserted"])
  }

  /// What had no row is not removed: a message that had gone before, a send that waits.
  @Test func anEntryOfAllIsOfWhatItRemoved() throws {
    let world = try caughtUp(100)
    let old = world.truth()[0]
    try world.keep { $0.messages = 50 }
    try world.sync(.older, want: 100)
    try world.purge()
    let before = try world.explain(old).steps
    try world.disconnect()
    try world.say("mine", as: "own")
    try world.client.drop(conversation: Array("room".utf8), id: [])
    try world.client.clear()
    #expect(try world.explain(old).steps == before)
    #expect(before.first == "retention removed")
    #expect(try world.explain(old).reason == "purged")
    #expect(try world.explain("own").steps == ["operation inserted"])
    #expect(try world.explain("own").reason == "pending")
  }

  // MARK: When it goes

  private func reopened(
    _ folder: TrapsRestart.Folder, traceMax: Int = 10_000, _ world: World
  ) throws {
    world.client.close()
    world.config.traceMax = traceMax
    world.client = try Client.open(world.config)
  }

  /// Protects: a host that wants no trace any more has none after its first commit.
  @Test func anOpeningWithoutItDropsIt() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World.tracing(file: folder.file())
    world.post(10)
    try world.connect()
    try world.sync()
    let (id, entries) = (world.truth()[3], try #require(try world.traced()))
    try reopened(folder, world)
    #expect(try world.traced() == entries)
    #expect(try world.explain(id).steps == ["answer inserted"])
    try reopened(folder, traceMax: 0, world)
    #expect(try world.traced() == entries)
    try world.say("mine")
    #expect(try world.traced() == nil)
    #expect(try world.explain(id).all["traced"] as? Bool == false)
    try reopened(folder, world)
    #expect(try world.traced() == nil)
    try world.say("mine")
    #expect(try world.traced() == 1)
  }

  /// Protects: a long trace goes by and by, so that no commit waits for all of it.
  @Test func aLongTraceGoesInParts() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World.tracing(file: folder.file())
    world.post(7_000)
    try world.connect()
    try world.sync(.older, want: 7_000)
    #expect(try #require(try world.traced()) >= 7_000)
    try reopened(folder, traceMax: 6_500, world)
    try world.say("mine")
    #expect(try world.traced() == 6_500)
    try reopened(folder, traceMax: 0, world)
    var counts: [Int] = []
    while let count = try world.traced(), counts.count < 10 {
      counts.append(count)
      try world.client.setDraft(conversation: Array("room".utf8), body: Array("\(count)".utf8))
    }
    #expect((3...4).contains(counts.count))
    #expect(try world.traced() == nil)
  }

  /// Protects: nothing of an erased conversation stays; another one keeps its entries.
  @Test func anErasedConversationLeavesNone() throws {
    let world = try caughtUp()
    world.server.createConversation("other", participants: ["me", "you"])
    let other = world.postMessage("text", in: "other")
    try world.sync(in: "other")
    let id = world.truth()[3]
    _ = try world.client.input { engine, now throws(Failure) in
      try engine.storing { () throws(StoreFailure) in
        try engine.erase(Array("room".utf8), at: now)
      }
    }
    #expect(try world.explain(id).steps == [])
    #expect(try world.explain(other, in: "other").steps == ["answer inserted"])
    #expect(try world.traced() == 1)
  }

  /// Protects: a file that is healed or salvaged has no trace, and goes on with one.
  @Test func healingAndSalvagingDropIt() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World.tracing(file: folder.file())
    world.post(10)
    try world.connect()
    try world.sync()
    #expect(try world.traced() ?? 0 > 9)
    try world.client.heal()
    #expect(try world.traced() == nil)
    #expect(try world.explain(world.truth()[3]).reason == "shown")
    try world.hand(Frames.push(Frames.message("p", atUs: World.epochUs + 90_000_000)))
    #expect(try world.traced() == 1)
    world.client.close()
    let target = folder.path + "/saved"
    let work = try Salvaging.start(world.config, to: target)
    while try !work.step(milliseconds: 0).isDone {}
    guard case .path(_, let key, _, _) = world.config.file else { return }
    world.config.file = .path(target, key: key, create: false, strict: true)
    world.client = try Client.open(world.config)
    #expect(try world.traced() == nil)
    #expect(try world.explain("p").reason == "shown")
    try world.say("mine", as: "own")
    #expect(try world.explain("own").steps == ["operation inserted"])
  }

  /// Protects: a transaction that fails leaves no entry.
  @Test func whatIsNotCommittedIsNotTraced() throws {
    let folder = try TrapsRestart.Folder()
    let disk = FaultVFS()
    let world = try World.tracing(file: folder.file()) { $0.baseVFS = disk.name }
    try world.say("mine")
    let before = try world.traced()
    disk.failWrite(1, count: 1_000_000, .fail(13))
    #expect(throws: Failure.self) { try world.say("lost", as: "lost") }
    disk.reset()
    #expect(try world.traced() == before)
    #expect(try world.explain("lost").steps == [])
  }
}
