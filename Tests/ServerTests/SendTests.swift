/// Sends, edits, deletions by request: who may, what twice makes, who is told.

import Testing

@testable import ReferenceServer

@Suite struct SendTests {
  private func talk(_ set: (inout ServerKnobs) -> Void = { _ in }) -> ReferenceServer {
    let server = server(set)
    server.nowUs = start
    server.createConversation("c", participants: ["eva", "jan", "petr"])
    return server
  }

  private func send(
    _ server: ReferenceServer, _ payload: Any = "hi", client: String? = "k",
    user: String = "eva", _ more: [String: Any] = [:]
  ) -> Answer {
    var members = more
    members["payload"] = payload
    if let client { members["client_id"] = client }
    return server.ask("send_message", user: user, members)
  }

  private func message(_ answer: Answer) -> [String: Any] {
    answer.data["message"] as? [String: Any] ?? [:]
  }

  private func pushes(_ server: ReferenceServer, _ token: Int) -> [String] {
    server.drain(token).map { Answer($0).object["type"] as? String ?? "" }
  }

  @Test func aSendIsAnsweredWithTheMessageAndShown() throws {
    let server = talk { $0.commitLatenessMaxUs = hour }
    let answer = send(
      server, ["a": 1], ["reply_to": "m", "attachment": ["url": "u"], "metadata": [1, 2]])
    let sent = message(answer)
    #expect(sent["sender_id"] as? String == "eva" && sent["client_id"] as? String == "k")
    #expect(sent["conversation_id"] as? String == "c" && sent["reply_to"] as? String == "m")
    #expect((sent["payload"] as? [String: Int]) == ["a": 1])
    #expect((sent["attachment"] as? [String: String]) == ["url": "u"])
    #expect((sent["metadata"] as? [Int]) == [1, 2])
    // What was answered is on the next page, however late others become visible.
    let page = server.page(["limit": 9])
    #expect(page.ids == [try #require(sent["message_id"] as? String)])
    #expect(page.messages.first?["client_id"] as? String == "k")
  }

  @Test func clientIdsMayStayWithTheServer() {
    let server = talk { $0.echoesClientIDs = false }
    #expect(message(send(server))["client_id"] == nil)
    #expect(server.page(["limit": 9]).messages.first?["client_id"] == nil)
  }

  @Test func aSecondTimeIsTheFirstOrASecondCopy() {
    for isIdempotent in [true, false] {
      let server = talk { $0.idempotentSends = isIdempotent }
      let first = send(server, "one")
      server.nowUs += 1_000_000
      let second = send(server, "two")
      #expect(server.visibleCount("c") == (isIdempotent ? 1 : 2))
      #expect(second.code == (isIdempotent ? "exists" : ""))
      #expect(second.object["status"] as? String == (isIdempotent ? "error" : "ok"))
      #expect(message(second)["payload"] as? String == (isIdempotent ? "one" : "two"))
      let isSame =
        message(first)["message_id"] as? String == message(second)["message_id"] as? String
      #expect(isSame == isIdempotent)
      // A client id is its device's own, and of one conversation.
      #expect(send(server, "three", user: "jan").code == "")
      server.createConversation("d", participants: ["eva"])
      #expect(send(server, "four", ["conversation_id": "d"]).code == "")
      #expect(send(server, "five", client: nil).code == "")
      #expect(send(server, "five", client: nil).code == "")
      #expect(server.visibleCount("c") == (isIdempotent ? 4 : 5))
    }
  }

  /// The repetition of a send whose message a moderator has deleted meanwhile.
  @Test func aRepetitionBringsNothingBack() throws {
    let server = talk { $0.idempotentSends = true }
    let first = send(server)
    let id = try #require(message(first)["message_id"] as? String)
    server.delete(conversation: "c", ids: [id])
    let again = send(server)
    #expect(again.code == "exists" && message(again)["message_id"] as? String == id)
    #expect(server.visibleCount("c") == 0)
    #expect(server.deletions("c").map(\.id) == [id])
  }

  @Test func aBackupForgetsWhatCameAfterIt() {
    let server = talk { $0.idempotentSends = true }
    _ = send(server, client: "old")
    let backup = server.backup()
    _ = send(server, client: "new")
    server.restore(backup)
    #expect(send(server, client: "old").code == "exists")
    #expect(send(server, client: "new").code == "")
    #expect(server.visibleCount("c") == 2)
  }

  @Test func sendsAreRefusedForWhatTheyLack() {
    let server = talk { $0.payloadBytesMax = 10 }
    #expect(server.ask("send_message").code == "invalid")
    #expect(send(server, String(repeating: "x", count: 8)).code == "")
    #expect(send(server, String(repeating: "x", count: 9)).code == "too_large")
    #expect(send(server, user: "wei").code == "forbidden")
    #expect(send(server, "x", ["conversation_id": "nowhere"]).code == "not_found")
    let frame = #"{"type":"send_message","conversation_id":"c","payload":null}"#
    let answer = Answer(server.handle(Array(frame.utf8), user: "eva").first ?? [])
    #expect(answer.code == "" && message(answer)["payload"] != nil)
  }

