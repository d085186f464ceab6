/// A server that means harm: every answer and every push may hold any number, time, id or size.
///
/// Below the lies it has a history, by number and without an end where the seed says so, so that
/// syncs get deep enough to add up what they were told.
internal import Base
internal import Engine
internal import Foundation

struct HostileServer {
  var values: HostileValues
  /// How many messages each conversation has.
  let history: Int
  /// Seconds between two of them.
  private let step: Int
  /// The second of the newest one.
  let newest: Int
  private let isOldestFirst: Bool
  private var updates = 0
  /// Cursors that it has given and gives again.
  private var cursors = ["x"]
  /// It keeps a log, whose pages name an epoch where the profile says so.
  let keepsLog: Bool
  let isNamingEpochs: Bool

  init(seed: UInt64, _ profile: Profile) {
    keepsLog = profile.log != nil
    isNamingEpochs = profile.log?.namesEpoch ?? false
    values = HostileValues(seed: seed)
    history = values.pick([0, 3, 120, 700, 1 << 40])
    step = values.pick([0, 1, 60, 86_400 * 400])
    newest = values.pick([1_771_193_745, 1_771_193_745, -60_000_000_000, 253_402_300_000])
    isOldestFirst = values.dice.chance(0.5)
  }

  // MARK: Answers

  /// What a request is answered with: no frame, one, or several.
  mutating func answers(to frame: [UInt8]) -> [String] {
    guard let request = Self.object(frame), request["ref"] == nil else { return [] }
    let verb = request["type"] as? String ?? ""
    let echo = request["request_id"] as? String ?? ""
    if values.isWild(), values.dice.chance(0.2) { return [] }
    var answers = [answer(verb, echo, request)]
    if values.isWild(), values.dice.chance(0.3) { answers.append(answers[0]) }
    if values.isWild(), values.dice.chance(0.3) {
      answers.insert(answer(verb, "other", request), at: 0)
    }
    return answers
  }

  /// The request of a frame, out of its envelope.
  private static func object(_ frame: [UInt8]) -> [String: Any]? {
    let object = (try? JSONSerialization.jsonObject(with: Data(frame))) as? [String: Any]
    guard object?["account"] != nil, let inner = object?["payload"] as? [String: Any] else {
      return object
    }
    return inner
  }

  private static let verbs = [
    "get_messages", "get_deleted_since", "get_changed_since", "get_conversations", "mark_read",
    "send_message", "get_conversation", "get_receipts", "get_unread_count", "subscribe",
    "edit_message", "nonsense",
  ]
  private static let codes = [
    "not_found", "forbidden", "invalid", "unsupported", "conflict", "too_large", "exists",
    "unknown_cursor", "rate_limited", "unavailable", "odd", "",
  ]

  private mutating func answer(_ verb: String, _ echo: String, _ request: [String: Any]) -> String {
    let isOther = values.isWild() && values.dice.chance(0.2)
    let told = isOther ? values.pick(Self.verbs) : verb
    let id = values.isWild() && values.dice.chance(0.2) ? "" : ",\"request_id\":\"\(echo)\""
    var answer = "{\"type\":\"\(told)\"\(id)"
    if values.dice.chance(0.03 + values.wildness / 4) {
      let code = values.pick(Self.codes)
      let wait = values.number(values.dice.below(3_000))
      let retry = values.dice.chance(0.5) ? ",\"retry_after_ms\":\(wait)" : ""
      answer += ",\"status\":\"error\",\"error\":{\"code\":\"\(code)\"\(retry)}"
      if code == "exists" { answer += ",\"data\":" + data(told, request) }
    } else {
      let status = values.isWild() && values.dice.chance(0.1) ? "fine" : "ok"
      answer += ",\"status\":\"\(status)\",\"data\":" + data(told, request)
    }
    answer += "}"
    guard values.isWild(), values.dice.chance(0.3) else { return answer }
    return "{\"account\":\"a\",\"type\":\"reply\",\"payload\":\(answer)}"
  }

