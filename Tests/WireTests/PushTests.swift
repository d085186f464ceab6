/// Frames that the server sends unasked and without wanting a reply.
import Base
import Testing
import Wire

/// The effects of a push, nil where it is none.
func pushed(_ json: String) throws -> [Effect]? {
  guard case .push(let push) = try frame(json).body else { return nil }
  return push.effects
}

@Suite struct PushTests {
  /// The only effect of a push.
  private func only(_ json: String) throws -> Effect {
    let effects = try #require(try pushed(json), "no push: \(json)")
    #expect(effects.count == 1)
    return try #require(effects.first)
  }

  private func new(
    _ json: String
  ) throws -> (conversation: String, item: PageItem, isNew: Bool) {
    guard case .message(let conversation, let item, let isNew) = try only(json) else {
      throw Unexpected(text: json)
    }
    return (text(conversation), item, isNew)
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
    #expect(both.isNew && !outer.isNew && inner.isNew)
    for found in [both, outer, inner] {
      #expect(found.conversation == "c")
      guard case .message(let message) = found.item else { throw Unexpected(text: "no message") }
      #expect(message.id == bytes("m"))
    }
    let other = try new(
      #"{"type":"message_new","conversation_id":"d","message":\#(named)}"#
    )
    guard case .bad(_, .wrongConversation) = other.item else { throw Unexpected(text: "taken") }
    #expect(other.conversation == "d")
    let bad = try new(#"{"type":"message_new","conversation_id":"c","message":{"message_id":"m"}}"#)
    guard case .bad(_, .noSender) = bad.item else { throw Unexpected(text: "taken") }
  }

  @Test func deletionsAndReceiptsNameTheirIds() throws {
    #expect(
      try only(#"{"type":"message_deleted","conversation_id":"c","message_ids":["a",3,"b"]}"#)
        == .messagesDeleted(conversation: bytes("c"), ids: [bytes("a"), bytes("b")]))
    let kinds: [(String, Effect.ReceiptKind)] = [
      ("read", .read), ("delivered", .delivered), ("listened", .listened),
    ]
    for (name, kind) in kinds {
      let json =
        #"{"type":"messages_\#(name)","conversation_id":"c","user_id":"u","message_ids":["a"]}"#
      #expect(
        try only(json)
          == .receipts(conversation: bytes("c"), kind: kind, user: bytes("u"), ids: [bytes("a")]))
    }
  }

  @Test func reactionsAreAWholeSet() throws {
    let json =
      #"{"type":"message_reacted","conversation_id":"c","message_id":"m","#
      + #""reactions": {"👍":["u"]} ,"version":4}"#
    guard case .reactions(let conversation, let id, let range, let version) = try only(json)
    else { throw Unexpected(text: json) }
    #expect(conversation == bytes("c") && id == bytes("m") && version == 4)
    #expect(text(bytes(json)[range]) == #"{"👍":["u"]}"#)
    let none =
      #"{"type":"message_reacted","conversation_id":"c","message_id":"m","reactions":{}}"#
    guard case .reactions(_, _, let empty, nil) = try only(none) else {
      throw Unexpected(text: none)
    }
    #expect(text(bytes(none)[empty]) == "{}")
  }

  /// One user's reaction where the whole set is not told; the set goes before it.
  @Test func oneUsersReaction() throws {
    let head = #"{"type":"message_reacted","conversation_id":"c","message_id":"m","#
    let one = UserReaction(user: bytes("u"), reaction: bytes("👍"), isAdded: true, version: nil)
    #expect(
      try only(head + #""user_id":"u","reaction":"👍"}"#)
        == .reacted(conversation: bytes("c"), id: bytes("m"), change: one))
    let back = UserReaction(user: bytes("u"), reaction: bytes("x"), isAdded: false, version: 7)
    #expect(
      try only(head + #""user_id":"u","reaction":"x","added":false,"version":7}"#)
        == .reacted(conversation: bytes("c"), id: bytes("m"), change: back))
    let whole = head + #""user_id":"u","reaction":"x","reactions":{"x":["u"]}}"#
    guard case .reactions = try only(whole) else { throw Unexpected(text: whole) }
    for bad in [#""reaction":"x"}"#, #""user_id":"u"}"#, #""user_id":"u","reaction":""}"#] {
      #expect(try pushed(head + bad) == nil, "\(bad)")
    }
  }

  @Test func pinsSayWhichWay() throws {
    for (name, isPinned) in [("pinned", true), ("unpinned", false)] {
      #expect(
        try only(#"{"type":"message_\#(name)","conversation_id":"c","message_id":"m"}"#)
          == .pin(conversation: bytes("c"), id: bytes("m"), isPinned: isPinned))
    }
  }

