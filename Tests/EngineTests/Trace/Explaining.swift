/// Why a message is shown or is not: each reason, what is next, with a trace and without.
import Base
import Foundation
import ReferenceServer
import Testing

@testable import Engine
@testable import Store

/// What a host reads of an explanation.
struct Explained {
  let all: [String: Any]

  var reason: String? { all["reason"] as? String }
  var next: String? { all["next"] as? String }
  var isShown: Bool? { all["shown"] as? Bool }
  var trace: [[String: Any]] { all["trace"] as? [[String: Any]] ?? [] }
  var gaps: Int { (all["gaps"] as? [Any])?.count ?? 0 }

  /// Causes and effects, the newest first.
  var steps: [String] {
    trace.map { "\($0["cause"] as? String ?? "-") \($0["effect"] as? String ?? "-")" }
  }
}

extension World {
  func explain(_ id: String, in conversation: String? = nil, limit: Int = 100) throws -> Explained {
    let json = try client.explain(
      conversation: Array((conversation ?? room).utf8), id: Array(id.utf8), limit: limit)
    let all = try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any]
    return Explained(all: try #require(all))
  }

  /// Entries of the trace in the file; nil where there is no table.
  func traced() throws -> Int? {
    try client.input { engine, _ throws(Failure) in
      try engine.storing { () throws(StoreFailure) in
        try engine.store.read { rx throws(StoreFailure) in
          guard try TraceReader(rx).isOn else { return nil }
          return Int(try rx.connection.number("SELECT count(*) FROM trace") ?? 0)
        }
      }
    }
  }

  static func tracing(
    knobs: ServerKnobs = ServerKnobs(), profile: Profile = Profile(), max: Int = 10_000,
    file: ClientConfig.File = .memory, change: (inout ClientConfig) -> Void = { _ in }
  ) throws -> World {
    try World(knobs: knobs, profile: profile, file: file) { config in
      config.traceMax = max
      change(&config)
    }
  }
}

@Suite struct Explaining {
  private func caughtUp(_ count: Int = 10, traceMax: Int = 0) throws -> World {
    let world = try World.tracing(max: traceMax)
    world.post(count)
    try world.connect()
    try world.sync(.older, want: count)
    world.reset()
    return world
  }

  // MARK: Reasons

  private typealias Case = (reason: Explanation.Reason, found: Explained)