  private mutating func data(_ verb: String, _ request: [String: Any]) -> String {
    if values.isWild(), values.dice.chance(0.1) { return values.pick(["null", "[]", "{}", "7"]) }
    let room = request["conversation_id"] as? String ?? "c0"
    switch verb {
    case "get_messages": return page(room, request)
    case "get_entries": return entries(room, request)
    case "get_deleted_since": return deletions()
    case "get_changed_since":
      return "{\"messages\":\(items(room, from: values.dice.below(50), count: few()))\(ending())}"
    case "get_conversations": return listing(request)
    case "get_conversation", "create_conversation", "save_conversation", "mark_last_read",
      "add_participants", "remove_participants", "add_admins", "remove_admins":
      return "{\"conversation\":\(conversation(room))}"
    case "send_message", "edit_message", "react_message", "unreact_message":
      let client = (request["client_id"] as? String).map { ",\"client_id\":\"\($0)\"" } ?? ""
      return "{\"message\":\(message(room, values.dice.below(40), client))}"
    case "get_receipts":
      let read = values.time(newest)
      return "{\"receipts\":[{\"user_id\":\(values.id("u1")),\"read_at\":\(read)},7]}"
    case "get_unread_count", "get_total_unread_count":
      let count = values.number(values.dice.below(50))
      return "{\"message_count\":\(count),\"conversation_count\":\(values.number(3))}"
    case "subscribe": return "{\"epoch\":\"\(values.dice.below(3))\"}"
    default: return "{}"
    }
  }

  /// A few, or at the bound of a list and beyond it.
  mutating func few() -> Int {
    if values.isWild(), values.dice.chance(0.005) { return values.pick([9_999, 10_000, 10_001]) }
    return values.isWild() ? values.pick([0, 0, 1, 2, 60, 400]) : values.dice.below(8)
  }

  private mutating func ending() -> String {
    var text = ",\"has_more\":" + values.flag(values.dice.chance(0.3))
    if values.dice.chance(0.8) { text += ",\"server_time\":" + values.time(newest) }
    if values.dice.chance(0.8) {
      if values.dice.chance(0.5) { cursors.append("x\(values.dice.below(1_000))") }
      if cursors.count > 50 { cursors.removeFirst(25) }
      let cursor = values.pick(cursors)
      text += ",\"next_since\":" + (values.isWild() ? values.time(newest) : values.id(cursor))
    }
    return text
  }

  private mutating func deletions() -> String {
    let count = few()
    let first = values.dice.below(700)
    let ids = (0..<count).map { count > 1_000 ? "\"m\(first + $0)\"" : values.id("m\(first + $0)") }
    return "{\"message_ids\":[\(ids.joined(separator: ","))]\(ending())}"
  }

  private mutating func page(_ room: String, _ request: [String: Any]) -> String {
    let limit = request["limit"] as? Int ?? 50
    var offset = request["offset"] as? Int ?? 0
    if request["after_ts"] != nil { offset = 0 }
    if request["around_id"] != nil || request["around_ts"] != nil || request["before_ts"] != nil {
      offset = values.dice.below(min(history, 1 << 20))
    }
    var count = request["after_ts"] == nil ? limit : values.dice.below(limit + 1)
    if values.isWild() { count = values.dice.chance(0.5) ? few() : limit + 3 }
    if values.isWild() { offset = values.dice.below(1 << 20) }
    let there = history - min(offset, history)
    let messages = items(room, from: offset, count: max(0, min(count, there)))
    var data = "{\"messages\":\(messages)"
    if values.dice.chance(0.7) { data += ",\"total_count\":" + values.number(history) }
    if values.dice.chance(0.7) { data += ",\"server_time\":" + values.time(newest) }
    if values.dice.chance(0.3) { data += ",\"has_more\":" + values.flag(offset + count < history) }
    if values.dice.chance(0.3) { data += ",\"has_more_before\":" + values.flag(true) }
    if values.dice.chance(0.3) { data += ",\"has_more_after\":" + values.flag(offset > 0) }
    if values.isWild() { data += ",\"epoch\":" + values.id("e\(values.dice.below(2))") }
    return data + "}"
  }

