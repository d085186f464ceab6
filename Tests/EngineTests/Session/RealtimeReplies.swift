/// Apply, commit, sync, then reply; and every reply until it is reported as sent.
import Base
import Engine
import Foundation
import ReferenceServer
import Store
import TestSupport
import Testing

@Suite struct RealtimeReplies {
  private let at = World.epochUs

  private func update(_ number: Int, ref: String? = nil) -> String {
    Frames.update(
      ref ?? "r\(number)", "message",
      [Frames.message("m\(number)", atUs: at + Int64(number) * 1_000_000)])
  }

  /// A world on a disk that records; the file is there before the recording begins.
  private func recorded(_ folder: TrapsRestart.Folder) throws -> (World, FaultVFS, DiskImage) {
    let disk = FaultVFS()
    let world = try World(file: folder.file()) { $0.baseVFS = disk.name }
    world.client.close()
    let path = folder.storePath.path
    let image = DiskImage(paths: [path, path + "-wal"])
    disk.record()
    world.client = try Client.open(world.config)
    try world.connect()
    return (world, disk, image)
  }

  /// T17: a reply is handed out only after the log that holds its effect was synced,
  /// and one sync serves all that wait.
  @Test func t17_noReplyBeforeItsCommitWasSynced() throws {
    let folder = try TrapsRestart.Folder()
    let (world, disk, _) = try recorded(folder)
    for round in 0..<5 {
      let first = round * 10
      for number in first..<first + 10 { try world.hand(update(number)) }
      let before = disk.counts
      var refs: [String] = []
      while let frame = try world.client.nextFrame() {
        refs.append(try #require(Frames.ref(ofReply: frame.bytes)))
        #expect(disk.counts.syncs == before.syncs + 1)
        _ = try world.client.frameSent(frame.id)
      }
      #expect(refs == (first..<first + 10).map { "r\($0)" })
      // The newest write to the log stands before the newest sync of it.
      let log = disk.events.filter { $0.kind == .log }
      if case .sync = try #require(log.last).change {} else { Issue.record("not synced last") }
    }
  }

  /// T17: the power goes right after any reply was handed out. What the disk had then
  /// holds the effect and knows the ref.
  @Test func t17_aPowerCutAfterAReplyKeepsItsEffect() throws {
    let folder = try TrapsRestart.Folder()
    let (world, disk, image) = try recorded(folder)
    var random = Random(seed: 11)
    var cuts: [(refs: [String], image: DiskImage)] = []
    var handed: [String] = []
    for number in 0..<24 {
      try world.hand(update(number))
      if number % 3 == 2 { continue }
      while let frame = try world.client.nextFrame() {
        handed.append(try #require(Frames.ref(ofReply: frame.bytes)))
        let left = image.afterPowerCut(disk.events[...], &random)
        cuts.append((handed, left))
        if number % 2 == 0 { _ = try world.client.frameSent(frame.id) }
      }
    }
    #expect(cuts.count >= 20)
    let (path, _) = folder.storePath
    for (index, cut) in cuts.enumerated() {
      let copy = path + ".cut\(index)"
      cut.image.write(replacing: path, with: copy)
      guard case .path(_, let key, _, _) = world.config.file else { return }
      var config = world.config
      config.file = .path(copy, key: key, create: false, strict: false)
      config.baseVFS = nil
      let client = try Client.open(config)
      defer { client.close() }
      try client.connected()
      let page = try client.messages(MessageQuery(conversation: Array("room".utf8), limit: 100))
      let cached = Set(page.rows.map { String(decoding: page[$0.id], as: UTF8.self) })
      for ref in cut.refs {
        #expect(cached.contains("m" + ref.dropFirst()), "\(ref) after cut \(index)")
        let number = Int(ref.dropFirst()) ?? -1
        _ = try client.receive(Array(update(number).utf8))
      }
      #expect(try client.stats().updates == 0)
      #expect(try client.stats().updatesRepeated == UInt64(cut.refs.count))
    }
  }

  /// What a killed process had written, another one syncs before it replies.
  @Test func aReplyOfAKilledProcessIsSyncedFirst() throws {
    let folder = try TrapsRestart.Folder()
    let (world, disk, _) = try recorded(folder)
    try world.hand(update(1))
    world.config.baseVFS = disk.name
    try folder.kill(world)
    let before = disk.counts.syncs
    try world.client.connected()
    let frame = try #require(try world.client.nextFrame())
    #expect(Frames.ref(ofReply: frame.bytes) == "r1")
    #expect(disk.counts.syncs > before)
  }

  /// Where the disk does not sync, nothing is replied to.
  @Test func aFailedSyncHoldsTheRepliesBack() throws {
    let folder = try TrapsRestart.Folder()
    let (world, disk, _) = try recorded(folder)
    try world.hand(update(1))
    disk.failSyncs(true)
    #expect(throws: Failure.self) { try world.client.nextFrame() }
    #expect(try world.client.state().repliesOwed == 1)
    disk.failSyncs(false)
    world.client.close()
    world.client = try Client.open(world.config)
    try world.client.connected()
    #expect(try world.replies() == ["r1"])
  }

  /// A failed transaction leaves no effect, no ref and no reply.
  @Test func whatCannotBeStoredIsNotRepliedTo() throws {
    let folder = try TrapsRestart.Folder()
    let (world, disk, _) = try recorded(folder)
    try world.hand(update(1))
    #expect(try world.replies() == ["r1"])
    disk.failWrite(1, count: 100, .fail(0x30A))
    #expect(throws: Failure.self) { try world.hand(update(2)) }
    disk.failWrite(1_000_000, .fail(0x30A))
    #expect(try world.replies() == [])
    #expect(try world.cached() == ["m1"])
    #expect(try world.hand(update(2)) == .applied)
    #expect(try world.replies() == ["r2"])
    #expect(try world.cached() == ["m1", "m2"])
  }

  /// The reply was lost on its way and the process with it: the server sends the
  /// update again, which is replied to and changes nothing.
  @Test func anAckThatIsLostAndARestart() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World(file: folder.file())
    try world.connect()
    try world.hand(update(1))
    #expect(try world.replies(report: false) == ["r1"])
    try folder.kill(world)
    try world.client.connected()
    let seq = try world.client.state().changeSeq
    #expect(try world.client.state().repliesOwed == 1)
    #expect(try world.replies() == ["r1"])
    #expect(try world.hand(update(1)) == .applied)
    #expect(try world.replies() == ["r1"])
    #expect(try world.cached() == ["m1"])
    #expect(try world.client.state().changeSeq == seq)
    #expect(try world.client.stats().updates == 0)
    #expect(try world.client.state().repliesOwed == 0)
  }

  /// T18: replies go by ref. What was reported is done, in whatever order; the others
  /// are handed out again on the next connection.
  @Test func t18_repliesGoByRefNotByPosition() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World(file: folder.file())
    try world.connect()
    for number in 0..<6 { try world.hand(update(number)) }
    var frames: [(ref: String, id: UInt64)] = []
    while let frame = try world.client.nextFrame() {
      frames.append((try #require(Frames.ref(ofReply: frame.bytes)), frame.id))
    }
    #expect(frames.map(\.ref) == (0..<6).map { "r\($0)" })
    for index in [4, 1, 5] { #expect(try world.client.frameSent(frames[index].id)) }
    #expect(try !world.client.frameSent(frames[4].id))
    #expect(try world.client.state().repliesOwed == 3)
    try world.client.disconnected()
    try world.client.connected()
    #expect(try world.replies(report: false) == ["r0", "r2", "r3"])
    // A report that comes after its connection says nothing about the new one.
    try world.client.disconnected()
    try world.client.connected()
    #expect(try !world.client.frameSent(frames[0].id))
    // Closing writes down what was reported.
    world.client.close()
    world.client = try Client.open(world.config)
    try world.client.connected()
    #expect(try world.replies() == ["r0", "r2", "r3"])
    try world.reopen()
    #expect(try world.replies() == [])
  }

  /// A redelivery is replied to again also while the first reply is under way.
  @Test func aRedeliveryWhileTheReplyIsUnderWay() throws {
    let world = try World()
    try world.connect()
    try world.hand(update(1))
    let first = try #require(try world.client.nextFrame())
    try world.hand(update(1))
    #expect(try world.replies() == ["r1"])
    #expect(try !world.client.frameSent(first.id))
    #expect(try world.client.state().repliesOwed == 0)
  }

  /// Replies that the host does not take wait in the file, not in memory.
  @Test func manyRepliesWaitInTheFile() throws {
    let world = try World()
    try world.connect()
    let count = Limits.repliesReady * 2 + 77
    for number in 0..<count { try world.hand(update(number)) }
    let state = try world.client.state()
    #expect(state.repliesOwed == count)
    #expect(state.framesWaiting <= Limits.repliesReady)
    #expect(try world.replies(report: false) == (0..<count).map { "r\($0)" })
    #expect(try world.client.state().repliesOwed == count)
    try world.client.disconnected()
    #expect(try world.client.nextFrame() == nil)
    try world.client.connected()
    #expect(try world.replies() == (0..<count).map { "r\($0)" })
    #expect(try world.client.state().repliesOwed == 0)
    try world.client.connected()
    #expect(try world.replies() == [])
  }

  /// Requests do not wait behind replies, and replies do not stop for requests.
  @Test func requestsAndRepliesShareTheWay() throws {
    let world = try World()
    world.post(60)
    try world.connect()
    try world.hand(update(1))
    _ = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
    let request = try #require(try world.client.nextFrame())
    #expect(Frames.ref(ofReply: request.bytes) == nil)
    let reply = try #require(try world.client.nextFrame())
    #expect(Frames.ref(ofReply: reply.bytes) == "r1")
    #expect(String(decoding: reply.bytes, as: UTF8.self).contains("\"account\":\"personal\""))
    #expect(try world.client.nextFrame() == nil)
  }

  /// Refs are remembered up to a number; one whose reply is pending is never forgotten.
  @Test func theMemoryOfRefsIsBoundedByNumber() throws {
    let world = try World(change: { $0.profile.refsMax = 300 })
    try world.connect()
    try world.hand(update(0, ref: "owed"))
    #expect(try world.replies(report: false) == ["owed"])
    for number in 1..<1_200 {
      try world.hand(update(number))
      try world.replies()
    }
    #expect(try world.client.stats().updates == 1_200)
    for number in [1, 2, 400] { try world.hand(update(number)) }
    #expect(try world.client.stats().updatesRepeated == 0)
    for number in 1_000..<1_200 { try world.hand(update(number)) }
    try world.hand(update(0, ref: "owed"))
    #expect(try world.client.stats().updatesRepeated == 201)
    #expect(try world.cached().count == 1_200)
  }

  /// Refs are remembered for a time, by the device's clock.
  @Test func theMemoryOfRefsIsBoundedByTime() throws {
    let world = try World(change: { $0.profile.refDays = 2 })
    try world.connect()
    try world.hand(update(0))
    try world.replies()
    world.advance(ms: 86_400_000)
    for number in 1..<300 { try world.hand(update(number)) }
    try world.replies()
    try world.hand(update(0))
    #expect(try world.client.stats().updatesRepeated == 1)
    world.advance(ms: 3 * 86_400_000)
    try world.replies()
    for number in 300..<600 { try world.hand(update(number)) }
    try world.hand(update(1))
    #expect(try world.client.stats().updatesRepeated == 1)
    try world.hand(update(599))
    #expect(try world.client.stats().updatesRepeated == 2)
  }

  /// T19: an update that comes before the catch-up has finished is an island,
  /// committed and replied to at once; the catch-up then joins it.
  @Test(arguments: ServerKind.all)
  func t19_anUpdateDuringACatchUpIsRepliedToAtOnce(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(130)
    try world.connect()
    try world.sync()
    try world.missing(120)
    let token = world.server.subscribe(user: "me")
    var refs: [String] = []
    world.before = { index, _ in
      // Each request finds another message posted since.
      guard index < 3 else { return }
      world.post(1)
      for update in Frames.updates(of: world.server.drain(token), ref: "i\(index)-") {
        _ = try? world.hand(update)
      }
    }
    world.alter = { request, answer in request.contains("\"reply\"") ? nil : answer }
    try world.sync()
    for request in world.requests {
      if let ref = Frames.ref(ofReply: Array(request.utf8)) { refs.append(ref) }
    }
    #expect(refs.count == 3)
    #expect(world.requests.contains { Frames.ref(ofReply: Array($0.utf8)) == nil })
    world.before = { _, _ in }
    #expect(try world.tailFaults(120) == [])
    #expect(try world.lies() == [])
    #expect(try world.isWhole())
  }
}
