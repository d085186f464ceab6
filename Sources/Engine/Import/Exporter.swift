/// Giving a conversation away: its messages as JSON lines, each an object of the protocol's.
///
/// Rule protected: what is stored and shown is written once, in its order, whatever is changed
/// between two steps: a step ends between two times. Payloads are as they were opened. What the
/// server does not have yet stays out.
internal import Base
internal import Store
internal import Timeline
internal import Wire

package struct Exporter {
  let client: Client

  package init(_ client: Client) { self.client = client }

  /// The work that writes a conversation; `write` takes whole lines.
  package func start(
    _ conversation: [UInt8], write: @escaping @Sendable ([UInt8]) throws(Failure) -> Void
  ) throws(Failure) -> Work {
    try client.check(conversation)
    let work = ExportWork(client, conversation, write: write)
    _ = try work.begin()
    return Work(client, work)
  }
}

private final class ExportWork: WorkBody {
  private static let rows = 256

  private let client: Client
  private let conversation: [UInt8]
  private let write: @Sendable ([UInt8]) throws(Failure) -> Void
  private let kept: Lock<State?>
  private let seen = Lock(WorkProgress(done: 0, total: 0, isDone: false))

  private struct State {
    var from = Position.min
    var done: UInt64 = 0
    var isDone = false
  }

  init(
    _ client: Client, _ conversation: [UInt8],
    write: @escaping @Sendable ([UInt8]) throws(Failure) -> Void
  ) {
    self.client = client
    self.conversation = conversation
    self.write = write
    kept = Lock(State())
  }

  /// How many there are.
  func begin() throws(Failure) -> UInt64 {
    let total = try client.readingHealed { reading throws(Failure) -> Int in
      try reading.storing { rx throws(StoreFailure) -> Int? in
        guard let record = try rx.conversation(conversation) else { return nil }
        return try rx.count(record.cid, from: .min, to: .beforePending)
      } ?? -1
    }
    if total < 0 { throw .noConversation }
    seen.withLock { $0.total = UInt64(clamping: total) }
    return UInt64(clamping: total)
  }

  func step() throws(Failure) -> Bool {
    let taken = kept.withLock { kept in
      defer { kept = nil }
      return kept
    }
    guard var state = taken else { throw .invalid("a step of this export is under way") }
    defer { kept.withLock { $0 = state } }
    if state.isDone { return true }
    let lines = try next(&state)
    // What was not taken is given again.
    if !lines.text.isEmpty { try write(lines.text) }
    state.from = lines.next
    state.done &+= lines.count
    state.isDone = lines.next == .beforePending
    seen.withLock { seen in
      seen.done = state.done
      seen.isDone = state.isDone
      seen.total = state.isDone ? state.done : max(seen.total, state.done)
    }
    return state.isDone
  }

  private func next(
    _ state: inout State
  ) throws(Failure) -> (text: [UInt8], count: UInt64, next: Position) {
    let from = state.from
    let found = try client.readingHealed { reading throws(Failure) in
      try reading.storing { rx throws(StoreFailure) -> (page: RowPage, next: Position)? in
        guard let record = try rx.conversation(conversation) else { return nil }
        let keys = try rx.keys(record.cid, from: from, limit: Self.rows, to: .beforePending)
        let places = keys.map(\.position).ascending()
        func page(of places: [Position], next: Position) throws(StoreFailure) -> (RowPage, Position)
        {
          let page = try rx.messages(record.cid, keys: places[...])
          var next = next
          // Of too many bytes only a part is read.
          if page.isCut, page.count > 0 {
            next = page.position(at: page.count &- 1).successor
          }
          // Pages that contradict each other could lead in a ring.
          guard next > from else { throw .damaged }
          return (page, next)
        }
        guard places.count == Self.rows, let last = places.last else {
          return try page(of: places, next: .beforePending)
        }
        // Messages of one time may change places until the next step.
        var whole = places.filter { $0.time != last.time }
        if whole.isEmpty {
          let group = try rx.keys(
            record.cid, from: from, limit: Limits.readRowsMax,
            to: .after(timestampGroup: last.time))
          whole = group.map(\.position).ascending()
        }
        let top = whole.last.map { Position.after(timestampGroup: $0.time) }
        return try page(of: whole, next: top ?? .beforePending)
      }
    }
    guard let found else { throw .noConversation }
    var text: [UInt8] = []
    for row in found.page.rows {
      text.append(contentsOf: line(row, found.page))
      text.append(UInt8(ascii: "\n"))
    }
    return (text, UInt64(clamping: found.page.count), found.next)
  }

  private func line(_ row: MessageRow, _ page: RowPage) -> [UInt8] {
    let flags = RowFlags(rawValue: row.stored)
    var json = JSONObject()
    json.add("message_id", page[row.id])
    json.add("conversation_id", conversation)
    json.add("sender_id", page[row.sender])
    json.add("created_at", page[row.stamp])
    json.add("payload", json: page[row.payload])
    if !row.clientID.isEmpty { json.add("client_id", page[row.clientID]) }
    if row.editedUs != 0 {
      let zone = client.config.profile.zoneOffsetMinutes
      let form = Stamp(page[row.stamp], zoneOffsetMinutes: zone)
      if let form { json.add("edited_at", form.printed(ServerTime(us: row.editedUs))) }
    }
    if !row.replyTo.isEmpty { json.add("reply_to", page[row.replyTo]) }
    if !row.reactions.isEmpty { json.add("reactions", json: page[row.reactions]) }
    if flags.contains(.pinned) { json.add("pinned", json: bytes("true")) }
    if flags.contains(.deleted) { json.add("deleted", json: bytes("true")) }
    if flags.contains(.event) { json.add("kind", bytes("event")) }
    if flags.contains(.moderated) { json.add("moderated", json: bytes("true")) }
    if !row.readBy.isEmpty { json.add("read_by", json: page[row.readBy]) }
    if !row.deliveredBy.isEmpty { json.add("delivered_by", json: page[row.deliveredBy]) }
    if !row.listenedBy.isEmpty { json.add("listened_by", json: page[row.listenedBy]) }
    json.add(members: page[row.rest].dropFirst().dropLast())
    return json.closed()
  }

  func progress() throws(Failure) -> WorkProgress { seen.withLock { $0 } }
}
