/// Which rows a page holds: the end that is cut, caps, offsets, ticks.

import Testing

@testable import ReferenceServer

@Suite struct PagingTests {
  @Test func withoutAfterThePageIsTheNewestAndOffsetSkipsFromTheNewestEnd() {
    for end in ServerKnobs.Truncation.allCases {
      let server = server { $0.truncates = end }
      server.fill(120)
      #expect(server.page(["limit": 50]).ids == names(70..<120))
      #expect(server.page(["limit": 50, "offset": 50]).ids == names(20..<70))
      #expect(server.page(["limit": 50, "offset": 100]).ids == names(0..<20))
      #expect(server.page(["limit": 50, "offset": 999]).ids == [])
      #expect(server.page(["limit": 5]).data["total_count"] as? Int == 120)
    }
  }

  @Test func aFullPageKeepsTheEndThatTheKnobNames() {
    for end in ServerKnobs.Truncation.allCases {
      let server = server { $0.truncates = end }
      server.fill(120)
      let after = server.stamp(9)
      let first = server.page(["limit": 50, "after_ts": after])
      let second = server.page(["limit": 50, "after_ts": after, "offset": 50])
      let third = server.page(["limit": 50, "after_ts": after, "offset": 100])
      if end == .oldest {
        #expect(first.ids == names(10..<60))
        #expect(second.ids == names(60..<110))
        #expect(third.ids == names(110..<120))
      } else {
        #expect(first.ids == names(70..<120))
        #expect(second.ids == names(20..<70))
        #expect(third.ids == names(10..<20))
      }
      #expect(first.data["total_count"] as? Int == 120)
    }
  }

  @Test func theCapIsBelowTheLimitAndTheArrayMayRunEitherWay() {
    let capped = server { knobs in
      knobs.pageCap = 20
      knobs.arrayOrder = .descending
    }
    capped.fill(50)
    #expect(capped.page(["limit": 30]).ids == names(30..<50).reversed())
    #expect(capped.page(["limit": 10]).ids == names(40..<50).reversed())
  }

  @Test func varyingPagesAreNeverEmptyAndNeverAboveTheLimit() {
    let varying = server { $0.pageSizesVary = true }
    varying.fill(60)
    let sizes = Set((0..<200).map { _ in varying.page(["limit": 10]).ids.count })
    #expect(sizes == Set(1...10))
  }

  @Test func afterIncludesItsOwnTickOnlyWhereTheKnobSaysSo() {
    for inclusive in [false, true] {
      let server = server { $0.afterInclusive = inclusive }
      server.fill(10)
      let answer = server.page(["limit": 50, "after_ts": server.stamp(4)])
      #expect(answer.ids == names((inclusive ? 4 : 5)..<10))
    }
  }

  @Test func thePrintedResolutionIsTheComparedOne() {
    // Three messages in one second, 300 ms apart.
    let whole = server()
    whole.fill(3, everyUs: 300_000)
    #expect(whole.page(["limit": 9, "after_ts": "2026-02-15T22:15:45"]).ids == [])
    #expect(whole.page(["limit": 9, "after_ts": "2026-02-15T22:15:44.999"]).ids == names(0..<3))
    let inclusive = server { $0.afterInclusive = true }
    inclusive.fill(3, everyUs: 300_000)
    #expect(inclusive.page(["limit": 9, "after_ts": "2026-02-15T22:15:45.9"]).ids == names(0..<3))
    #expect(inclusive.page(["limit": 9, "after_ts": "2026-02-15T22:15:46"]).ids == [])
    let fine = server { $0.timeResolutionUs = 1000 }
    fine.fill(3, everyUs: 300_000)
    #expect(fine.page(["limit": 9]).stamps.last == "2026-02-15T22:15:45.600")
    #expect(fine.page(["limit": 9, "after_ts": "2026-02-15T22:15:45.300"]).ids == ["1002"])
  }

  @Test func timesAreWrittenAndReadInEachStyle() {
    let expected: [ServerKnobs.StampStyle: String] = [
      .bare: "2026-02-15T23:15:45.000001", .space: "2026-02-15 23:15:45.000001",
      .zulu: "2026-02-15T22:15:45.000001Z", .offset: "2026-02-15T23:15:45.000001+01:00",
    ]
    for (style, text) in expected {
      let server = server { knobs in
        knobs.stampStyle = style
        knobs.zoneMinutes = 60
        knobs.timeResolutionUs = 1
      }
      server.nowUs = start + 1
      server.post(conversation: "c", sender: "jan", payload: "1")
      #expect(server.page(["limit": 1]).stamps == [text])
      #expect(server.page(["limit": 1, "after_ts": text]).ids.isEmpty)
      let before = ServerTime.text(start, server.knobs)
      #expect(server.page(["limit": 1, "after_ts": before]).ids.count == 1)
    }
    #expect(ServerTime.parse("2024-02-29T00:00:00-01:30") == 1_709_170_200_000_000)
    #expect(ServerTime.parse("1969-12-31T23:59:59.5Z") == -500_000)
    #expect(ServerTime.tick(-500_000, resolutionUs: 1_000_000) == -1_000_000)
  }

  @Test func oneTickIsOrderedByIdOrByArrival() {
    for ties in ServerKnobs.Ties.allCases {
      let server = server { $0.ties = ties }
      server.nowUs = start
      for id in ["m", "z", "a"] {
        server.post(conversation: "c", sender: "jan", payload: "1", id: id)
      }
      let order = ties == .id ? ["a", "m", "z"] : ["m", "z", "a"]
      #expect(server.page(["limit": 9]).ids == order)
      #expect(server.truth("c").map(\.id) == order)
      #expect(server.page(["limit": 1]).ids == [order[2]])
    }
  }

  @Test func whatIsNotARequestIsRefusedAndChangesNothing() {
    let server = server()
    server.fill(3)
    #expect(server.page(["limit": 0]).code == "invalid")
    #expect(server.page(["offset": -1]).code == "invalid")
    #expect(server.page(["after_ts": "yesterday"]).code == "invalid")
    #expect(server.page(["limit": "50"]).code == "invalid")
    #expect(server.page(["conversation_id": "d"]).code == "not_found")
    #expect(server.ask("get_weather").code == "unsupported")
    let frames = ["", "{", "[]", "{\"type\":\"get_messages\"} x", "{\"type\":\"a\u{1}\"}", "null"]
    for frame in frames {
      let answers = server.handle(Array(frame.utf8), user: "eva")
      #expect(answers.map { Answer($0).code } == ["invalid"])
    }
    server.createConversation("closed", participants: ["jan"])
    #expect(server.page(["conversation_id": "closed"]).code == "forbidden")
    #expect(server.truth("c").count == 3)
  }
}
