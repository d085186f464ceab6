/// What the user was told is done survives a power cut, and nothing half done does.
///
/// A session is recorded write by write and sync by sync. Then the power goes at any
/// point of it, and of what was not synced some sectors have arrived and some not. The
/// file opens, and shows what the session showed after one of its calls: at least after
/// the last one that promised to be on disk.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing
import VaultSupport

@Suite struct PowerCuts {
  /// Sessions of both kinds of servers, a few hundred power cuts each.
  @Test(arguments: 0..<8)
  func whatWasPerformedSurvives(_ seed: Int) throws {
    let session = try Session(seed: UInt64(seed), isIdempotent: seed % 2 == 0)
    try session.act(calls: 150)
    #expect(session.done.isSuperset(of: Session.verbs))
    var lost = 0
    for image in 0..<270 {
      let cut = session.cut(image)
      let found = try session.recover(cut.image, image)
      lost += found.shown == session.calls[cut.last].shown ? 0 : 1
      let allowed = session.calls[cut.promised...cut.last]
      #expect(
        allowed.contains { $0.shown == found.shown },
        "image \(image): \(cut.promised)...\(cut.last), found \(found.shown)")
      // Without idempotent sends a frame that left is never taken for one that did not.
      if !session.isIdempotent {
        #expect(found.queued.isDisjoint(with: session.calls[cut.promised].taken))
      }
    }
    // The cuts are rough enough to matter.
    #expect(lost > 20)
  }

  /// The same cuts on a disk that does not sync: the judgement above finds what is lost.
  @Test func aDiskThatDoesNotSyncIsFoundOut() throws {
    let session = try Session(seed: 3, isIdempotent: true)
    try session.act(calls: 60)
    var broken = 0
    for image in 0..<60 {
      let cut = session.cut(image, withoutSyncs: true)
      // A file that did not come to be whole does not open.
      let found = try? session.recover(cut.image, image)
      let allowed = session.calls[cut.promised...cut.last]
      if !allowed.contains(where: { $0.shown == found?.shown }) { broken += 1 }
    }
    #expect(broken > 10)
  }
}

/// A user who acts at random, on a disk that records.
private final class Session {
  static let verbs: Set<String> = [
    "send_message", "edit_message", "delete_message", "react_message", "mark_read",
    "create_conversation", "cancel", "retry", "answer",
  ]

  /// How things stand after a call.
  struct Call {
    /// How many writes and syncs were made before it, and with it.
    var begin: Int
    var end: Int
    /// It returned what says that it is on disk.
    var isPromised: Bool
    var shown: [String]
    /// Client ids of sends whose frames have left.
    var taken: Set<String>
  }

  let isIdempotent: Bool
  private(set) var calls: [Call] = []
  private(set) var done: Set<String> = []
  private let folder: TrapsRestart.Folder
  private let world: World
  private let disk = FaultVFS()
  private let start: DiskImage
  private var random: Random
  private var taken: Set<String> = []
  private var made = 0

  init(seed: UInt64, isIdempotent: Bool) throws {
    self.isIdempotent = isIdempotent
    random = Random(seed: seed &+ 1)
    folder = try TrapsRestart.Folder()
    let disk = disk
    world =
      isIdempotent
      ? try World.idempotent(file: folder.file()) { $0.baseVFS = disk.name }
      : try World.forgetful(file: folder.file()) { $0.baseVFS = disk.name }
    world.post(110)
    try world.connect()
    try world.sync()
    world.client.close()
    let path = folder.storePath.path
    start = DiskImage(paths: [path, path + "-wal"])
    disk.record()
    world.client = try Client.open(world.config)
    calls.append(
      Call(begin: 0, end: disk.events.count, isPromised: true, shown: try shown(world.client),
        taken: []))
  }

  deinit { world.client.close() }

  // MARK: Acting

  func act(calls count: Int) throws {
    for _ in 0..<count { try step() }
  }

  private func call(_ name: String, isPromised: Bool, _ body: () throws -> Void) throws {
    let begin = disk.events.count
    var isDone = true
    do {
      try body()
    } catch is Failure {
      // Nothing to do it with: a call that fails changes nothing.
      isDone = false
    }
    if isDone { done.insert(name) }
    calls.append(
      Call(begin: begin, end: disk.events.count, isPromised: isPromised && isDone,
        shown: try shown(world.client), taken: taken))
  }

