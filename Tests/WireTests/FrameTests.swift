/// Frames: answers, pages with bad items, pushes, and what is left alone.
import Base
import Testing
import Wire

func frame(_ json: String, zone: Int = 0) throws -> Frame {
  try Frame(bytes(json), zoneOffsetMinutes: zone)
}

func response(_ json: String) throws -> Response {
  guard case .response(let response) = try frame(json).body else {
    throw Unexpected(text: json)
  }
  return response
}

func page(_ items: String, _ more: String = "") throws -> Page {
  let json =
    #"{"type":"get_messages","request_id":"r","status":"ok","#
    + #""data":{"messages":[\#(items)]\#(more)}}"#
  guard case .page(let page) = try response(json).outcome else { throw Unexpected(text: json) }
  return page
}

struct Unexpected: Error { let text: String }

extension PageItem {
  var isMessage: Bool {
    if case .message = self { true } else { false }
  }
}

func message(_ id: String, _ more: String = "") -> String {
  #"{"message_id":"\#(id)","sender_id":"u","created_at":"2026-02-15T22:15:45","#
    + #""payload":"p"\#(more)}"#
}

@Suite struct FrameTests {
  private func only(_ json: String) throws -> WireMessage {
    guard case .message(let message) = try page(json).items.first else {
      throw Unexpected(text: json)
    }
    return message
  }

  private func reason(_ json: String) throws -> BadItem? {
    guard case .bad(_, let reason) = try page(json).items.first else { return nil }
    return reason
  }

  private func isMalformed(_ json: String) throws -> Bool {
    guard case .malformed = try response(json).outcome else { return false }
    return true
  }

