/// Subscriptions that have trouble: nobody waits for them, and nothing is lost that was
/// posted before they took hold.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct SubscriptionTroubles {
  private static let names = ["a", "b", "c", "d", "e", "f", "g"]

  /// Subscribed to each of these, and the connection lost.
  private func subscribed(
    to names: [String], echoesIDs: Bool = true, change: (inout ClientConfig) -> Void = { _ in }
  ) throws -> World {
    let world = try World.idempotent(echoesIDs: echoesIDs, change: change)
    try world.connect()
    for name in names {
      world.server.createConversation(name, participants: ["me", "you"])
      try world.subscribe(to: name)
    }
    try world.run()
    try world.disconnect()
    world.reset()
    return world
  }

  /// More than may be asked at once are never answered. Of a connection without request ids
  /// none outlives a lost answer.
  @Test(arguments: [true, false])
  func thoseThatAreNeverAnsweredHoldUpNothingForLong(_ echoesIDs: Bool) throws {
    let world = try subscribed(to: Self.names, echoesIDs: echoesIDs)
    world.lose("subscribe")
    try world.connect()
    try world.say("hello")
    for _ in 0..<40 {
      try world.wait(ms: 40_000)
      if !echoesIDs { try world.breakConnection() }
    }
    #expect(world.served() == ["hello"])
    #expect(Set(world.asked("subscribe").map(World.subject)) == Set(Self.names))
    // Once they are answered, all is as it was.
    world.answerAll()
    try world.wait(ms: 2_000_000)
    world.reset()
    try world.breakConnection()
    try world.run()
    #expect(world.asked("subscribe").map(World.subject) == Self.names)
  }

  /// With room for one request only, other work has its turn between two of them.
  @Test func whereOneRequestGoesOutOtherWorkHasItsTurn() throws {
    let world = try subscribed(to: Self.names) { $0.requestsMax = 1 }
    world.lose("subscribe")
    try world.connect()
    try world.wait(ms: 4_000_000)
    for text in ["1", "2", "3"] { try world.say(text) }
    world.reset()
    for _ in 0..<4 { try world.wait(ms: 130_000) }
    #expect(world.served() == ["1", "2", "3"])
    #expect(!world.asked("subscribe").isEmpty)
  }

  /// What one of them suffered makes no other wait longer, and each connection begins anew.
  @Test func eachHasPausesOfItsOwn() throws {
    let world = try subscribed(to: Self.names)
    world.alter = { request, _ in World.refusal(request, "unavailable") }
    try world.connect()
    try world.run()
    #expect(world.asked("subscribe").map(World.subject) == Self.names)
    world.answerAll()
    world.reset()
    // The first pause is at most a second and a quarter.
    world.advance(ms: 1_250)
    _ = try world.client.advance()
    try world.run()
    #expect(Set(world.asked("subscribe").map(World.subject)) == Set(Self.names))
  }

  /// What was posted before it took hold is in no push, and the first push may come before its
  /// answer.
  @Test(arguments: ["late", "new", "late, of all", "new, of all"], [true, false])
  func whatALateOneMissedIsCaughtUp(_ kind: String, _ isAnswered: Bool) throws {
    let isNew = kind.hasPrefix("new")
    var knobs = ServerKnobs()
    knobs.needsSubscribing = true
    var profile = Profile()
    profile.pushIsLossless = true
    profile.overlapUs = 1_000
    let world = try World(knobs: knobs, profile: profile)
    world.post(130)
    try world.connectListening()
    let name = kind.hasSuffix("all") ? nil : world.room
    if !isNew {
      try world.subscribe(to: name)
      try world.run()
      try world.disconnect()
      world.server.failNext("unavailable", verb: "subscribe")
      try world.connectListening()
    }
    try world.sync()
    #expect(try world.isWhole())
    let missed = world.post(1)
    if !isAnswered { world.lose("subscribe") }
    if isNew { try world.subscribe(to: name) }
    world.advance(ms: 1_250)
    _ = try world.client.advance()
    try world.run()
    let heard = world.post(1)
    try world.run()
    #expect(try world.lies() == [])
    #expect(try world.cached().last == heard.last)
    world.answerAll()
    try world.wait(ms: 200_000)
    #expect(try Array(world.cached().suffix(2)) == missed + heard)
    #expect(try world.lies() == [])
    #expect(try world.isWhole())
    // From then on nothing is asked.
    world.reset()
    world.post(3)
    try world.run()
    #expect(world.requests.isEmpty)
    #expect(try world.tailFaults(5) == [])
  }
}

extension World {
  fileprivate func subscribe(to name: String?) throws {
    try perform(
      name.map { #"{"type":"subscribe","conversation_id":"\#($0)"}"# } ?? #"{"type":"subscribe"}"#)
  }

  /// The conversation that a request names.
  fileprivate static func subject(_ request: String) -> String {
    let parts = request.components(separatedBy: #""conversation_id":""#)
    return parts.dropFirst().first?.components(separatedBy: "\"").first ?? ""
  }

  /// The answer that says no to a request.
  fileprivate static func refusal(_ request: String, _ code: String) -> String {
    let id = request.components(separatedBy: #""request_id":""#).dropFirst().first?
      .components(separatedBy: "\"").first
    return """
      {"type":"subscribe","request_id":"\(id ?? "")","status":"error",\
      "error":{"code":"\(code)","message":""}}
      """
  }
}
