/// What a world of operations does with the client and looks at, and the faults planted for it.
internal import Engine
internal import Foundation

/// An operation as the host lists it.
struct SimOperation: Equatable {
  var seq: UInt64
  var number: UInt64
  var standing: OperationStanding
  var waiting: OperationWaiting
  var attempts: Int
  var verb: String
  var conversation: String
  var message: String
  var clientID: String
  var request: [UInt8]
  var error: String

  /// What it is about, as the server calls it.
  var subject: String {
    message.isEmpty ? World.subject(conversation, World.people(request)) : message
  }

  var isStuck: Bool {
    standing == .refused || standing == .unknown && waiting == .nothing
      || standing == .queued && waiting == .upload
  }
}

/// What planted faults keep in mind.
struct FaultMemory {
  /// Numbers of rows that were pending.
  var pending: Set<UInt64> = []
  /// What an edit once showed, by message.
  var edited: [[UInt8]: [UInt8]] = [:]
  /// How often a send was told, by client id.
  var told: [String: Int] = [:]
  /// What was subscribed to.
  var subscribed: Set<String> = []
}

extension TidelineClient {
  func perform(_ json: String, upload: Bool = false) throws -> (seq: UInt64, number: UInt64) {
    let made = try client.perform(Array(json.utf8), PerformOptions(awaitsUpload: upload))
    let bytes = Array(json.utf8)
    if operationFault == .overlayStays, Frames.type(bytes) == "edit_message",
      let id = Frames.string("message_id", bytes), memory.edited[Array(id.utf8)] == nil,
      let start = json.range(of: "\"payload\":")
    {
      memory.edited[Array(id.utf8)] = Array(json[start.upperBound...].dropLast().utf8)
    }
    return (made.operation, made.number)
  }

  func syncConversations() throws -> UInt64 {
    try client.sync(SyncRequest(kind: .conversations))
  }

  func allOperations() throws -> [SimOperation] {
    var found: [SimOperation] = []
    var after: UInt64 = 0
    while true {
      let page = try client.operations(
        OperationQuery(openOnly: false, after: after, limit: 1_000))
      guard let last = page.rows.last else { return found }
      after = last.id
      for row in page.rows {
        func text(_ range: Range<Int>) -> String { World.text(Array(page.bytes[range])) }
        found.append(
          SimOperation(
            seq: row.id, number: row.number, standing: row.standing, waiting: row.waiting,
            attempts: Int(row.attempts), verb: text(row.verb),
            conversation: text(row.conversation), message: text(row.message),
            clientID: text(row.clientID), request: Array(page.bytes[row.request]),
            error: text(row.errorCode)))
      }
    }
  }

  /// The rows of a list of conversations: ids, and the name that the server's object has.
  func conversationNames() throws -> [(id: String, isPending: Bool, clientID: String)] {
    let page = try client.conversations(offset: 0, limit: 1_000)
    return page.rows.map { row in
      (
        World.text(Array(page.bytes[row.id])), row.flags & ConversationFlags.pending != 0,
        Frames.string("client_id", Array(page.bytes[row.body])) ?? ""
      )
    }
  }

  func cancelOperation(_ seq: UInt64) throws -> Bool { try client.cancel(operation: seq) }
  func retryOperation(_ seq: UInt64) throws -> Bool { try client.retry(seq) }

  func editOperation(_ seq: UInt64, _ json: String) throws -> Bool {
    try client.editOperation(seq, Array(json.utf8))
  }

  func uploaded(_ seq: UInt64) throws -> Bool {
    try client.uploaded(seq, attachment: Array(#"{"url":"there"}"#.utf8))
  }

  func uploadFailed(_ seq: UInt64) throws -> Bool {
    try client.uploadFailed(seq, reason: Array("no".utf8))
  }

  func reopenPayloads() throws {
    if operationFault != .neverReopened { _ = try client.reopenPayloads(conversation: nil) }
  }

  func setDraft(_ conversation: String, _ body: String) throws {
    try client.setDraft(conversation: Array(conversation.utf8), body: Array(body.utf8))
  }

  func draft(_ conversation: String) throws -> String {
    try client.draft(conversation: Array(conversation.utf8)).map { World.text($0.body) } ?? ""
  }

  /// A conversation as it was told last.
  func conversation(_ name: String) throws -> [UInt8]? {
    try client.entities(EntityQuery(.conversation, limit: 10_000)).first {
      World.text($0.id) == name
    }?.body
  }

  // MARK: Planted faults

  /// Rows as the host gets them.
  func spoiled(_ row: SimRow) -> SimRow {
    guard let operationFault else { return row }
    switch operationFault {
    case .renumbered:
      if row.isPending {
        memory.pending.insert(row.number)
      } else if memory.pending.contains(row.number) {
        return row.spoiled(number: row.number + 1 << 40)
      }
    case .overlayStays:
      return row.spoiled(payload: memory.edited[row.id])
    case .shutAgain:
      if keys.opens, !keys.isThere, !row.isPending, !row.isSealed { return row.shut() }
    default: break
    }
    return row
  }

  func spoiled(_ frame: SimFrame) -> SimFrame {
    if operationFault == .leavesUnsealed,
      let start = Frames.find(SimKeys.start, in: frame.bytes, from: 0),
      let end = Frames.find(SimKeys.middle, in: frame.bytes, from: start)
    {
      let rest = Array("{\"in\":".utf8) + frame.bytes[(end + SimKeys.middle.count)...]
      return SimFrame(id: frame.id, bytes: frame.bytes[..<start] + rest)
    }
    let request = Frames.request(frame.bytes)
    if operationFault == .subscribedOnce, Frames.type(request) == "subscribe",
      !memory.subscribed.insert(Frames.string("conversation_id", request) ?? "").inserted
    {
      let text = World.text(frame.bytes)
      let other = text.replacingOccurrences(of: "\"subscribe\"", with: "\"unsubscribe\"")
      return SimFrame(id: frame.id, bytes: Array(other.utf8))
    }
    guard operationFault == .resentUnderNewID else { return frame }
    guard Frames.type(request) == "send_message", let name = Frames.string("client_id", request)
    else { return frame }
    memory.told[name, default: 0] += 1
    guard let times = memory.told[name], times > 1 else { return frame }
    let text = World.text(frame.bytes)
    return SimFrame(
      id: frame.id,
      bytes: Array(
        text.replacingOccurrences(
          of: "\"client_id\":\"\(name)\"", with: "\"client_id\":\"\(name)-\(times)\""
        ).utf8))
  }

  func spoilDisconnect() throws {
    guard operationFault == .droppedAtDisconnect else { return }
    let open = try allOperations().first { $0.standing == .queued && $0.verb == "send_message" }
    if let open { _ = try client.cancel(operation: open.seq) }
  }
}
