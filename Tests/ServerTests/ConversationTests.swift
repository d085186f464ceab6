/// Conversations by request: making, changing, leaving, listing, reading on, channels.

import Testing

@testable import ReferenceServer

@Suite struct ConversationTests {
  private func conversation(_ answer: Answer) -> [String: Any] {
    answer.data["conversation"] as? [String: Any] ?? [:]
  }

  private func id(_ answer: Answer) -> String {
    conversation(answer)["conversation_id"] as? String ?? ""
  }

  private func create(
    _ server: ReferenceServer, _ users: [String], user: String = "eva",
    _ more: [String: Any] = [:]
  ) -> Answer {
    var members = more
    members["participant_ids"] = users
    return server.ask("create_conversation", user: user, members)
  }

  @Test func aConversationIsMadeAndToldToAllInIt() throws {
    let server = server()
    server.nowUs = start
    let jan = server.subscribe(user: "jan")
    let wei = server.subscribe(user: "wei")
    let answer = create(server, ["jan", "eva", "jan"], ["title": "T", "metadata": ["a": 1]])
    let made = conversation(answer)
    #expect(made["participant_ids"] as? [String] == ["eva", "jan"])
    #expect(made["admin_ids"] as? [String] == ["eva"] && made["title"] as? String == "T")
    #expect(made["metadata"] as? [String: Int] == ["a": 1])
    #expect(made["created_at"] as? String == server.stamp(0))
    #expect(made["unread_count"] as? Int == 0)
    let push = try #require(server.drain(jan).first)
    #expect(Answer(push).object["type"] as? String == "conversation_updated")
    #expect(server.drain(wei).isEmpty)
    #expect(server.ask("create_conversation").code == "invalid")
    #expect(create(server, ["jan"], ["admin_ids": ["wei"]]).code == "invalid")
    #expect(id(create(server, ["jan"])) != id(answer))
  }

  @Test func aClientIdMakesOneOrTwo() {
    for isIdempotent in [true, false] {
      let server = server { $0.idempotentSends = isIdempotent }
      let first = create(server, ["jan"], ["client_id": "k"])
      let second = create(server, ["jan"], ["client_id": "k"])
      #expect(second.code == (isIdempotent ? "exists" : ""))
      #expect((id(first) == id(second)) == isIdempotent && id(second) != "")
      #expect(id(create(server, ["eva"], user: "jan", ["client_id": "k"])) != id(first))
      guard isIdempotent else { continue }
      #expect(server.ask("delete_conversation", ["conversation_id": id(first)]).code == "")
      #expect(create(server, ["jan"], ["client_id": "k"]).code == "not_found")
    }
  }

  @Test func whoMadeItIsToldTheClientIdAndNobodyElse() throws {
    for tells in [true, false] {
      let server = server {
        $0.echoesClientIDs = tells
        $0.tellsSender = true
      }
      let name = tells ? "k" : nil
      let tokens = ["eva", "jan"].map { server.subscribe(user: $0) }
      let answer = create(server, ["jan"], ["client_id": "k", "distinct": true])
      #expect(conversation(answer)["client_id"] as? String == name)
      _ = server.ask("save_conversation", ["conversation_id": id(answer), "title": "T"])
      for (token, told) in zip(tokens, [name, nil]) {
        let pushes = server.drain(token)
        #expect(pushes.count == 2)
        for push in pushes {
          let object = Answer(push).object["conversation"] as? [String: Any]
          #expect(object?["client_id"] as? String == told)
        }
      }
      let one = server.ask("get_conversation", ["conversation_id": id(answer)])
      #expect(conversation(one)["client_id"] as? String == name)
      // Who is given the one that is there calls it by his own.
      let other = create(server, ["eva"], user: "jan", ["client_id": "j", "distinct": true])
      #expect(id(other) == id(answer))
      #expect(conversation(other)["client_id"] as? String == (tells ? "j" : nil))
      let list = server.ask("get_conversations")
      let first = (list.data["conversations"] as? [[String: Any]])?.first
      #expect(first?["client_id"] as? String == name)
    }
  }

  @Test func directAndDistinctOnesAreOneOfAKind() {
    let server = server()
    let direct = id(create(server, ["jan"], ["direct": true]))
    #expect(id(create(server, ["eva"], user: "jan", ["direct": true])) == direct)
    #expect(id(create(server, ["jan"])) != direct)
    #expect(create(server, ["jan", "petr"], ["direct": true]).code == "invalid")
    let distinct = id(create(server, ["petr", "jan"], ["distinct": true]))
    #expect(id(create(server, ["jan", "petr"], ["distinct": true])) == distinct)
    #expect(id(create(server, ["jan", "wei"], ["distinct": true])) != distinct)
    #expect(id(create(server, ["jan"], ["distinct": true])) != direct)
  }

