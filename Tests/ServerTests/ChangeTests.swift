/// What changes a conversation: late commits, deletions, edits, reading, backup.

import Testing

@testable import ReferenceServer

@Suite struct ChangeTests {
  @Test func aLateCommitAppearsBehindTheCursorAndIsPushedThen() {
    let server = server()
    let token = server.subscribe(user: "eva")
    server.nowUs = start
    server.post(conversation: "c", sender: "jan", payload: "1", id: "z-late", lateUs: 4_000_000)
    server.nowUs += 1_000_000
    server.post(conversation: "c", sender: "jan", payload: "2", id: "a-prompt")
    #expect(server.page(["limit": 9]).ids == ["a-prompt"])
    #expect(server.drain(token).count == 1)
    #expect(server.nextCommitUs == start + 4_000_000)
    server.nowUs = start + 3_999_999
    #expect(server.visibleCount("c") == 1)
    server.nowUs = start + 4_000_000
    #expect(server.page(["limit": 9]).ids == ["z-late", "a-prompt"])
    #expect(server.page(["limit": 9, "after_ts": server.stamp(1)]).ids == [])
    #expect(server.truth("c").map(\.arrival) == [2, 1])
    #expect(server.drain(token).count == 1)
  }

  @Test func theKnobDrawsLatenessWithinItsBound() {
    let server = server { $0.commitLatenessMaxUs = 4_000_000 }
    server.nowUs = start
    for _ in 0..<200 { server.post(conversation: "c", sender: "jan", payload: "1") }
    #expect(server.visibleCount("c") < 20)
    server.nowUs += 2_000_000
    #expect((50..<150).contains(server.visibleCount("c")))
    server.nowUs += 2_000_000
    #expect(server.visibleCount("c") == 200)
  }

  @Test func deletionsAreAskedSinceATickAndMayCommitLate() {
    let server = server()
    server.fill(10)
    server.nowUs = start + hour
    server.delete(conversation: "c", ids: ["1001", "nobody"])
    server.nowUs += 1_000_000
    server.delete(conversation: "c", ids: ["1002"], lateUs: 3_000_000)
    server.nowUs += 1_000_000
    server.delete(conversation: "c", ids: ["1003"])
    let mark = ServerTime.text(start + hour, server.knobs)
    #expect(server.ask("get_deleted_since", ["since": mark]).deleted == ["1003"])
    server.nowUs += 2_000_000
    #expect(server.ask("get_deleted_since", ["since": mark]).deleted == ["1002", "1003"])
    let before = ServerTime.text(start, server.knobs)
    let all = server.ask("get_deleted_since", ["since": before])
    #expect(all.deleted == ["1001", "1002", "1003"])
    #expect(all.data["has_more"] == nil)
    #expect(server.page(["limit": 50]).ids.count == 7)
    #expect(server.ask("get_deleted_since").code == "invalid")
  }

  @Test func deletionsIncludeTheirOwnTickOnlyWhereTheKnobSaysSo() {
    for inclusive in [false, true] {
      let server = server { $0.afterInclusive = inclusive }
      server.fill(3)
      server.nowUs = start + hour + 1
      server.delete(conversation: "c", ids: ["1001"])
      let tick = ServerTime.text(start + hour, server.knobs)
      let answer = server.ask("get_deleted_since", ["since": tick])
      #expect(answer.deleted == (inclusive ? ["1001"] : []))
    }
  }

  @Test func cutDeletionsAreContinuedWithoutSplittingATick() {
    for inclusive in [false, true] {
      let server = server { knobs in
        knobs.deletionPageCap = 3
        knobs.afterInclusive = inclusive
      }
      server.fill(20)
      for batch in [names(0..<2), names(2..<6), names(6..<7), names(7..<12)] {
        server.nowUs += 1_000_000
        server.delete(conversation: "c", ids: batch)
      }
      var since = ServerTime.text(start, server.knobs)
      var found: Set<String> = []
      var requests = 0
      while requests < 10 {
        let answer = server.ask("get_deleted_since", ["since": since])
        found.formUnion(answer.deleted)
        requests += 1
        guard let next = answer.data["next_since"] as? String else { break }
        since = next
      }
      #expect(found == Set(names(0..<12)))
      #expect((2...5).contains(requests))
    }
  }

