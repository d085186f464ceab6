/// Answers to what the user asked: messages, conversations, receipts, counts, refusals.
import Base
import Testing
import Wire

@Suite struct AnswerTests {
  private func answer(_ verb: Verb, _ data: String?) throws -> Response {
    let data = data.map { #","data":\#($0)"# } ?? ""
    return try response(#"{"type":"\#(verb.name)","request_id":"r","status":"ok"\#(data)}"#)
  }

  private func kind(_ outcome: Outcome) -> String {
    switch outcome {
    case .page, .deleted, .changed, .entries: "sync"
    case .done: "done"
    case .message(.message): "message"
    case .message(.bad(_, let reason)): "bad \(reason)"
    case .conversation: "conversation"
    case .conversations(let all, let bad, let total):
      "\(all.map { text($0.id) }) bad \(bad.count) of \(total ?? -1)"
    case .receipts(let receipts): "receipts \(receipts.map { text($0.user) })"
    case .counts(let messages, let conversations): "\(messages) in \(conversations ?? -1)"
    case .subscribed(let epoch): "subscribed \(text(epoch ?? []))"
    case .failed(let error, let retry): "\(error) \(retry ?? -1)"
    case .malformed: "malformed"
    }
  }

  @Test(
    arguments: [
      (.sendMessage, #"{"message":\#(message("m"))}"#, "message"),
      (.sendMessage, #"{"message":7}"#, "bad notAnObject"),
      (.sendMessage, #"{"message":null}"#, "malformed"), (.sendMessage, "{}", "malformed"),
      (.sendMessage, nil, "malformed"),
      (.editMessage, #"{"message":\#(message("m"))}"#, "message"), (.editMessage, "{}", "done"),
      (.editMessage, nil, "done"), (.reactMessage, "{}", "done"), (.unreactMessage, "7", "done"),
      (.deleteMessage, nil, "done"), (.pinMessage, "{}", "done"), (.unpinMessage, "[]", "done"),
      (.markRead, nil, "done"), (.markDelivered, "{}", "done"), (.markListened, "{}", "done"),
      (.markLastRead, #"{"conversation":{"conversation_id":"c"}}"#, "conversation"),
      (.markLastRead, "{}", "done"), (.markLastRead, #"{"conversation":{}}"#, "done"),
      (.getConversation, #"{"conversation":{"conversation_id":"c"}}"#, "conversation"),
      (.getConversation, #"{"conversation":{"conversation_id":7}}"#, "malformed"),
      (.getConversation, "{}", "malformed"), (.createConversation, "{}", "malformed"),
      (.createConversation, #"{"conversation":{"conversation_id":"c"}}"#, "conversation"),
      (.saveConversation, "{}", "done"), (.deleteConversation, "{}", "done"),
      (.leaveConversation, nil, "done"), (.addParticipants, "{}", "done"),
      (.removeParticipants, #"{"conversation":{"conversation_id":"c"}}"#, "conversation"),
      (.addAdmins, nil, "done"), (.removeAdmins, "{}", "done"),
      (
        .getConversations,
        #"{"total_count":9,"#
          + #""conversations":[{"conversation_id":"c"},7,{},{"conversation_id":"d"}]}"#,
        #"["c", "d"] bad 2 of 9"#
      ),
      (.getConversations, #"{"conversations":[]}"#, "[] bad 0 of -1"),
      (.getConversations, #"{"conversations":{}}"#, "malformed"),
      (.getReceipts, #"{"receipts":[{"user_id":"u"},7,{"user_id":""}]}"#, #"receipts ["u"]"#),
      (.getReceipts, "{}", "malformed"),
      (.getUnreadCount, #"{"message_count":3}"#, "3 in -1"),
      (.getTotalUnreadCount, #"{"message_count":3,"conversation_count":2}"#, "3 in 2"),
      (.getTotalUnreadCount, #"{"message_count":-3}"#, "malformed"),
      (.getUnreadCount, #"{"message_count":1099511627775}"#, "1099511627775 in -1"),
      (.getUnreadCount, #"{"message_count":1099511627776}"#, "1099511627776 in -1"),
      (.getUnreadCount, #"{"message_count":1099511627777}"#, "malformed"),
      (.getUnreadCount, #"{"message_count":9007199254740992}"#, "malformed"),
      (.getTotalUnreadCount, #"{"message_count":3,"conversation_count":1099511627777}"#, "3 in -1"),
      (.subscribe, #"{"epoch":"7"}"#, "subscribed 7"), (.subscribe, nil, "subscribed "),
      (.unsubscribe, "{}", "done"), (.typing, "{}", "done"),
      (.getUserChannel, #"{"channel":{"name":"x"}}"#, "done"),
      (.getUserChannel, #"{"channel":null}"#, "malformed"),
      (.deleteUserChannels, "{}", "done"),
    ] as [(Verb, String?, String)])
  func theDataOfEachVerb(_ verb: Verb, _ data: String?, _ expected: String) throws {
    let answer = try answer(verb, data)
    #expect(answer.verb == verb)
    #expect(kind(answer.outcome) == expected)
    #expect(answer.refusal == nil)
    let json = #"{"type":"\#(verb.name)","request_id":"r","status":"ok","data":\#(data ?? "")}"#
    #expect(answer.data.map { text(bytes(json)[$0]) } == data)
  }

  @Test func aConversationIsReadWhole() throws {
    let object = #"""
      {"conversation_id":"c","title":"T","participant_ids":["a",{"user_id":"b"},7],"admin_ids":[],
      "created_at":"2026-02-15T22:15:45","updated_at":"2026-02-15T22:15:46.5Z",
      "last_read_message_id":"m","unread_count":3,"x":{},"last_message":\#(message("n"))}
      """#
    let json = #"{"type":"get_conversation","status":"ok","data":{"conversation":\#(object)}}"#
    let frame = try frame(json)
    guard case .response(let response) = frame.body,
      case .conversation(let read) = response.outcome
    else { throw Unexpected(text: json) }
    #expect(read.id == bytes("c") && text(frame.bytes[read.body]) == object)
    #expect(read.lastReadMessage == bytes("m") && read.unreadCount == 3)
    #expect(read.created?.timeUs == 1_771_193_745_000_000)
    #expect(read.updated?.timeUs == 1_771_193_746_500_000)
    guard case .message(let last) = read.lastMessage else { throw Unexpected(text: json) }
    #expect(last.id == bytes("n"))
    let found = frameMessages(frame)
    #expect(found.map(\.conversation) == [bytes("c")])
    #expect(found.map(\.message.id) == [bytes("n")])
  }

  @Test func aConversationMaySayNothing() throws {
    let json =
      #"{"type":"get_conversation","status":"ok","data":{"conversation":{"conversation_id":"c","#
      + #""participant_ids":7,"unread_count":-1,"last_read_message_id":"","last_message":null}}}"#
    guard case .conversation(let read) = try response(json).outcome else {
      throw Unexpected(text: json)
    }
    #expect(read.unreadCount == nil && read.created == nil)
    #expect(read.lastReadMessage == nil && read.lastMessage == nil && read.updated == nil)
  }

  /// A list, a push and an update of conversations give the messages in their order.
  @Test func lastMessagesAreThoseOfTheirConversation() throws {
    func room(_ id: String, _ last: String) -> String {
      #"{"conversation_id":"\#(id)","last_message":\#(last)}"#
    }
    let rooms = [
      room("c", message("m1", #","conversation_id":"c""#)), room("d", "7"),
      room("e", message("m2", #","conversation_id":"c""#)), room("f", message("m3")),
      #"{"conversation_id":"g"}"#,
    ].joined(separator: ",")
    let list = #"{"type":"get_conversations","status":"ok","data":{"conversations":[\#(rooms)]}}"#
    guard case .conversations(let all, _, _) = try response(list).outcome else {
      throw Unexpected(text: list)
    }
    guard case .bad(_, .notAnObject) = all[1].lastMessage,
      case .bad(_, .wrongConversation) = all[2].lastMessage
    else { throw Unexpected(text: list) }
    let update =
      #"{"type":"update","payload":{"ref":"r","action":"update","payload":"#
      + #"{"entity":"conversation","items":[\#(rooms)]}}}"#
    for json in [list, update] {
      let found = frameMessages(try frame(json))
      #expect(found.map { text($0.conversation) } == ["c", "f"])
      #expect(found.map { text($0.message.id) } == ["m1", "m3"])
    }
    let push = #"{"type":"conversation_updated","conversation":\#(room("c", message("m4")))}"#
    #expect(frameMessages(try frame(push)).map { text($0.message.id) } == ["m4"])
  }

  @Test func receiptsSayWhen() throws {
    let json =
      #"{"type":"get_receipts","status":"ok","data":{"receipts":[{"user_id":"u","#
      + #""read_at":"2026-02-15T22:15:45","delivered_at":"soon","listened_at":null}]}}"#
    guard case .receipts(let receipts) = try response(json).outcome, let one = receipts.first
    else { throw Unexpected(text: json) }
    #expect(one.read == 1_771_193_745_000_000)
    #expect(one.delivered == nil && one.listened == nil)
  }

  /// An answer that says `exists` is the first answer again, where it holds it.
  @Test(
    arguments: [
      (.sendMessage, #","data":{"message":\#(message("m"))}"#, "message"),
      (.sendMessage, #","data":{}"#, "exists -1"), (.sendMessage, "", "exists -1"),
      (
        .createConversation, #","data":{"conversation":{"conversation_id":"c"}}"#, "conversation"
      ),
      (.pinMessage, #","data":{}"#, "done"),
      (.getMessages, #","data":{"messages":[]}"#, "exists -1"),
    ] as [(Verb, String, String)])
  func whatExistsIsThere(_ verb: Verb, _ data: String, _ expected: String) throws {
    let start =
      #"{"type":"\#(verb.name)","status":"error","error":{"code":"exists","message":"2nd""#
    for json in [start + "}" + data + "}", start + data + "}}"] {
      let frame = try frame(json)
      guard case .response(let response) = frame.body else { throw Unexpected(text: json) }
      #expect(kind(response.outcome) == expected)
      #expect(response.refusal == Refusal(code: bytes("exists"), text: bytes("2nd")))
      #expect(frameMessages(frame).count == (expected == "message" ? 1 : 0))
    }
  }

  @Test func aRefusalKeepsItsWords() throws {
    func refusal(_ error: String) throws -> Refusal? {
      try response(#"{"type":"edit_message","status":"error","error":\#(error)}"#).refusal
    }
    #expect(
      try refusal(#"{"code":"teapot","message":"short \u0026 stout"}"#)
        == Refusal(code: bytes("teapot"), text: bytes("short & stout")))
    #expect(try refusal("null") == Refusal(code: [], text: []))
    #expect(try refusal(#"{"code":7,"message":[]}"#) == Refusal(code: [], text: []))
    let most = Limits.refusalBytesMax
    for count in [most - 1, most, most + 1] {
      let text = String(repeating: "x", count: count)
      #expect(try refusal(#"{"message":"\#(text)"}"#)?.text.count == min(count, most))
    }
    // Never half a character.
    let cut = try refusal(#"{"message":"x\#(String(repeating: "é", count: most))"}"#)
    #expect(cut?.text == bytes("x" + String(repeating: "é", count: (most - 1) / 2)))
  }
}
