/// Changes asked for, and updates that are repeated until they are replied to.

import Foundation
import Testing

@testable import ReferenceServer

@Suite struct UpdateTests {
  private func enveloping(
    _ set: @escaping (inout ServerKnobs) -> Void = { _ in }
  ) -> ReferenceServer {
    server { knobs in
      knobs.envelope = true
      set(&knobs)
    }
  }

  private func reply(_ server: ReferenceServer, _ ref: String, _ account: String = "personal") {
    let frame =
      "{\"account\":\"\(account)\",\"type\":\"reply\",\"payload\":{\"ref\":\"\(ref)\"}}"
    #expect(server.handle(Array(frame.utf8), user: "eva").isEmpty)
  }

  private struct Seen: Equatable {
    var ref = ""
    var entity = ""
    var action = ""
    var isSilent = false
    var items = 0
  }

  private func updates(_ server: ReferenceServer, _ token: Int) -> [Seen] {
    server.drain(token).map(Answer.init).map { frame in
      let update = frame.object["payload"] as? [String: Any] ?? [:]
      let payload = update["payload"] as? [String: Any] ?? [:]
      return Seen(
        ref: update["ref"] as? String ?? "", entity: payload["entity"] as? String ?? "",
        action: update["action"] as? String ?? "", isSilent: update["silent"] as? Bool ?? false,
        items: (payload["items"] as? [Any])?.count ?? -1)
    }
  }

  // MARK: Changes

  @Test func eachChangedMessageComesOnceAndAsItIsNow() {
    let server = server { $0.tellsChanges = true }
    server.fill(200)
    server.nowUs = start + hour
    server.edit(conversation: "c", id: "1003", payload: "\"new\"")
    server.nowUs += 1_000_000
    server.react(conversation: "c", id: "1150", user: "jan", reaction: "👍")
    server.pin(conversation: "c", id: "1003")
    server.pin(conversation: "c", id: "1004")
    server.pin(conversation: "c", id: "1004", isPinned: false)
    server.nowUs += 1_000_000
    server.mark(.listened, conversation: "c", ids: ["1007"], user: "eva")
    server.edit(conversation: "c", id: "1008", payload: "1")
    server.delete(conversation: "c", ids: ["1008"])
    func since(_ us: Int64) -> Answer {
      server.ask("get_changed_since", ["since": ServerTime.text(us, server.knobs)])
    }
    let all = since(start)
    #expect(all.ids == ["1150", "1003", "1004", "1007"])
    #expect(all.messages[1]["payload"] as? String == "new")
    #expect(all.messages[1]["pinned"] as? Bool == true)
    #expect(all.messages[2]["pinned"] as? Bool == false)
    #expect(all.messages[3]["listened_by"] as? [[String: String]] == [["user_id": "eva"]])
    #expect(all.data["has_more"] as? Bool == false)
    // At the time itself counts, so nothing is missed within its tick.
    #expect(since(start + hour + 2_000_000).ids == ["1007"])
    let next = all.data["next_since"] as? String ?? ""
    server.react(conversation: "c", id: "1009", user: "jan", reaction: "👍")
    #expect(server.ask("get_changed_since", ["since": next]).ids == ["1007", "1009"])
    #expect(server.ask("get_changed_since").code == "invalid")
  }

  @Test func cutChangesAreContinuedUntilNoneIsLeft() {
    for opaque in [false, true] {
      let server = server { knobs in
        knobs.tellsChanges = true
        knobs.changePageCap = 7
        knobs.opaqueCursors = opaque
      }
      server.fill(130)
      var dice = ServerDice(seed: 4)
      for number in 0..<130 {
        if dice.chance(0.5) { server.nowUs += 700_000 }
        server.edit(conversation: "c", id: "\(1000 + number)", payload: "0")
      }
      var since = ServerTime.text(start, server.knobs)
      var found: [String] = []
      var requests = 0
      var hasMore = true
      while hasMore, requests < 40 {
        let answer = server.ask("get_changed_since", ["since": since])
        found += answer.ids
        hasMore = answer.data["has_more"] as? Bool ?? false
        since = answer.data["next_since"] as? String ?? ""
        requests += 1
      }
      #expect(found == names(0..<130))
      #expect((10...19).contains(requests))
      #expect(since.hasPrefix("~") == opaque)
      #expect(server.ask("get_changed_since", ["since": "~x"]).code == "invalid")
    }
  }

