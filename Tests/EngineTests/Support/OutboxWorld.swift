/// What tests of the outbox say and see: a user who acts, and what stands on screen.
import Base
import Engine
import ReferenceServer
import Testing

/// One row as a user sees it.
struct SeenRow: Equatable, CustomStringConvertible {
  var text: String
  var number: UInt64
  var id: String
  var flags: UInt32

  var description: String { "\(text)#\(number)" }
}

extension World {
  /// A server that does a send once, however often it is told, and a profile that says so.
  static func idempotent(
    file: ClientConfig.File = .memory, echoesIDs: Bool = true,
    tellsClientIDs: Bool = true, change: (inout ClientConfig) -> Void = { _ in }
  ) throws -> World {
    var knobs = ServerKnobs()
    knobs.idempotentSends = true
    knobs.echoesClientIDs = tellsClientIDs
    knobs.echoesRequestIDs = echoesIDs
    var profile = Profile()
    profile.capabilities = [.idempotentSend]
    return try World(knobs: knobs, profile: profile, file: file, change: change).ticking()
  }

  /// A server that does a send as often as it is told.
  static func forgetful(
    file: ClientConfig.File = .memory, tellsClientIDs: Bool = true,
    change: (inout ClientConfig) -> Void = { _ in }
  ) throws -> World {
    var knobs = ServerKnobs()
    knobs.echoesClientIDs = tellsClientIDs
    return try World(knobs: knobs, file: file, change: change).ticking()
  }

  /// The server's times tell the sends apart.
  func ticking() -> World {
    before = { [weak self] _, request in
      if request.contains("\"send_message\"") { self?.advance(ms: 1_000) }
    }
    return self
  }

  @discardableResult
  func perform(
    _ json: String, upload: Bool = false
  ) throws -> (operation: UInt64, number: UInt64) {
    try client.perform(Array(json.utf8), PerformOptions(awaitsUpload: upload))
  }

  @discardableResult
  func say(
    _ text: String, as clientID: String? = nil, in conversation: String? = nil
  ) throws -> (operation: UInt64, number: UInt64) {
    advance(ms: 1_000)
    let name = clientID.map { "\"client_id\":\"\($0)\"," } ?? ""
    return try perform(
      """
      {"type":"send_message",\(name)"conversation_id":"\(conversation ?? room)",\
      "payload":"\(text)"}
      """)
  }

  /// A send that is not answered, whether or not it reaches the server.
  func sayUnanswered(
    _ text: String, arrives: Bool
  ) throws -> (operation: UInt64, number: UInt64) {
    let said = try say(text)
    if arrives {
      lose("send_message")
      try run()
      answerAll()
    } else {
      _ = try client.nextFrame()
    }
    return said
  }

  /// Something done to one message.
  @discardableResult
  func act(_ verb: String, _ message: String, _ more: String = "") throws -> UInt64 {
    try perform(
      """
      {"type":"\(verb)","conversation_id":"\(room)","message_id":"\(message)"\(more)}
      """
    ).operation
  }

  func standing(_ operation: UInt64) throws -> OperationStanding {
    try #require(try client.operation(operation).rows.first).standing
  }

  func waiting(_ operation: UInt64) throws -> OperationWaiting {
    try #require(try client.operation(operation).rows.first).waiting
  }

  /// One member of an operation, as text.
  func said(
    _ operation: UInt64, _ part: (OperationView) -> Range<Int>
  ) throws -> String {
    let page = try client.operation(operation)
    let row = try #require(page.rows.first)
    return String(decoding: page.bytes[part(row)], as: UTF8.self)
  }

  /// What a screen shows, oldest first.
  func seen(in conversation: String? = nil) throws -> [SeenRow] {
    let page = try page(in: conversation)
    return page.rows.map { row in
      let payload = String(decoding: page[row.payload], as: UTF8.self)
      return SeenRow(
        text: payload.filter { $0 != "\"" }, number: row.number,
        id: String(decoding: page[row.id], as: UTF8.self), flags: row.flags)
    }
  }

  func states() throws -> [MessageState] { try page().rows.map(\.state) }

  func texts(in conversation: String? = nil) throws -> [String] {
    try seen(in: conversation).map(\.text)
  }

  /// Payloads of the server's messages of this user, in the order they came.
  func served(in conversation: String? = nil, sender: String = "me") -> [String] {
    server.truth(conversation ?? room).filter { $0.sender == sender }
      .sorted { ($0.stampUs, $0.arrival) < ($1.stampUs, $1.arrival) }
      .map { $0.payload.filter { $0 != "\"" } }
  }

  func open() throws -> [UInt64] {
    try client.operations(OperationQuery()).rows.map(\.id)
  }

  /// Loses the answers to a verb while the closure says so.
  func lose(_ verb: String, while isLost: @escaping () -> Bool = { true }) {
    alter = { request, answer in
      request.contains("\"type\":\"\(verb)\"") && isLost() ? nil : answer
    }
  }

  func answerAll() { alter = { $1 } }

  /// Lets time-outs pass, and what follows from them happen.
  func wait(ms: Int64) throws {
    for _ in 0..<40 {
      advance(ms: ms / 40)
      _ = try client.advance()
      try run()
    }
  }

  func breakConnection() throws {
    try disconnect()
    try client.connected()
  }
}
