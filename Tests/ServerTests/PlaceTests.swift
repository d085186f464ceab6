/// Pages before and around a place, and numbers as the order.

import Testing

@testable import ReferenceServer

@Suite struct PlaceTests {
  private func capable(_ set: @escaping (inout ServerKnobs) -> Void = { _ in }) -> ReferenceServer {
    server { knobs in
      knobs.takesBefore = true
      knobs.takesAround = true
      knobs.sendsHasMore = true
      set(&knobs)
    }
  }

  @Test func whatIsBeforeATimeIsTheNewestOfItAndOffsetSkipsFromThere() {
    let server = capable()
    server.fill(120)
    let before = server.stamp(100)
    let first = server.page(["limit": 50, "before_ts": before])
    #expect(first.ids == names(50..<100))
    #expect(first.data["has_more"] as? Bool == true)
    #expect(first.data["total_count"] as? Int == 120)
    #expect(server.page(["limit": 50, "before_ts": before, "offset": 50]).ids == names(0..<50))
    let rest = server.page(["limit": 50, "before_ts": before, "offset": 60])
    #expect(rest.ids == names(0..<40))
    #expect(rest.data["has_more"] as? Bool == false)
    #expect(server.page(["limit": 50, "before_ts": before, "offset": 100]).ids == [])
    #expect(server.page(["limit": 50, "before_ts": server.stamp(0)]).ids == [])
  }

  @Test func beforeAMessageItsTickIsCutInTheServersOrder() {
    for ties in ServerKnobs.Ties.allCases {
      let server = capable { $0.ties = ties }
      server.nowUs = start
      for id in ["m", "z", "a", "k"] {
        server.post(conversation: "c", sender: "jan", payload: "1", id: id)
      }
      let order = ties == .id ? ["a", "k", "m", "z"] : ["m", "z", "a", "k"]
      for (index, id) in order.enumerated() {
        let page = server.page(["limit": 9, "before_ts": server.stamp(0), "before_id": id])
        #expect(page.ids == Array(order.prefix(index)))
      }
      // Too many do no harm where the message is gone; too few would be a hole.
      let gone = server.page(["limit": 9, "before_ts": server.stamp(0), "before_id": "gone"])
      #expect(gone.ids == order)
      #expect(server.page(["limit": 9, "before_ts": server.stamp(0)]).ids == [])
    }
  }

  @Test func aPageAroundAMessageIsCentredAndOneSideGivesWhatTheOtherLacks() {
    let server = capable()
    server.fill(100)
    func around(_ number: Int, _ limit: Int) -> Answer {
      server.page(["limit": limit, "around_id": names(number..<(number + 1))[0]])
    }
    let middle = around(50, 9)
    #expect(middle.ids == names(46..<55))
    #expect(middle.data["has_more_before"] as? Bool == true)
    #expect(middle.data["has_more_after"] as? Bool == true)
    #expect(around(2, 9).ids == names(0..<9))
    #expect(around(2, 9).data["has_more_before"] as? Bool == false)
    #expect(around(99, 10).ids == names(90..<100))
    #expect(around(99, 10).data["has_more_after"] as? Bool == false)
    #expect(around(7, 1).ids == names(7..<8))
    #expect(around(7, 1_000).ids == names(0..<100))
    for number in 0..<100 {
      for limit in 1...12 { #expect(around(number, limit).ids.contains("\(1000 + number)")) }
    }
    #expect(server.page(["limit": 9, "around_id": "gone"]).code == "not_found")
  }

  @Test func aPageAroundATimeHoldsTheFirstMessageFromThen() {
    for numbers in [false, true] {
      let server = capable { $0.numbersMessages = numbers }
      server.fill(100, everyUs: 10_000_000)
      let exact = server.stamp(50, everyUs: 10_000_000)
      #expect(server.page(["limit": 9, "around_ts": exact]).ids == names(46..<55))
      let between = ServerTime.text(start + 495_000_000, server.knobs)
      #expect(server.page(["limit": 9, "around_ts": between]).ids == names(46..<55))
      let late = ServerTime.text(start + hour, server.knobs)
      #expect(server.page(["limit": 9, "around_ts": late]).ids == names(91..<100))
      let early = ServerTime.text(start - hour, server.knobs)
      #expect(server.page(["limit": 9, "around_ts": early]).ids == names(0..<9))
      server.createConversation("empty")
      let empty = server.page(["conversation_id": "empty", "around_ts": exact])
      #expect(empty.ids == [])
      #expect(empty.data["has_more_after"] as? Bool == false)
    }
  }

  @Test func capsAndVaryingSizesHoldForEveryPlace() {
    let capped = capable { $0.pageCap = 5 }
    capped.fill(50)
    #expect(capped.page(["limit": 20, "before_ts": capped.stamp(30)]).ids == names(25..<30))
    #expect(capped.page(["limit": 20, "around_id": "1020"]).ids == names(18..<23))
    let varying = capable { $0.pageSizesVary = true }
    varying.fill(50)
    var sizes: Set<Int> = []
    for _ in 0..<200 {
      let page = varying.page(["limit": 6, "around_id": "1020"])
      #expect(page.ids.contains("1020"))
      sizes.insert(page.ids.count)
    }
    #expect(sizes == Set(1...6))
  }

  @Test func placesThatAServerLacksOrThatClashAreRefused() {
    let plain = server()
    plain.fill(3)
    #expect(plain.page(["before_ts": plain.stamp(1)]).code == "unsupported")
    #expect(plain.page(["around_id": "1000"]).code == "unsupported")
    #expect(plain.ask("get_changed_since", ["since": plain.stamp(0)]).code == "unsupported")
    let server = capable()
    server.fill(3)
    let time = server.stamp(1)
    #expect(server.page(["before_id": "1000"]).code == "invalid")
    #expect(server.page(["before_ts": time, "after_ts": time]).code == "invalid")
    #expect(server.page(["around_ts": time, "around_id": "1000"]).code == "invalid")
    #expect(server.page(["before_ts": "soon"]).code == "invalid")
  }

  // MARK: Numbers

  @Test func numbersFollowVisibilityAndADeletedOneLeavesAHole() {
    let server = capable { $0.numbersMessages = true }
    server.nowUs = start
    server.post(conversation: "c", sender: "jan", payload: "1", id: "late", lateUs: 5_000_000)
    server.nowUs += 1_000_000
    server.post(conversation: "c", sender: "jan", payload: "1", id: "a")
    server.post(conversation: "c", sender: "jan", payload: "1", id: "b")
    server.nowUs += 4_000_000
    let numbers = { (answer: Answer) in answer.messages.compactMap { $0["seq"] as? Int } }
    let page = server.page(["limit": 9])
    #expect(page.ids == ["a", "b", "late"])
    #expect(numbers(page) == [1, 2, 3])
    #expect(server.page(["limit": 1, "offset": 1]).ids == ["b"])
    // A selection by time leaves the late one out, although it is the newest.
    #expect(server.page(["limit": 9, "after_ts": server.stamp(0)]).ids == ["a", "b"])
    #expect(server.page(["limit": 9, "before_ts": server.stamp(1)]).ids == ["late"])
    #expect(
      server.page(["limit": 9, "before_ts": server.stamp(1), "before_id": "b"]).ids
        == ["a", "late"])
    let backup = server.backup()
    server.delete(conversation: "c", ids: ["b", "late"])
    server.post(conversation: "c", sender: "jan", payload: "1", id: "b")
    #expect(numbers(server.page(["limit": 9])) == [1, 4])
    server.restore(backup)
    server.post(conversation: "c", sender: "jan", payload: "1", id: "d")
    #expect(numbers(server.page(["limit": 9])) == [1, 2, 3, 5])
    #expect(server.truth("c").map(\.number) == [1, 2, 3, 5])
  }

