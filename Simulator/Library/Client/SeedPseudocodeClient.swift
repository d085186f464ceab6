/// The negative control: the incremental sync of the first design note, as its pseudocode says.
///
/// `after_ts` is the newest cached `created_at`; one request, no loop; deletions since the same
/// time; marking read inside the fetch. It must lose messages, or the simulator shows nothing.
/// Its cache survives a kill, as the note's file does; what was under way does not.
internal import Foundation

package final class SeedPseudocodeClient: SimulatedClient {
  private struct Cached {
    var createdAt: String
    var payload: [UInt8]
    var sender: String
    var control: Bool
    var unread: Bool
  }

  /// One call of `getMessages`, waiting for its answer.
  private struct Call {
    enum Stage { case fetch, markRead, deletions }

    var number: UInt64
    var conversation: String
    var limit: Int
    var offset: Int
    var stage = Stage.fetch
    var afterTs: String?
    var requestID = ""
    var dueUs: Int64 = .max
    var requests = 0
  }

  private let me: String
  private let limit: Int
  private let timeoutUs: Int64
  private let clock: VirtualClock
  private var cache: [String: [String: Cached]] = [:]
  private var calls: [Call] = []
  private var ended: [UInt64: SimProgress] = [:]
  private var outgoing: [SimFrame] = []
  private var isConnected = false
  private var issued: UInt64 = 0
  private var armed = false

  package init(knobs: Knobs, clock: VirtualClock) {
    me = World.me
    limit = knobs.pageLimit
    timeoutUs = knobs.timeoutMs * 1_000
    self.clock = clock
  }

  package let claimsCoverage = false

  package func connected() { isConnected = true }

  /// Every call that waits gets nothing, and so answers from the cache.
  package func disconnected() {
    isConnected = false
    outgoing = []
    let waiting = calls
    calls = []
    for call in waiting { finish(call, "offline") }
  }

  package func nextFrame() -> SimFrame? {
    outgoing.isEmpty ? nil : outgoing.removeFirst()
  }

  package func frameSent(_ id: UInt64) {}

  package func advance() -> Int64 {
    for call in calls where call.dueUs <= clock.nowUs {
      calls.removeAll { $0.number == call.number }
      if call.stage == .markRead { askDeletions(call) } else { finish(call, "timeout") }
    }
    guard let due = calls.map(\.dueUs).min() else { return -1 }
    return max(1, (due - clock.nowUs + 999) / 1_000)
  }

  // MARK: Calls

  package func syncLatest(_ conversation: [UInt8]) -> UInt64 {
    getMessages(String(decoding: conversation, as: UTF8.self), offset: 0)
  }

  /// "Load older": a full fetch behind what is shown.
  package func syncOlder(_ conversation: [UInt8], want: Int) -> UInt64 {
    let name = String(decoding: conversation, as: UTF8.self)
    return getMessages(name, offset: cache[name, default: [:]].count)
  }

  private func getMessages(_ conversation: String, offset: Int) -> UInt64 {
    issued += 1
    var call = Call(number: issued, conversation: conversation, limit: limit, offset: offset)
    if offset == 0 {
      call.afterTs = cache[conversation, default: [:]].values
        .map(\.createdAt).filter { !$0.isEmpty }.max()
    }
    guard isConnected else {
      finish(call, "offline")
      return call.number
    }
    var members: [String: Any] = ["limit": limit, "offset": offset]
    if let afterTs = call.afterTs { members["after_ts"] = afterTs }
    request(call, "get_messages", members)
    return call.number
  }

  private func request(_ call: Call, _ type: String, _ members: [String: Any]) {
    var call = call
    issued += 1
    call.requestID = "q\(issued)"
    call.dueUs = clock.nowUs + timeoutUs
    call.requests += 1
    var frame = members
    frame["type"] = type
    frame["request_id"] = call.requestID
    frame["conversation_id"] = call.conversation
    let bytes = (try? JSONSerialization.data(withJSONObject: frame, options: .sortedKeys)) ?? Data()
    outgoing.append(SimFrame(id: issued, bytes: [UInt8](bytes)))
    calls.append(call)
  }

  private func askDeletions(_ call: Call) {
    guard let afterTs = call.afterTs, isConnected else {
      finish(call, nil)
      return
    }
    var call = call
    call.stage = .deletions
    request(call, "get_deleted_since", ["since": afterTs])
  }

  private func finish(_ call: Call, _ trouble: String?) {
    ended[call.number] = SimProgress(
      outcome: trouble.map { .failed($0) } ?? .ok, requests: call.requests)
  }

  package func cancel(_ sync: UInt64) {
    guard let call = calls.first(where: { $0.number == sync }) else { return }
    calls.removeAll { $0.number == sync }
    finish(call, "cancelled")
  }

  package func progress(_ sync: UInt64) -> SimProgress {
    ended[sync] ?? SimProgress(outcome: .pending, requests: 0)
  }

  // MARK: Answers

  package func receive(_ bytes: [UInt8]) -> SimReceipt {
    guard let frame = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
    else { return .ignored }
    if frame["status"] == nil { return notified(frame) }
    let requestID = frame["request_id"] as? String
    guard let index = calls.firstIndex(where: { requestID == nil || $0.requestID == requestID })
    else { return .ignored }
    let call = calls.remove(at: index)
    let data = frame["data"] as? [String: Any]
    let isGood = frame["status"] as? String == "ok"
    switch call.stage {
    case .fetch:
      guard isGood, let rows = data?["messages"] as? [[String: Any]] else {
        finish(call, "refused")
        return .applied
      }
      fetched(call, rows)
    case .markRead:
      askDeletions(call)
    case .deletions:
      for id in data?["message_ids"] as? [String] ?? [] {
        cache[call.conversation]?[id] = nil
      }
      finish(call, isGood ? nil : "refused")
    }
    return .applied
  }

  private func fetched(_ call: Call, _ rows: [[String: Any]]) {
    for row in rows { keep(row, call.conversation) }
    let unread = rows.filter(isUnread).compactMap { $0["message_id"] as? String }
    if unread.isEmpty {
      askDeletions(call)
      return
    }
    var call = call
    call.stage = .markRead
    request(call, "mark_read", ["message_ids": unread])
  }

  private func isUnread(_ row: [String: Any]) -> Bool {
    if row["sender_id"] as? String == me { return false }
    let readBy = row["read_by"] as? [[String: Any]] ?? []
    return !readBy.contains { $0["user_id"] as? String == me }
  }

  private func keep(_ row: [String: Any], _ conversation: String) {
    guard let id = row["message_id"] as? String, let payload = row["payload"] else { return }
    let object = payload as? [String: Any]
    let text = object?["t"] as? String ?? payload as? String ?? ""
    cache[conversation, default: [:]][id] = Cached(
      createdAt: row["created_at"] as? String ?? "", payload: Array(text.utf8),
      sender: row["sender_id"] as? String ?? "", control: object?["_control"] != nil,
      unread: isUnread(row))
  }

  /// The realtime notifications keep the cache current.
  private func notified(_ frame: [String: Any]) -> SimReceipt {
    guard let conversation = frame["conversation_id"] as? String else { return .ignored }
    switch frame["type"] as? String {
    case "message_new", "message_edited":
      if let row = frame["message"] as? [String: Any] { keep(row, conversation) }
    case "message_deleted":
      for id in frame["message_ids"] as? [String] ?? [] { cache[conversation]?[id] = nil }
    default:
      return .ignored
    }
    return .applied
  }

  // MARK: Reading

  /// Times are compared as text, as the note does; equal ones get some order.
  package func page(_ conversation: [UInt8], limit: Int) -> SimPage {
    let name = String(decoding: conversation, as: UTF8.self)
    let rows = cache[name, default: [:]].filter { !$0.value.control }
      .sorted { ($0.value.createdAt, $0.key) < ($1.value.createdAt, $1.key) }
    let shown = rows.suffix(limit).map { id, row in
      SimRow(
        number: 0, timeUs: World.microseconds(row.createdAt),
        order: World.microseconds(row.createdAt), id: Array(id.utf8),
        sender: Array(row.sender.utf8), payload: row.payload, unread: row.unread,
        unverified: false)
    }
    return SimPage(rows: shown)
  }

  package func markRead(_ conversation: [UInt8], ids: [[UInt8]]) {}

  package func forget(_ conversation: [UInt8], id: [UInt8]) {
    let name = String(decoding: conversation, as: UTF8.self)
    cache[name]?[String(decoding: id, as: UTF8.self)] = nil
  }

  package func knowsListings() -> Bool { false }

  package func contradictions() -> UInt64 { 0 }

  package func state() -> SimState { SimState(busy: !calls.isEmpty) }
  package func changes(after seq: UInt64) -> [UInt64]? { [] }
  package func armKill(afterWrites writes: Int) { armed = true }
  package var imageTaken: Bool { armed }

  package func killAndReopen() {
    armed = false
    isConnected = false
    calls = []
    outgoing = []
  }

  package func discard() {}
}