  @Test func adminsGovernAndEverybodySaves() {
    let server = server()
    server.nowUs = start
    let room = id(create(server, ["jan", "petr"]))
    func ask(_ verb: String, _ user: String, _ users: [String] = []) -> Answer {
      server.ask(verb, user: user, ["conversation_id": room, "user_ids": users, "title": "N"])
    }
    #expect(ask("add_participants", "jan", ["wei"]).code == "forbidden")
    #expect(ask("delete_conversation", "jan").code == "forbidden")
    #expect(ask("add_participants", "eva").code == "invalid")
    let added = conversation(ask("add_participants", "eva", ["wei", "wei", "jan"]))
    #expect(added["participant_ids"] as? [String] == ["eva", "jan", "petr", "wei"])
    #expect(ask("add_admins", "eva", ["nobody"]).code == "invalid")
    let admins = conversation(ask("add_admins", "eva", ["jan", "eva"]))
    #expect(admins["admin_ids"] as? [String] == ["eva", "jan"])
    let fewer = conversation(ask("remove_participants", "jan", ["petr", "eva"]))
    #expect(fewer["participant_ids"] as? [String] == ["jan", "wei"])
    #expect(fewer["admin_ids"] as? [String] == ["jan"])
    #expect(ask("get_conversation", "petr").code == "forbidden")
    #expect(ask("remove_participants", "jan", ["jan", "wei"]).code == "conflict")
    server.nowUs += 1_000_000
    let saved = conversation(ask("save_conversation", "wei"))
    #expect(saved["title"] as? String == "N")
    #expect(saved["updated_at"] as? String == server.stamp(1))
    #expect(conversation(ask("remove_admins", "jan", ["jan"]))["admin_ids"] == nil)
    #expect(ask("delete_conversation", "wei").code == "")
    #expect(ask("get_conversation", "jan").code == "not_found")
  }

  @Test func theLastOneToLeaveTakesItAlong() {
    let server = server()
    let room = id(create(server, ["jan"]))
    let target: [String: Any] = ["conversation_id": room]
    let jan = server.subscribe(user: "jan")
    #expect(server.ask("leave_conversation", target).code == "")
    #expect(server.ask("leave_conversation", target).code == "not_found")
    #expect(server.drain(jan).count == 1)
    #expect(server.ask("leave_conversation", user: "jan", target).code == "")
    #expect(server.ask("leave_conversation", user: "jan", target).code == "not_found")
    server.createConversation("c")
    #expect(server.ask("leave_conversation").code == "conflict")
  }

  @Test func theListIsByActivityAndIsCut() {
    let server = server()
    server.nowUs = start
    for index in 0..<120 {
      server.createConversation("r\(index)", participants: index % 3 == 0 ? ["jan"] : ["eva"])
      server.nowUs += 1_000_000
    }
    for index in [7, 4] {
      server.post(conversation: "r\(index)", sender: "eva", payload: "\(index)")
      server.nowUs += 1_000_000
    }
    func page(_ members: [String: Any]) -> [[String: Any]] {
      let answer = server.ask("get_conversations", members)
      #expect(answer.data["total_count"] as? Int == 80)
      return answer.data["conversations"] as? [[String: Any]] ?? []
    }
    func ids(_ page: [[String: Any]]) -> [String] {
      page.compactMap { $0["conversation_id"] as? String }
    }
    let silent = (0..<120).reversed().filter { $0 % 3 != 0 && $0 != 4 && $0 != 7 }
    let order = ["r4", "r7"] + silent.map { "r\($0)" }
    #expect(ids(page([:])) == Array(order.prefix(50)))
    #expect(ids(page(["limit": 30, "offset": 60])) == Array(order.dropFirst(60)))
    #expect(ids(page(["offset": 999])).isEmpty)
    let first = page(["limit": 3, "include_last_message": true])
    let last = first.map { ($0["last_message"] as? [String: Any])?["payload"] as? Int }
    #expect(last == [4, 7, nil])
    #expect(page(["limit": 3]).allSatisfy { $0["last_message"] == nil })
    #expect(server.ask("get_conversations", ["limit": 0]).code == "invalid")
  }

