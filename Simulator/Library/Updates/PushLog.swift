/// What the device was told unasked, and what must be true of it for that reason.
///
/// Built from the frames that the device took and from nothing else, in the order in which it
/// took them. It shares no code with the client and knows no page: a page may show more, never
/// less.

/// What a frame tells, read by its own small reader.
struct Told {
  enum Mark { case read, delivered, listened }

  var isUpdate = false
  var ref: String?
  var contents: [Ledger.Mark] = []
  var reactions: [Ledger.Mark] = []
  var deleted: [String] = []
  var receipts: [(mark: Mark, user: String, id: String)] = []
  /// Things by key; nil for one that is gone. A conversation takes its members along.
  var things: [(key: String, body: [UInt8]?)] = []
  var tokens: [Int] = []
  /// An answer about a conversation, which may be older than an update that came before it.
  var isAnswer = false
  /// The request that it answers, where the server says so.
  var requestID: String?

  /// Nil for an answer, but for one about a conversation: the device asks for its count.
  init?(_ frame: [UInt8]) {
    guard let type = Frames.type(frame) else { return nil }
    let answer = Frames.answer(frame)
    if Frames.type(answer) == "get_conversation" {
      guard let body = Frames.object("conversation", answer),
        let id = Frames.string("conversation_id", body)
      else { return nil }
      things = [("conversation/\(id)", body)]
      isAnswer = true
      requestID = Frames.string("request_id", answer)
      return
    }
    if type == "update" {
      isUpdate = true
      ref = Frames.string("ref", frame)
      readUpdate(frame)
      return
    }
    tokens = Ledger.marks(frame, 0x56).map(\.serial)
    switch type {
    case "message_new", "message_edited":
      contents = Ledger.marks(frame)
      reactions = Ledger.marks(frame, 0x52)
    case "message_deleted": deleted = Frames.strings("message_ids", frame)
    case "messages_read": readReceipts(.read, frame)
    case "messages_delivered": readReceipts(.delivered, frame)
    case "messages_listened": readReceipts(.listened, frame)
    case "message_reacted": reactions = Ledger.marks(frame, 0x52)
    case "message_pinned", "message_unpinned", "typing": break
    case "conversation_updated":
      let id = Frames.string("conversation_id", frame) ?? ""
      if let start = Frames.find(Array("\"conversation\":{".utf8), in: frame, from: 0) {
        things = [("conversation/\(id)", Array(frame[(start + 15)..<(frame.count - 1)]))]
      }
    case "conversation_deleted":
      things = [("conversation/\(Frames.string("conversation_id", frame) ?? "")", nil)]
    default: return nil
    }
  }

  private mutating func readReceipts(_ mark: Mark, _ frame: [UInt8]) {
    guard let user = Frames.string("user_id", frame) else { return }
    receipts = Frames.strings("message_ids", frame).map { (mark, user, $0) }
  }

  private mutating func readUpdate(_ frame: [UInt8]) {
    tokens = Ledger.marks(frame, 0x56).map(\.serial)
    guard let action = Frames.string("action", frame),
      ["new", "update", "delete"].contains(action),
      let entity = Frames.string("entity", frame)
    else { return }
    let items = Self.items(frame)
    switch (entity, action) {
    case ("message", "delete"): deleted = items.compactMap { Frames.string("message_id", $0) }
    case ("message", _):
      contents = Ledger.marks(frame)
      reactions = Ledger.marks(frame, 0x52)
    case ("reaction", _): reactions = Ledger.marks(frame, 0x52)
    case ("receipt", "new"), ("receipt", "update"):
      for item in items {
        guard let id = Frames.string("message_id", item),
          let user = Frames.string("user_id", item), Frames.string("conversation_id", item) != nil
        else { continue }
        if Frames.string("read_at", item) != nil { receipts.append((.read, user, id)) }
        if Frames.string("delivered_at", item) != nil { receipts.append((.delivered, user, id)) }
        if Frames.string("listened_at", item) != nil { receipts.append((.listened, user, id)) }
      }
    case ("profile", _), ("member", _), ("conversation", _):
      for item in items {
        var key = entity
        if let id = Frames.string("conversation_id", item) { key += "/\(id)" }
        if entity != "conversation" { key += "/\(Frames.string("user_id", item) ?? "")" }
        things.append((key, action == "delete" ? nil : item))
      }
    default: break
    }
  }

