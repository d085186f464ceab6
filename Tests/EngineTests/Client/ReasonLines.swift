/// What the host is told of what was refused, ignored, set aside or mended: the reason of a call,
/// and the lines of the log.
import Base
import Foundation
import ReferenceServer
import Testing
import Wire

@testable import Engine

@Suite struct ReasonLines {
  /// Lines as the host's log has them.
  private final class Log: Sendable {
    private let kept = Lock<[String]>([])

    var lines: [String] { kept.withLock { $0 } }

    /// The lines since the last call.
    func take() -> [String] {
      kept.withLock { lines in
        defer { lines = [] }
        return lines
      }
    }

    func add(_ level: LogLevel, _ text: String) {
      kept.withLock { $0.append("\(level.rawValue) \(text)") }
    }
  }

  private let log = Log()

  private func world(
    knobs: ServerKnobs = ServerKnobs(), file: ClientConfig.File = .memory,
    change: (inout ClientConfig) -> Void = { _ in }
  ) throws -> World {
    try World(knobs: knobs, file: file) { config in
      config.log = { [log] in log.add($0, $1) }
      change(&config)
    }
  }

  private func push(_ messages: String) -> [UInt8] {
    Array(#"{"type":"message_new","conversation_id":"room","message":\#(messages)}"#.utf8)
  }

  private func take(_ world: World, _ frame: String) throws -> (Receipt, String?) {
    let (receipt, reason) = try world.client.take(Array(frame.utf8))
    return (receipt, reason.map { "\($0)" })
  }

  @Test func theOpeningAndTheConnectionAreTold() throws {
    let world = try world()
    let opened = log.take()
    #expect(opened.first == "3 opened in memory")
    #expect(opened.contains { $0.hasPrefix("3 schema version (") })
    #expect(opened.last == "3 capabilities of the server, as bits (0)")
    try world.client.connected()
    try world.client.disconnected()
    try world.client.disconnected()
    #expect(log.take() == ["3 connected", "3 disconnected"])
  }

  @Test func aSyncThatEndedIsTold() throws {
    let world = try world()
    world.post(3)
    try world.connect()
    _ = log.take()
    try world.sync()
    #expect(log.take().filter { !$0.hasPrefix("4") } == ["3 a sync ended; messages received (3)"])
  }

  @Test func aFileIsNewOnce() throws {
    let path = FileManager.default.temporaryDirectory.path + "/reasons-\(UUID().uuidString)"
    defer { for end in ["", "-wal"] { try? FileManager.default.removeItem(atPath: path + end) } }
    let key = HostKey([UInt8](repeating: 7, count: 32))
    let world = try world(file: .path(path, key: key, create: true, strict: false))
    #expect(log.take().first == "3 opened a new file")
    world.client.close()
    _ = log.take()
    world.client = try Client.open(world.config)
    #expect(log.take().first == "3 opened a file that was there")
    world.client.close()
  }

  @Test func aLostTailIsTold() throws {
    let path = FileManager.default.temporaryDirectory.path + "/reasons-\(UUID().uuidString)"
    let copy = path + "-copy"
    defer {
      for end in ["", "-wal", "-copy", "-copy-wal"] {
        try? FileManager.default.removeItem(atPath: path + end)
      }
    }
    let key = HostKey([UInt8](repeating: 7, count: 32))
    let world = try world(file: .path(path, key: key, create: true, strict: false))
    world.post(3)
    try world.connect()
    try world.sync()
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    var tail = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
    tail[tail.count - 1] ^= 1
    try tail.write(to: URL(fileURLWithPath: copy + "-wal"))
    world.client.close()
    _ = log.take()
    world.config.file = .path(copy, key: key, create: false, strict: false)
    let client = try Client.open(world.config)
    #expect(
      log.take().first == "2 the end of the log was rejected; what it held is fetched again")
    client.close()
  }

  @Test func aConnectionThatIsVoidIsTold() throws {
    var knobs = ServerKnobs()
    knobs.echoesRequestIDs = false
    let world = try world(knobs: knobs)
    try world.connect()
    world.alter = { _, _ in nil }
    try world.sync()
    _ = log.take()
    world.advance(ms: 30_000)
    _ = try world.client.advance()
    #expect(try world.client.state().reconnectWanted)
    #expect(log.take() == ["2 no answer in time on a connection without request ids"])
  }

  @Test func aRecordedGapIsTold() throws {
    let world = try world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    world.post(300)
    try world.connect()
    _ = log.take()
    let request = SyncRequest(conversation: Array("room".utf8), pagesMax: 1)
    let id = try world.client.sync(request)
    try world.run()
    #expect(try world.client.syncStatus(id).trouble == .incomplete)
    #expect(log.take().contains("2 a sync ended with a recorded gap"))
  }