  @Test(
    arguments: [
      (#""event":"begin","at":"x""#, .begin, nil),
      (#""event":"pause","at":"2026-02-15T22:19:00.5""#, .pause, 1_771_193_940_500_000),
      (#""event":"finished","at":"2026-02-15T23:19:00+01:00""#, .finished, 1_771_193_940_000_000),
      (#""event":"singing","at":7"#, .other, nil),
      (#""event":["begin"]"#, .other, nil),
      // What says nothing of it has begun.
      (#""event":null"#, .begin, nil),
      (#""x":1"#, .begin, nil),
    ] as [(String, TypingEvent, Int64?)])
  func typingComesWhole(_ members: String, _ event: TypingEvent, _ atUs: Int64?) throws {
    let json = #" {"type":"typing","conversation_id":"c","user_id":"u",\#(members)}"#
    guard case .typing(let conversation, let user, event, let at, let body) = try only(json)
    else { throw Unexpected(text: json) }
    #expect(conversation == bytes("c") && user == bytes("u"))
    #expect(at?.timeUs == atUs)
    #expect(text(bytes(json)[body]) == json.dropFirst())
  }

  @Test func conversationsComeAsObjectOrAsFrame() throws {
    let id = bytes("c")
    for (json, expected) in [
      (
        #"{"type":"conversation_updated","conversation":{"conversation_id":"c","title":"T"}}"#,
        #"{"conversation_id":"c","title":"T"}"#
      ),
      (
        #"{"type":"conversation_updated","conversation_id":"c","conversation":{"title":"T"}}"#,
        #"{"title":"T"}"#
      ),
      (
        #"{"type":"conversation_updated","conversation_id":"c","title":"T"}"#,
        #"{"type":"conversation_updated","conversation_id":"c","title":"T"}"#
      ),
    ] {
      guard case .entity(.conversation, id, id, let body, let known?) = try only(json) else {
        throw Unexpected(text: json)
      }
      #expect(text(bytes(json)[body]) == expected)
      #expect(known.body == body && known.id == id)
    }
    let gone = #"{"type":"conversation_deleted","conversation_id":"c"}"#
    guard case .entityDeleted(.conversation, id, id, let body) = try only(gone) else {
      throw Unexpected(text: gone)
    }
    #expect(text(bytes(gone)[body]) == gone)
  }

  @Test func aPushSaysItsName() throws {
    let json = #"{"type":"message_pinn\u0065d","conversation_id":"c","message_id":"m"}"#
    guard case .push(let push) = try frame(json).body else { throw Unexpected(text: json) }
    #expect(push.name == bytes("message_pinned"))
  }

  @Test(arguments: [
    "{}", #"{"type":"message_new"}"#, #"{"type":"message_new","conversation_id":"c"}"#,
    #"{"type":"message_new","conversation_id":7,"message":{}}"#,
    #"{"type":"message_new","message":\#(message("m"))}"#,
    #"{"type":"message_deleted","conversation_id":"c","message_ids":"a"}"#,
    #"{"type":"message_deleted","message_ids":["a"]}"#,
    #"{"type":"messages_read","conversation_id":"c","message_ids":["a"]}"#,
    #"{"type":"messages_read","user_id":"u","message_ids":["a"]}"#, #"{"type":"typing"}"#,
    #"{"type":"messages_listened","conversation_id":"c","user_id":"","message_ids":["a"]}"#,
    #"{"type":"messages_delivered","conversation_id":"c","user_id":"u"}"#,
    #"{"type":"message_reacted","conversation_id":"c","message_id":"m"}"#,
    #"{"type":"message_reacted","conversation_id":"c","message_id":"m","reactions":null}"#,
    #"{"type":"message_reacted","conversation_id":"c","message_id":"m","reactions":[]}"#,
    #"{"type":"message_reacted","conversation_id":"c","reactions":{}}"#,
    #"{"type":"message_pinned","message_id":"m"}"#,
    #"{"type":"message_pinned","conversation_id":"c","message_id":"\ud800"}"#,
    #"{"type":"message_unpinned","conversation_id":"c","message_id":7}"#,
    #"{"type":"typing","conversation_id":"c"}"#, #"{"type":"typing","user_id":"u"}"#,
    #"{"type":"conversation_updated"}"#, #"{"type":"conversation_updated","conversation":{}}"#,
    #"{"type":"conversation_deleted","conversation_id":"c","conversation":"c"}"#,
    #"{"type":"conversation_updated","conversation_id":"c","conversation":{"conversation_id":7}}"#,
    #"{"type":"conversation_updated","conversation_id":"","conversation":{"conversation_id":"d"}}"#,
    #"{"type":"get_messages","data":{"messages":[]}}"#, #"{"type":7}"#, #"{"type":null}"#,
    #"{"type":"command","payload":{"type":"conversation_deleted","conversation_id":"c"}}"#,
    #"{"type":"member","user_id":"u","conversation_id":"c"}"#,
  ])
  func whatHasNoMeaningIsUnknown(_ json: String) throws {
    guard case .unknown = try frame(json).body else {
      Issue.record("taken: \(json)")
      return
    }
  }
}
