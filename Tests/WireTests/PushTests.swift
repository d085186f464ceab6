/// Frames that the server sends unasked.
import Base
import Foundation
import Testing
import Wire

@Suite struct PushTests {
  private func push(_ json: String) throws -> Push? {
    guard case .push(let push) = try frame(json).body else { return nil }
    return push
  }

  private func new(_ json: String) throws -> (conversation: String, item: PageItem)? {
    switch try push(json) {
    case .messageNew(let conversation, let item), .messageEdited(let conversation, let item):
      (text(conversation), item)
    default: nil
    }
  }

  @Test func aMessageTakesTheConversationOfItsFrame() throws {
    let named = message("m", #","conversation_id":"c""#)
    let both = try new(
      #"{"type":"message_new","conversation_id":"c","message":\#(named)}"#
    )
    let outer = try new(
      #"{"type":"message_edited","conversation_id":"c","message":\#(message("m"))}"#)
    let inner = try new(
      #"{"type":"message_new","message":\#(named)}"#)
    for found in [both, outer, inner] {
      #expect(found?.conversation == "c")
      guard case .message(let message) = found?.item else { throw Unexpected(text: "no message") }
      #expect(message.id == bytes("m"))
    }
    let other = try new(
      #"{"type":"message_new","conversation_id":"d","message":\#(named)}"#
    )
    guard case .bad(_, .wrongConversation) = other?.item else { throw Unexpected(text: "taken") }
    #expect(other?.conversation == "d")
    let bad = try new(#"{"type":"message_new","conversation_id":"c","message":{"message_id":"m"}}"#)
    guard case .bad(_, .noSender) = bad?.item else { throw Unexpected(text: "taken") }
  }

  @Test func deletionsAndReadsNameTheirIds() throws {
    guard
      case .messageDeleted(let conversation, let ids) = try push(
        #"{"type":"message_deleted","conversation_id":"c","message_ids":["a",3,"b"]}"#)
    else { throw Unexpected(text: "no deletion") }
    #expect(conversation == bytes("c") && ids == [bytes("a"), bytes("b")])
    guard
      case .messagesRead(let place, let user, let read) = try push(
        #"{"type":"messages_read","conversation_id":"c","user_id":"u","message_ids":["a"]}"#)
    else { throw Unexpected(text: "no read") }
    #expect(place == bytes("c") && user == bytes("u") && read == [bytes("a")])
  }

  @Test(arguments: [
    "{}", #"{"type":"message_new"}"#, #"{"type":"message_new","conversation_id":"c"}"#,
    #"{"type":"message_new","conversation_id":7,"message":{}}"#,
    #"{"type":"message_new","message":\#(message("m"))}"#,
    #"{"type":"message_deleted","conversation_id":"c","message_ids":"a"}"#,
    #"{"type":"message_deleted","message_ids":["a"]}"#,
    #"{"type":"messages_read","conversation_id":"c","message_ids":["a"]}"#,
    #"{"type":"messages_read","user_id":"u","message_ids":["a"]}"#, #"{"type":"typing"}"#,
    #"{"type":"get_messages","data":{"messages":[]}}"#, #"{"type":7}"#, #"{"type":null}"#,
    #"{"account":"a","type":"update","payload":{"ref":"1"}}"#,
  ])
  func whatHasNoMeaningIsUnknown(_ json: String) throws {
    guard case .unknown = try frame(json).body else {
      Issue.record("taken: \(json)")
      return
    }
  }
}

@Suite struct RequestTests {
  private func line(_ request: Request, _ id: String = "r1") -> String {
    text(request.encoded(id: bytes(id)))
  }

  @Test func requestsAreOneLineInAFixedOrder() {
    let first = Request.getMessages(conversation: bytes("c"), limit: 50, offset: 0, after: nil)
    #expect(
      line(first)
        == #"{"type":"get_messages","request_id":"r1","conversation_id":"c","limit":50,"offset":0}"#
    )
    let next = Request.getMessages(
      conversation: bytes("c"), limit: 50, offset: 7, after: bytes("2026-02-15T22:15:45"))
    #expect(
      line(next)
        == #"{"type":"get_messages","request_id":"r1","conversation_id":"c","limit":50,"#
        + #""offset":7,"after_ts":"2026-02-15T22:15:45"}"#
    )
    let deleted = Request.getDeletedSince(conversation: bytes("c"), since: bytes("t"))
    #expect(
      line(deleted)
        == #"{"type":"get_deleted_since","request_id":"r1","conversation_id":"c","since":"t"}"#)
    let read = Request.markRead(conversation: bytes("c"), ids: [bytes("a"), bytes("b")])
    #expect(
      line(read)
        == #"{"type":"mark_read","request_id":"r1","conversation_id":"c","message_ids":["a","b"]}"#)
    #expect(line(.markRead(conversation: bytes("c"), ids: [])).hasSuffix(#""message_ids":[]}"#))
  }

  /// Whatever an id holds, the line stays one line of JSON that says the same.
  @Test func anyIdSurvives() throws {
    var random = Random(seed: 5)
    for _ in 0..<2_000 {
      var id = ""
      for _ in 0..<random.below(12) {
        let scalar = UInt32(random.below(random.chance(0.6) ? 0x80 : 0x11_0000))
        id.unicodeScalars.append(Unicode.Scalar(scalar) ?? "x")
      }
      let json = Request.markRead(conversation: bytes(id), ids: [bytes(id)]).encoded(id: bytes(id))
      #expect(!json.contains(0x0A) && !json.contains(0x0D))
      let document = try Document(json)
      for name in ["request_id", "conversation_id"] {
        let node = try #require(document.member(bytes(name), of: document.root))
        #expect(document.string(node) == bytes(id))
      }
      let ids = try #require(document.member(bytes("message_ids"), of: document.root))
      #expect(document.firstChild(of: ids).flatMap { document.string($0) } == bytes(id))
    }
    // Bytes that are no text cannot make a frame that is none.
    let json = Request.getDeletedSince(conversation: [0xFF, 0x22], since: [0xC3]).encoded(id: [0x80]
    )
    #expect(failure(json) == nil)
  }
}

/// The protocol page is what servers are written from, so its frames are read too.
@Suite struct PageTests {
  @Test func everyFrameOfThePageIsTaken() throws {
    let place = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../docs/PROTOCOL.md")
    let page = try String(contentsOf: place, encoding: .utf8)
    var frames: [String] = []
    for (index, part) in page.components(separatedBy: "```").enumerated() where index % 2 == 1 {
      guard part.hasPrefix("json\n") else { continue }
      for line in part.dropFirst(5).split(separator: "\n") {
        if line.hasPrefix("{") { frames.append("") }
        frames.append((frames.popLast() ?? "") + line)
      }
    }
    var answers = 0
    var pushes = 0
    for json in frames where !json.contains("<verb>") {
      switch try frame(json).body {
      case .response(let response):
        answers += 1
        if case .malformed = response.outcome { Issue.record("malformed: \(json)") }
      case .push(.messageNew(_, .bad)), .push(.messageEdited(_, .bad)):
        Issue.record("bad message: \(json)")
      case .push:
        pushes += 1
      case .unknown:
        let names = Verb.allCases.map { "\($0.name)" }
        #expect(names.contains { json.hasPrefix(#"{"type":"\#($0)""#) }, "unknown: \(json)")
      }
    }
    #expect(answers == 3 && pushes == 4)
  }
}
