/// A client of a server that keeps a log, and the frames between the two.
import Base
import Engine
import Foundation
import LogSupport
import Testing
import Timeline

final class LogHost {
  var server: LogServer
  var client: Client
  let config: ClientConfig
  let clock = World.ManualClock()
  /// Requests that the server has seen since the last `reset`.
  private(set) var requests: [String] = []
  private(set) var receipts: [Receipt] = []
  /// What becomes of an answer on its way; nil loses it.
  var alter: (_ request: String, _ answer: String) -> String? = { $1 }
  /// What becomes of a request on its way.
  var revise: (_ request: String) -> String = { $0 }
  /// Answers to what the user does tell the message.
  var tellsClientIDs = true
  /// What the user does is pushed.
  var echoes = false
  /// The last message that the user has read, which the server tells of the conversation.
  var readTo: String?
  /// How many its list says are unread; nil for a server without a list.
  var unread: Int?
  /// What is sent is answered, and gets lost on the server.
  var drops = false
  private var clientIDs: [[UInt8]: String] = [:]
  private var names = 0
  private var waiting: [LogPush] = []

  init(
    _ kind: LogServerKind = LogServerKind(), pageLimit: Int = 50,
    file: ClientConfig.File = .memory, change: (inout ClientConfig) -> Void = { _ in }
  ) throws {
    server = LogServer(kind: kind, seed: 1)
    let clock = self.clock
    var config = ClientConfig(file: file, account: Array("personal".utf8), user: Array("me".utf8))
    config.profile.log = kind.profile
    config.profile.pageLimit = pageLimit
    config.seed = 7
    config.clock = { clock.read() }
    change(&config)
    self.config = config
    client = try Client.open(config)
  }

  // MARK: What happens on the server

  /// A message; its stamp is that of its place in the log, unless it is back-dated.
  @discardableResult
  func post(
    _ text: String? = nil, at time: Int64? = nil, sender: String = "you", pushes: Bool = false
  ) -> String {
    names += 1
    let id = "m\(names)"
    let entry = LogEntry(
      id: Array(id.utf8), sender: Array(sender.utf8), timeUs: time ?? Int64(names) * 1_000_000,
      content: Array((text ?? "text \(names)").utf8))
    append(entry, pushes: pushes)
    return id
  }

  @discardableResult
  func change(
    _ kind: LogChange.Kind, of target: String, by user: String = "you", says text: String = "",
    pushes: Bool = false
  ) -> String {
    names += 1
    let id = "x\(names)"
    append(
      LogEntry(
        id: Array(id.utf8),
        change: LogChange(kind, of: Array(target.utf8), by: Array(user.utf8)),
        timeUs: Int64(names) * 1_000_000, content: Array(text.utf8)), pushes: pushes)
    return id
  }

  private func append(_ entry: LogEntry, pushes: Bool) {
    server.append(entry, issued: 0)
    guard pushes else { return }
    guard var push = server.push(entry.id) else { return }
    if server.kind.namesPrevious {
      (push.previous, push.before) = (server.log.dropLast().last?.entry.id, nil)
    }
    waiting.append(push)
  }

  /// What came is told, as the server tells it.
  func push(_ id: [UInt8]) {
    if let push = server.push(id) { waiting.append(push) }
  }

  /// The token that stands behind all that there is.
  func newestToken() throws -> [UInt8] {
    guard case .page(let page) = server.answer(.newest, limit: 1), let token = page.after else {
      throw Endless()
    }
    return token
  }

  /// A message is told with the tokens on both sides of it.
  func hand(_ id: String, behind before: [UInt8]?, token after: [UInt8]) throws {
    guard var push = server.push(Array(id.utf8)) else { throw Endless() }
    (push.previous, push.before, push.after) = (nil, before, after)
    waiting.append(push)
    try run()
  }

  /// A message is told with nothing but the entry before it.
  func hand(_ id: String, behind previous: String) throws {
    guard var push = server.push(Array(id.utf8)) else { throw Endless() }
    (push.previous, push.before, push.after) = (Array(previous.utf8), nil, nil)
    waiting.append(push)
    try run()
  }

  /// From now on no entry can be asked for by its id.
  func findsNothing() {
    alter = { request, answer in
      guard request.contains("around_id") else { return answer }
      return answer.replacing(/"status".*/) { _ in
        #""status":"error","error":{"code":"unsupported"}}"#
      }
    }
  }

  // MARK: Frames

