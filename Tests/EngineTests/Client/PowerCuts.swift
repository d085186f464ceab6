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
import TestSupport
import Testing

@Suite struct PowerCuts {
  /// Sessions of both kinds of servers, 24 to 255 power cuts each.
  @Test(arguments: 0..<8)
  func whatWasPerformedSurvives(_ seed: Int) throws {
    let session = try Session(seed: UInt64(seed), isIdempotent: seed % 2 == 0)
    try session.act(calls: 150)
    #expect(session.done.isSuperset(of: Session.verbs))
    var lost = 0
    let cuts = rounds(255, least: 24)
    try session.eachCut(cuts) { image, cut in
      let found = try session.recover(cut.image, image)
      lost += found.shown == session.calls[cut.last].shown ? 0 : 1
      let allowed = session.calls[cut.promised...cut.last]
      #expect(
        allowed.contains { $0.shown == found.shown },
        "image \(image): \(session.difference(found.shown, cut.promised...cut.last))")
      // Without idempotent sends a frame that left is never taken for one that did not.
      if !session.isIdempotent {
        #expect(found.queued.isDisjoint(with: session.calls[cut.promised].taken))
      }
    }
    // The cuts are rough enough to matter.
    #expect(lost * 12 > cuts)
  }

  /// The same cuts on a disk that does not sync: the judgement above finds what is lost.
  @Test func aDiskThatDoesNotSyncIsFoundOut() throws {
    let session = try Session(seed: 3, isIdempotent: true)
    try session.act(calls: 60)
    var broken = 0
    try session.eachCut(40, withoutSyncs: true) { image, cut in
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
    var name: String
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
  private let recovery = FaultVFS()
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
      Call(
        name: "open", begin: 0, end: disk.events.count, isPromised: true,
        shown: try shown(world.client),
        taken: []))
  }

  deinit { world.client.close() }

  // MARK: Acting

  func act(calls count: Int) throws {
    for _ in 0..<count { try step() }
  }

  /// Does something that says whether it is promised to be on disk.
  private func call(_ name: String, _ body: () throws -> Bool) throws {
    let begin = disk.events.count
    let isPromised = try body()
    done.insert(name)
    calls.append(
      Call(
        name: name, begin: begin, end: disk.events.count, isPromised: isPromised,
        shown: try shown(world.client), taken: taken))
  }

  private func step() throws {
    let rows = try world.seen()
    let target = rows[rows.count - 1 - random.below(min(12, rows.count))].id
    world.advance(ms: 1_000)
    made += 1
    switch random.below(20) {
    case 0..<5: try perform("send_message", #""payload":"text \#(made)""#)
    case 5: try perform("edit_message", #""message_id":"\#(target)","payload":"new \#(made)""#)
    case 6: try perform("delete_message", #""message_id":"\#(target)""#)
    case 7: try perform("react_message", #""message_id":"\#(target)","reaction":"r\#(made % 3)""#)
    case 8:
      let ids = rows.suffix(20).map { Array($0.id.utf8) }
      try call("mark_read") {
        let before = try world.client.state().readsPending
        try world.client.markRead(conversation: Array("room".utf8), ids: ids)
        return try world.client.state().readsPending > before
      }
    case 9:
      try call("create_conversation") {
        try world.perform(
          #"{"type":"create_conversation","client_id":"n\#(made)","participant_ids":["you"]}"#)
        return true
      }
      try perform("send_message", #""payload":"first""#, in: "n\(made)")
    case 10: try decide("cancel") { try self.world.client.cancel(operation: $0) }
    case 11 where isIdempotent:
      world.server.failNext(["forbidden", "unavailable", "too_large"][random.below(3)])
      try carry()
    case 11, 12: try decide("retry") { try self.world.client.retry($0) }
    case 13 where random.chance(0.3):
      try call("connect") {
        try world.client.disconnected()
        try world.client.connected()
        return false
      }
    case 13..<15 where !isConnected:
      isConnected = true
      try call("connect") {
        try world.client.connected()
        return false
      }
    default: try carry()
    }
  }

  private var isConnected = false

  private func perform(_ verb: String, _ more: String, in room: String = "room") throws {
    try call(verb) {
      try world.perform(#"{"type":"\#(verb)","conversation_id":"\#(room)",\#(more)}"#)
      return true
    }
  }

  private func decide(_ name: String, _ body: (UInt64) throws -> Bool) throws {
    let open = try world.client.operations(OperationQuery(openOnly: true))
    guard !open.rows.isEmpty else { return }
    let row = open.rows[random.below(open.rows.count)]
    // What is sent again may be found waiting to be sent.
    if name == "retry", !isIdempotent {
      taken.remove(String(decoding: open.bytes[row.clientID], as: UTF8.self))
    }
    try call(name) { try body(row.id) }
  }

  /// One frame to the server, and its answer back.
  private func carry() throws {
    var frame: OutgoingFrame?
    try call("frame") {
      frame = try world.client.nextFrame()
      guard !isIdempotent, let frame, let name = sent(frame.bytes) else { return false }
      taken.insert(name)
      return true
    }
    guard let frame else { return }
    _ = try world.client.frameSent(frame.id)
    for answer in world.server.handle(frame.bytes, user: "me") {
      try call("answer") {
        _ = try world.client.receive(answer)
        return false
      }
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
    func text(_ range: Range<Int>) -> String {
      String(decoding: page.bytes[range], as: UTF8.self)
    }
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
        .map { String(decoding: messages[$0], as: UTF8.self) }
      lines.append("#\(row.number) \(parts)")
    }
    return lines + ["marks \(try client.state().readsPending)"]
  }

  // MARK: Cutting

  struct Cut {
    var image: DiskImage
    /// The last call that promised to be on the disk, and the last one that had begun.
    var promised: Int
    var last: Int
  }

  /// What the disk holds when the power goes, at points anywhere in the session.
  func eachCut(
    _ count: Int, withoutSyncs: Bool = false, _ body: (Int, Cut) throws -> Void
  ) throws {
    var dice = Random(seed: 5)
    let events = disk.events
    let quiet = withoutSyncs ? [] : quietPoints(events)
    // What is synced is the same for all later points, so it is done once.
    var settled = start
    var from = 0
    let points = (0..<count).map { _ in dice.below(events.count + 1) }.sorted()
    for (image, point) in points.enumerated() {
      if let settledTo = quiet.last(where: { $0 <= point }), settledTo > from {
        for event in events[from..<settledTo] { settled.apply(event) }
        from = settledTo
      }
      let unsettled = events[from..<point].filter { !withoutSyncs || !$0.isSync }
      let promised = calls.lastIndex { $0.isPromised && $0.end <= point } ?? 0
      let last = max(promised, calls.lastIndex { $0.begin < point } ?? 0)
      let left = settled.afterPowerCut(unsettled[...], &dice)
      try body(image, Cut(image: left, promised: promised, last: last))
    }
  }

  /// Before which events everything written is synced.
  private func quietPoints(_ events: [DiskEvent]) -> [Int] {
    var unsynced: Set<String> = []
    var points: [Int] = []
    for (index, event) in events.enumerated() {
      switch event.change {
      case .write, .truncate: unsynced.insert(event.path)
      case .sync, .delete: unsynced.remove(event.path)
      }
      if unsynced.isEmpty { points.append(index + 1) }
    }
    return points
  }

  /// What one may have to look at when something was lost.
  func difference(_ found: [String], _ allowed: ClosedRange<Int>) -> String {
    allowed.map { index in
      let shown = calls[index].shown
      let missing = shown.filter { !found.contains($0) }
      let more = found.filter { !shown.contains($0) }
      return "after \(calls[index].name) \(index) without \(missing) but with \(more)"
    }.joined(separator: "; ")
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
    // Closing it would sync what nobody needs.
    recovery.reset()
    config.baseVFS = recovery.name
    let client = try Client.open(config)
    defer {
      recovery.failSyncs(true)
      client.close()
    }
    let page = try client.operations(OperationQuery(limit: 1_000))
    let queued = page.rows.filter { $0.standing == .queued }
      .map { String(decoding: page.bytes[$0.clientID], as: UTF8.self) }
    return (try shown(client), Set(queued))
  }
}

extension DiskEvent {
  fileprivate var isSync: Bool {
    if case .sync = change { true } else { false }
  }
}
