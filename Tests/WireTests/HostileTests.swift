/// Frames that were cut or changed on the way: an error or a sound value, never a trap.
import Base
import Testing
import Wire

@Suite struct HostileTests {
  private static let samples: [[UInt8]] = [
    bytes(
      #"{"type":"get_messages","request_id":"r","status":"ok","data":{"messages":["#
        + message("m1", #","read_by":[{"user_id":"a"}],"reactions":{"👍":["u"]},"version":12"#) + ","
        + message(
          "m\\u0032",
          #","kind":"event","metadata":{"k":[1.5,-2e3,"é\ud83d\ude00"]},"#
            + #""edited_at":"2026-02-15T22:15:45.123Z""#
        )
        + #"],"total_count":123,"server_time":"2026-02-15 22:15:46+01:00","has_more":false}}"#),
    bytes(
      #"{"type":"get_deleted_since","status":"ok","#
        + #""data":{"message_ids":["a","b\\"],"next_since":"x"}}"#
    ),
    bytes(
      #"{"type":"get_messages","status":"error","#
        + #""error":{"code":"rate_limited","retry_after_ms":1e3}}"#
    ),
    bytes(
      #"{"type":"message_new","conversation_id":"c","#
        + #""message":\#(message("m", #","reply_to":"q""#))}"#
    ),
    bytes(
      #"{"account":"p","type":"messages_read","conversation_id":"c","#
        + #""user_id":"u","message_ids":["a"]}"#
    ),
    bytes(
      update(
        "new", "message",
        message("m1", #","conversation_id":"c","seq":7,"prev_id":"m\\u0030","delivered_by":["a"]"#)
          + ",7," + message("m2", #","conversation_id":"d","listened_by":[{"user_id":"a"}]"#))),
    bytes(
      update(
        "update", "reaction",
        #"{"conversation_id":"c","message_id":"m","reactions":{"👍":["u"]},"version":2},{}"#)),
    bytes(
      update(
        "delete", "receipt",
        #"{"conversation_id":"c","message_id":"m","user_id":"u","read_at":"t"}"#)),
    bytes(
      update(
        "new", "receipt",
        #"{"conversation_id":"c","message_id":"m","user_id":"u","listened_at":"t"}"#)),
    bytes(update("delete", "profile", #"{"user_id":"u"},{"profile_id":"\\ud83d\\ude00"}"#)),
    bytes(
      #"{"account":"p","type":"reply","payload":{"type":"get_changed_since","status":"ok","#
        + #""data":{"messages":[\#(message("m"))],"next_since":"x","has_more":true}}}"#),
    bytes(
      #"{"type":"conversation_updated","conversation":{"conversation_id":"c","title":"T"}}"#),
  ]

  @Test func aCutFrameIsNeverTaken() {
    for sample in HostileTests.samples {
      #expect((try? Frame(sample, zoneOffsetMinutes: 0)) != nil)
      for length in 0..<sample.count {
        let cut = Array(sample[..<length])
        #expect(throws: WireFailure.self) { try Frame(cut, zoneOffsetMinutes: 0) }
        #expect(throws: WireFailure.self) { try frameAccount(of: cut) }
        #expect(!hasControlMember(cut))
      }
    }
  }

  @Test func aChangedFrameIsAnErrorOrSound() throws {
    var random = Random(seed: 1)
    var taken = 0
    var messages = 0
    var effects = 0
    for _ in 0..<30_000 {
      var json = HostileTests.samples[random.below(HostileTests.samples.count)]
      for _ in 0...random.below(4) { mutate(&json, &random) }
      guard let frame = try? Frame(json, zoneOffsetMinutes: random.below(3_000) - 1_500) else {
        continue
      }
      taken += 1
      let held = try check(frame)
      messages += held.messages
      effects += held.effects
    }
    #expect(taken > 2_000)
    #expect(messages > 1_000)
    #expect(effects > 1_000)
  }

  private func mutate(_ json: inout [UInt8], _ random: inout Random) {
    let pieces = [
      "\"", "\\", "{", "}", "[", "]", ",", ":", "null", "-", "e9", "\\ud800", "9999999999999999999",
      "\u{0}", "é", "[[[[", "\"type\":", "\"status\":\"ok\",", "T", "24",
    ].map { bytes($0) }
    let at = random.below(json.count)
    let end = min(json.count, at + random.below(24))
    switch random.below(6) {
    case 0: json[at] = UInt8(random.below(256))
    case 1: json[at] ^= 1 << UInt8(random.below(8))
    case 2: json.removeSubrange(at..<end)
    case 3: json.insert(contentsOf: pieces[random.below(pieces.count)], at: at)
    case 4: json.insert(contentsOf: json[at..<end], at: random.below(json.count))
    default: json[at] = UInt8(ascii: "0") + UInt8(random.below(10))
    }
    if json.isEmpty { json = [0x7B] }
  }

  /// What was taken keeps its promises; gives how many messages and effects it held.
  private func check(_ frame: Frame) throws -> (messages: Int, effects: Int) {
    var effects: [Effect] = []
    switch frame.body {
    case .push(let push):
      effects = push.effects
      #expect(!effects.isEmpty)
    case .update(let update):
      effects = update.effects
      #expect((1...Limits.idBytesMax).contains(update.ref.count))
      #expect(String(validating: update.ref, as: UTF8.self) != nil)
      #expect(failure(Array(frame.bytes[update.raw])) == nil)
      #expect(failure(encodedReply(ref: update.ref, account: frame.account)) == nil)
      #expect(update.fault == nil || effects.isEmpty && !update.isKnown)
    case .response, .entries, .unknown:
      break
    }
    for effect in effects { check(effect, frame) }
    for entry in entryPayloads(frameEntries(frame)?.items ?? []) {
      #expect(failure(Array(frame.bytes[entry.payload])) == nil)
      #expect(failure(Array(frame.bytes[entry.object])) == nil)
      checkID(entry.id)
    }
    let messages = frameMessages(frame)
    for message in messages.map(\.message) {
      #expect(failure(Array(frame.bytes[message.payload])) == nil)
      #expect(failure(Array(frame.bytes[message.object])) == nil)
      #expect(message.rest.isEmpty || failure(message.rest) == nil)
      checkID(message.id)
      #expect(message.sequence.map { $0.value >= 0 } ?? true)
      let floor = message.stamp.printed(message.stamp.time)
      #expect(floor.count == message.stamp.text.count)
    }
    return (messages.count, effects.count)
  }

  private func check(_ effect: Effect, _ frame: Frame) {
    var ids: [[UInt8]] = []
    var range: Range<Int>?
    switch effect {
    case .message(let conversation, let item, _):
      ids = [conversation]
      if case .bad(let bad, _) = item { range = bad }
    case .messagesDeleted(let conversation, let deleted): ids = [conversation] + deleted
    case .receipts(let conversation, _, let user, let marked): ids = [conversation, user] + marked
    case .reactions(let conversation, let id, let set, _):
      ids = [conversation, id]
      range = set.isEmpty ? nil : set
    case .reacted(let conversation, let id, let change):
      ids = [conversation, id, change.user, change.reaction]
    case .pin(let conversation, let id, _): ids = [conversation, id]
    case .typing(let conversation, let user, _, _, let body):
      ids = [conversation, user]
      range = body
    case .entity(_, let conversation, let id, let body, _),
      .entityDeleted(_, let conversation, let id, let body):
      ids = [id] + (conversation.map { [$0] } ?? [])
      range = body
    case .unknown(let name, let body):
      ids = [name]
      range = body
    case .skipped(let skipped, let list):
      range = skipped
      ids = list.conversations ?? []
    case .bad(let bad, _): range = bad
    }
    for id in ids { checkID(id) }
    if let range { #expect(failure(Array(frame.bytes[range])) == nil) }
  }

  private func checkID(_ id: [UInt8]) {
    #expect((1...Limits.idBytesMax).contains(id.count))
    #expect(String(validating: id, as: UTF8.self) != nil)
  }

  /// Nesting up to the bound is read, wherever it lies; beyond it the frame is refused.
  @Test func deepUpdatesAreReadOrRefused() throws {
    func deep(_ depth: Int) -> String {
      update(
        "new", "profile",
        #"{"user_id":"u","x":\#(String(repeating: "[", count: depth))"#
          + String(repeating: "]", count: depth) + "}")
    }
    let outer = 5
    #expect(try readUpdate(deep(Limits.jsonDepthMax - outer - 1)).effects.count == 1)
    #expect(try readUpdate(deep(Limits.jsonDepthMax - outer)).effects.count == 1)
    #expect(throws: WireFailure.tooDeep) { try frame(deep(Limits.jsonDepthMax - outer + 1)) }
  }

  /// Ten thousand messages, each in a conversation of its own, and as many deletions.
  @Test func aFullUpdateIsReadWhole() throws {
    let count = Limits.pageItemsMax
    let new = (0..<count).map { message("m\($0)", #","conversation_id":"c\#($0)""#) }
    let frame = try frame(update("new", "message", new.joined(separator: ",")))
    #expect(frameMessages(frame).count == count)
    #expect(try check(frame).effects == count)
    let deleted = (0..<count).map { #"{"conversation_id":"c\#($0)","message_id":"m"}"# }
    let effects = try readUpdate(
      update("delete", "message", deleted.joined(separator: ","))
    ).effects
    #expect(effects.count == count)
    #expect(
      effects.last
        == .messagesDeleted(conversation: bytes("c\(count - 1)"), ids: [bytes("m")]))
  }

  /// A message that is too large is set aside alone, in its conversation.
  @Test func aHugeItemIsSetAside() throws {
    let filler = String(repeating: "x", count: Limits.messageBytesMax)
    let large = message("m1", #","conversation_id":"c","x":"\#(filler)""#)
    let small = message("m2", #","conversation_id":"c""#)
    let effects = try readUpdate(update("new", "message", large + "," + small)).effects
    guard effects.count == 2, case .message(bytes("c"), .bad(_, .tooLarge), true) = effects[0],
      case .message(bytes("c"), .message, true) = effects[1]
    else { throw Unexpected(text: "\(effects.count)") }
  }
}