  private func json(_ entry: LogEntry) -> String {
    let id = text(entry.id)
    let stamp = Frames.time(World.epochUs + (entry.timeUs ?? 0))
    var members: [String]
    if let change = entry.change {
      members = ["\"entry_id\":\"\(id)\"", "\"created_at\":\"\(stamp)\""]
      if let target = change.target { members.append("\"target_id\":\"\(text(target))\"") }
      members.append("\"sender_id\":\"\(text(change.user))\"")
      let word: String
      switch change.kind {
      case .edit:
        word = "edit"
        members.append("\"payload\":\"\(text(entry.content))\"")
      case .delete: word = "delete"
      case .react(let reaction):
        word = "react"
        members.append("\"reaction\":\"\(text(reaction))\"")
      case .unreact(let reaction):
        word = "unreact"
        members.append("\"reaction\":\"\(text(reaction))\"")
      case .reactions(let all):
        word = "reactions"
        members.append("\"reactions\":[\(all.map { "\"\(text($0))\"" }.joined(separator: ","))]")
      case .pin: word = "pin"
      case .unpin: word = "unpin"
      case .moderate: word = "moderate"
      case .none: word = "none"
      }
      members.append("\"change\":\"\(word)\"")
    } else {
      members = [
        "\"message_id\":\"\(id)\"", "\"created_at\":\"\(stamp)\"",
        "\"sender_id\":\"\(text(entry.sender))\"", "\"payload\":\"\(text(entry.content))\"",
      ]
      if tellsClientIDs, let name = clientIDs[entry.id] {
        members.append("\"client_id\":\"\(name)\"")
      }
      if entry.edited != .no { members.append("\"edited_at\":\"\(stamp)\"") }
    }
    if entry.isDeleted { members.append("\"deleted\":true") }
    return "{\(members.joined(separator: ","))}"
  }

  private func frame(_ push: LogPush) -> String {
    var members = [
      "\"type\":\"entries_new\"", "\"conversation_id\":\"room\"",
      "\"entries\":[\(push.entries.map(json).joined(separator: ","))]",
    ]
    if let id = push.previous { members.append("\"prev\":\"\(text(id))\"") }
    if let token = push.before { members.append("\"before\":\"\(text(token))\"") }
    if let token = push.after { members.append("\"after\":\"\(text(token))\"") }
    return "{\(members.joined(separator: ","))}"
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  private func answer(_ request: [String: Any], _ verb: String, _ number: String) -> String {
    func ok(_ data: String) -> String {
      "{\"type\":\"\(verb)\",\"request_id\":\"\(number)\",\"status\":\"ok\",\"data\":\(data)}"
    }
    func failed(_ code: String) -> String {
      """
      {"type":"\(verb)","request_id":"\(number)","status":"error","error":{"code":"\(code)"}}
      """
    }
    func bytes(_ name: String) -> [UInt8]? { (request[name] as? String).map { Array($0.utf8) } }
    func token(_ bytes: [UInt8]) -> LogToken {
      LogToken(bytes: bytes, id: nil, connection: 0, epoch: nil)
    }
    switch verb {
    case "get_entries":
      var place = LogAsk.Place.newest
      if let before = bytes("before") { place = .before(token(before)) }
      if let after = bytes("after") { place = .after(token(after)) }
      if let id = bytes("around_id") { place = .around(id) }
      switch server.answer(place, limit: request["limit"] as? Int ?? 50) {
      case .unknownCursor: return failed("unknown_cursor")
      case .notFound: return failed("not_found")
      case .page(let page):
        var members = ["\"entries\":[\(page.entries.map(json).joined(separator: ","))]"]
        if let before = page.before { members.append("\"before\":\"\(text(before))\"") }
        if let after = page.after { members.append("\"after\":\"\(text(after))\"") }
        if page.present { members.append("\"present\":true") }
        if page.gap { members.append("\"gap\":true") }
        if let epoch = page.epoch { members.append("\"epoch\":\"\(text(epoch))\"") }
        return ok("{\(members.joined(separator: ","))}")
      }
    case "send_message":
      names += 1
      let id = "m\(names)"
      let entry = LogEntry(
        id: Array(id.utf8), sender: Array("me".utf8), timeUs: Int64(names) * 1_000_000,
        content: Array((request["payload"] as? String ?? "").utf8))
      clientIDs[entry.id] = request["client_id"] as? String
      if !drops { append(entry, pushes: echoes) }
      return ok("{\"message\":\(json(entry))}")
    case "edit_message", "delete_message", "react_message", "unreact_message", "pin_message":
      let target = request["message_id"] as? String ?? ""
      let reaction = bytes("reaction") ?? []
      let kind: LogChange.Kind =
        switch verb {
        case "edit_message": .edit
        case "delete_message": .delete
        case "react_message": .react(reaction)
        case "unreact_message": .unreact(reaction)
        default: .pin
        }
      let id = change(
        kind, of: target, by: "me", says: request["payload"] as? String ?? "", pushes: echoes)
      return ok("{\"entry_id\":\"\(id)\"}")
    case "get_conversation":
      guard let readTo else { return failed("unsupported") }
      return ok(
        "{\"conversation\":{\"conversation_id\":\"room\",\"last_read_message_id\":\"\(readTo)\"}}")
    case "get_conversations":
      guard let readTo, let unread, let last = server.log.last?.entry else {
        return failed("unsupported")
      }
      return ok(
        """
        {"conversations":[{"conversation_id":"room","participant_ids":["me","you"],\
        "last_read_message_id":"\(readTo)","unread_count":\(unread),\
        "last_message":\(json(last))}],"total_count":1}
        """)
    default:
      return failed("unsupported")
    }
  }

  // MARK: Running

  struct Endless: Error {}

  /// Carries frames until both sides are quiet.
  func run() throws {
    try deliver()
    for _ in 0..<1_000 {
      guard let frame = try client.nextFrame() else { return }
      let sent = String(decoding: frame.bytes, as: UTF8.self)
      requests.append(sent)
      _ = try client.frameSent(frame.id)
      let request =
        try JSONSerialization.jsonObject(with: Data(revise(sent).utf8)) as? [String: Any] ?? [:]
      let said = answer(
        request, request["type"] as? String ?? "", request["request_id"] as? String ?? "")
      if let said = alter(sent, said) { receipts.append(try client.receive(Array(said.utf8))) }
      try deliver()
    }
    throw Endless()
  }

  private func deliver() throws {
    while !waiting.isEmpty { try hand(frame(waiting.removeFirst())) }
  }

  @discardableResult
  func hand(_ frame: String) throws -> Receipt {
    let receipt = try client.receive(Array(frame.utf8))
    receipts.append(receipt)
    return receipt
  }

  /// What was pushed while nobody listened is lost.
  func losePushes() { waiting = [] }

  @discardableResult
  func sync(_ kind: SyncRequest.Kind = .latest, want: Int = 0) throws -> SyncStatus {
    let id = try client.sync(
      SyncRequest(conversation: Array("room".utf8), kind: kind, want: want))
    try run()
    return try client.syncStatus(id)
  }

  func reconnect() throws {
    try client.disconnected()
    losePushes()
    try client.connected()
    try run()
  }

  /// A kill and a restart on the same file.
  func reopen() throws {
    client.close()
    losePushes()
    client = try Client.open(config)
    try client.connected()
    try run()
  }

  /// Polls a window, and carries frames, until nothing is asked and nothing changes.
  func settle(_ window: Window) throws {
    for _ in 0..<200 {
      try run()
      let count = requests.count
      let diff = try window.poll()
      try run()
      if diff == nil, requests.count == count { return }
    }
    Issue.record("the window does not come to rest: \(try window.state())")
  }

  func reset() {
    requests = []
    receipts = []
  }

  // MARK: What is there

  func page(limit: Int = 10_000) throws -> MessagePage {
    try client.messages(MessageQuery(conversation: Array("room".utf8), limit: limit))
  }

  /// Each row as its id and what it says; `-` where it is deleted.
  func shown() throws -> [String] {
    let page = try page()
    return page.rows.map { row in
      let says = String(decoding: page[row.payload], as: UTF8.self)
      let isDeleted = row.flags & (1 << 3) != 0
      let reactions = String(decoding: page[row.reactions], as: UTF8.self)
      return "\(String(decoding: page[row.id], as: UTF8.self)) \(isDeleted ? "-" : says)"
        + (reactions.isEmpty ? "" : " " + reactions) + (row.flags & (1 << 4) != 0 ? " pinned" : "")
    }
  }

  /// The same of the server.
  func truth() -> [String] {
    server.log.filter { $0.entry.change == nil }.compactMap { item in
      guard let state = server.state(of: item.entry.id, through: server.log.count - 1) else {
        return nil
      }
      let id = text(item.entry.id)
      if state.isDeleted { return "\(id) -\(state.isPinned ? " pinned" : "")" }
      var names: [String] = []
      var users: [String: [String]] = [:]
      for user in state.reactions.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
        for one in (state.reactions[user] ?? []).map(text) {
          if users[one] == nil { names.append(one) }
          users[one, default: []].append("\"\(text(user))\"")
        }
      }
      let all = names.sorted().map {
        "\"\($0)\":[\(users[$0, default: []].joined(separator: ","))]"
      }
      let set = all.isEmpty ? "" : " {\(all.joined(separator: ","))}"
      return "\(id) \"\(text(state.content))\"\(set)\(state.isPinned ? " pinned" : "")"
    }
  }

  /// All is there, in its order, as it is, and whole.
  func expectWhole(_ location: SourceLocation = #_sourceLocation) throws {
    #expect(try shown() == truth(), sourceLocation: location)
    let coverage = try page().coverage
    #expect(
      coverage.whole && coverage.stop == .start && coverage.gaps.isEmpty,
      "\(coverage)", sourceLocation: location)
  }
}