  /// Messages from an offset on, counted from the newest end.
  private mutating func items(_ room: String, from offset: Int, count: Int) -> String {
    var items: [String] = []
    for index in 0..<count {
      if values.isWild(), values.dice.chance(0.1) {
        items.append(values.pick(["7", "{}", "null"]))
      }
      // Many at once would take longer than they teach.
      let isShort = count > 1_000
      let item = isShort ? short(room, offset + index) : message(room, offset + index)
      items.append(item)
      if values.isWild(), values.dice.chance(0.1) { items.append(item) }
    }
    if isOldestFirst { items.reverse() }
    return "[\(items.joined(separator: ","))]"
  }

  func second(_ number: Int) -> Int {
    let (back, overflow) = number.multipliedReportingOverflow(by: step)
    return overflow ? .min / 2 : newest - min(back, 1 << 60)
  }

  func short(_ room: String, _ number: Int) -> String {
    """
    {"message_id":"m\(number)","sender_id":"you","payload":"p",\
    "created_at":"\(HostileValues.printed(second(number)))","seq":\(max(0, (1 << 41) - number))}
    """
  }

  mutating func message(_ room: String, _ number: Int, _ more: String = "") -> String {
    var text = "{\"message_id\":" + values.id("m\(number)")
    text += ",\"sender_id\":" + values.id(values.user())
    text += ",\"created_at\":" + values.time(second(number))
    text += ",\"payload\":" + values.payload() + more
    text += ",\"seq\":" + values.number(max(0, (1 << 41) - number))
    if values.isWild() { text += ",\"conversation_id\":" + values.id(room) }
    if values.dice.chance(0.2) { text += ",\"version\":" + values.number(values.dice.below(9)) }
    if values.isWild() { text += ",\"edited_at\":" + values.time(newest) }
    if values.isWild() { text += ",\"prev_id\":" + values.id("m\(number + 1)") }
    if values.isWild() { text += ",\"reply_to\":" + values.id("m\(values.dice.below(40))") }
    if values.isWild() { text += ",\"reactions\":" + values.pick(["{}", "{\"+\":[\"u1\"]}", "7"]) }
    if values.isWild() { text += ",\"read_by\":" + values.users() }
    if values.isWild() { text += ",\"delivered_by\":" + values.users() }
    if values.isWild() { text += ",\"pinned\":" + values.flag(true) }
    if values.isWild() { text += ",\"deleted\":" + values.flag(true) }
    if values.isWild() { text += ",\"kind\":" + values.pick(["\"event\"", "\"message\"", "7"]) }
    return text + "}"
  }

  // MARK: Conversations

  private mutating func conversation(_ room: String) -> String {
    var text = "{\"conversation_id\":\(values.id(room)),\"title\":\"T\""
    if values.dice.chance(0.8) {
      text += ",\"unread_count\":" + values.number(values.dice.below(60))
    }
    if values.dice.chance(0.6) { text += ",\"participant_ids\":" + values.users() }
    if values.dice.chance(0.6) { text += ",\"updated_at\":" + values.time(newest) }
    if values.dice.chance(0.4) { text += ",\"created_at\":" + values.time(newest - 1_000_000) }
    if values.dice.chance(0.4) {
      text += ",\"last_read_message_id\":" + values.id("m\(values.dice.below(60))")
    }
    if values.dice.chance(0.5) {
      text += ",\"last_message\":" + message(room, values.dice.below(9))
    }
    return text + "}"
  }

  private mutating func listing(_ request: [String: Any]) -> String {
    let limit = request["limit"] as? Int ?? 50
    let offset = request["offset"] as? Int ?? 0
    let total = values.pick([0, 5, 1_100])
    var count = max(0, min(limit, total - offset))
    if values.isWild() { count = few() }
    let all = (0..<count).map { index in
      count > 1_000
        ? "{\"conversation_id\":\"c\(offset + index)\",\"unread_count\":\(values.number(5))}"
        : conversation("c\(offset + index)")
    }
    let told = values.dice.chance(0.8) ? ",\"total_count\":" + values.number(total) : ""
    return "{\"conversations\":[\(all.joined(separator: ","))]\(told)}"
  }

