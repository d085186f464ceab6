/// Requests of hosts: what is taken out, what stays as it came, what is refused.
import Base
import Foundation
import Testing
import Wire

@Suite struct OperationTests {
  private func parsed(_ json: String) throws -> OperationRequest {
    try parseOperation(bytes(json))
  }

  private func refusal(_ json: String) -> WireFailure? {
    do {
      _ = try parseOperation(bytes(json))
      return nil
    } catch {
      return error
    }
  }

  /// The least that each verb needs, behind its type.
  private static let least: [(Verb, String)] = [
    (.markRead, #","conversation_id":"c","message_ids":["a"]"#),
    (.markDelivered, #","conversation_id":"c","message_ids":["a"]"#),
    (.markListened, #","conversation_id":"c","message_ids":["a"]"#),
    (.markLastRead, #","conversation_id":"c","message_id":"m""#),
    (.getReceipts, #","conversation_id":"c","message_id":"m""#),
    (.sendMessage, #","conversation_id":"c","payload":null"#),
    (.editMessage, #","conversation_id":"c","message_id":"m","payload":"p""#),
    (.deleteMessage, #","conversation_id":"c","message_id":"m""#),
    (.reactMessage, #","conversation_id":"c","message_id":"m","reaction":"+""#),
    (.unreactMessage, #","conversation_id":"c","message_id":"m","reaction":"+""#),
    (.pinMessage, #","conversation_id":"c","message_id":"m""#),
    (.unpinMessage, #","conversation_id":"c","message_id":"m""#),
    (.getConversations, ""),
    (.getConversation, #","conversation_id":"c""#),
    (.createConversation, #","participant_ids":[]"#),
    (.saveConversation, #","conversation_id":"c""#),
    (.deleteConversation, #","conversation_id":"c""#),
    (.leaveConversation, #","conversation_id":"c""#),
    (.addParticipants, #","conversation_id":"c","user_ids":["u"]"#),
    (.removeParticipants, #","conversation_id":"c","user_ids":["u"]"#),
    (.addAdmins, #","conversation_id":"c","user_ids":["u"]"#),
    (.removeAdmins, #","conversation_id":"c","user_ids":["u"]"#),
    (.getUnreadCount, #","conversation_id":"c""#),
    (.getTotalUnreadCount, ""),
    (.typing, #","conversation_id":"c","event":"begin""#),
    (.subscribe, ""), (.unsubscribe, ""), (.getUserChannel, ""), (.deleteUserChannels, ""),
  ]

  /// Each member that a verb needs is missed, and the request goes out as it came.
  @Test func everyVerbHasItsLeast() throws {
    #expect(OperationTests.least.map(\.0) == Array(Verb.allCases.dropFirst(3).dropLast()))
    for (verb, members) in OperationTests.least {
      let json = #"{"type":"\#(verb.name)"\#(members)}"#
      let request = try parsed(json)
      #expect(request.verb == verb)
      let line = text(Request.operation(request).encoded(id: bytes("7")))
      #expect(line == #"{"type":"\#(verb.name)","request_id":"7"\#(members)}"#)
      let names = members.split(separator: ",").compactMap { part -> String? in
        part.contains(":") ? part.split(separator: "\"").first.map { String($0) } : nil
      }
      for name in names {
        let without = json.replacingOccurrences(of: "\"\(name)\":", with: "\"x_\(name)\":")
        guard case .missingMember(let parameter) = refusal(without) else {
          Issue.record("\(without)")
          continue
        }
        #expect("\(parameter.name)" == name)
      }
    }
  }

  @Test func aSendIsTakenApart() throws {
    let request = try parsed(
      #"""
      {"metadata" : {"a": 1.50}, "type":"send_message","request_id":"mine",
       "conversation_id":"c\u002d1","client_id":"k", "payload" : {"b": [ ]} ,
       "reply_to":"m\"","x":null,"attachment":null,"x":2}
      """#)
    #expect(
      request
        == OperationRequest(
          verb: .sendMessage, conversation: bytes("c-1"), clientID: bytes("k"),
          payload: bytes(#"{"b": [ ]}"#),
          body: bytes(
            #""metadata" : {"a": 1.50},"reply_to":"m\"","x":null,"attachment":null,"x":2"#)))
    #expect(
      text(Request.operation(request).encoded(id: bytes("r"), account: bytes("w")))
        == #"{"account":"w","type":"command","payload":{"type":"send_message","request_id":"r","#
        + #""conversation_id":"c-1","client_id":"k","payload":{"b": [ ]},"#
        + text(request.body) + "}}")
  }

  @Test func idsOfMarksAreTakenAndOthersStay() throws {
    let mark = try parsed(
      #"{"type":"mark_delivered","conversation_id":"c","message_ids":["a","\u0062"]}"#)
    #expect(mark.messageIDs == [bytes("a"), bytes("b")] && mark.body.isEmpty)
    let other = try parsed(#"{"type":"get_conversations","message_ids":["a"]}"#)
    #expect(other.messageIDs.isEmpty && text(other.body) == #""message_ids":["a"]"#)
  }

  @Test(arguments: [
    #"{"type":"get_messages","conversation_id":"c"}"#, #"{"type":"get_deleted_since"}"#,
    #"{"type":"get_changed_since"}"#,
  ])
  func whatSyncsAskForIsNotForHosts(_ json: String) {
    #expect(refusal(json) == .ownVerb)
  }

  @Test(arguments: [
    #"{"type":"pin_message","type":"unpin_message","conversation_id":"c","message_id":"m"}"#,
    #"{"type":"sing"}"#, #"{"type":7}"#, "{}", #"{"type":null}"#,
    #"{"type":"send_message\u0000"}"#,
  ])
  func otherVerbsAreNotForHosts(_ json: String) {
    #expect(refusal(json) == .unknownVerb)
  }

  @Test func whatIsNoObjectIsRefused() {
    #expect(refusal("[]") == .notAFrame)
    #expect(refusal("{") == .syntax)
    #expect(throws: WireFailure.notUTF8) { try parseOperation([0xFF]) }
  }

  @Test(
    arguments: [
      (#""conversation_id":7"#, .conversationID), (#""conversation_id":"""#, .conversationID),
      (#""conversation_id":"\ud83d""#, .conversationID), (#""message_id":[]"#, .messageID),
      (#""client_id":{}"#, .clientID), (#""client_id":"""#, .clientID),
      (#""reply_to":7"#, .replyTo), (#""channel":"""#, .channel), (#""title":7"#, .title),
      (#""at":0"#, .at), (#""message_ids":[]"#, .messageIDs), (#""user_ids":["a",7]"#, .userIDs),
      (#""user_ids":"a""#, .userIDs), (#""participant_ids":[""]"#, .participantIDs),
      (#""admin_ids":{}"#, .adminIDs), (#""event":"sing""#, .event), (#""event":1"#, .event),
      (#""limit":0"#, .limit), (#""limit":1001"#, .limit), (#""limit":1.5"#, .limit),
      (#""offset":-1"#, .offset), (#""include_last_message":"yes""#, .includeLastMessage),
      (#""distinct":1"#, .distinct), (#""direct":"x""#, .direct),
    ] as [(String, Parameter)])
  func aWrongMemberIsNamed(_ member: String, _ parameter: Parameter) {
    #expect(refusal(#"{"type":"get_total_unread_count",\#(member)}"#) == .badMember(parameter))
  }

  @Test(
    arguments: [
      (#""title":"a","title":"b""#, .title), (#""payload":1,"p\u0061yload":1"#, .payload),
    ] as [(String, Parameter)])
  func aMemberThatIsThereTwiceIsNamed(_ members: String, _ parameter: Parameter) {
    let json = #"{"type":"get_total_unread_count",\#(members)}"#
    #expect(refusal(json) == .repeatedMember(parameter))
  }

  @Test func aNullIsAbsent() throws {
    let request = try parsed(
      #"{"type":"save_conversation","conversation_id":"c","title":null,"client_id":null}"#)
    #expect(request == OperationRequest(verb: .saveConversation, conversation: bytes("c")))
    #expect(
      refusal(#"{"type":"save_conversation","conversation_id":null}"#)
        == .missingMember(.conversationID))
  }

  @Test func everyBoundIsWhereItIsSaid() throws {
    for count in [Limits.idBytesMax - 1, Limits.idBytesMax, Limits.idBytesMax + 1] {
      let id = String(repeating: "i", count: count)
      let json = #"{"type":"delete_conversation","conversation_id":"\#(id)"}"#
      #expect((refusal(json) == nil) == (count <= Limits.idBytesMax))
    }
    for count in [Limits.markReadMax - 1, Limits.markReadMax, Limits.markReadMax + 1] {
      let ids = [String](repeating: #""a""#, count: count).joined(separator: ",")
      let json = #"{"type":"mark_read","conversation_id":"c","message_ids":[\#(ids)]}"#
      let expected: WireFailure? = count > Limits.markReadMax ? .badMember(.messageIDs) : nil
      #expect(refusal(json) == expected)
    }
    let most = Limits.messageBytesMax
    for (payload, more) in [(most - 7, ""), (most - 14, #","x":"ab""#)] {
      for over in [0, 1, 8] {
        let value = String(repeating: "p", count: payload + 5 + over)
        let json =
          #"{"type":"send_message","conversation_id":"c","payload":"\#(value)"\#(more)}"#
        let size = value.utf8.count + 2 + max(0, more.utf8.count - 1)
        #expect(refusal(json) == (size > most ? .tooLarge : nil))
      }
    }
    #expect(try parsed(#"{"type":"get_conversations","limit":1000}"#).verb == .getConversations)
  }

  @Test func membersOfBodiesAreReadAndSet() {
    let body = bytes(#""a":1,"reply_to" : "x\"" ,"distinct":true,"reply_to":"y""#)
    #expect(operationText("reply_to", in: body) == bytes("y"))
    #expect(operationValue("reply_to", in: body) == bytes("\"y\""))
    #expect(operationValue("a", in: body) == bytes("1"))
    #expect(operationText("a", in: body) == nil && operationValue("b", in: body) == nil)
    #expect(operationFlag("distinct", in: body) && !operationFlag("a", in: body))
    let set = operationBody(body, setting: "reply_to", to: quoted(bytes("z\n")))
    #expect(text(set) == #""a":1,"distinct":true,"reply_to":"z\u000a""#)
    #expect(text(operationBody(set, setting: "reply_to", to: nil)) == #""a":1,"distinct":true"#)
    #expect(text(operationBody([], setting: "x", to: bytes("{}"))) == #""x":{}"#)
    #expect(operationBody([], setting: "x", to: nil).isEmpty)
    // What is no body is left alone.
    #expect(operationBody(bytes("{"), setting: "x", to: nil) == bytes("{"))
    #expect(operationText("x", in: bytes("}{")) == nil && !operationFlag("x", in: []))
  }

  /// What a host gives in parts is what a request object of them would be; no part can say more
  /// than itself.
  @Test func aSendInPartsIsReadAsItsObject() throws {
    func send(
      _ payload: String, attachment: String = "", metadata: String = "", replyTo: String = "",
      clientID: String = ""
    ) throws(WireFailure) -> OperationRequest {
      try OperationRequest.send(
        conversation: bytes("c\""), clientID: bytes(clientID), replyTo: bytes(replyTo),
        payload: bytes(payload), attachment: bytes(attachment), metadata: bytes(metadata))
    }
    let whole = try send(
      #" {"a":1} "#, attachment: "null", metadata: " [2]", replyTo: "r\n", clientID: "k")
    let json =
      #"{"type":"send_message","conversation_id":"c\"","client_id":"k","reply_to":"r\u000a","#
      + #""payload":{"a":1},"attachment":null,"metadata":[2]}"#
    #expect(try whole == parsed(json))
    #expect(try send("null").payload == bytes("null") && send("null").body.isEmpty)
    #expect(throws: WireFailure.missingMember(.payload)) { try send("") }
    for wrong in ["1,\"reply_to\":\"x\"", "1}", "{", "tru"] {
      #expect(throws: WireFailure.syntax) { try send(wrong) }
      #expect(throws: WireFailure.syntax) { try send("1", metadata: wrong) }
    }
    let long = String(repeating: "k", count: Limits.idBytesMax + 1)
    #expect(throws: WireFailure.badMember(.clientID)) { try send("1", clientID: long) }
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    _ = try send(nested(Limits.jsonDepthMax - 1))
    #expect(throws: WireFailure.tooDeep) { try send(nested(Limits.jsonDepthMax)) }
    let large = "\"" + String(repeating: "x", count: Limits.messageBytesMax - 2) + "\""
    _ = try send(large)
    #expect(throws: WireFailure.tooLarge) { try send(large, metadata: "1") }
  }

  /// No bytes trap, and what is read goes out as one line that reads the same.
  @Test func anyBytesAreTakenOrRefused() throws {
    var random = Random(seed: 11)
    var taken = 0
    for round in 0..<20_000 {
      let (verb, members) = OperationTests.least[round % OperationTests.least.count]
      var json = bytes(#"{"type":"\#(verb.name)"\#(members),"x":[1,{"y":"\u00e9"}]}"#)
      for _ in 0..<random.below(4) {
        let at = random.below(json.count)
        switch random.below(3) {
        case 0: json[at] = UInt8(truncatingIfNeeded: random.below(256))
        case 1: json.remove(at: at)
        default: json.insert(json[random.below(json.count)], at: at)
        }
      }
      guard let request = try? parseOperation(json) else { continue }
      taken += 1
      let line = Request.operation(request).encoded(id: bytes("r"))
      #expect(try parseOperation(line) == request)
    }
    #expect(taken > 4_000)
  }
}