  @Test func aRestoreIsTold() throws {
    let world = try world()
    world.post(3)
    try world.connect()
    let name = Lock("first")
    world.alter = { request, answer in
      guard request.contains("get_messages") else { return answer }
      let epoch = name.withLock { $0 }
      return answer.replacingOccurrences(
        of: #""messages":"#, with: #""epoch":"\#(epoch)","messages":"#)
    }
    try world.sync()
    let line = "2 the server's copy is older than what is here: it was restored"
    #expect(!log.take().contains(line))
    name.withLock { $0 = "second" }
    try world.sync()
    #expect(log.take().filter { $0 == line }.count == 1)
    #expect(try world.client.stats().restores == 1)
  }

  @Test func aCountThatDiffersIsTold() throws {
    let world = try world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    try world.missing(130)
    try world.sync()
    _ = world.put("\"imported\"", agoMs: 100_000)
    world.post(1)
    _ = log.take()
    try world.sync()
    try world.sync(.older, want: 1_000)
    #expect(try world.client.stats().auditMismatches == 1)
    #expect(log.take().contains("2 the server counts other messages than are here"))
  }

  @Test func whatIsIgnoredSaysWhy() throws {
    let world = try world()
    try world.connect()
    _ = log.take()
    let unknown = try take(world, #"{"type":"sing"}"#)
    #expect(unknown == (.ignored, "type is not one that is known here"))
    let late = try take(
      world, #"{"type":"get_messages","status":"ok","request_id":"z","data":{"messages":[]}}"#)
    #expect(late == (.ignored, "the answer is to no open request"))
    #expect(
      log.take() == [
        "4 a frame was ignored: type is not one that is known here",
        "4 a frame was ignored: the answer is to no open request",
      ])
  }

  @Test func whatIsSetAsideSaysWhy() throws {
    let world = try world()
    try world.connect()
    _ = log.take()
    let members = #""message_id":"secret","sender_id":"u","payload":1"#
    let (receipt, reason) = try world.client.take(
      push(#"{\#(members),"created_at":"yesterday"}"#))
    #expect(receipt == .quarantined && reason == "created_at is not a time")
    #expect(log.take() == ["2 items were set aside (1): created_at is not a time"])
    let update = Frames.update(
      "r", "message", ["{\(members)}", #"{\#(members),"conversation_id":"room"}"#, "7"])
    let told = try take(world, update)
    #expect(told == (.quarantined, "created_at is missing"))
    #expect(log.take().contains("2 items were set aside (3): created_at is missing"))
  }

  @Test func aPageWithAnItemThatCannotBeReadSaysWhy() throws {
    let world = try world()
    world.post(3)
    try world.connect()
    world.alter = { _, answer in
      answer.replacingOccurrences(of: #""sender_id":"you""#, with: #""sender_id":7"#)
    }
    try world.sync()
    #expect(
      log.lines.contains(
        "2 items were set aside (3): sender_id is missing, empty or not a string"))
  }

  @Test func aRefusedFrameSaysWhy() throws {
    let world = try world()
    try world.connect()
    _ = log.take()
    for (bytes, failure) in [
      (Array("{".utf8), Failure.frame("the frame is not JSON")),
      ([0xFF], .frame("the frame is not UTF-8")),
      (Array(#"{"account":7}"#.utf8), .mismatch("account is not a string")),
      (
        Array(#"{"account":"other"}"#.utf8),
        .mismatch("account is not that of the client")
      ),
    ] {
      #expect(throws: failure) { try world.client.receive(bytes) }
      #expect(log.take() == ["2 a frame was refused: \(failure.reason.text)"])
    }
  }

  @Test func anAnswerOfTheWrongShapeSaysWhy() throws {
    let world = try world()
    try world.connect()
    _ = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    world.alter = { _, answer in
      answer.replacingOccurrences(of: #""messages":"#, with: #""massages":"#)
    }
    _ = log.take()
    #expect(throws: Failure.frame("messages is missing or not a list")) { try world.run() }
    #expect(log.take().contains("2 a frame was refused: messages is missing or not a list"))
  }

  @Test func anErrorOfTheServerIsToldByItsCode() throws {
    let world = try world()
    try world.connect()
    world.alter = { request, answer in
      guard request.contains("get_messages") else { return answer }
      let id = answer.split(separator: "\"request_id\":\"")[1].split(separator: "\"")[0]
      return #"{"type":"get_messages","request_id":"\#(id)","status":"error","#
        + #""error":{"code":"forbidden","message":"secret"}}"#
    }
    _ = log.take()
    try world.sync()
    let lines = log.take()
    #expect(lines.contains("2 get_messages was answered with an error: forbidden"))
    #expect(lines.contains("2 a sync ended in vain: the server refused for good"))
    #expect(!lines.contains { $0.contains("secret") })
  }

  @Test func aHookThatFailsIsTold() throws {
    let world = try world { $0.open = { _ in .failed } }
    try world.connect()
    _ = log.take()
    let message = Frames.message("m", atUs: World.epochUs)
    _ = try world.client.receive(push(message))
    #expect(log.take() == ["2 the open hook failed for payloads (1)"])
  }

  @Test func aRefusedCallSaysWhichMemberIsWrong() throws {
    let world = try world()
    func perform(_ json: String) throws { _ = try world.client.perform(Array(json.utf8)) }
    #expect(throws: Failure.invalid("conversation_id is missing")) {
      try perform(#"{"type":"get_conversation"}"#)
    }
    #expect(throws: Failure.invalid("reply_to is not an id of 1 to 512 bytes")) {
      try perform(#"{"type":"send_message","conversation_id":"c","payload":1,"reply_to":7}"#)
    }
    _ = log.take()
    world.client.note(.invalid("conversation_id is missing"))
    #expect(log.take() == ["2 a call was refused: conversation_id is missing"])
  }

  /// A server that sends rubbish without end fills no log.
  @Test func aLineIsWrittenSoManyTimesAMinute() throws {
    let world = try world()
    try world.connect()
    _ = log.take()
    for _ in 0..<1_000 {
      #expect(throws: Failure.frame("the frame is not JSON")) {
        try world.client.receive(Array("{".utf8))
      }
    }
    let line = "2 a frame was refused: the frame is not JSON"
    #expect(log.take() == [String](repeating: line, count: Limits.logLinesMax))
    // Another one has a count of its own.
    #expect(throws: Failure.frame("the frame is not UTF-8")) {
      try world.client.receive([0xFF])
    }
    #expect(log.take() == ["2 a frame was refused: the frame is not UTF-8"])
    world.advance(ms: Limits.logPeriodMs)
    #expect(throws: Failure.frame("the frame is not JSON")) {
      try world.client.receive(Array("{".utf8))
    }
    #expect(log.take() == [line + "; 990 such lines left out"])
    for _ in 0..<100 {
      #expect(throws: Failure.frame("the frame is not JSON")) {
        try world.client.receive(Array("{".utf8))
      }
    }
    _ = log.take()
    world.client.close()
    #expect(log.take() == [line + "; 91 such lines left out"])
  }

  @Test func whatWasSetAsideCanBeRead() throws {
    let world = try world()
    world.post(3)
    try world.connect()
    let bad = #""created_at":7,"#
    world.alter = { request, answer in
      guard request.contains("get_messages") else { return answer }
      let parts = answer.components(separatedBy: #""created_at":"#)
      guard parts.count == 4, let end = parts[2].firstIndex(of: ",") else { return answer }
      let spoiled = bad + parts[2][parts[2].index(after: end)...]
      return parts[0] + #""created_at":"# + parts[1] + spoiled + #""created_at":"# + parts[3]
    }
    try world.sync()
    func items(
      _ conversation: String? = nil, after: UInt64 = 0, limit: Int = 10
    ) throws -> [QuarantinedView] {
      try world.client.quarantined(
        conversation: conversation.map { Array($0.utf8) }, after: after, limit: limit)
    }
    let item = try #require(try items("room").first)
    #expect(try items() == [item])
    #expect(item.reason == "created_at is not a time" && !item.isCut)
    #expect(String(decoding: item.item, as: UTF8.self).contains(bad))
    #expect(item.size == UInt64(item.item.count) && item.conversation == Array("room".utf8))
    // Its place is between its neighbours.
    #expect(item.lowUs >= World.epochUs && item.highUs < .max && item.lowUs <= item.highUs)
    let update = Frames.update("r", "message", ["7"])
    _ = try take(world, update)
    let second = try #require(try items(after: item.seq).first)
    #expect(second.item == Array("7".utf8) && second.conversation.isEmpty)
    #expect(second.lowUs == .min && second.highUs == .max)
    #expect(second.reason == "an item is not a JSON object")
    #expect(try items("room", after: item.seq).isEmpty && items("nowhere").isEmpty)
    #expect(try items(limit: 1) == [item])
    #expect(throws: Failure.invalid("limit is not between 1 and 10,000")) {
      try items(limit: 0)
    }
  }

  @Test func eachReasonInTheFileHasItsWords() {
    for code in Array(1...34) + [100, 101] {
      #expect(BadItem.text(code: Int64(code)) != nil, "\(code)")
    }
    #expect(BadItem.text(code: 7) == "created_at is missing")
    #expect(BadItem.text(code: 0) == nil && BadItem.text(code: 35) == nil)
  }
}
