/// A realistic world from a seed: two years of conversations.
///
/// Several languages, bursts and silences, replies, reactions, edits, deletions
/// and read marks, as people make them. The same seed and end give the same
/// world. The user `eva` takes part in every conversation and has not yet read
/// what is newest.
public struct DataSet {
  public static let reader = "eva"
  public static let users = [
    "eva", "jan", "petr", "lucie", "tomáš", "kateřina", "ondřej", "markéta", "wei", "ming",
    "xiaoli", "haoran", "yuxin", "alice", "bob", "carol", "david", "emily", "frank", "grace",
  ]

  public var messages = 20_000
  public var conversations = 50
  public var spanUs: Int64 = 730 * 86_400_000_000
  private var dice: ServerDice

  public init(seed: UInt64) {
    dice = ServerDice(seed: seed)
  }

  private enum Kind {
    case post(conversation: Int, sender: String, payload: String, replyTo: Int?)
    case react(Int, user: String, reaction: String)
    case edit(Int, payload: String)
    case delete(Int)
    case read(ClosedRange<Int>, user: String)
  }

  private struct Event {
    let atUs: Int64
    let order: Int
    /// The number of a post, by which later events name it.
    var post: Int?
    let kind: Kind
  }

  private struct Room {
    let id: String
    let language: Phrases.Language
    let members: [String]
  }

  /// Fills a new server; its clock ends at `untilUs`. Exactly `messages` stay
  /// visible, the deleted ones come on top.
  public mutating func fill(_ server: ReferenceServer, untilUs: Int64) {
    let rooms = makeRooms(server, untilUs)
    guard !rooms.isEmpty, messages > 0 else { return }
    var events: [Event] = []
    var roomOf: [Int] = []
    let deleted = messages / 50
    for (index, quota) in quotas(messages + deleted, rooms.count).enumerated() {
      converse(rooms[index], index, quota, untilUs, &events, &roomOf)
    }
    delete(deleted, untilUs, &events)
    replay(events, rooms, roomOf, server)
    server.nowUs = untilUs
  }

  private mutating func makeRooms(_ server: ReferenceServer, _ untilUs: Int64) -> [Room] {
    server.nowUs = untilUs - spanUs
    return (0..<conversations).map { index in
      var members = [DataSet.reader]
      let size = index % 3 == 0 ? 2 : 3 + dice.below(8)
      while members.count < size {
        let user = DataSet.users[dice.below(DataSet.users.count)]
        if !members.contains(user) { members.append(user) }
      }
      let language = Phrases.Language.allCases[index % Phrases.Language.allCases.count]
      let id = ReferenceServer.uuid(&dice)
      let title = size == 2 ? members[1] : Phrases.titles[index % Phrases.titles.count]
      server.createConversation(id, title: title, participants: members)
      return Room(id: id, language: language, members: members)
    }
  }

  /// A few conversations have most of the messages, as in life.
  private func quotas(_ total: Int, _ count: Int) -> [Int] {
    let weights = (0..<count).map { 1.0 / Double($0 + 3) }
    let sum = weights.reduce(0, +)
    var all = weights.map { Int(Double(total) * $0 / sum) }
    all[0] += total - all.reduce(0, +)
    return all
  }

  /// Writes one conversation: sittings of a few to a few dozen messages.
  private mutating func converse(
    _ room: Room, _ index: Int, _ quota: Int, _ untilUs: Int64, _ events: inout [Event],
    _ roomOf: inout [Int]
  ) {
    var left = quota
    while left > 0 {
      let size = min(left, 1 + dice.below(8) * dice.below(6))
      left -= size
      var at = sittingStart(untilUs)
      let first = roomOf.count
      let burst = dice.chance(0.06)
      for _ in 0..<size {
        let number = roomOf.count
        let sender = room.members[dice.below(room.members.count)]
        let replyTo = number > first && dice.chance(0.12) ? first + dice.below(number - first) : nil
        let payload = Phrases.payload(room.language, &dice)
        events.append(
          Event(
            atUs: min(at, untilUs), order: events.count, post: number,
            kind: .post(conversation: index, sender: sender, payload: payload, replyTo: replyTo)))
        roomOf.append(index)
        followUp(room, number, at, untilUs, &events)
        at += burst ? Int64(dice.below(90_000)) : gap()
      }
      read(room, first...(roomOf.count - 1), at, untilUs, &events)
    }
  }

