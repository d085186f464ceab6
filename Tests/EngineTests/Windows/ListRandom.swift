/// Random lives of a list: whatever is called exact at rest is what the server counts.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct ListRandom {
  /// By room, what was read or deleted and never seen here since its count was exact: nobody knows
  /// whether the server had counted it.
  private final class Unseen {
    var counts: [String: Int] = [:]
  }

  /// What the server counts for this user.
  private func truth(_ world: World, _ room: String) -> Int {
    let request = #"{"type":"get_unread_count","request_id":"t","conversation_id":"\#(room)"}"#
    let answer = world.server.handle(Array(request.utf8), user: "me").map {
      String(decoding: $0, as: UTF8.self)
    }.joined()
    guard let found = answer.firstRange(of: "\"message_count\":") else { return -1 }
    return Int(answer[found.upperBound...].prefix { $0.isNumber }) ?? -1
  }

  /// The unread rows that are stored here and still on the server.
  private func unread(_ world: World, _ room: String) throws -> Set<String> {
    let page = try world.page(in: room)
    let there = Set(world.truth(in: room))
    return Set(
      page.rows.filter { $0.flags & MessageBit.unread != 0 }
        .map { String(decoding: page[$0.id], as: UTF8.self) }
    ).intersection(there)
  }

  private func act(
    _ world: World, _ random: inout Random, _ isUp: Bool, _ unseen: Unseen
  ) throws {
    let room = "r\(random.below(4))"
    let id = Array(room.utf8)
    let ids = world.truth(in: room)
    let (counted, cached) = (truth(world, room), try unread(world, room))
    defer {
      let left = counted - truth(world, room)
      let known = (try? cached.count - unread(world, room).intersection(cached).count) ?? 0
      unseen.counts[room, default: 0] += max(0, left - known)
    }
    switch random.below(9) {
    case 0, 1:
      world.postMessage("x", in: room)
    case 2:
      world.postMessage("y", in: room, by: "me")
    case 3:
      // On another device of this user; what was missed is told by no server of this kind.
      guard isUp, let one = ids.randomElement(using: &random) else { return }
      _ = world.server.markRead(conversation: room, ids: [one], user: "me")
    case 4:
      let page = try world.page(limit: 3, in: room)
      let seen = page.rows.map { Array(page[$0.id]) }
      if !seen.isEmpty { try world.client.markRead(conversation: id, ids: seen) }
    case 5:
      guard isUp, let one = ids.randomElement(using: &random) else { return }
      world.server.delete(conversation: room, ids: [one])
    case 6:
      let page = try world.page(limit: 9, in: room)
      guard let row = page.rows.randomElement(using: &random) else { return }
      let message = String(decoding: page[row.id], as: UTF8.self)
      guard ids.contains(message) else { return }
      let request =
        #"{"type":"mark_last_read","conversation_id":"\#(room)","message_id":"\#(message)"}"#
      _ = try world.client.perform(Array(request.utf8))
      // What is deleted before the marker comes there would refuse it.
      if isUp { try world.run() }
    case 7:
      _ = try world.client.sync(
        SyncRequest(conversation: id, kind: random.below(2) == 0 ? .latest : .live))
    default:
      _ = try world.client.sync(SyncRequest(kind: .conversations))
    }
  }

  @Test(arguments: 1...30)
  func whatIsExactIsTrue(_ seed: Int) throws {
    let folder = try TrapsRestart.Folder()
    var profile = Profile()
    profile.pushIsLossless = true
    let world = try World(profile: profile, seed: UInt64(seed), file: folder.file())
    var random = Random(seed: UInt64(seed))
    world.rooms(4)
    for _ in 0..<60 { world.postMessage("old", in: "r\(random.below(4))") }
    try world.connectListening()
    var list = try TestList(world.client)
    var isUp = true
    let unseen = Unseen()
    for _ in 0..<25 {
      for _ in 0..<random.below(8) {
        try act(world, &random, isUp, unseen)
        if random.below(3) == 0 { try world.run() }
        if random.below(3) == 0 { try list.poll() }
      }
      // What is lost with a connection is told by no server of this kind.
      if isUp { try world.run() }
      switch random.below(6) {
      case 0:
        if isUp { try world.disconnect() } else { try world.connectListening() }
        isUp.toggle()
      case 1:
        list.list.close()
        world.client.close()
        world.client = try Client.open(world.config)
        try world.connectListening()
        isUp = true
        list = try TestList(world.client)
      default:
        break
      }
      guard isUp else { continue }
      try list.settle(world)
      try check(world, list, unseen)
    }
    if !isUp { try world.connectListening() }
    _ = try world.client.sync(SyncRequest(kind: .conversations))
    try list.settle(world)
    try check(world, list, unseen)
    // A row that was deleted while nobody looked stands above the newest that is told.
    for room in 0..<4 {
      _ = try world.client.sync(SyncRequest(conversation: Array("r\(room)".utf8)))
    }
    // A count that came while an own mark was on its way is asked for once more.
    try world.wait(ms: 61_000)
    try list.settle(world)
    // Just counted, and nothing on its way: all of it is known.
    #expect(try list.rows().allSatisfy(\.isExact))
    #expect(try list.list.state().isUnreadExact)
    world.client.close()
  }

  private func check(_ world: World, _ list: TestList, _ unseen: Unseen) throws {
    var total = 0
    for row in try list.rows() {
      total += row.unread
      let truth = truth(world, row.id)
      if row.isExact {
        #expect(row.unread == truth, "\(row.id)")
        unseen.counts[row.id] = 0
      } else {
        #expect(row.unread <= truth + unseen.counts[row.id, default: 0], "\(row.id)")
      }
    }
    #expect(try list.list.state().unread == total)
  }
}