  @Test func onlyTheWriterEditsAndAdminsDelete() throws {
    let server = talk { $0.payloadBytesMax = 10 }
    let id = try #require(message(send(server))["message_id"] as? String)
    let edit: [String: Any] = ["message_id": id, "payload": "new"]
    #expect(server.ask("edit_message", user: "jan", edit).code == "forbidden")
    server.nowUs += 1_000_000
    let edited = message(server.ask("edit_message", edit))
    #expect(edited["payload"] as? String == "new" && edited["version"] as? Int == 2)
    #expect(edited["edited_at"] as? String == server.stamp(1))
    let large: [String: Any] = ["message_id": id, "payload": "01234567890"]
    #expect(server.ask("edit_message", large).code == "too_large")
    #expect(server.ask("edit_message", ["message_id": id]).code == "invalid")
    #expect(server.ask("edit_message", ["message_id": "no", "payload": 1]).code == "not_found")

    let gone: [String: Any] = ["message_id": id]
    #expect(server.ask("delete_message", user: "jan", gone).code == "forbidden")
    #expect(server.ask("add_admins", ["user_ids": ["jan"]]).code == "")
    #expect(server.ask("delete_message", user: "petr", gone).code == "forbidden")
    #expect(server.ask("delete_message", user: "jan", gone).code == "")
    #expect(server.visibleCount("c") == 0)
    #expect(server.ask("delete_message", gone).code == "not_found")
  }

  @Test func reactionsAndPinsAnswerAndAreTold() throws {
    let server = talk()
    let id = try #require(message(send(server))["message_id"] as? String)
    let token = server.subscribe(user: "jan")
    let target: [String: Any] = ["message_id": id, "reaction": "+"]
    let reacted = message(server.ask("react_message", target))
    #expect(reacted["reactions"] as? [String: [String]] == ["+": ["eva"]])
    #expect(message(server.ask("unreact_message", target))["version"] as? Int == 3)
    _ = server.ask("pin_message", target)
    _ = server.ask("unpin_message", target)
    #expect(
      pushes(server, token) == [
        "message_reacted", "message_reacted", "message_pinned", "message_unpinned",
      ])
  }

  /// Every device hears of it; the connection that asked only where the knob says so.
  @Test func theSenderIsToldOrNot() throws {
    for isTold in [true, false] {
      for isEnveloped in [true, false] {
        let server = talk { knobs in
          knobs.tellsSender = isTold
          knobs.envelope = isEnveloped
        }
        let mine = server.subscribe(user: "eva", account: "phone")
        let other = server.subscribe(user: "eva", account: "desk")
        let jan = server.subscribe(user: "jan", account: "phone")
        let frames = [
          #"{"type":"send_message","conversation_id":"c","client_id":"k","payload":"p"}"#,
          #"{"type":"save_conversation","conversation_id":"c","title":"T"}"#,
        ]
        for frame in frames {
          let answer = server.handle(Array(frame.utf8), user: "eva", from: mine)
          #expect(Answer(answer.first ?? []).code == "")
        }
        let counts = [mine, other, jan].map { server.drain($0).count }
        #expect(counts == [isTold ? 2 : 0, 2, 2])
        // What others do, and what comes later, is told as ever.
        server.post(conversation: "c", sender: "eva", payload: "1")
        #expect([mine, other, jan].map { server.drain($0).count } == [1, 1, 1])
      }
    }
  }

  @Test func failuresAreForTheirVerbAndMayBeDone() {
    let server = talk()
    server.failNext("unavailable", verb: "send_message", isDone: true)
    server.failNext("rate_limited", retryAfterMs: 700, verb: "edit_message")
    server.failNext("forbidden")
    #expect(server.ask("get_conversation").code == "forbidden")
    #expect(server.ask("get_conversation").code == "")
    #expect(send(server).code == "unavailable")
    #expect(server.visibleCount("c") == 1)
    #expect(send(server).code == "")
    let refused = server.ask("edit_message", ["message_id": "m", "payload": 1])
    #expect(refused.code == "rate_limited")
    #expect((refused.object["error"] as? [String: Any])?["retry_after_ms"] as? Int == 700)
    #expect(server.ask("edit_message", ["message_id": "m", "payload": 1]).code == "not_found")
  }

  @Test func receiptsSayWhoAndWhen() throws {
    let server = talk()
    let id = try #require(message(send(server))["message_id"] as? String)
    server.nowUs += 1_000_000
    _ = server.ask("mark_delivered", user: "jan", ["message_ids": [id]])
    server.nowUs += 1_000_000
    _ = server.ask("mark_read", user: "jan", ["message_ids": [id]])
    _ = server.ask("mark_read", user: "petr", ["message_ids": [id]])
    let receipts = server.ask("get_receipts", ["message_id": id]).data["receipts"]
    #expect(
      receipts as? [[String: String]] == [
        ["user_id": "jan", "read_at": server.stamp(2), "delivered_at": server.stamp(1)],
        ["user_id": "petr", "read_at": server.stamp(2)],
      ])
    #expect(server.ask("get_receipts", ["message_id": "no"]).code == "not_found")
  }
}
