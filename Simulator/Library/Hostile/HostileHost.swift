/// The host beside a hostile server: opens and closes windows and lists, reads, acts, and names
/// places, numbers and times as no host should.
internal import Base
internal import Engine
internal import Glibc

final class HostileHost {
  let client: Client
  private(set) var values: HostileValues
  private var windows: [Window] = []
  private var lists: [ConversationList] = []
  /// Syncs that it asked for.
  private(set) var syncs: [UInt64] = []
  private(set) var requestsOfASync = 0
  /// CPU time of the longest call.
  private(set) var longestCallUs = 0
  /// How often each kind of failure was told.
  private(set) var failures: [String: Int] = [:]

  init(_ client: Client, seed: UInt64) {
    self.client = client
    values = HostileValues(seed: seed ^ 0x5851_F42D_4C95_7F2D)
  }

  /// Runs a call, whose failure is its answer. What says that the library is at fault is thrown.
  func attempt<Result>(_ body: () throws(Failure) -> Result) throws(HostileTrouble) -> Result? {
    let began = Self.threadUs()
    defer { longestCallUs = max(longestCallUs, Self.threadUs() - began) }
    do throws(Failure) {
      return try body()
    } catch {
      switch error {
      case .internal(let text): throw HostileTrouble(text: "internal: \(text)")
      case .damaged, .storage: throw HostileTrouble(text: "\(error)")
      default: break
      }
      failures[error.name, default: 0] += 1
      return nil
    }
  }