  // MARK: Pushes

  private static let pushes = [
    "message_new", "message_edited", "message_deleted", "messages_read", "messages_delivered",
    "messages_listened", "message_reacted", "message_pinned", "message_unpinned",
    "conversation_updated", "conversation_deleted", "typing", "nonsense",
  ]
  private static let entities = [
    "message", "receipt", "reaction", "pin", "typing", "conversation", "member", "profile", "poll",
  ]

  /// A frame that nobody asked for.
  mutating func push() -> String {
    if values.dice.chance(0.01) { return values.pick(["", "{", "[]", "7", "{}", "\u{FEFF}{}"]) }
    if values.dice.chance(0.4) { return update() }
    if keepsLog, values.dice.chance(0.6) { return entryPush() }
    let room = values.room()
    let kind = values.pick(Self.pushes)
    var text = "{\"type\":\"\(kind)\",\"conversation_id\":\(values.id(room))"
    let one = values.dice.below(60)
    text += ",\"message_id\":" + values.id("m\(one)")
    switch kind {
    case "message_new", "message_edited":
      // The newest are above all that is known.
      text += ",\"message\":" + message(room, one - values.dice.below(40))
    case "message_deleted", "messages_read", "messages_delivered", "messages_listened":
      let ids = (0..<few()).map { "\"m\(one + $0)\"" }
      text += ",\"user_id\":\(values.id(values.user()))"
      text += ",\"message_ids\":[\(ids.joined(separator: ","))]"
    case "message_reacted":
      text += ",\"reactions\":{\"+\":\(values.users())},\"version\":\(values.number(4))"
    case "conversation_updated": text += ",\"conversation\":" + conversation(room)
    case "typing":
      text += ",\"user_id\":\(values.id(values.user())),\"at\":\(values.time(newest))"
      text += ",\"event\":" + values.pick(["\"begin\"", "\"pause\"", "\"finished\"", "\"x\"", "7"])
    default: break
    }
    return text + "}"
  }

  private mutating func update() -> String {
    updates += 1
    let entity = values.pick(Self.entities)
    let action = values.pick(["new", "new", "update", "update", "delete", "odd"])
    // Some come again, and some of those with other content.
    let ref = values.dice.chance(0.2) ? values.dice.below(updates) : updates
    var items: [String] = []
    for _ in 0..<min(few(), 400) { items.append(item(entity)) }
    return """
      {"account":"a","type":"update","payload":{"ref":\(values.id("r\(ref)")),"silent":\
      \(values.flag(false)),"action":"\(action)","payload":{"entity":"\(entity)","items":\
      [\(items.joined(separator: ","))]}}}
      """
  }

  private mutating func item(_ entity: String) -> String {
    let room = values.room()
    let one = values.dice.below(60)
    let names = "\"conversation_id\":\(values.id(room)),\"message_id\":\(values.id("m\(one)"))"
    switch entity {
    case "message": return message(room, one, ",\"conversation_id\":\"\(room)\"")
    case "receipt":
      let (read, heard) = (values.time(newest), values.time(newest))
      return "{\(names),\"user_id\":\(values.id(values.user())),\"read_at\":\(read),"
        + "\"listened_at\":\(heard)}"
    case "reaction": return "{\(names),\"reactions\":{},\"version\":\(values.number(3))}"
    case "pin": return "{\(names),\"pinned\":\(values.flag(true))}"
    case "typing":
      return "{\(names),\"user_id\":\(values.id("you")),\"at\":\(values.time(newest))}"
    case "conversation": return conversation(room)
    default: return "{\(names),\"user_id\":\(values.id(values.user()))}"
    }
  }
}