  private func step() throws {
    let rows = try world.seen()
    let target = rows[rows.count - 1 - random.below(min(12, rows.count))].id
    world.tick(ms: 1_000)
    made += 1
    switch random.below(20) {
    case 0..<5: try perform("send_message", #""payload":"text \#(made)""#)
    case 5: try perform("edit_message", #""message_id":"\#(target)","payload":"new \#(made)""#)
    case 6: try perform("delete_message", #""message_id":"\#(target)""#)
    case 7: try perform("react_message", #""message_id":"\#(target)","reaction":"r\#(made % 3)""#)
    case 8:
      let ids = rows.suffix(20).map { Array($0.id.utf8) }
      try call("mark_read", isPromised: true) {
        try world.client.markRead(conversation: Array("room".utf8), ids: ids)
      }
    case 9:
      try call("create_conversation", isPromised: true) {
        try world.perform(
          #"{"type":"create_conversation","client_id":"n\#(made)","participant_ids":["you"]}"#)
      }
      try perform("send_message", #""payload":"first""#, in: "n\(made)")
    case 10: try decide("cancel") { _ = try self.world.client.cancel(operation: $0) }
    case 11 where isIdempotent:
      world.server.failNext(["forbidden", "unavailable", "too_large"][random.below(3)])
      try carry()
    case 11, 12: try decide("retry") { _ = try self.world.client.retry($0) }
    case 13 where random.chance(0.3):
      try call("connect", isPromised: false) {
        try world.client.disconnected()
        try world.client.connected()
      }
    case 13..<15 where !isConnected:
      isConnected = true
      try call("connect", isPromised: false) { try world.client.connected() }
    default: try carry()
    }
  }

  private var isConnected = false

  private func perform(_ verb: String, _ more: String, in room: String = "room") throws {
    try call(verb, isPromised: true) {
      try world.perform(#"{"type":"\#(verb)","conversation_id":"\#(room)",\#(more)}"#)
    }
  }

  private func decide(_ name: String, _ body: (UInt64) throws -> Void) throws {
    let open = try world.client.operations(OperationQuery(openOnly: true))
    guard !open.rows.isEmpty else { return }
    let row = open.rows[random.below(open.rows.count)]
    // What is sent again may be found waiting to be sent.
    if name == "retry", !isIdempotent {
      taken.remove(String(decoding: open.bytes[row.clientID], as: UTF8.self))
    }
    try call(name, isPromised: true) { try body(row.id) }
  }

  /// One frame to the server, and its answer back.
  private func carry() throws {
    var frame: OutgoingFrame?
    try call("frame", isPromised: !isIdempotent) {
      frame = try world.client.nextFrame()
      if let frame, let name = sent(frame.bytes) { taken.insert(name) }
    }
    guard let frame else { return }
    _ = try world.client.frameSent(frame.id)
    for answer in world.server.handle(frame.bytes, user: "me") {
      try call("answer", isPromised: false) { _ = try world.client.receive(answer) }
    }
  }

  /// The client id of a message that leaves.
  private func sent(_ frame: [UInt8]) -> String? {
    let object = try? JSONSerialization.jsonObject(with: Data(frame)) as? [String: Any]
    guard object?["type"] as? String == "send_message" else { return nil }
    return object?["client_id"] as? String
  }

  // MARK: Looking

  /// All that the user's work is seen by. What is on its way is not on disk as such.
  private func shown(_ client: Client) throws -> [String] {
    var lines: [String] = []
    let page = try client.operations(OperationQuery(openOnly: false, limit: 1_000))
    func text(_ range: Range<Int>) -> String { String(decoding: page.bytes[range], as: UTF8.self) }
    for row in page.rows {
      let isOpen = [.queued, .inFlight, .unknown].contains(row.standing)
      let standing = isOpen ? "open" : "\(row.standing)"
      lines.append(
        "\(row.id) \(standing) #\(row.number) \(text(row.verb)) \(text(row.conversation)) "
          + "\(text(row.message)) \(text(row.clientID)) \(text(row.request))")
    }
    let messages = try client.messages(
      MessageQuery(conversation: Array("room".utf8), limit: 1_000))
    for row in messages.rows.suffix(60) {
      let parts = [row.id, row.payload, row.reactions]
        .map { String(decoding: messages.bytes[$0], as: UTF8.self) }
      lines.append("#\(row.number) \(parts)")
    }
    return lines + ["marks \(try client.state().readsPending)"]
  }

  // MARK: Cutting

  /// What the disk holds when the power goes at some point, the last call that promised
  /// to be on it, and the last one that had begun.
  func cut(
    _ number: Int, withoutSyncs: Bool = false
  ) -> (image: DiskImage, promised: Int, last: Int) {
    var dice = Random(seed: UInt64(number) &* 31 &+ 5)
    var events = disk.events[..<dice.below(disk.events.count + 1)]
    let point = events.count
    let promised = calls.lastIndex { $0.isPromised && $0.end <= point } ?? 0
    let last = max(promised, calls.lastIndex { $0.begin < point } ?? 0)
    if withoutSyncs {
      events = events.filter { if case .sync = $0.change { false } else { true } }[...]
    }
    return (start.afterPowerCut(events, &dice), promised, last)
  }

  /// Another process opens what is left.
  func recover(
    _ image: DiskImage, _ number: Int
  ) throws -> (shown: [String], queued: Set<String>) {
    let path = folder.storePath.path
    let copy = path + ".cut\(number)"
    image.write(replacing: path, with: copy)
    defer {
      for suffix in ["", "-wal"] { try? FileManager.default.removeItem(atPath: copy + suffix) }
    }
    var config = world.config
    config.file = .path(copy, key: folder.storePath.key, create: false, strict: false)
    config.baseVFS = nil
    let client = try Client.open(config)
    defer { client.close() }
    let page = try client.operations(OperationQuery(limit: 1_000))
    let queued = page.rows.filter { $0.standing == .queued }
      .map { String(decoding: page.bytes[$0.clientID], as: UTF8.self) }
    return (try shown(client), Set(queued))
  }
}