  /// The objects of the list `items`. Strings in these frames hold no braces.
  private static func items(_ frame: [UInt8]) -> [[UInt8]] {
    guard let list = Frames.find(Array("\"items\":[".utf8), in: frame, from: 0) else { return [] }
    var found: [[UInt8]] = []
    var depth = 0
    var start = 0
    for index in (list + 9)..<frame.count {
      if frame[index] == 0x7B {
        if depth == 0 { start = index }
        depth += 1
      } else if frame[index] == 0x7D {
        depth -= 1
        if depth == 0 { found.append(Array(frame[start...index])) }
        if depth < 0 { break }
      } else if frame[index] == 0x5D, depth == 0 {
        break
      }
    }
    return found
  }
}

struct PushLog {
  /// What must be seen of a message, as a least: content and reactions may be newer.
  struct Fact {
    var version = 0
    var reaction = 0
    var readers: Set<String> = []
    var receivers: Set<String> = []
    var listeners: Set<String> = []
    var isDeleted = false
  }

  /// Each frame taken, in order; one that came again is not there twice.
  private(set) var log: [[UInt8]] = []
  private(set) var places: [String: Int] = [:]
  private(set) var facts: [String: Fact] = [:]
  private(set) var things: [String: [UInt8]] = [:]
  /// The events that must be there, in their order.
  private(set) var tokens: [Int] = []
  /// How many frames of the log are on the disk for sure, since replies to them were made.
  var durable = 0
  /// After a loss it is not known which things the device had; the end of the world tells.
  var isVague = false
  /// How often the client has taken the server for restored.
  var restores: UInt64 = 0
  /// The frame that the device is about to take.
  var inHand: [UInt8]?
  /// Updates that the device may know of, though it was ended before it said so.
  private(set) var doubtful: [String: [UInt8]] = [:]
  /// How many writes of the log had been made when an update had been taken.
  var writes: [String: Int] = [:]
  /// What the host said of each reply handed out on this connection.
  var repliesOnLink: [String: Int] = [:]
  /// Conversations as an update told them, where an answer came after it: the device may have asked
  /// before the update, and keeps it then.
  var others: [String: [UInt8]] = [:]
  /// What is under way about conversations on this connection, and how much had been told then.
  private var asking: [(key: String, request: String?, told: Int)] = []
  /// How much has been told unasked, and up to where that was when a thing was told last.
  private var toldCount = 0
  private var toldAt: [String: Int] = [:]
  var tokensMade = 0
  var thingsMade = 0
  var foreignRefused = 0
  var repeats = 0
  var liveChecks = 0
  /// Conversations that are live, by the number of the connection.
  var liveLinks: [Int: Int] = [:]
  var asked: (sync: UInt64, conversation: Int, link: Int)?

  func knows(_ ref: String) -> Bool { places[ref] != nil }

  /// Takes in a frame; `posted` finds messages by their serial numbers.
  mutating func learn(_ frame: [UInt8], _ posted: [Ledger.Posted]) -> Told? {
    guard let told = Told(frame) else { return nil }
    if let ref = told.ref {
      if places[ref] != nil { return told }
      doubtful[ref] = nil
      places[ref] = log.count
    }
    if !told.isAnswer { toldCount += 1 }
    for thing in told.things {
      others[thing.key] = nil
      guard told.isAnswer else {
        toldAt[thing.key] = toldCount
        continue
      }
      switch isOlder(told, thing.key) {
      case true?: return told
      case false?: break
      case nil: others[thing.key] = things[thing.key]
      }
    }
    log.append(frame)
    learnFacts(told, posted)
    for thing in told.things { Self.apply(thing, &things) }
    Self.append(told, to: &tokens)
    return told
  }

  /// A request leaves the device.
  mutating func note(asking request: [UInt8]) {
    guard Frames.type(request) == "get_conversation",
      let id = Frames.string("conversation_id", request)
    else { return }
    asking.append(("conversation/\(id)", Frames.string("request_id", request), toldCount))
  }

  /// What was under way went with the connection.
  mutating func forgetAsking() { asking = [] }

