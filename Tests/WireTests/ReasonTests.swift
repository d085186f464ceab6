/// What is of no use says why, in words that name the member and nothing that it held.
import Base
import Testing
import Wire

@Suite struct ReasonTests {
  /// Why a frame is no use as a whole.
  private func refusal(_ bytes: [UInt8]) -> String? {
    do {
      _ = try Frame(bytes, zoneOffsetMinutes: 0)
      return nil
    } catch {
      return "\(error.text(of: "the frame"))"
    }
  }

  @Test func aFrameThatIsNoneSaysWhy() {
    let deep = [UInt8](repeating: UInt8(ascii: "["), count: Limits.jsonDepthMax + 1)
    #expect(refusal([0xFF]) == "the frame is not UTF-8")
    #expect(refusal(bytes("{")) == "the frame is not JSON")
    #expect(refusal(bytes("[]")) == "the frame is not a JSON object")
    #expect(refusal(deep) == "the frame is nested over 128 levels deep")
    let long = [UInt8](repeating: UInt8(ascii: " "), count: Limits.frameBytesMax + 1)
    #expect(refusal(long) == "the frame is over 16 MiB")
  }

  @Test(arguments: [
    ("{}", "type is missing or not a string"),
    (#"{"type":7}"#, "type is missing or not a string"),
    (#"{"type":"sing"}"#, "type is not one that is known here"),
    (#"{"type":"reply","payload":{}}"#, "status is missing"),
    (#"{"type":"update"}"#, "payload is missing"),
    (#"{"type":"update","payload":{}}"#, "ref is missing or not an id"),
    (#"{"type":"message_new"}"#, "message is missing"),
    (
      #"{"type":"message_new","message":{"message_id":"m"}}"#,
      "sender_id is missing, empty or not a string"
    ),
    (
      #"{"type":"message_new","conversation_id":7,"message":{}}"#,
      "conversation_id is missing, empty or not a string"
    ),
    (
      #"{"type":"message_deleted","message_ids":[]}"#,
      "conversation_id is missing, empty or not a string"
    ),
    (
      #"{"type":"message_deleted","conversation_id":"c","message_ids":{}}"#,
      "message_ids is missing or not a list"
    ),
    (
      #"{"type":"messages_read","conversation_id":"c","message_ids":[]}"#,
      "user_id is missing, empty or not a string"
    ),
    (
      #"{"type":"message_reacted","conversation_id":"c","message_id":"m","reactions":[]}"#,
      "reactions is missing or not a JSON object"
    ),
    (#"{"type":"conversation_updated","conversation":7}"#, "conversation is not a JSON object"),
    (
      #"{"type":"conversation_updated","conversation_id":"a","#
        + #""conversation":{"conversation_id":"b"}}"#,
      "conversation_id is that of another conversation"
    ),
  ])
  func anIgnoredFrameSaysWhy(_ json: String, _ expected: String) throws {
    guard case .unknown(let reason) = try frame(json).body else {
      throw Unexpected(text: json)
    }
    #expect("\(reason)" == expected)
  }

  @Test(arguments: [
    (#"{"status":"maybe","type":"get_messages"}"#, "status is neither ok nor error"),
    (#"{"status":"ok"}"#, "type is missing or not a verb of the protocol"),
    (#"{"status":"ok","type":"get_messages"}"#, "data is missing"),
    (#"{"status":"ok","type":"get_messages","data":{}}"#, "messages is missing or not a list"),
    (
      #"{"status":"ok","type":"get_deleted_since","data":{}}"#,
      "message_ids is missing or not a list"
    ),
    (
      #"{"status":"ok","type":"get_conversations","data":{"conversations":1}}"#,
      "conversations is missing or not a list"
    ),
    (#"{"status":"ok","type":"send_message","data":{}}"#, "message is missing"),
    (
      #"{"status":"ok","type":"get_conversation","data":{"conversation":{}}}"#,
      "conversation_id is missing, empty or not a string"
    ),
    (#"{"status":"ok","type":"get_receipts","data":{}}"#, "receipts is missing or not a list"),
    (
      #"{"status":"ok","type":"get_unread_count","data":{"message_count":-1}}"#,
      "message_count is missing or not a count"
    ),
    (#"{"status":"ok","type":"get_user_channel","data":{}}"#, "channel is missing"),
  ])
  func anAnswerOfTheWrongShapeSaysWhy(_ json: String, _ expected: String) throws {
    guard case .malformed(let reason) = try response(json).outcome else {
      throw Unexpected(text: json)
    }
    #expect("\(reason)" == expected)
  }

  @Test(arguments: [
    (#"{"ref":"r"}"#, BadItem.noPayload), (#"{"ref":"r","payload":{}}"#, .noEntity),
    (#"{"ref":"r","payload":{"entity":"message"}}"#, .noAction),
    (#"{"ref":"r","action":7,"payload":{"entity":"message"}}"#, .noAction),
    (#"{"ref":"r","action":"new","payload":{"entity":"message"}}"#, .noItems),
  ])
  func aBrokenUpdateSaysWhy(_ json: String, _ expected: BadItem) throws {
    guard case .update(let update) = try frame(#"{"type":"update","payload":\#(json)}"#).body
    else { throw Unexpected(text: json) }
    #expect(update.fault == expected)
  }

  @Test func anIdSaysWhichItIs() throws {
    let long = String(repeating: "i", count: Limits.idBytesMax + 1)
    let rest = #""created_at":"2026-02-15T22:15:45","payload":1}"#
    for (members, expected) in [
      (#""message_id":"\#(long)","sender_id":"u","#, "message_id is over 512 bytes"),
      (#""message_id":"m","sender_id":"\#(long)","#, "sender_id is over 512 bytes"),
      (#""message_id":"m","sender_id":"\ud800","#, "sender_id has half a surrogate pair"),
      (
        #""message_id":"m","conversation_id":"\#(long)","#, "conversation_id is over 512 bytes"
      ),
    ] {
      guard case .bad(_, let reason) = try page("{\(members)\(rest)").items.first else {
        throw Unexpected(text: members)
      }
      #expect("\(reason.text)" == expected)
    }
  }

  @Test(arguments: [
    (#"{"type":"sing"}"#, "type is missing, there twice, or not one of the protocol"),
    (#"{"type":"get_conversation"}"#, "conversation_id is missing"),
    (
      #"{"type":"get_conversation","conversation_id":"c","conversation_id":"c"}"#,
      "conversation_id is there twice"
    ),
    (
      #"{"type":"typing","conversation_id":"c","event":"sing"}"#,
      "event is not begin, pause or finished"
    ),
    (#"{"type":"get_conversations","limit":0}"#, "limit is not a whole number from 1 to 1,000"),
    ("[]", "the request is not a JSON object"), ("{", "the request is not JSON"),
  ])
  func aRequestSaysWhichMemberIsWrong(_ json: String, _ expected: String) throws {
    do {
      _ = try parseOperation(bytes(json))
      throw Unexpected(text: json)
    } catch let failure as WireFailure {
      #expect("\(failure.text(of: "the request"))" == expected)
    }
  }

  @Test func everyReasonHasWordsOfItsOwn() {
    let texts = BadItem.all.map { "\($0.text)" }
    #expect(Set(texts).count == BadItem.all.count && !texts.contains(""))
  }
}