  @Test func aMessageIsReadWhole() throws {
    let json = #"""
      {"\u006dessage_id":"m\u002d1","conversation_id":"c","sender_id":"u","seq":7 ,
       "created_at":"2026-02-15T22:15:45.5+01:00","payload": {"a" : [1, 2]} ,
       "metadata" : {"k": "v"},"version":3,"edited_at":"2026-02-15T22:16:00Z",
       "reply_to":"m-0","reactions":{"👍":["u"]},
       "pinned":true,"deleted":false,"kind":"event","moderated":true,"client_id":"x",
       "read_by":[{"user_id":"a","at":1},"b",{},3],"delivered_by":["a",{"user_id":"c"}],
       "prev_id":"m-\u0030","listened_by":[],"attachment":null}
      """#
    let message = try only(json)
    let source = try frame(
      #"{"type":"get_messages","status":"ok","data":{"messages":[\#(json)]}}"#
    ).bytes
    guard case .response(let answer) = try Frame(source, zoneOffsetMinutes: 0).body,
      case .page(let page) = answer.outcome, case .message(let again) = page.items.first
    else { throw Unexpected(text: json) }
    #expect(text(source[again.payload]) == #"{"a" : [1, 2]}"#)
    #expect(text(source[again.object]) == json)
    #expect(again.reactions.map { text(source[$0]) } == #"{"👍":["u"]}"#)
    #expect(message.id == bytes("m-1") && message.conversation == bytes("c"))
    #expect(message.sender == bytes("u") && message.clientID == bytes("x"))
    #expect(message.stamp.timeUs == 1_771_190_145_500_000)
    #expect(message.version == 3 && message.editedUs == 1_771_193_760_000_000 && message.edited)
    #expect(message.replyTo == bytes("m-0"))
    #expect(message.pinned && !message.deleted && message.isEvent && message.moderated)
    #expect(message.readBy == [bytes("a"), bytes("b")])
    #expect(message.deliveredBy == [bytes("a"), bytes("c")] && message.listenedBy == [])
    #expect(message.sequence?.value == 7 && message.previousID == bytes("m-0"))
    #expect(
      text(message.rest)
        == #"{"seq":7,"metadata" : {"k": "v"},"version":3,"#
        + #""read_by":[{"user_id":"a","at":1},"b",{},3],"prev_id":"m-\u0030","attachment":null}"#)
  }

  @Test func whatIsMissingIsNil() throws {
    let message = try only(message("m"))
    #expect(message.conversation == nil && message.version == nil && message.editedUs == nil)
    #expect(!message.edited && message.replyTo == nil && message.reactions == nil)
    #expect(!message.pinned && !message.deleted && !message.isEvent && !message.moderated)
    #expect(message.readBy == nil && message.clientID == nil && message.rest == [])
    #expect(message.deliveredBy == nil && message.listenedBy == nil)
    #expect(message.sequence == nil && message.previousID == nil)
    let nulls = try only(
      WireTests.message(
        "m",
        #","reply_to":null,"read_by":null,"conversation_id":null,"edited_at":null,"version":null"#))
    #expect(nulls.replyTo == nil && nulls.readBy == nil && nulls.conversation == nil)
    #expect(!nulls.edited && nulls.rest == [])
  }

  /// A known member with a value that has no meaning here is not lost.
  @Test func unusableMembersStayWithTheRest() throws {
    let more =
      #","version":"v2","reply_to":{"id":1},"kind":"poll","#
      + #""edited_at":"noon","pinned":1,"reactions":[],"seq":-1,"prev_id":7"#
    let message = try only(message("m", more))
    #expect(text(message.rest) == "{" + more.dropFirst() + "}")
    #expect(message.edited && message.editedUs == nil && message.replyTo == nil)
    #expect(message.sequence == nil && message.previousID == nil)
  }

  @Test(arguments: [
    ("0", 0), ("4611686018427387903", 1 << 62 - 1), ("4611686018427387904", nil),
    ("9223372036854775807", nil), ("7.0", nil), ("1e3", nil),
    ("1.2345678901235e+15", nil), ("7.5", nil), ("-1", nil),
    ("9223372036854775808", nil), (#""7""#, nil), ("null", nil), ("[7]", nil),
  ])
  func aNumberIsWholeAndNotNegative(_ json: String, _ expected: Int64?) throws {
    #expect(try only(message("m", #","seq":\#(json)"#)).sequence?.value == expected)
  }

  @Test func theLastOfTwoMembersWins() throws {
    let message = try only(message("m", #","message_id":"n","version":1,"version":2,"a":1,"a":2"#))
    #expect(message.id == bytes("n") && message.version == 2)
    #expect(text(message.rest) == #"{"version":2,"a":1,"a":2}"#)
  }

  /// A name is its whole text: one that only begins alike is the host's.
  @Test func aLongerNameIsAnother() throws {
    let more = #","message_id\u0000":"n","pinned\u0000":true,"message_i":1,"message_ids":2"#
    let message = try only(message("m", more))
    #expect(message.id == bytes("m") && !message.pinned)
    #expect(text(message.rest) == "{" + more.dropFirst() + "}")
  }

  @Test(arguments: [
    ("1", BadItem.notAnObject), ("null", .notAnObject), ("[]", .notAnObject), ("{}", .noId),
    (#"{"message_id":7,"sender_id":"u","created_at":"2026-02-15T22:15:45","payload":1}"#, .noId),
    (#"{"message_id":"","sender_id":"u","created_at":"2026-02-15T22:15:45","payload":1}"#, .noId),
    (
      #"{"message_id":"\ud800","sender_id":"u","created_at":"2026-02-15T22:15:45","payload":1}"#,
      .badId(.message)
    ),
    (#"{"message_id":"m","created_at":"2026-02-15T22:15:45","payload":1}"#, .noSender),
    (
      #"{"message_id":"m","sender_id":null,"created_at":"2026-02-15T22:15:45","payload":1}"#,
      .noSender
    ),
    (#"{"message_id":"m","sender_id":"u","payload":1}"#, .noTime),
    (#"{"message_id":"m","sender_id":"u","created_at":null,"payload":1}"#, .noTime),
    (#"{"message_id":"m","sender_id":"u","created_at":1771193745,"payload":1}"#, .badTime),
    (
      #"{"message_id":"m","sender_id":"u","created_at":"2026-02-30T22:15:45","payload":1}"#,
      .badTime
    ),
    (#"{"message_id":"m","sender_id":"u","created_at":"2026-02-15T22:15:45"}"#, .noPayload),
    (message("m", #","conversation_id":3"#), .badConversation),
  ])
  func badItemsSayWhy(_ json: String, _ expected: BadItem) throws {
    #expect(try reason(json) == expected)
  }

  @Test func aPayloadMayBeNull() throws {
    let json =
      #"{"message_id":"m","sender_id":"u","created_at":"2026-02-15T22:15:45","payload":null}"#
    #expect(try only(json).payload.count == 4)
  }

  @Test func onePoisonItemOfFiveKeepsFour() throws {
    for place in 0..<5 {
      var items = (0..<5).map { message("m\($0)") }
      items[place] = #"{"message_id":["deep",{}],"x":"\ud800"}"#
      let page = try page(items.joined(separator: " , "))
      let kept = page.items.compactMap { item -> String? in
        guard case .message(let message) = item else { return nil }
        return text(message.id)
      }
      #expect(kept == (0..<5).filter { $0 != place }.map { "m\($0)" })
      guard case .bad(let range, .noId) = page.items[place] else {
        Issue.record("the bad item is not in its place")
        return
      }
      #expect(range.count == items[place].utf8.count)
    }
  }

  @Test func limitsHoldToTheByte() throws {
    func id(_ count: Int) -> String { String(repeating: "i", count: count) }
    let most = Limits.idBytesMax
    #expect(try only(message(id(most - 1))).id.count == most - 1)
    #expect(try only(message(id(most))).id.count == most)
    #expect(try reason(message(id(most + 1))) == .idTooLong(.message))
    // The limit is on the text, not on how it is escaped.
    #expect(try only(message(String(repeating: #"\u0069"#, count: most))).id.count == most)

    let bare = message("m", #","x":"""#).utf8.count
    func large(_ count: Int) -> String {
      message("m", #","x":"\#(String(repeating: "x", count: count - bare))""#)
    }
    #expect(try reason(large(Limits.messageBytesMax - 1)) == nil)
    #expect(try reason(large(Limits.messageBytesMax)) == nil)
    #expect(try reason(large(Limits.messageBytesMax + 1)) == .tooLarge)

    func full(_ count: Int) -> String {
      #"{"type":"get_messages","status":"ok","data":{"messages":["#
        + [String](repeating: "0", count: count).joined(separator: ",") + "]}}"
    }
    #expect(try !isMalformed(full(Limits.pageItemsMax - 1)))
    #expect(try !isMalformed(full(Limits.pageItemsMax)))
    #expect(try isMalformed(full(Limits.pageItemsMax + 1)))
  }

  @Test func pagesCarryWhatTheServerAdds() throws {
    let full = try page(
      message("m"),
      #","total_count":123,"server_time":"2026-02-15T22:15:46","has_more":true,"epoch":"e1""#)
    #expect(full.totalCount == 123 && full.hasMore == true && full.epoch == bytes("e1"))
    #expect(full.serverTime?.timeUs == 1_771_193_746_000_000)
    let odd = try page("", #","total_count":-1,"server_time":"soon","has_more":1,"epoch":null"#)
    #expect(
      odd.totalCount == nil && odd.serverTime == nil && odd.hasMore == nil && odd.epoch == nil)
    let most = Limits.countMax
    #expect(try page("", #","total_count":\#(most - 1)"#).totalCount == most - 1)
    #expect(try page("", #","total_count":\#(most)"#).totalCount == most)
    #expect(try page("", #","total_count":\#(most + 1)"#).totalCount == nil)
    #expect(try page("", #","total_count":9007199254740991"#).totalCount == nil)
    #expect(try page("", #","total_count":9223372036854775807"#).totalCount == nil)
    #expect(try page("", #","total_count":1e300"#).totalCount == nil)
    #expect(try page("").items.isEmpty)
    #expect(full.hasMoreBefore == nil && full.hasMoreAfter == nil)
    let around = try page("", #","has_more_before":true,"has_more_after":false"#)
    #expect(around.hasMoreBefore == true && around.hasMoreAfter == false && around.hasMore == nil)
    let unsaid = try page("", #","has_more_before":1,"has_more_after":null"#)
    #expect(unsaid.hasMoreBefore == nil && unsaid.hasMoreAfter == nil)
  }

  @Test func changesAreMessagesAndWhereToGoOn() throws {
    func changed(_ data: String) throws -> ChangedPage? {
      let json = #"{"type":"get_changed_since","status":"ok","data":\#(data)}"#
      guard case .changed(let page) = try response(json).outcome else { return nil }
      #expect(frameMessages(try frame(json)).count == page.items.count { $0.isMessage })
      return page
    }
    let page = try #require(
      try changed(
        #"{"messages":[\#(message("m")),7],"next_since":"t2","has_more":true,"#
          + #""server_time":"2026-02-15T22:15:46"}"#))
    #expect(page.items.map(\.isMessage) == [true, false])
    #expect(page.nextSince == bytes("t2") && page.hasMore)
    #expect(page.serverTime?.timeUs == 1_771_193_746_000_000)
    let bare = try #require(try changed(#"{"messages":[],"next_since":7,"has_more":"yes"}"#))
    #expect(bare.items.isEmpty && bare.nextSince == nil && !bare.hasMore && bare.serverTime == nil)
    for data in ["null", "[]", "{}", #"{"messages":{}}"#, #"{"message_ids":[]}"#] {
      #expect(try changed(data) == nil)
    }
  }

  @Test func theMessagesOfAFrameComeInTheirOrder() throws {
    let items = message("a") + ",7," + message("b", #","conversation_id":"c""#)
    let page = #"{"type":"get_messages","status":"ok","data":{"messages":[\#(items)]}}"#
    let wrapped = #"{"type":"reply","payload":\#(page)}"#
    for json in [page, wrapped] {
      let found = frameMessages(try frame(json))
      #expect(found.map { text($0.message.id) } == ["a", "b"])
      #expect(found.map { text($0.conversation) } == ["", ""])
    }
    let push = #"{"type":"message_new","conversation_id":"d","message":\#(message("a"))}"#
    #expect(frameMessages(try frame(push)).map { text($0.conversation) } == ["d"])
    for json in [
      #"{"type":"message_new","conversation_id":"d","message":{}}"#, "{}",
      #"{"type":"mark_read","status":"ok"}"#,
    ] {
      #expect(frameMessages(try frame(json)).isEmpty)
    }
  }

  @Test func answersAreMatchedByTheirTextualId() throws {
    let answer = try response(
      #"{"type":"mark_read","request_id":"r\u002d1","status":"ok","data":{}}"#)
    #expect(answer.verb == .markRead && answer.requestID == bytes("r-1"))
    guard case .done = answer.outcome else { throw Unexpected(text: "not done") }
    let listened = try response(#"{"type":"mark_listened","request_id":"r","status":"ok"}"#)
    #expect(listened.verb == .markListened)
    guard case .done = listened.outcome else { throw Unexpected(text: "not done") }
    let bare = try response(
      #"{"type":"get_deleted_since","status":"ok","data":{"message_ids":[]}}"#)
    #expect(bare.verb == .getDeletedSince && bare.requestID == nil)
    #expect(try response(#"{"type":"surprise","request_id":4,"status":"ok"}"#).verb == nil)
    #expect(try response(#"{"type":"mark_read","request_id":4,"status":"ok"}"#).requestID == nil)
  }

  @Test(arguments: [
    #"{"type":"get_messages","status":"ok"}"#, #"{"type":"get_messages","status":"ok","data":[]}"#,
    #"{"type":"get_messages","status":"ok","data":{"messages":{}}}"#,
    #"{"type":"get_messages","status":"ok","data":{"message_ids":[]}}"#,
    #"{"type":"get_deleted_since","status":"ok","data":{"messages":[]}}"#,
    #"{"type":"get_deleted_since","status":"ok","data":{"message_ids":"m"}}"#,
    #"{"type":"get_messages","status":"OK","data":{"messages":[]}}"#,
    #"{"type":"get_messages","status":1,"data":{"messages":[]}}"#, #"{"status":"ok","data":{}}"#,
    #"{"type":"surprise","status":"ok","data":{}}"#,
    #"{"type":"get_changed_since","status":"ok","data":{"messages":7}}"#,
    #"{"type":"reply","payload":{"type":"get_messages","status":"ok"}}"#,
    #"{"type":"reply","payload":{"type":"get_messages","status":"maybe"}}"#,
  ])
  func answersOfTheWrongShapeAreMalformed(_ json: String) throws {
    #expect(try isMalformed(json))
  }

  @Test func deletionsDropWhatIsNoId() throws {
    let json =
      #"{"type":"get_deleted_since","status":"ok","data":{"message_ids":["a",1,"","b\u0063",null],"#
      + #""has_more":true,"next_since":"2026-02-15T22:15:45","server_time":"2026-02-15T22:15:46"}}"#
    guard case .deleted(let page) = try response(json).outcome else { throw Unexpected(text: json) }
    #expect(page.ids == [bytes("a"), bytes("bc")] && page.badCount == 3)
    #expect(page.hasMore && page.nextSince == bytes("2026-02-15T22:15:45"))
    #expect(page.serverTime?.timeUs == 1_771_193_746_000_000)
  }

  @Test(
    arguments: [
      (#"{"code":"not_found"}"#, ServerError.notFound, nil),
      (#"{"code":"forbidden"}"#, .forbidden, nil),
      (#"{"code":"invalid","message":"no"}"#, .invalid, nil),
      (#"{"code":"too_large"}"#, .tooLarge, nil),
      (#"{"code":"conflict"}"#, .conflict, nil), (#"{"code":"exists"}"#, .exists, nil),
      (#"{"code":"unknown_cursor"}"#, .unknownCursor, nil),
      (#"{"code":"unavailable"}"#, .unavailable, nil),
      (#"{"code":"rate_limited","retry_after_ms":1500}"#, .rateLimited, 1500),
      (#"{"code":"unsupported","retry_after_ms":0}"#, .unsupported, 0),
      (#"{"code":"unavailable","retry_after_ms":86399999}"#, .unavailable, 86_399_999),
      (#"{"code":"unavailable","retry_after_ms":86400000}"#, .unavailable, 86_400_000),
      (#"{"code":"unavailable","retry_after_ms":86400001}"#, .unavailable, 86_400_000),
      (#"{"code":"unavailable","retry_after_ms":9223372036854775807}"#, .unavailable, 86_400_000),
      (#"{"code":"unavailable","retry_after_ms":9223372036854775808}"#, .unavailable, nil),
      (#"{"code":"teapot","retry_after_ms":-1}"#, .other, nil), (#"{"code":7}"#, .other, nil),
      ("null", .other, nil), ("\"no\"", .other, nil),
    ] as [(String, ServerError, Int64?)])
  func refusalsAreNamed(_ error: String, _ expected: ServerError, _ retry: Int64?) throws {
    let json = #"{"type":"get_messages","request_id":"r","status":"error","error":\#(error)}"#
    guard case .failed(let code, let retryAfterMs) = try response(json).outcome else {
      throw Unexpected(text: json)
    }
    #expect(code == expected && retryAfterMs == retry)
  }

  @Test func framesThatAreNoObjectAreRefused() {
    for json in ["[]", "1", "\"{}\"", "null", "true"] {
      #expect(throws: WireFailure.notAFrame) { try frame(json) }
      #expect(throws: WireFailure.notAFrame) { try frameAccount(of: bytes(json)) }
    }
  }

  @Test func accountsAreFoundRaw() throws {
    func account(_ json: String) throws -> String? {
      try frameAccount(of: bytes(json)).map { text(bytes(json)[$0]) }
    }
    #expect(try account(#"{"account":"personal","type":"x"}"#) == "personal")
    #expect(try account(#"{"account":"a\u0062"}"#) == #"a\u0062"#)
    #expect(try account(#"{"a":{"account":"x"}}"#) == nil)
    #expect(try account(#"{"account":""}"#) == nil)
    #expect(try account(#"{"account":7}"#) == nil)
    #expect(try frame(#"{"account":"a\u0062"}"#).account == bytes("ab"))
    #expect(try frame("{}").account == nil)
    for none in ["{}", #"{"account":null}"#, #"{"account":"p"}"#] {
      #expect(try !frame(none).isForNobody)
    }
    for value in ["5", "true", "[]", #"["personal"]"#, "{}"] {
      #expect(try frame(#"{"account":\#(value)}"#).isForNobody)
    }
    #expect(throws: WireFailure.syntax) { try account("{") }
  }
}