  /// Whether what an answer tells was asked for before the last update of it, and so is no news;
  /// nil where it may be the answer to either of two requests.
  private func isOlder(_ told: Told, _ key: String) -> Bool? {
    let requests = asking.filter { one in
      one.key == key && (told.requestID.map { one.request == $0 } ?? true)
    }
    let last = toldAt[key] ?? 0
    let older = requests.filter { $0.told < last }
    if requests.isEmpty { return nil }
    return older.count == requests.count ? true : older.isEmpty ? false : nil
  }

  /// What is told plainly is an event each time that it comes. After a loss the device may know of
  /// an update which it is told once more.
  private static func append(_ told: Told, to tokens: inout [Int]) {
    for token in told.tokens where !told.isUpdate || !tokens.contains(token) {
      tokens.append(token)
    }
  }

  /// The events once this is taken, too.
  func tokens(with told: Told) -> [Int] {
    var tokens = tokens
    Self.append(told, to: &tokens)
    return tokens
  }

  private mutating func learnFacts(_ told: Told, _ posted: [Ledger.Posted]) {
    for mark in told.contents where mark.serial < posted.count {
      let id = posted[mark.serial].id
      facts[id, default: Fact()].version = max(facts[id]?.version ?? 0, mark.version)
      // Pushed after its deletion it may be back, which the device looks at.
      facts[id]?.isDeleted = false
    }
    for mark in told.reactions where mark.serial < posted.count {
      let id = posted[mark.serial].id
      facts[id, default: Fact()].reaction = max(facts[id]?.reaction ?? 0, mark.version)
    }
    for id in told.deleted { facts[id, default: Fact()].isDeleted = true }
    for receipt in told.receipts {
      switch receipt.mark {
      case .read: facts[receipt.id, default: Fact()].readers.insert(receipt.user)
      case .delivered: facts[receipt.id, default: Fact()].receivers.insert(receipt.user)
      case .listened: facts[receipt.id, default: Fact()].listeners.insert(receipt.user)
      }
    }
  }

  static func apply(_ thing: (key: String, body: [UInt8]?), _ things: inout [String: [UInt8]]) {
    // One that says itself that it is older is no news.
    if let body = thing.body, let known = things[thing.key],
      let told = Frames.string("updated_at", body), let had = Frames.string("updated_at", known),
      told < had
    {
      return
    }
    things[thing.key] = thing.body
    guard thing.body == nil, thing.key.hasPrefix("conversation/") else { return }
    let members = "member/\(thing.key.dropFirst(13))/"
    for key in things.keys where key.hasPrefix(members) { things[key] = nil }
  }

  /// What was there after the first `count` frames.
  func things(after count: Int) -> [String: [UInt8]] {
    var things: [String: [UInt8]] = [:]
    for frame in log.prefix(count) {
      for thing in Told(frame)?.things ?? [] { Self.apply(thing, &things) }
    }
    return things
  }

  func tokens(after count: Int) -> [Int] {
    var tokens: [Int] = []
    for told in log.prefix(count).compactMap({ Told($0) }) { Self.append(told, to: &tokens) }
    return tokens
  }

  /// Whether the device took this update will be seen by whether it replies.
  mutating func doubt(_ frame: [UInt8]) {
    if let ref = Told(frame)?.ref, places[ref] == nil { doubtful[ref] = frame }
  }

  /// The power went: only what was replied to is sure to be known.
  mutating func forget(_ posted: [Ledger.Posted]) {
    let kept = log.prefix(durable)
    let lost = Array(log.dropFirst(durable))
    log = []
    places = [:]
    facts = [:]
    things = [:]
    tokens = []
    for frame in kept { _ = learn(frame, posted) }
    for frame in lost { doubt(frame) }
    writes = [:]
  }

  /// What waited for this message is no longer kept.
  mutating func dropMarks(_ id: String) {
    guard let fact = facts[id] else { return }
    facts[id] = Fact(version: fact.version, isDeleted: fact.isDeleted)
  }

  /// What the device shows after a loss is what it is judged by from here on.
  mutating func adopt(_ things: [String: [UInt8]], _ tokens: [Int]) {
    self.things = things
    self.tokens = tokens
    isVague = true
  }
}