  /// A moment in waking hours, a little more often of late.
  private mutating func sittingStart(_ untilUs: Int64) -> Int64 {
    let days = max(1, Int(spanUs / 86_400_000_000))
    let day = max(dice.below(days), dice.below(days))
    let hour = 7 + max(dice.below(16), dice.below(16))
    let inHour = Int64(dice.below(3_600)) * 1_000_000 + Int64(dice.below(1_000_000))
    let at = untilUs - spanUs + Int64(day) * 86_400_000_000 + Int64(hour) * 3_600_000_000 + inHour
    return min(at, untilUs - 3_600_000_000)
  }

  /// Mostly seconds, now and then minutes.
  private mutating func gap() -> Int64 {
    let second = Int64(1_000_000)
    let longest = dice.chance(0.15) ? 600 : 40
    return Int64(dice.below(longest)) * second + Int64(dice.below(1_000_000))
  }

  private mutating func followUp(
    _ room: Room, _ number: Int, _ at: Int64, _ untilUs: Int64, _ events: inout [Event]
  ) {
    func later(_ seconds: Int) -> Int64 {
      min(at + Int64(5 + dice.below(seconds)) * 1_000_000, untilUs)
    }
    while dice.chance(0.12) {
      let user = room.members[dice.below(room.members.count)]
      let reaction = Phrases.reactions[dice.below(Phrases.reactions.count)]
      events.append(
        Event(
          atUs: later(900), order: events.count,
          kind: .react(number, user: user, reaction: reaction)))
    }
    if dice.chance(0.02) {
      let payload = Phrases.payload(room.language, &dice)
      events.append(
        Event(atUs: later(300), order: events.count, kind: .edit(number, payload: payload)))
    }
  }

  /// Everybody reads a sitting in the end, save the newest of the reader.
  private mutating func read(
    _ room: Room, _ posts: ClosedRange<Int>, _ at: Int64, _ untilUs: Int64,
    _ events: inout [Event]
  ) {
    for user in room.members {
      let soon = Int64(30 + dice.below(7_200)) * 1_000_000
      if user == DataSet.reader, at > untilUs - 3 * 86_400_000_000 { continue }
      guard dice.chance(0.95), at + soon < untilUs else { continue }
      events.append(Event(atUs: at + soon, order: events.count, kind: .read(posts, user: user)))
    }
  }

  private mutating func delete(_ count: Int, _ untilUs: Int64, _ events: inout [Event]) {
    let posts = events.filter { $0.post != nil }
    var chosen: Set<Int> = []
    while chosen.count < min(count, posts.count) {
      let event = posts[dice.below(posts.count)]
      guard let post = event.post, chosen.insert(post).inserted else { continue }
      let late = dice.chance(0.2) ? 30 * 86_400 : 3_600
      let at = min(event.atUs + Int64(10 + dice.below(late)) * 1_000_000, untilUs)
      events.append(Event(atUs: at, order: events.count, kind: .delete(post)))
    }
  }

  private func replay(
    _ events: [Event], _ rooms: [Room], _ roomOf: [Int], _ server: ReferenceServer
  ) {
    var ids = [String](repeating: "", count: roomOf.count)
    func room(_ post: Int) -> String { rooms[roomOf[post]].id }
    for event in events.sorted(by: { ($0.atUs, $0.order) < ($1.atUs, $1.order) }) {
      server.nowUs = event.atUs
      switch event.kind {
      case .post(let index, let sender, let payload, let replyTo):
        guard let post = event.post else { continue }
        ids[post] = server.post(
          conversation: rooms[index].id, sender: sender, payload: payload, lateUs: 0,
          replyTo: replyTo.map { ids[$0] })
      case .react(let post, let user, let reaction):
        server.react(conversation: room(post), id: ids[post], user: user, reaction: reaction)
      case .edit(let post, let payload):
        server.edit(conversation: room(post), id: ids[post], payload: payload)
      case .delete(let post):
        server.delete(conversation: room(post), ids: [ids[post]], lateUs: 0)
      case .read(let posts, let user):
        server.markRead(
          conversation: room(posts.lowerBound), ids: posts.map { ids[$0] }, user: user)
      }
    }
  }
}