  /// Each reason by the way on which it is reached; the trace is off but for two.
  private func stored() throws -> [Case] {
    let world = try caughtUp()
    let ids = world.truth()
    world.server.post(
      conversation: "room", sender: "you", payload: #"{"_control":1}"#, id: "control")
    try world.sync()
    try world.client.forget(conversation: Array("room".utf8), id: Array(ids[1].utf8))
    try world.disconnect()
    try world.act("delete_message", ids[2])
    try world.say("mine", as: "own")
    return [
      (.shown, try world.explain(ids[0])), (.erased, try world.explain(ids[1])),
      (.deleting, try world.explain(ids[2])), (.control, try world.explain("control")),
      (.pending, try world.explain("own")),
    ]
  }

  private func absent() throws -> [Case] {
    let world = try caughtUp()
    let ids = world.truth()
    world.server.createConversation("other", participants: ["me", "you"])
    let other = world.postMessage("text", in: "other")
    try world.sync(.older, want: 10, in: "other")
    let elsewhere = try world.explain(other)
    try world.client.drop(conversation: Array("room".utf8), id: Array(ids[5].utf8))
    try world.hand(
      #"{"type":"message_deleted","conversation_id":"room","message_ids":["\#(ids[3])"]}"#)
    try world.hand(
      Frames.push(
        Frames.message("odd", atUs: World.epochUs).replacingOccurrences(
          of: "created_at", with: "made")))
    world.server.createConversation("new", participants: ["me", "you"])
    try world.sync(.conversations)
    return [
      (.deleted, try world.explain(ids[3])), (.elsewhere, elsewhere),
      // Ids are of a conversation: this one may have it as well.
      (.gap, try world.explain(other)), (.noConversation, try world.explain(other, in: "nowhere")),
      (.gap, try world.explain(ids[5])), (.unreadable, try world.explain("odd")),
      (.absent, try world.explain("never", in: "other")),
      (.noConversation, try world.explain("never", in: "nowhere")),
      (.unfetched, try world.explain("never", in: "new")),
    ]
  }

  private func removed() throws -> [Case] {
    let world = try caughtUp(100, traceMax: 10_000)
    let ids = world.truth()
    try world.keep { $0.messages = 50 }
    try world.purge()
    try world.client.drop(conversation: Array("room".utf8), id: Array(ids[97].utf8))
    try world.client.forget(conversation: Array("room".utf8), id: Array(ids[95].utf8))
    try world.client.drop(conversation: Array("room".utf8), id: Array(ids[95].utf8))
    try world.disconnect()
    let said = try world.say("mine", as: "own")
    #expect(try world.client.cancel(operation: said.operation))
    return [
      (.cancelled, try world.explain("own")),
      (.purged, try world.explain(ids[0])), (.dropped, try world.explain(ids[97])),
      (.erased, try world.explain(ids[95])),
    ]
  }

  @Test func eachReasonIsReached() throws {
    let cases = try stored() + absent() + removed()
    for (reason, found) in cases {
      #expect(found.reason == "\(reason.word)")
      #expect(found.isShown == reason.isShown)
      let mayBeThere: [Explanation.Reason] = [.gap, .purged, .dropped, .unfetched]
      #expect((found.gaps > 0) == mayBeThere.contains(reason), "\(reason)")
    }
    #expect(Set(cases.map(\.reason)) == Set(Explanation.Reason.allCases))
  }

  /// A gap has the times of its ends, and what is in a verified range is as of a time.
  @Test func aGapAndARangeHaveTimes() throws {
    let world = try caughtUp()
    let id = world.truth()[5]
    let before = try world.explain(id)
    let timeUs = try #require(before.all["time_us"] as? Int64)
    #expect(before.all["verified"] as? Bool == true)
    #expect(before.all["as_of_us"] as? Int64 ?? 0 >= timeUs)
    try world.client.drop(conversation: Array("room".utf8), id: Array(id.utf8))
    let gap = try #require((try world.explain(id).all["gaps"] as? [[String: Int64]])?.first)
    #expect(gap["low_us"] ?? .max <= timeUs && timeUs <= gap["high_us"] ?? .min)
  }

  /// The place that a trace remembers says which gap, or that no gap is left.
  @Test func aTraceKnowsThePlace() throws {
    var profile = Profile()
    profile.absenceIsDeletion = true
    let world = try World.tracing(profile: profile)
    world.post(30)
    try world.connect()
    try world.sync(.older, want: 30)
    let ids = world.truth()
    for id in [ids[4], ids[20]] {
      try world.client.drop(conversation: Array("room".utf8), id: Array(id.utf8))
    }
    #expect(try world.explain("unknown").gaps == 2)
    let found = try world.explain(ids[4])
    #expect(found.gaps == 1 && found.reason == "dropped" && found.next == "sync_older")
    world.server.delete(conversation: "room", ids: [ids[4]], lateUs: 0)
    world.alter = { request, answer in
      request.contains("get_deleted_since")
        ? answer.replacingOccurrences(of: "\"\(ids[4])\"", with: "") : answer
    }
    try world.sync(.older, want: 30)
    #expect(try world.explain(ids[4]).reason == "absent")
    #expect(try world.explain(ids[20]).reason == "shown")
  }

  /// A row that a whole answer omits goes, and the trace names the request.
  @Test func anOmittedMessageIsTold() throws {
    var profile = Profile()
    profile.absenceIsDeletion = true
    let world = try World.tracing(profile: profile)
    world.post(10)
    try world.connect()
    try world.sync()
    let id = world.truth()[8]
    world.server.delete(conversation: "room", ids: [id], lateUs: 0)
    try world.hand(Frames.push(Frames.message("late", atUs: World.epochUs + 60_000_000)))
    try world.disconnect()
    try world.connect()
    try world.sync()
    let found = try world.explain(id)
    #expect(found.steps.last == "answer inserted")
    #expect(["answer omitted", "answer deleted"].contains(found.steps.first ?? ""))
    #expect(found.trace.first?["connection"] as? Int == 2)
  }

  /// Nobody here dropped what the server took away with its conversation.
  @Test func aConversationThatTheServerTookIsNotDropped() throws {
    let world = try caughtUp(traceMax: 100)
    let id = world.truth()[5]
    try world.hand(#"{"type":"conversation_deleted","conversation_id":"room"}"#)
    try world.hand(Frames.push(Frames.message("p", atUs: World.epochUs + 60_000_000)))
    let found = try world.explain(id)
    #expect(found.reason == "unfetched")
    #expect(found.steps == ["push removed", "answer inserted"])
  }

  // MARK: Next

  @Test func whatIsNextFollowsFromTheConnection() throws {
    let world = try caughtUp()
    let id = world.truth()[5]
    #expect(try world.explain("never").next == "none")
    #expect(try world.explain("never", in: "nowhere").next == "sync_conversations")
    try world.client.drop(conversation: Array("room".utf8), id: Array(id.utf8))
    #expect(try world.explain(id).next == "sync_older")
    _ = try world.client.sync(SyncRequest(conversation: Array("room".utf8), kind: .older))
    #expect(try world.explain(id).next == "request")
    try world.disconnect()
    #expect(try world.explain(id).next == "connect")
    let other = try caughtUp()
    try other.disconnect()
    #expect(try other.explain("never").next == "sync_latest")
    try other.say("mine", as: "own")
    #expect(try other.explain("own").next == "connect")
    try other.connect()
    #expect(try other.explain("own").next == "request")
  }

  /// A send that the server refused waits for the user.
  @Test func aRefusedSendIsTheUsers() throws {
    let world = try caughtUp(traceMax: 100)
    world.alter = { request, answer in
      guard request.contains("send_message"),
        let head = answer.range(of: "\"status\"")
      else { return answer }
      return answer[..<head.lowerBound]
        + #""status":"error","error":{"code":"forbidden","message":"no"}}"#
    }
    let said = try world.say("mine", as: "own")
    try world.run()
    let found = try world.explain("own")
    #expect(found.reason == "pending" && found.isShown == true && found.next == "decide")
    #expect(found.all["operation"] as? Int == Int(said.operation))
    #expect(found.steps.first == "answer changed" && found.steps.last == "operation inserted")
  }
}