  /// With random lateness and deletions, each page is a run of the order by number.
  @Test func everyPageOfANumberingServerIsARunOfItsOrder() {
    let server = capable { knobs in
      knobs.numbersMessages = true
      knobs.commitLatenessMaxUs = 4_000_000
      knobs.timeResolutionUs = 1_000
    }
    var dice = ServerDice(seed: 9)
    server.nowUs = start
    for _ in 0..<300 {
      server.post(conversation: "c", sender: "jan", payload: "1")
      server.nowUs += Int64(dice.below(900_000))
      if dice.chance(0.1) { server.delete(conversation: "c", ids: server.newestIDs("c", 1)) }
    }
    let truth = server.truth("c")
    #expect(truth.map(\.number) == truth.map(\.number).sorted())
    #expect(truth.map(\.arrival) == truth.map(\.arrival).sorted())
    #expect(truth.map(\.stampUs) != truth.map(\.stampUs).sorted())
    for _ in 0..<100 {
      let row = truth[dice.below(truth.count)]
      let around = server.page(["limit": 1 + dice.below(40), "around_id": row.id]).ids
      let offset = server.page(["limit": 1 + dice.below(40), "offset": dice.below(200)]).ids
      for ids in [around, offset] {
        let first = truth.firstIndex { $0.id == ids.first } ?? 0
        #expect(ids == truth[first...].prefix(ids.count).map(\.id))
      }
    }
  }

  /// A device that hears late of a message that is deleted takes the range up to it for whole.
  @Test func nothingComesBeforeADeletedMessageThatNamedAnother() throws {
    let server = capable { knobs in
      knobs.ties = .id
      knobs.sendsPreviousIDs = true
    }
    server.nowUs = start
    var last: (stampUs: Int64, id: String)?
    for step in 0..<60 {
      server.post(conversation: "c", sender: "jan", payload: "1")
      let newest = try #require(server.truth("c").last)
      if let last { #expect(last < (newest.stampUs, newest.id)) }
      last = (newest.stampUs, newest.id)
      if step % 3 != 0 { server.delete(conversation: "c", ids: [newest.id]) }
    }
  }

  @Test func nothingEverComesBetweenAMessageAndTheOneItNames() {
    for (ties, numbers) in [(ServerKnobs.Ties.id, false), (.arrival, false), (.id, true)] {
      let server = capable { knobs in
        knobs.ties = ties
        knobs.numbersMessages = numbers
        knobs.sendsPreviousIDs = true
        knobs.commitLatenessMaxUs = 4_000_000
      }
      var dice = ServerDice(seed: 11)
      server.nowUs = start
      var before: [String: String] = [:]
      for _ in 0..<300 {
        server.post(conversation: "c", sender: "jan", payload: "1")
        server.nowUs += Int64(dice.below(900_000))
        if dice.chance(0.1) { server.delete(conversation: "c", ids: server.newestIDs("c", 1)) }
      }
      server.nowUs += hour
      let messages = server.page(["limit": 999]).messages
      for message in messages {
        guard let id = message["message_id"] as? String else { continue }
        before[id] = message["prev_id"] as? String
      }
      let order = messages.compactMap { $0["message_id"] as? String }
      for (older, newer) in zip(order, order.dropFirst()) {
        // It names its neighbour, or one that is gone.
        let named = before[newer] ?? ""
        #expect(named == older || !order.contains(named))
      }
      #expect(zip(order, order.dropFirst()).count { before[$1] == $0 } > 200)
      #expect(
        server.page(["limit": 999]).stamps
          == server.truth("c").map {
            ServerTime.text($0.stampUs, server.knobs)
          })
    }
  }
}