  @Test func theMarkerCountsAndNeverMovesBack() {
    let server = server()
    server.fill(120)
    server.post(conversation: "c", sender: "eva", payload: "mine")
    let phone = server.subscribe(user: "eva")
    let jan = server.subscribe(user: "jan")
    func unread() -> Int {
      server.ask("get_unread_count").data["message_count"] as? Int ?? -1
    }
    #expect(unread() == 120)
    server.markRead(conversation: "c", ids: ["1003", "1110", "1111"], user: "eva")
    #expect(unread() == 117)
    #expect([server.drain(phone).count, server.drain(jan).count] == [1, 1])
    let marked = conversation(server.ask("mark_last_read", ["message_id": "1099"]))
    #expect(marked["last_read_message_id"] as? String == "1099")
    #expect(marked["unread_count"] as? Int == 18)
    // The user's own devices hear of it, nobody else.
    let push = server.drain(phone).map { Answer($0).object["conversation"] as? [String: Any] }
    #expect(push.first??["last_read_message_id"] as? String == "1099")
    #expect(push.first??["unread_count"] as? Int == 18 && server.drain(jan).isEmpty)
    let back = conversation(server.ask("mark_last_read", ["message_id": "1050"]))
    #expect(back["last_read_message_id"] as? String == "1099" && unread() == 18)
    #expect(server.drain(phone).isEmpty)
    // A marker whose message goes stays where it was.
    server.delete(conversation: "c", ids: ["1099", "1119"])
    #expect(unread() == 17)
    #expect(server.ask("mark_last_read", ["message_id": "1099"]).code == "not_found")
    server.createConversation("d", participants: ["eva"])
    server.post(conversation: "d", sender: "jan", payload: "1")
    server.createConversation("e", participants: ["jan"])
    server.post(conversation: "e", sender: "jan", payload: "1")
    let total = server.ask("get_total_unread_count").data
    #expect(total["message_count"] as? Int == 18 && total["conversation_count"] as? Int == 2)
  }

  @Test func channelsAreMadeOnceAndSubscribed() throws {
    let server = server { $0.needsSubscribing = true }
    server.createConversation("c", participants: ["eva", "jan"])
    server.createConversation("d", participants: ["eva", "jan"])
    let token = server.subscribe(user: "eva")
    func ask(_ json: String) -> Answer {
      Answer(server.handle(Array(json.utf8), user: "eva", from: token).first ?? [])
    }
    func pushedFrames() -> Int {
      for room in ["c", "d"] { server.post(conversation: room, sender: "jan", payload: "1") }
      return server.drain(token).count
    }
    #expect(pushedFrames() == 0)
    #expect(ask(#"{"type":"subscribe","conversation_id":"c"}"#).data["epoch"] as? String == "1")
    #expect(pushedFrames() == 1)
    #expect(ask(#"{"type":"unsubscribe","conversation_id":"c"}"#).code == "")
    #expect(pushedFrames() == 0)
    let channel = ask(#"{"type":"get_user_channel"}"#).data["channel"] as? [String: Any]
    let name = try #require(channel?["name"] as? String)
    let again = ask(#"{"type":"get_user_channel"}"#).data["channel"] as? [String: Any]
    #expect(again?["name"] as? String == name)
    #expect(ask(#"{"type":"subscribe","channel":"other"}"#).code == "not_found")
    #expect(ask(#"{"type":"subscribe","channel":"\#(name)"}"#).code == "")
    #expect(pushedFrames() == 2)
    #expect(ask(#"{"type":"unsubscribe"}"#).code == "")
    #expect(pushedFrames() == 0)
    #expect(ask(#"{"type":"delete_user_channels"}"#).code == "")
    #expect(ask(#"{"type":"subscribe","channel":"\#(name)"}"#).code == "not_found")
    let new = ask(#"{"type":"get_user_channel"}"#).data["channel"] as? [String: Any]
    #expect(new?["name"] as? String != name)
    #expect(ask(#"{"type":"subscribe","conversation_id":"x"}"#).code == "not_found")
  }

  @Test func typingIsToldToOthersAndNotAnswered() {
    let server = server()
    server.createConversation("c", participants: ["eva", "jan"])
    let tokens = [server.subscribe(user: "eva"), server.subscribe(user: "jan")]
    for event in ["begin", "pause", "finished"] {
      let frame = #"{"type":"typing","conversation_id":"c","event":"\#(event)","at":"x"}"#
      #expect(server.handle(Array(frame.utf8), user: "eva", from: tokens[0]).isEmpty)
      #expect(server.drain(tokens[0]).isEmpty)
      let told = server.drain(tokens[1]).map { Answer($0).object }
      #expect(told.first?["event"] as? String == event)
      #expect(told.first?["user_id"] as? String == "eva")
    }
  }
}
