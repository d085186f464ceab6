/// The negative control of a log: a client that appends what it hears.
///
/// It asks for the newest page once, then `after` the last token it was given, without end until
/// the present, and puts each message that it does not know behind all others, from pages and
/// pushes alike. It looks at no `gap`, no `prev` and no epoch. In the worlds it must lose.
internal import Base

final class LogControl: SimulatedClient {
  private struct Row {
    var id: [UInt8]
    var payload: [UInt8]
  }

  private var rows: [Row] = []
  private var known: Set<String> = []
  private var token: String?
  private var outgoing: [SimFrame] = []
  private var syncs: [UInt64: SimProgress] = [:]
  private var waiting: [String: UInt64] = [:]
  private var issued: UInt64 = 0
  private var isUp = false

  let claimsCoverage = false

  func connected() { isUp = true }

  func disconnected() {
    isUp = false
    outgoing = []
    for number in waiting.values { syncs[number]?.outcome = .failed("offline") }
    waiting = [:]
  }

  func nextFrame() -> SimFrame? { outgoing.isEmpty ? nil : outgoing.removeFirst() }
  func frameSent(_ id: UInt64) {}
  func advance() -> Int64 { -1 }
  func cancel(_ sync: UInt64) {}
  func progress(_ sync: UInt64) -> SimProgress {
    syncs[sync] ?? SimProgress(outcome: .ok, requests: 0)
  }

  func syncLatest(_ conversation: [UInt8]) -> UInt64 {
    issued += 1
    guard isUp else {
      syncs[issued] = SimProgress(outcome: .failed("offline"), requests: 0)
      return issued
    }
    syncs[issued] = SimProgress(outcome: .pending, requests: 0)
    ask(for: issued)
    return issued
  }

  func syncOlder(_ conversation: [UInt8], want: Int) -> UInt64 { syncLatest(conversation) }

  private func ask(for sync: UInt64) {
    issued += 1
    let name = "q\(issued)"
    let place = token.map { ",\"after\":\"\($0)\"" } ?? ""
    waiting[name] = sync
    syncs[sync]?.requests += 1
    outgoing.append(
      SimFrame(
        id: issued,
        bytes: Array(
          "{\"type\":\"get_entries\",\"request_id\":\"\(name)\",\"conversation_id\":\"c0\"\(place)}"
            .utf8)))
  }

  func receive(_ bytes: [UInt8]) -> SimReceipt {
    let text = World.text(bytes)
    if Frames.type(bytes) == "entries_new" {
      append(text)
      return .applied
    }
    guard let sync = waiting.removeValue(forKey: Frames.string("request_id", bytes) ?? "") else {
      return .ignored
    }
    guard Frames.string("status", bytes) == "ok" else {
      if Frames.string("code", bytes) == "unknown_cursor" { token = nil }
      syncs[sync]?.outcome = .failed("refused")
      return .applied
    }
    append(text)
    token = Frames.all("after", bytes).last ?? token
    if text.contains("\"present\":true") || syncs[sync].map({ $0.requests > 20 }) ?? true {
      syncs[sync]?.outcome = .ok
    } else {
      ask(for: sync)
    }
    return .applied
  }

  /// Each message that is new, as it comes.
  private func append(_ text: String) {
    for piece in text.components(startingWith: "{\"created_at\"") {
      let entry = Array(piece.utf8)
      if let id = Frames.string("message_id", entry), known.insert(id).inserted {
        let payload = Frames.string("payload", entry) ?? ""
        rows.append(Row(id: Array(id.utf8), payload: Array("\"\(payload)\"".utf8)))
      }
    }
  }

  func page(_ conversation: [UInt8], limit: Int) -> SimPage {
    var page = SimPage()
    page.rows = rows.enumerated().map { index, row in
      SimRow(
        number: UInt64(index + 1), timeUs: 0, order: 0, id: row.id, sender: [],
        payload: row.payload, unread: false, unverified: false)
    }
    return page
  }

  func markRead(_ conversation: [UInt8], ids: [[UInt8]]) {}
  func forget(_ conversation: [UInt8], id: [UInt8]) {}
  func knowsListings() -> Bool { true }

  func contradictions() -> UInt64 { 0 }
  func state() -> SimState { SimState(busy: !waiting.isEmpty) }
  func changes(after seq: UInt64) -> [UInt64]? { [] }
  func armKill(afterWrites writes: Int) {}
  var imageTaken: Bool { false }

  /// Its cache outlives a kill.
  func killAndReopen() {
    isUp = false
    disconnected()
  }

  func discard() {}
}

extension String {
  /// The parts that begin with this text.
  fileprivate func components(startingWith mark: String) -> [String] {
    var parts: [String] = []
    let (all, needle) = (Array(utf8), Array(mark.utf8))
    var start: Int?
    var from = 0
    while let at = Frames.find(needle, in: all, from: from) {
      if let start { parts.append(String(decoding: all[start..<at], as: UTF8.self)) }
      start = at
      from = at + 1
    }
    if let start { parts.append(String(decoding: all[start...], as: UTF8.self)) }
    return parts
  }
}
