/// What the library asks and says: one line each, the same bytes each time.
import Base
import Testing
import Wire

@Suite struct RequestTests {
  private func line(_ request: Request, _ id: String = "r1") -> String {
    text(request.encoded(id: bytes(id)))
  }

  @Test func requestsAreOneLineInAFixedOrder() {
    let first = Request.getMessages(
      conversation: bytes("c"), limit: 50, place: .offset(0, after: nil))
    #expect(
      line(first)
        == #"{"type":"get_messages","request_id":"r1","conversation_id":"c","limit":50,"offset":0}"#
    )
    let next = Request.getMessages(
      conversation: bytes("c"), limit: 50,
      place: .offset(7, after: bytes("2026-02-15T22:15:45")))
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
    let listened = Request.markListened(conversation: bytes("c"), ids: [bytes("a")])
    #expect(
      line(listened)
        == #"{"type":"mark_listened","request_id":"r1","conversation_id":"c","message_ids":["a"]}"#)
    let changed = Request.getChangedSince(conversation: bytes("c"), since: bytes("t\""))
    #expect(
      line(changed)
        == #"{"type":"get_changed_since","request_id":"r1","conversation_id":"c","since":"t\""}"#)
  }

  @Test(
    arguments: [
      (
        .before(stamp: bytes("t"), id: nil, offset: 0), #""limit":9,"offset":0,"before_ts":"t"}"#
      ),
      (
        .before(stamp: bytes("t"), id: bytes("m\""), offset: 3),
        #""limit":9,"offset":3,"before_ts":"t","before_id":"m\""}"#
      ),
      (.aroundID(bytes("m")), #""limit":9,"around_id":"m"}"#),
      (.aroundTime(bytes("t")), #""limit":9,"around_ts":"t"}"#),
    ] as [(Request.Place, String)])
  func aPlaceIsNamedInOneWay(_ place: Request.Place, _ end: String) {
    let request = Request.getMessages(conversation: bytes("c"), limit: 9, place: place)
    #expect(request.verb == .getMessages)
    #expect(
      line(request)
        == #"{"type":"get_messages","request_id":"r1","conversation_id":"c","# + end)
  }

  @Test func everyVerbHasItsNameAndAnswers() throws {
    let ids = [bytes("a")]
    let first: [Request] = [
      .getMessages(conversation: bytes("c"), limit: 1, place: .aroundID(bytes("m"))),
      .getDeletedSince(conversation: bytes("c"), since: bytes("t")),
      .getChangedSince(conversation: bytes("c"), since: bytes("t")),
      .markRead(conversation: bytes("c"), ids: ids),
      .markDelivered(conversation: bytes("c"), ids: ids),
      .markListened(conversation: bytes("c"), ids: ids),
    ]
    let others = Verb.allCases.dropFirst(6).map { Request.operation(OperationRequest(verb: $0)) }
    let requests = first + others
    #expect(requests.map(\.verb) == Verb.allCases)
    for request in requests {
      #expect(line(request).hasPrefix(#"{"type":"\#(request.verb.name)","#))
      let answer = try response(#"{"type":"\#(request.verb.name)","status":"error"}"#)
      #expect(answer.verb == request.verb)
    }
  }

  @Test func commandsAndRepliesTravelInEnvelopes() {
    let read = Request.markRead(conversation: bytes("c"), ids: [bytes("a")])
    #expect(
      text(read.encoded(id: bytes("r1"), account: bytes("person\"al")))
        == #"{"account":"person\"al","type":"command","payload":"# + line(read) + "}")
    #expect(read.encoded(id: bytes("r1"), account: nil) == bytes(line(read)))
    #expect(
      text(encodedReply(ref: bytes("7\n\""), account: bytes("personal")))
        == #"{"account":"personal","type":"reply","payload":{"ref":"7\u000a\""}}"#)
    #expect(
      text(encodedReply(ref: bytes("7"), account: nil))
        == #"{"type":"reply","payload":{"ref":"7"}}"#)
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
      let reply = try Document(encodedReply(ref: bytes(id), account: bytes(id)))
      #expect(!reply.bytes.contains(0x0A) && !reply.bytes.contains(0x0D))
      let payload = try #require(reply.member(bytes("payload"), of: reply.root))
      let ref = try #require(reply.member(bytes("ref"), of: payload))
      #expect(reply.string(ref) == bytes(id))
      let ids = try #require(document.member(bytes("message_ids"), of: document.root))
      #expect(document.firstChild(of: ids).flatMap { document.string($0) } == bytes(id))
    }
    // Bytes that are no text cannot make a frame that is none.
    let json = Request.getDeletedSince(conversation: [0xFF, 0x22], since: [0xC3]).encoded(id: [0x80]
    )
    #expect(failure(json) == nil)
  }
}
