/// A hostile server that keeps a log: pages of entries and pushes, with lies in every member.
///
/// Entries are numbered from the newest one on, back in time; those below 0 are pushed above all.
/// The token `t7` stands directly before entry 7, on its older side.
internal import Base

extension HostileServer {
  /// The answer to `get_entries`.
  mutating func entries(_ room: String, _ request: [String: Any]) -> String {
    let limit = request["limit"] as? Int ?? 50
    var oldest = limit - 1
    if let before = Self.place(request["before"]) { oldest = before + limit }
    if let after = Self.place(request["after"]) { oldest = after }
    if let id = request["around_id"] as? String {
      oldest = (Int(id.dropFirst()) ?? 0) + limit / 2
    }
    if values.isWild() { oldest = values.dice.below(1 << 20) }
    oldest = min(oldest, history - 1)
    var count = min(limit, oldest + 1)
    if values.isWild() { count = values.dice.chance(0.5) ? few() : limit + 3 }
    if values.isWild(), values.dice.chance(0.2) { count = 0 }
    count = max(0, count)
    let newest = oldest - count + 1
    var data = "{\"entries\":" + list(room, from: oldest, count: count)
    // Without it the log starts here.
    if oldest < history - 1 || values.isWild() { data += ",\"before\":" + token(oldest) }
    if !values.isWild() || values.dice.chance(0.8) { data += ",\"after\":" + token(newest - 1) }
    if newest <= 0 || values.isWild() { data += ",\"present\":" + values.flag(newest <= 0) }
    if values.isWild() { data += ",\"gap\":" + values.flag(true) }
    if values.isWild() || isNamingEpochs { data += ",\"epoch\":" + epoch() }
    if values.dice.chance(0.5) { data += ",\"server_time\":" + values.time(self.newest) }
    return data + "}"
  }

  /// Entries that nobody asked for.
  mutating func entryPush() -> String {
    let room = values.room()
    let newest = -values.dice.below(60)
    let count = max(1, few())
    let oldest = newest + count - 1
    var text = "{\"type\":\"entries_new\",\"conversation_id\":\(values.id(room)),\"entries\":"
    text += list(room, from: oldest, count: count)
    if values.dice.chance(0.5) { text += ",\"prev\":" + values.id(Self.name(oldest + 1)) }
    if values.dice.chance(0.5) { text += ",\"before\":" + token(oldest) }
    if values.dice.chance(0.7) { text += ",\"after\":" + token(newest - 1) }
    return text + "}"
  }

  /// The oldest first.
  private mutating func list(_ room: String, from oldest: Int, count: Int) -> String {
    var items: [String] = []
    for index in 0..<count {
      let number = oldest - index
      if values.isWild(), values.dice.chance(0.1) {
        items.append(values.pick(["7", "{}", "null", "{\"change\":\"none\"}"]))
      }
      // Many at once would take longer than they teach.
      if count > 1_000 {
        items.append(short(room, number))
      } else {
        let isChange = Self.isChange(number)
        items.append(isChange ? change(number) : message(room, number))
      }
      if values.isWild(), values.dice.chance(0.1), let last = items.last { items.append(last) }
    }
    if values.isWild(), values.dice.chance(0.2) { items.reverse() }
    return "[\(items.joined(separator: ","))]"
  }

  private static func isChange(_ number: Int) -> Bool { number & 3 == 3 }

  private static func name(_ number: Int) -> String {
    (isChange(number) ? "x" : "m") + String(number)
  }

  private static let changes = [
    "edit", "delete", "react", "unreact", "reactions", "read", "delivered", "listened", "pin",
    "unpin", "moderate", "none", "odd",
  ]

  private mutating func change(_ number: Int) -> String {
    let target = values.dice.chance(0.9) ? number + 1 + values.dice.below(9) : number - 1
    let kind = values.pick(Self.changes)
    var text = "{\"entry_id\":" + values.id(Self.name(number)) + ",\"change\":\"\(kind)\""
    text += ",\"target_id\":" + values.id(Self.name(target))
    text += ",\"sender_id\":" + values.id(values.user())
    if values.dice.chance(0.8) { text += ",\"created_at\":" + values.time(second(number)) }
    switch kind {
    case "edit": text += ",\"payload\":" + values.payload()
    case "react", "unreact": text += ",\"reaction\":" + values.id("r\(values.dice.below(3))")
    case "reactions": text += ",\"reactions\":" + values.users()
    default: break
    }
    if values.isWild() { text += ",\"deleted\":" + values.flag(true) }
    return text + "}"
  }

  private mutating func token(_ number: Int) -> String {
    guard values.isWild() else { return "\"t\(number)\"" }
    return values.dice.chance(0.5) ? "\"t\(values.dice.below(700))\"" : values.id("t\(number)")
  }

  private mutating func epoch() -> String {
    values.isWild() ? values.id("e\(values.dice.below(2))") : "\"e\""
  }

  /// The entry before which a token stands.
  private static func place(_ token: Any?) -> Int? {
    guard let text = token as? String, text.first == "t" else { return nil }
    return Int(text.dropFirst()).map { min(max($0, -1_000), 1 << 41) }
  }
}