  /// CPU time of this thread.
  private static func threadUs() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
  }

  private func room() -> [UInt8] { Array(values.room().utf8) }

  private func id() -> [UInt8] {
    guard values.isWild() else { return Array("m\(values.dice.below(60))".utf8) }
    return values.pick([[], [0], [0xFF, 0xFE], [UInt8](repeating: 120, count: 512), [34, 92, 10]])
  }

  private func time() -> Int64 {
    values.pick([
      .min, .min + 1, .min / 2, -62_135_596_800_000_000, -1, 0, 1, 1_771_193_745_000_000,
      253_402_300_799_999_999, 1 << 62, .max - 1, .max,
    ])
  }

  private func number() -> UInt64 {
    values.pick([0, 1, UInt64(values.dice.below(300)), 1 << 48, 1 << 63, .max - 1, .max])
  }

  private func count() -> Int { values.pick([0, 1, 5, 100, 10_000, Int.max]) }

  /// One call, or a few that belong together.
  func act() throws(HostileTrouble) {
    switch values.dice.below(30) {
    case 0, 1: try open()
    case 2...6: try look()
    case 7...9: try load()
    case 10...13: try sync()
    case 14...17: try perform()
    case 18: try mark()
    case 19, 20: try read()
    case 21: try list()
    case 22: try decide()
    case 23: try draft()
    case 24:
      let room = room()
      let event = values.pick([TypingAction.begin, .pause, .finished])
      _ = try attempt { () throws(Failure) in try client.typing(conversation: room, event: event) }
    case 25:
      let (room, id) = (room(), id())
      _ = try attempt { () throws(Failure) in try client.forget(conversation: room, id: id) }
    case 26: _ = try attempt { () throws(Failure) in try client.stats() }
    case 27: _ = try attempt { () throws(Failure) in try client.state() }
    default: try pollSyncs()
    }
  }

  func closeAll() {
    for window in windows { window.close() }
    for list in lists { list.close() }
    windows = []
    lists = []
  }

  // MARK: Windows and lists

  private func open() throws(HostileTrouble) {
    if windows.count >= 5 { windows.remove(at: values.dice.below(windows.count)).close() }
    let at: At = values.pick([.latest, .unread, .message(id()), .time(time())])
    let config = WindowConfig(
      conversation: room(), at: at, count: values.pick([1, 50, 1_000]),
      rowsMax: values.pick([100, 2_000, 200_000]))
    if let window = try attempt({ () throws(Failure) in try client.openWindow(config) }) {
      windows.append(window)
    }
  }

  private func look() throws(HostileTrouble) {
    guard !windows.isEmpty else { return try open() }
    let window = values.pick(windows)
    _ = try attempt { () throws(Failure) in try window.poll() }
    _ = try attempt { () throws(Failure) in try window.state() }
    let (first, count) = (count(), count())
    _ = try attempt { () throws(Failure) in try window.rows(first: first, count: count) }
    switch values.dice.below(4) {
    case 0: _ = try attempt { () throws(Failure) in try window.show(first: first, count: count) }
    case 1: _ = try attempt { () throws(Failure) in try window.trim(first: first, count: count) }
    case 2: _ = try attempt { () throws(Failure) in try window.fill(row: first) }
    default: break
    }
  }

  private func load() throws(HostileTrouble) {
    guard !windows.isEmpty else { return }
    let window = values.pick(windows)
    let kind: Load.Kind = values.pick([
      .initial, .before(0), .after(0), .before(number()), .after(number()), .around(.unread),
      .around(.message(id())), .around(.time(time())), .last,
    ])
    let load = Load(kind, count: values.pick([1, 50, 1_000]), isPastGaps: values.dice.chance(0.3))
    _ = try attempt { () throws(Failure) in try window.load(load) }
  }

  private func list() throws(HostileTrouble) {
    if lists.isEmpty || values.dice.chance(0.1) {
      if lists.count >= 3 { lists.removeFirst().close() }
      let config = ListConfig(rowsMax: values.pick([100, 10_000]))
      if let list = try attempt({ () throws(Failure) in try client.openList(config) }) {
        lists.append(list)
      }
    }
    guard !lists.isEmpty else { return }
    let list = values.pick(lists)
    _ = try attempt { () throws(Failure) in try list.poll() }
    _ = try attempt { () throws(Failure) in try list.state() }
    let (first, count) = (count(), count())
    _ = try attempt { () throws(Failure) in try list.rows(first: first, count: count) }
  }

  // MARK: Syncs

  private func sync() throws(HostileTrouble) {
    let kind: SyncRequest.Kind = values.pick([
      .latest, .latest, .older, .older, .live, .at(id()), .marker, .time(time()), .conversations,
    ])
    let request = SyncRequest(
      conversation: kind == .conversations ? [] : room(), kind: kind,
      want: values.pick([0, 1, 500, Int(UInt32.max)]), pagesMax: values.pick([0, 0, 1, 40]))
    if let sync = try attempt({ () throws(Failure) in try client.sync(request) }) {
      syncs.append(sync)
    }
  }

  /// Asks how syncs stand, and cancels one at times.
  private func pollSyncs() throws(HostileTrouble) {
    try noteSyncs()
    if values.dice.chance(0.05), let last = syncs.last {
      _ = try attempt { () throws(Failure) in try client.cancel(last) }
    }
  }

  func noteSyncs() throws(HostileTrouble) {
    var running: [UInt64] = []
    for sync in syncs {
      let found = try attempt { () throws(Failure) in try client.syncStatus(sync) }
      guard let status = found else { continue }
      requestsOfASync = max(requestsOfASync, status.requests)
      if status.phase != .ended { running.append(sync) }
    }
    syncs = running
  }

  // MARK: Acts

  private func perform() throws(HostileTrouble) {
    let room = values.id(values.room())
    let message = values.id("m\(values.dice.below(60))")
    let about = "\"conversation_id\":\(room),\"message_id\":\(message)"
    let number = values.number(20)
    let requests = [
      "{\"type\":\"send_message\",\"conversation_id\":\(room),\"payload\":\(values.payload())}",
      "{\"type\":\"send_message\",\(about),\"payload\":1,\"reply_to\":\(message)}",
      "{\"type\":\"edit_message\",\(about),\"payload\":2}",
      "{\"type\":\"delete_message\",\(about)}",
      "{\"type\":\"react_message\",\(about),\"reaction\":\"+\"}",
      "{\"type\":\"unreact_message\",\(about),\"reaction\":\"+\"}",
      "{\"type\":\"pin_message\",\(about)}",
      "{\"type\":\"mark_last_read\",\(about)}",
      "{\"type\":\"get_receipts\",\(about)}",
      "{\"type\":\"create_conversation\",\"participant_ids\":\(values.users())}",
      "{\"type\":\"save_conversation\",\"conversation_id\":\(room),\"title\":\"X\"}",
      "{\"type\":\"add_participants\",\"conversation_id\":\(room),\"user_ids\":\(values.users())}",
      "{\"type\":\"leave_conversation\",\"conversation_id\":\(room)}",
      "{\"type\":\"delete_conversation\",\"conversation_id\":\(room)}",
      "{\"type\":\"get_conversations\",\"limit\":\(number),\"offset\":\(values.number(0))}",
      "{\"type\":\"get_unread_count\",\"conversation_id\":\(room)}",
      "{\"type\":\"get_total_unread_count\"}",
      "{\"type\":\"subscribe\",\"conversation_id\":\(room)}",
      "{\"type\":\"subscribe\"}", "{\"type\":\"unsubscribe\"}", "{\"type\":\"get_user_channel\"}",
    ]
    let json = Array(values.pick(requests).utf8)
    _ = try attempt { () throws(Failure) in try client.perform(json) }
  }

  private func mark() throws(HostileTrouble) {
    let (room, ids) = (room(), (0..<values.dice.below(300)).map { Array("m\($0)".utf8) })
    switch values.dice.below(3) {
    case 0:
      _ = try attempt { () throws(Failure) in try client.markRead(conversation: room, ids: ids) }
    case 1:
      _ = try attempt { () throws(Failure) in
        try client.markDelivered(conversation: room, ids: ids)
      }
    default:
      _ = try attempt { () throws(Failure) in
        try client.markListened(conversation: room, ids: ids)
      }
    }
  }

  /// Takes back, tries again or drops what is on its way.
  private func decide() throws(HostileTrouble) {
    let query = OperationQuery(
      conversation: values.dice.chance(0.5) ? room() : nil, openOnly: values.dice.chance(0.8),
      after: values.dice.chance(0.8) ? 0 : number(), limit: values.pick([0, 1, 100, 10_000]))
    let page = try attempt { () throws(Failure) in try client.operations(query) }
    for row in page?.rows.prefix(40) ?? [] {
      let isKept = values.dice.chance(0.3)
      _ = try attempt { () throws(Failure) in
        isKept ? try client.retry(row.id) : try client.cancel(operation: row.id)
      }
    }
    let number = number()
    _ = try attempt { () throws(Failure) in try client.operation(number) }
  }

  private func draft() throws(HostileTrouble) {
    let (room, id) = (room(), id())
    let body = [UInt8](repeating: 65, count: values.pick([0, 5, 60_000, 70_000]))
    _ = try attempt { () throws(Failure) in
      try client.setDraft(conversation: room, body: body, replyTo: id)
    }
    _ = try attempt { () throws(Failure) in try client.draft(conversation: room) }
  }

  // MARK: Reads

  private func read() throws(HostileTrouble) {
    let from: MessageQuery.From = values.pick([
      .latest, .oldest, .before(number()), .after(number()), .time(time()), .beforeTime(time()),
    ])
    let limit = values.pick([0, 1, 50, 10_000, Int.max])
    var query = MessageQuery(
      conversation: room(), from: from, descending: values.dice.chance(0.5), limit: limit)
    query.isPinnedOnly = values.dice.chance(0.2)
    let (number, room, id) = (number(), room(), id())
    let offset = values.pick([0, 3, Int.max])
    let asked = query
    _ = try attempt { () throws(Failure) in try client.messages(asked) }
    _ = try attempt { () throws(Failure) in try client.message(conversation: room, id: id) }
    _ = try attempt { () throws(Failure) in try client.changes(after: number, limit: limit) }
    _ = try attempt { () throws(Failure) in try client.events(after: number, limit: limit) }
    _ = try attempt { () throws(Failure) in
      try client.conversations(offset: offset, limit: limit)
    }
    _ = try attempt { () throws(Failure) in try client.conversation(room) }
    let role = values.pick([EntityRole.conversation, .member, .profile])
    _ = try attempt { () throws(Failure) in
      try client.entities(EntityQuery(role, conversation: room))
    }
  }
}

extension Failure {
  /// A release build knows no names of cases.
  fileprivate var name: String {
    switch self {
    case .invalid: "invalid"
    case .closed: "closed"
    case .full: "full"
    case .frame: "frame"
    case .tooLarge: "too large"
    case .notFound: "not found"
    case .mismatch: "mismatch"
    case .unsupported: "unsupported"
    case .offline: "offline"
    default: "other"
    }
  }
}

/// What shows that the library is at fault, without a trap.
package struct HostileTrouble: Error {
  package var text: String
}