  @Test func deletionsBehindTheHorizonAreForgotten() {
    let server = server { $0.deletionHorizonUs = hour }
    server.fill(3)
    server.delete(conversation: "c", ids: ["1000"])
    server.nowUs += hour
    server.delete(conversation: "c", ids: ["1001"])
    server.nowUs += 1
    let since = ServerTime.text(start, server.knobs)
    #expect(server.ask("get_deleted_since", ["since": since]).deleted == ["1001"])
  }

  @Test func changesGrowTheVersionAndArePushedInOrder() {
    let server = server()
    server.fill(2)
    server.createConversation("other", participants: ["petr"])
    let token = server.subscribe(user: "eva")
    #expect(server.edit(conversation: "c", id: "1000", payload: "\"new\""))
    #expect(server.react(conversation: "c", id: "1000", user: "eva", reaction: "👍"))
    #expect(!server.react(conversation: "c", id: "1000", user: "eva", reaction: "👍"))
    _ = server.ask("mark_read", ["message_ids": ["1000", "1001", "1000", "none"]])
    server.delete(conversation: "c", ids: ["1001"])
    server.post(conversation: "other", sender: "petr", payload: "1")
    let pushes = server.drain(token).map(Answer.init)
    #expect(
      pushes.map { $0.object["type"] as? String } == [
        "message_edited", "message_reacted", "messages_read", "message_deleted",
      ])
    #expect(pushes[2].object["message_ids"] as? [String] == ["1000", "1001"])
    let message = server.page(["limit": 9]).messages[0]
    #expect(message["version"] as? Int == 3)
    #expect(message["payload"] as? String == "new")
    #expect(message["reactions"] as? [String: [String]] == ["👍": ["eva"]])
    #expect(message["read_by"] as? [[String: String]] == [["user_id": "eva"]])
    #expect(server.drain(token).isEmpty)
  }

  @Test func readingOnesOwnMessageIsNoNews() {
    let server = server()
    server.fill(1)
    let token = server.subscribe(user: "eva")
    #expect(server.ask("mark_read", user: "jan", ["message_ids": ["1000"]]).code == "")
    #expect(server.message("c", "1000")?.readBy == [])
    #expect(server.drain(token).isEmpty)
  }

  @Test func aRestoreGoesBackWithItsDeletionLogAndANewEpoch() {
    let server = server()
    server.fill(5)
    server.delete(conversation: "c", ids: ["1000"])
    let backup = server.backup()
    server.delete(conversation: "c", ids: ["1001"])
    server.post(conversation: "c", sender: "jan", payload: "1", id: "new")
    server.post(conversation: "c", sender: "jan", payload: "1", id: "way", lateUs: 9)
    #expect(server.ask("subscribe").data["epoch"] as? String == "1")
    server.restore(backup)
    server.nowUs += hour
    #expect(server.page(["limit": 9]).ids == names(1..<5))
    #expect(server.deletions("c").map(\.id) == ["1000"])
    #expect(server.ask("subscribe").data["epoch"] as? String == "2")
    server.delete(conversation: "c", ids: ["1002"])
    server.restore(backup)
    #expect(server.page(["limit": 9]).ids == names(1..<5))
  }

  @Test func aRecreatedMessageIsNewerThanItsDeletion() {
    let server = server()
    server.fill(2)
    server.delete(conversation: "c", ids: ["1000"])
    server.post(conversation: "c", sender: "jan", payload: "\"again\"", id: "1000")
    #expect(server.deletions("c").isEmpty)
    #expect(server.message("c", "1000")?.version == 3)
  }

  @Test func brokenMessagesKeepTheirPlaceAmongGoodOnes() {
    let server = server()
    server.fill(2)
    for flaw in ServerMessage.Flaw.allCases {
      server.post(conversation: "c", sender: "jan", payload: "1", flaw: flaw)
    }
    let array = server.page(["limit": 50]).data["messages"] as? [Any] ?? []
    let objects = array.compactMap { $0 as? [String: Any] }
    #expect(array.count == 7)
    #expect(objects.count == 6)
    #expect(objects.count { $0["message_id"] is String } == 4)
    #expect(objects.count { ($0["created_at"] as? String)?.hasPrefix("2026-") == true } == 5)
    #expect(server.truth("c").count { $0.flaw == .none } == 3)
  }

  @Test func faultsAskedForComeOnceEachAndInOrder() {
    let server = server()
    server.fill(1)
    server.failNext("rate_limited", retryAfterMs: 250)
    server.failNext("unavailable")
    let first = server.page([:])
    #expect(first.code == "rate_limited")
    #expect((first.object["error"] as? [String: Any])?["retry_after_ms"] as? Int == 250)
    #expect(server.page([:]).code == "unavailable")
    #expect(server.page([:]).ids == ["1000"])
  }

  @Test func damagedFramesAreAnsweredOnceAndChangeNothing() {
    let server = server()
    server.fill(5)
    let before = server.truth("c")
    let page =
      "{\"type\":\"get_messages\",\"request_id\":\"\\u010d\",\"conversation_id\":\"c\","
      + "\"limit\":3,\"offset\":1,\"after_ts\":\"2026-02-15T22:15:45.120+01:00\","
      + "\"x\":[{},-1.5e3,true]}"
    let read =
      "{\"type\":\"mark_read\",\"conversation_id\":\"c\",\"message_ids\":[\"1000\",\"1001\"]}"
    let marks = Array("\"\\{}[],:-+.eu019TZ".utf8) + [0x00, 0x0A, 0x80, 0xF0, 0xFF]
    var dice = ServerDice(seed: 3)
    var codes: Set<String> = []
    for _ in 0..<20_000 {
      var frame = Array((dice.chance(0.5) ? page : read).utf8)
      for _ in 0...dice.below(3) {
        let at = dice.below(frame.count)
        switch dice.below(4) {
        case 0: frame[at] = marks[dice.below(marks.count)]
        case 1: frame.remove(at: at)
        case 2: frame.insert(marks[dice.below(marks.count)], at: at)
        default: frame.removeSubrange(at...)
        }
        if frame.isEmpty { break }
      }
      let answers = server.handle(frame, user: "eva")
      #expect(answers.count == 1)
      if dice.chance(0.02) { codes.formUnion(answers.map { Answer($0).code }) }
    }
    #expect(server.truth("c") == before)
    #expect(codes.isSuperset(of: ["", "invalid", "unsupported", "not_found"]))
  }

  @Test func theSameSeedGivesTheSameBytes() {
    func run(_ seed: UInt64) -> [[UInt8]] {
      var knobs = ServerKnobs()
      knobs.commitLatenessMaxUs = 4_000_000
      knobs.pageSizesVary = true
      let server = ReferenceServer(knobs: knobs, seed: seed)
      let token = server.subscribe(user: "eva")
      server.nowUs = start
      var frames: [[UInt8]] = []
      for number in 0..<300 {
        let id = server.post(conversation: "c\(number % 3)", sender: "jan", payload: "\(number)")
        server.nowUs += 700_000
        if number % 5 == 0 { server.delete(conversation: "c0", ids: [id]) }
        frames += server.drain(token)
        frames.append(server.page(["conversation_id": "c0", "limit": 20]).frame)
      }
      return frames
    }
    // Requests are printed with their members in any order; answers are not.
    #expect(run(1) == run(1))
    #expect(run(1) != run(2))
  }

  @Test func idsAreEchoedVerbatimUnlessTheServerDoesNot() {
    for echoes in [true, false] {
      let server = server { $0.echoesRequestIDs = echoes }
      let frame = "{\"request_id\":\"\\u010d/\\/\",\"type\":\"get_weather\"}"
      let answer = server.handle(Array(frame.utf8), user: "eva")[0]
      let text = String(decoding: answer, as: UTF8.self)
      #expect(text.contains("\"request_id\":\"\\u010d/\\/\"") == echoes)
    }
  }
}