  @Test func aBackupTakesTheChangesBackToo() {
    let server = server { $0.tellsChanges = true }
    server.fill(5)
    server.edit(conversation: "c", id: "1001", payload: "1")
    let backup = server.backup()
    server.edit(conversation: "c", id: "1002", payload: "1")
    server.edit(conversation: "c", id: "1001", payload: "2")
    server.restore(backup)
    let since = ["since": ServerTime.text(start, server.knobs)]
    #expect(server.ask("get_changed_since", since).ids == ["1001"])
  }

  // MARK: Requests

  @Test func reactionsAndPinsAreAskedForAndPushed() {
    let server = server()
    server.fill(3)
    let token = server.subscribe(user: "jan")
    let id = ["message_id": "1001"]
    let reacted = server.ask("react_message", ["message_id": "1001", "reaction": "👍"])
    let message = reacted.data["message"] as? [String: Any] ?? [:]
    #expect(message["reactions"] as? [String: [String]] == ["👍": ["eva"]])
    let back = server.ask("unreact_message", ["message_id": "1001", "reaction": "👍"])
    let after = back.data["message"] as? [String: Any] ?? [:]
    #expect((after["reactions"] as? [String: Any])?.isEmpty == true)
    #expect(server.ask("pin_message", id).code == "")
    #expect(server.ask("pin_message", id).code == "")
    #expect(server.ask("unpin_message", id).code == "")
    _ = server.ask("mark_delivered", ["message_ids": ["1000", "1001"]])
    _ = server.ask("mark_listened", ["message_ids": ["1000"]])
    #expect(
      server.handle(
        Array(
          """
          {"type":"typing","conversation_id":"c","event":"begin","at":"2026-02-15T22:15:45"}
          """.utf8), user: "eva"
      ).isEmpty)
    #expect(server.ask("pin_message", ["message_id": "gone"]).code == "not_found")
    #expect(server.ask("pin_message").code == "invalid")
    #expect(server.ask("react_message", id).code == "invalid")
    #expect(server.ask("typing").code == "invalid")
    let pushes = server.drain(token).map(Answer.init)
    #expect(
      pushes.map { $0.object["type"] as? String } == [
        "message_reacted", "message_reacted", "message_pinned", "message_unpinned",
        "messages_delivered", "messages_listened", "typing",
      ])
    #expect((pushes[1].object["reactions"] as? [String: Any])?.isEmpty == true)
    #expect(pushes[4].object["message_ids"] as? [String] == ["1000", "1001"])
    #expect(server.message("c", "1001")?.version == 5)
  }

  @Test func whatIsPushedAtConnectIsTheNewestOfWhatTheUserSees() {
    let server = server { $0.pushesAtConnect = 10 }
    server.createConversation("closed", participants: ["jan"])
    server.fill(60)
    server.post(conversation: "d", sender: "jan", payload: "1", id: "d1")
    server.post(conversation: "closed", sender: "jan", payload: "1")
    let frames = server.drain(server.subscribe(user: "eva")).map(Answer.init)
    let ids = frames.compactMap { ($0.object["message"] as? [String: Any])?["message_id"] }
    #expect(ids as? [String] == names(51..<60) + ["d1"])
    #expect(frames.allSatisfy { $0.object["type"] as? String == "message_new" })
  }

  @Test func commandsAreAnsweredInTheirAccountsEnvelopeOrBare() {
    for enveloped in [true, false] {
      let server = enveloping { $0.answersInEnvelope = enveloped }
      server.fill(3)
      let frame =
        "{\"account\":\"w\\\"k\",\"type\":\"command\",\"payload\":{\"type\":\"get_messages\","
        + "\"request_id\":\"r\",\"conversation_id\":\"c\",\"limit\":2}}"
      let outer = Answer(server.handle(Array(frame.utf8), user: "eva").first ?? [])
      #expect(outer.object["account"] as? String == (enveloped ? "w\"k" : nil))
      let inner = enveloped ? outer.object["payload"] as? [String: Any] ?? [:] : outer.object
      #expect(inner["request_id"] as? String == "r")
      #expect(inner["status"] as? String == "ok")
      #expect(server.page(["limit": 2]).ids == names(1..<3))
      let broken = "{\"account\":\"a\",\"type\":\"command\",\"payload\":7}"
      #expect(Answer(server.handle(Array(broken.utf8), user: "eva")[0]).code == "invalid")
    }
  }

  // MARK: Updates

  @Test func updatesAreRepeatedInOrderOnEveryConnectionUntilRepliedTo() {
    let server = enveloping()
    server.fill(2)
    let token = server.subscribe(user: "eva")
    #expect(updates(server, token).isEmpty)
    for number in 0..<120 {
      server.post(conversation: "c", sender: "jan", payload: "1", id: "n\(number)")
    }
    let first = updates(server, token)
    #expect(first.count == 120)
    #expect(first.allSatisfy { $0.entity == "message" && $0.action == "new" && !$0.isSilent })
    #expect(Set(first.map(\.ref)).count == 120)
    server.unsubscribe(token)
    for index in stride(from: 0, to: 120, by: 2) { reply(server, first[index].ref) }
    reply(server, first[0].ref)
    reply(server, "never")
    reply(server, first[1].ref, "work")
    server.delete(conversation: "c", ids: ["n3", "n4"])
    let again = server.subscribe(user: "eva")
    let second = updates(server, again)
    #expect(second.dropLast() == stride(from: 1, to: 120, by: 2).map { first[$0] })
    #expect(
      second.last
        == Seen(
          ref: second.last?.ref ?? "", entity: "message", action: "delete", isSilent: true, items: 2
        ))
    #expect(server.pendingRefs(user: "eva") == second.map(\.ref))
    for update in second { reply(server, update.ref) }
    #expect(server.drain(server.subscribe(user: "eva")).isEmpty)
  }

  @Test func eachChangeIsAnUpdateOfItsEntity() {
    let server = enveloping()
    server.createConversation("c", title: "C", participants: ["eva", "jan"])
    server.fill(3)
    let token = server.subscribe(user: "eva")
    server.edit(conversation: "c", id: "1000", payload: "2")
    server.react(conversation: "c", id: "1000", user: "jan", reaction: "x")
    server.pin(conversation: "c", id: "1000")
    server.pin(conversation: "c", id: "1000", isPinned: false)
    server.mark(.delivered, conversation: "c", ids: ["1000", "1001"], user: "eva")
    server.typing(conversation: "c", user: "jan")
    server.typing(conversation: "c", user: "eva")
    server.rename(conversation: "c", title: "D")
    server.addMember(conversation: "c", user: "petr")
    server.removeMember(conversation: "c", user: "petr")
    server.setProfile(user: "petr", name: "Petr")
    server.setProfile(user: "petr", name: "P.")
    server.deleteProfiles(["petr", "jan"])
    server.announce(entity: "poll", action: "close", items: "[{},7]")
    server.post(conversation: "c", sender: "jan", payload: "1", isSilent: true)
    server.deleteConversation("c")
    let seen = updates(server, token)
    #expect(
      seen.map { "\($0.entity) \($0.action) \($0.items)" } == [
        "message update 1", "reaction update 1", "pin new 1", "pin delete 1", "receipt new 2",
        "typing new 1", "conversation update 1", "member new 1", "member delete 1",
        "profile new 1", "profile update 1", "profile delete 2", "poll close 2", "message new 1",
        "conversation delete 1",
      ])
    #expect(seen.enumerated().allSatisfy { $1.isSilent == ($0 != 12) })
    #expect(server.profiles.isEmpty)
    #expect(server.page([:]).code == "not_found")
  }

  @Test func accountsOfOneUserAreOwedApartAndOthersSeeNothing() {
    let server = enveloping()
    server.createConversation("closed", participants: ["jan"])
    server.fill(1)
    let home = server.subscribe(user: "eva")
    let work = server.subscribe(user: "eva", account: "work")
    let jan = server.subscribe(user: "jan")
    server.post(conversation: "closed", sender: "jan", payload: "1")
    server.post(conversation: "c", sender: "jan", payload: "1")
    let mine = updates(server, home)
    let works = updates(server, work)
    #expect(mine.count == 1 && works.count == 1 && mine[0].ref != works[0].ref)
    #expect(updates(server, jan).count == 2)
    reply(server, works[0].ref, "work")
    #expect(server.pendingRefs(user: "eva", account: "work") == [])
    #expect(server.pendingRefs(user: "eva") == [mine[0].ref])
    server.restore(server.backup())
    #expect(server.pendingRefs(user: "eva") == [])
  }

  @Test func aBestEffortServerDropsPushesAndRepeatsWhatItOwes() {
    let plain = server { $0.pushDropShare = 0.3 }
    plain.fill(1)
    let token = plain.subscribe(user: "eva")
    for _ in 0..<200 { plain.post(conversation: "c", sender: "jan", payload: "1") }
    #expect((80..<180).contains(plain.drain(token).count))
    let owing = enveloping { $0.pushDropShare = 0.3 }
    owing.fill(1)
    let first = owing.subscribe(user: "eva")
    for _ in 0..<200 { owing.post(conversation: "c", sender: "jan", payload: "1") }
    #expect((80..<180).contains(owing.drain(first).count))
    #expect(owing.drain(owing.subscribe(user: "eva")).count == 200)
  }
}
