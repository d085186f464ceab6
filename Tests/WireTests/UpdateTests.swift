/// Updates, which the server repeats until they are replied to.
import Base
import Testing
import Wire

/// An envelope of type `update` around an update object.
func envelope(_ update: String) -> String {
  #"{"account":"personal","type":"update","payload":\#(update)}"#
}

func update(_ action: String, _ entity: String, _ items: String) -> String {
  envelope(
    #"{"ref":"r1","silent":false,"action":"\#(action)","payload":{"entity":"\#(entity)","#
      + #""items":[\#(items)]}}"#)
}

func readUpdate(_ json: String) throws -> Update {
  guard case .update(let update) = try frame(json).body else { throw Unexpected(text: json) }
  return update
}

@Suite struct UpdateTests {
  private let c = bytes("c")
  private let m = bytes("m")
  private let u = bytes("u")
  private typealias Expected = (Effect.EntityKind, owner: [UInt8]?, id: [UInt8])
  private let ids = #""conversation_id":"c","message_id":"m""#

  private func effects(_ action: String, _ entity: String, _ items: String) throws -> [Effect] {
    let update = try readUpdate(update(action, entity, items))
    #expect(update.isKnown && update.fault == nil && update.entity == bytes(entity))
    return update.effects
  }

  /// The effects of one item and the item's own range.
  private func one(
    _ action: String, _ entity: String, _ item: String
  ) throws -> (effect: Effect, body: Range<Int>) {
    let effects = try effects(action, entity, item)
    #expect(effects.count == 1)
    let start = WireTests.update(action, entity, "").utf8.count - 4
    return (try #require(effects.first), start..<start + item.utf8.count)
  }

  @Test func anUpdateSaysWhatItIs() throws {
    let object =
      #"{"ref":"a\u0062","silent":true,"action":"new","payload":{"entity":"pin","items":[]}}"#
    let json = envelope(object)
    let update = try readUpdate(json)
    #expect(update.ref == bytes("ab") && update.silent && update.action == .new)
    #expect(text(bytes(json)[update.raw]) == object)
    #expect(update.effects.isEmpty && update.isKnown && update.fault == nil)
    #expect(try frame(json).account == bytes("personal"))
    let bare = try readUpdate(
      #"{"type":"update","payload":{"ref":"1","action":"update","payload":{"entity":"profile","#
        + #""items":[]}}}"#)
    #expect(!bare.silent && bare.action == .update && bare.entity == bytes("profile"))
    #expect(try readUpdate(WireTests.update("delete", "member", "")).action == .delete)
  }

  @Test func messagesComeInTheirOrderEachInItsConversation() throws {
    let items = [
      message("m1", #","conversation_id":"c","seq":7,"prev_id":"m0""#),
      message("m2", #","conversation_id":"d""#), message("m3"), #"{"conversation_id":"c"}"#, "7",
      message("m4", #","conversation_id":"""#),
    ]
    for (action, isNew) in [("new", true), ("update", false)] {
      let effects = try effects(action, "message", items.joined(separator: ","))
      #expect(effects.count == 6)
      guard case .message(c, .message(let first), isNew) = effects[0],
        case .message(bytes("d"), .message(let second), isNew) = effects[1],
        case .bad(let third, .badConversation) = effects[2],
        case .message(c, .bad(_, .noId), isNew) = effects[3],
        case .bad(_, .notAnObject) = effects[4], case .bad(_, .badConversation) = effects[5]
      else { throw Unexpected(text: "\(effects)") }
      #expect(
        first.sequence?.value == 7 && first.previousID == bytes("m0") && second.id == bytes("m2"))
      #expect(third.count == items[2].utf8.count)
    }
    let read = frameMessages(try frame(update("new", "message", items.joined(separator: ","))))
    #expect(read.map { text($0.message.id) } == ["m1", "m2"])
    #expect(read.map { text($0.conversation) } == ["c", "d"])
  }

  @Test func deletedMessagesAreGroupedByConversation() throws {
    let items =
      #"{"conversation_id":"c","message_id":"a"},{"conversation_id":"d","message_id":"b"},"#
      + #"{"conversation_id":"c","message_id":"e","sender_id":"u"},{"conversation_id":"c"},"#
      + #"{"message_id":"f"},null"#
    let effects = try effects("delete", "message", items)
    let reasons = effects.compactMap { effect -> BadItem? in
      guard case .bad(_, let reason) = effect else { return nil }
      return reason
    }
    #expect(reasons == [.noId, .badConversation, .notAnObject])
    #expect(
      Array(effects.dropFirst(3)) == [
        .messagesDeleted(conversation: c, ids: [bytes("a"), bytes("e")]),
        .messagesDeleted(conversation: bytes("d"), ids: [bytes("b")]),
      ])
  }

  @Test func receiptsSayWhichKindsTheyAre() throws {
    func receipts(_ more: String) throws -> [Effect] {
      try effects("new", "receipt", #"{\#(ids),"user_id":"u"\#(more)}"#)
    }
    func receipt(_ kind: Effect.ReceiptKind) -> Effect {
      .receipts(conversation: c, kind: kind, user: u, ids: [m])
    }
    #expect(try receipts("") == [receipt(.read)])
    #expect(try receipts(#","read_at":"t""#) == [receipt(.read)])
    #expect(try receipts(#","read_at":null,"delivered_at":"t""#) == [receipt(.delivered)])
    #expect(try receipts(#","listened_at":"t""#) == [receipt(.listened)])
    #expect(
      try receipts(#","listened_at":"t","delivered_at":"t","read_at":"t""#)
        == [receipt(.delivered), receipt(.listened), receipt(.read)])
    let bad = try effects(
      "update", "receipt", #"{\#(ids)},{"conversation_id":"c","user_id":"u"},[]"#)
    #expect(bad.count == 3)
    guard case .bad(_, .noUser) = bad[0], case .bad(_, .noId) = bad[1],
      case .bad(_, .notAnObject) = bad[2]
    else { throw Unexpected(text: "\(bad)") }
  }

  @Test func manyReceiptsAreOneEffectAUserAndKind() throws {
    let items = (0..<3_000).map {
      #"{"conversation_id":"c","message_id":"m\#($0)","user_id":"u\#($0 % 3)","read_at":"t","#
        + #""delivered_at":"t"}"#
    }
    let effects = try effects("new", "receipt", items.joined(separator: ","))
    #expect(effects.count == 6)
    for effect in effects {
      guard case .receipts(c, _, _, let ids) = effect else { throw Unexpected(text: "\(effect)") }
      #expect(ids.count == 1_000 && Set(ids).count == 1_000)
    }
  }

  @Test func reactionsAreTheWholeSetAlsoWhenDeleted() throws {
    for action in ["new", "update", "delete"] {
      let item = #"{\#(ids),"version":2,"reactions":{"+":["u"]}}"#
      let (effect, body) = try one(action, "reaction", item)
      guard case .reactions(c, m, let range, 2) = effect else { throw Unexpected(text: action) }
      #expect(range == body.upperBound - 12..<body.upperBound - 1)
    }
    guard case .reactions(c, m, let none, nil) = try one("delete", "reaction", "{\(ids)}").effect
    else { throw Unexpected(text: "delete") }
    #expect(none.isEmpty)
    for (action, item) in [
      ("new", "{\(ids)}"), ("delete", #"{\#(ids),"reactions":["+"]}"#),
      ("update", #"{\#(ids),"reactions":null}"#),
    ] {
      let (effect, body) = try one(action, "reaction", item)
      #expect(effect == .bad(body, .noReactions))
    }
    let (effect, body) = try one("new", "reaction", #"{"message_id":"m","reactions":{}}"#)
    #expect(effect == .bad(body, .badConversation))
  }

  @Test func pinsAreOnUnlessTheySayOtherwise() throws {
    for (action, more, isPinned) in [
      ("new", "", true), ("update", #","pinned":false"#, false), ("new", #","pinned":true"#, true),
      ("delete", "", false), ("delete", #","pinned":true"#, false), ("new", #","pinned":1"#, true),
    ] {
      let (effect, _) = try one(action, "pin", "{\(ids)\(more)}")
      #expect(effect == .pin(conversation: c, id: m, isPinned: isPinned))
    }
    let (effect, body) = try one("new", "pin", #"{"conversation_id":"c","message_id":""}"#)
    #expect(effect == .bad(body, .noId))
  }

  @Test func smallEntitiesKeepTheirObject() throws {
    /// `entity` with the range of the item, or the same deleted; nil for a bad one.
    func check(
      _ action: String, _ entity: String, _ item: String, _ expected: Expected?
    ) throws {
      let (effect, body) = try one(action, entity, item)
      if case .bad(body, _) = effect, expected == nil { return }
      let (kind, owner, id) = try #require(expected, "\(effect)")
      #expect(
        effect
          == (action == "delete"
            ? .entityDeleted(kind, conversation: owner, id: id, body: body)
            : .entity(kind, conversation: owner, id: id, body: body, known: nil)))
    }
    for action in ["new", "update", "delete"] {
      try check(
        action, "conversation", #"{"conversation_id":"c","title":"T"}"#,
        (.conversation, c, c))
      try check(
        action, "member", #"{"conversation_id":"c","user_id":"u","role":1}"#,
        (.member, c, u))
      try check(
        action, "profile", #"{"user_id":"u"}"#,
        (.profile, nil, u))
      try check(
        action, "profile", #"{"profile_id":"u","conversation_id":"c"}"#,
        (.profile, nil, u))
      let (typing, body) = try one(
        action, "typing", #"{"conversation_id":"c","user_id":"u","event":"pause"}"#)
      let event: TypingEvent = action == "delete" ? .finished : .pause
      #expect(
        typing == .typing(conversation: c, user: u, event: event, at: nil, body: body))
      for entity in ["conversation", "member", "profile", "typing"] {
        for item in ["7", "null", "[]", "{}", #"{"user_id":7,"conversation_id":{}}"#] {
          try check(action, entity, item, nil)
        }
      }
      try check(action, "member", #"{"conversation_id":"c"}"#, nil)
      try check(action, "member", #"{"user_id":"u"}"#, nil)
    }
  }

  @Test func whatIsUnknownGoesToTheHostAsItCame() throws {
    for object in [
      #"{"ref":"r","action":"new","payload":{"entity":"poll","items":[{"a":1}]}}"#,
      #"{"ref":"r","action":"new","payload":{"entity":"poll"}}"#,
      #"{"ref":"r","action":"vote","payload":{"entity":"message","items":{}}}"#,
      #"{"ref":"r","action":"delete","payload":{"entity":"receipt","items":[]}}"#,
    ] {
      let json = envelope(object)
      let update = try readUpdate(json)
      #expect(!update.isKnown && update.fault == nil)
      #expect(update.effects == [.unknown(name: update.entity, body: update.raw)])
      #expect(text(bytes(json)[update.raw]) == object)
    }
  }

  @Test(arguments: [
    #"{"ref":"r"}"#, #"{"ref":"r","action":"new"}"#, #"{"ref":"r","action":"new","payload":7}"#,
    #"{"ref":"r","action":"new","payload":{}}"#,
    #"{"ref":"r","action":"new","payload":{"entity":"message"}}"#,
    #"{"ref":"r","action":"new","payload":{"entity":"message","items":{}}}"#,
    #"{"ref":"r","action":"new","payload":{"entity":"","items":[]}}"#,
    #"{"ref":"r","action":"new","payload":{"entity":["pin"],"items":[]}}"#,
    #"{"ref":"r","action":null,"payload":{"entity":"pin","items":[]}}"#,
    #"{"ref":"r","action":3,"payload":{"entity":"poll","items":[]}}"#,
  ])
  func aBrokenUpdateKeepsItsRef(_ object: String) throws {
    let json = envelope(object)
    let update = try readUpdate(json)
    #expect(update.ref == bytes("r") && update.fault != nil && !update.isKnown)
    #expect(update.effects.isEmpty)
    #expect(text(bytes(json)[update.raw]) == object)
  }

  @Test(arguments: [
    "7", "null", "[]", "{}", #"{"ref":7}"#, #"{"ref":""}"#, #"{"ref":null}"#, #"{"ref":"\ud800"}"#,
    #"{"ref":["r"],"action":"new","payload":{"entity":"pin","items":[]}}"#,
  ])
  func withoutARefThereIsNothingToReplyTo(_ object: String) throws {
    guard case .unknown = try frame(envelope(object)).body else {
      Issue.record("taken: \(object)")
      return
    }
  }

  @Test func limitsHoldToTheItem() throws {
    func ref(_ count: Int) -> String {
      envelope(
        #"{"ref":"\#(String(repeating: "r", count: count))","action":"new","#
          + #""payload":{"entity":"pin","items":[]}}"#)
    }
    #expect(try readUpdate(ref(Limits.idBytesMax - 1)).ref.count == Limits.idBytesMax - 1)
    #expect(try readUpdate(ref(Limits.idBytesMax)).ref.count == Limits.idBytesMax)
    guard case .unknown = try frame(ref(Limits.idBytesMax + 1)).body else {
      throw Unexpected(text: "too long a ref")
    }
    func full(_ count: Int) throws -> Update {
      try readUpdate(
        update("new", "profile", [String](repeating: "0", count: count).joined(separator: ",")))
    }
    #expect(try full(Limits.pageItemsMax - 1).effects.count == Limits.pageItemsMax - 1)
    #expect(try full(Limits.pageItemsMax).effects.count == Limits.pageItemsMax)
    let over = try full(Limits.pageItemsMax + 1)
    #expect(over.fault != nil && over.effects.isEmpty && over.ref == bytes("r1"))
    #expect(over.skipped?.topics == [])
  }

  /// What an update of too many items was about is told, each conversation once.
  @Test(arguments: [
    ("message", "new", [SkippedList.Topics.messages, .marks]), ("message", "delete", [.deletions]),
    ("receipt", "new", [.marks]), ("reaction", "update", [.marks]), ("pin", "delete", [.marks]),
    ("conversation", "update", [.conversations]), ("typing", "new", []), ("member", "new", []),
  ])
  func whatTooManyItemsWereAbout(
    _ entity: String, _ action: String, _ topics: [SkippedList.Topics]
  ) throws {
    func items(_ rooms: Int, _ count: Int) -> String {
      (0..<count).map { "{\"conversation_id\":\"c\($0 % rooms)\"}" }.joined(separator: ",")
    }
    let most = Limits.listItemsMax
    for (rooms, named) in [(2, 2), (most, most), (most + 1, nil)] {
      let over = try readUpdate(update(action, entity, items(rooms, 2 * most + 1)))
      #expect(over.fault != nil && over.effects.isEmpty)
      let skipped = try #require(over.skipped)
      #expect(skipped.topics == SkippedList.Topics(topics))
      #expect(skipped.conversations?.count == (topics.isEmpty ? 0 : named))
    }
    #expect(try readUpdate(update(action, entity, items(2, most))).skipped == nil)
    #expect(try readUpdate(update(action, entity, "7")).skipped?.conversations ?? [] == [])
  }

  @Test func theLastOfTwoMembersWins() throws {
    let json = envelope(
      #"{"ref":"r1","ref":"r2","silent":true,"silent":false,"action":"delete","action":"new","#
        + #""payload":7,"payload":{"entity":"poll","\u0065ntity":"pin","items":7,"#
        + #""items":[{\#(ids),"message_id":"n","message_id":"m"}]}}"#)
    let update = try readUpdate(json)
    #expect(update.ref == bytes("r2") && !update.silent && update.action == .new)
    #expect(update.effects == [.pin(conversation: c, id: m, isPinned: true)])
  }

  @Test func answersComeBareOrAsReplies() throws {
    let bare =
      #"{"type":"get_deleted_since","request_id":"7","status":"ok","data":{"message_ids":[]}}"#
    for json in [bare, #"{"account":"personal","type":"reply","payload":\#(bare)}"#] {
      let answer = try response(json)
      #expect(answer.verb == .getDeletedSince && answer.requestID == bytes("7"))
      guard case .deleted = answer.outcome else { throw Unexpected(text: json) }
    }
    let wrapped = #"{"type":"reply","payload":{"type":"mark_listened","status":"ok"}}"#
    guard case .done = try response(wrapped).outcome else { throw Unexpected(text: wrapped) }
    let failed = #"{"type":"reply","payload":{"status":"error","error":{"code":"forbidden"}}}"#
    guard case .failed(.forbidden, nil) = try response(failed).outcome else {
      throw Unexpected(text: failed)
    }
    // An envelope is what its type says, whatever else it has.
    let odd = #"{"type":"update","status":"ok","payload":{"ref":"r1"}}"#
    #expect(try readUpdate(odd).ref == bytes("r1"))
    // Not an answer, and not an answer in another kind of envelope.
    for json in [
      #"{"type":"reply","payload":{"ref":"r1"}}"#, #"{"type":"reply","payload":[]}"#,
      #"{"type":"reply"}"#, #"{"type":"command","payload":\#(bare)}"#,
      #"{"type":"update","payload":\#(bare)}"#,
      #"{"type":"reply","payload":{"type":"reply","payload":\#(bare)}}"#,
    ] {
      guard case .unknown = try frame(json).body else {
        Issue.record("taken: \(json)")
        continue
      }
    }
  }
}
