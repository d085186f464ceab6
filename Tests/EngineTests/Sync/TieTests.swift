/// Messages with one printed time stand as the server lists them.
///
/// Rule protected: what a person sees within a second is what was written, at every step, and no
/// range, gap or count knows of the order.
import Base
import Engine
import Foundation
import ReferenceServer
import TestSupport
import Testing

@Suite struct TieTests {
  /// The server's own order of all that it shows.
  private func listed(_ world: World) -> [String] { world.server.truth(world.room).map(\.id) }

  private func world(
    seed: UInt64 = 1, limit: Int = 50, file: ClientConfig.File = .memory,
    _ change: (inout ServerKnobs, inout Profile) -> Void = { _, _ in }
  ) throws -> World {
    var knobs = arrivalKnobs()
    var profile = arrivalProfile()
    profile.pageLimit = limit
    change(&knobs, &profile)
    return try World(knobs: knobs, profile: profile, seed: seed, file: file)
  }

  private func arrivalKnobs() -> ServerKnobs {
    var knobs = ServerKnobs()
    knobs.ties = .arrival
    return knobs
  }

  private func arrivalProfile() -> Profile {
    var profile = Profile()
    profile.ties = .arrival
    return profile
  }

  private func check(_ world: World) throws {
    #expect(try world.cached() == listed(world))
    #expect(try world.page().coverage.whole)
  }

  /// Lines in groups of one to nine a second, read in pages of any size.
  @Test(arguments: [3, 7, 20, 50], [ServerKnobs.ArrayOrder.ascending, .descending])
  func pagesTeachTheOrder(_ limit: Int, _ order: ServerKnobs.ArrayOrder) throws {
    for seed in 1...6 as ClosedRange<UInt64> {
      let world = try world(seed: seed, limit: limit) { knobs, profile in
        knobs.arrayOrder = order
        if seed.isMultiple(of: 2) { profile.ties = .unknown }
        if seed.isMultiple(of: 3) {
          knobs.takesBefore = true
          profile.capabilities = [.before]
        }
      }
      var random = Random(seed: seed)
      while listed(world).count < 130 {
        world.advance(ms: 1_000)
        world.post(1 + random.below(9), everyMs: 0)
      }
      try world.connect()
      try world.sync()
      try world.sync(.older, want: 1_000)
      try check(world)
      // More comes while the device is away.
      try world.disconnect()
      for _ in 0..<20 {
        world.advance(ms: 700)
        world.post(1 + random.below(5), everyMs: 0)
      }
      try world.connect()
      try world.sync()
      try check(world)
    }
  }

  /// A walk waits while another one of the conversation reads all; then it goes on where it was,
  /// with pages that cut seconds which the other has shown whole.
  @Test func aWalkThatWaitedMovesNothingThatAnotherShowed() throws {
    for lines in 10...26 {
      let world = try world(seed: UInt64(lines), limit: 10)
      world.post(3, everyMs: 5_000)
      for _ in 0..<6 {
        world.advance(ms: 5_000)
        world.post(5, everyMs: 0)
      }
      world.post(lines, everyMs: 5_000)
      try world.connect()
      try world.sync()
      world.before = { index, _ in
        if index == 1 { world.server.failNext("rate_limited", retryAfterMs: 60_000) }
      }
      let waiting = try world.client.sync(
        SyncRequest(conversation: Array(world.room.utf8), kind: .older, want: 60))
      try world.run()
      world.before = { _, _ in }
      #expect(try world.client.syncStatus(waiting).trouble == .unavailable)
      try world.sync(.older, want: 1_000)
      try check(world)
      world.advance(ms: 61_000)
      _ = try world.client.advance()
      try world.run()
      #expect(try world.client.syncStatus(waiting).trouble == nil)
      try check(world)
    }
  }

  /// A message that one page of a search gave another place in its time is found by the next.
  @Test func aSearchFollowsItsMessage() throws {
    for seed in 1...30 as ClosedRange<UInt64> {
      let world = try world(seed: seed, limit: 4)
      world.post(40, everyMs: 5_000)
      try world.connect()
      try world.sync()
      try world.disconnect()
      // Of nine messages of one second one is heard of, by push.
      world.advance(ms: 5_000)
      let before = Int(seed % 9)
      world.post(before, everyMs: 0)
      try world.connectListening()
      let id = world.post(1, everyMs: 0)[0]
      try world.run(drop: { _, _ in true })
      #expect(try world.cached().contains(id))
      try world.disconnect()
      world.post(8 - before, everyMs: 0)
      world.post(60, everyMs: 5_000)
      try world.connect()
      try world.sync(.live)
      world.reset()
      #expect(try world.sync(.at(Array(id.utf8))).trouble == nil)
      #expect(world.answers.last?.contains(id) ?? false, "seed \(seed)")
      #expect(world.requests.count <= 6, "seed \(seed)")
    }
  }

  /// The key of what a hook may open, and what happens while it opens the first.
  private final class Keyring: Sendable {
    private let state = Lock<(hasKey: Bool, isBusy: Bool, meanwhile: (@Sendable () -> Void)?)>(
      (false, false, nil))

    func come(_ meanwhile: @escaping @Sendable () -> Void) {
      state.withLock { $0 = (true, false, meanwhile) }
    }

    var opens: Bool {
      let first = state.withLock { state in
        let first = state.isBusy ? nil : state.meanwhile
        if first != nil { state = (true, true, nil) }
        return first
      }
      first?()
      if first != nil { state.withLock { $0.isBusy = false } }
      return state.withLock { $0.hasKey && !$0.isBusy }
    }
  }

  /// A page with its messages of one time the other way round.
  private static func turningSecondsRound(_ answer: String) -> String {
    guard var frame = try? JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any],
      var data = frame["data"] as? [String: Any],
      let messages = data["messages"] as? [[String: Any]]
    else { return answer }
    var groups: [[[String: Any]]] = []
    for message in messages {
      let time = message["created_at"] as? String
      if groups.last?.first?["created_at"] as? String == time {
        groups[groups.count - 1].insert(message, at: 0)
      } else {
        groups.append([message])
      }
    }
    data["messages"] = groups.flatMap { $0 }
    frame["data"] = data
    guard let bytes = try? JSONSerialization.data(withJSONObject: frame) else { return answer }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Sealed messages change places within their time while others of them are opened.
  @Test func whatMovesWhileOthersAreOpenedIsOpened() throws {
    for seed in 1...4 as ClosedRange<UInt64> {
      var knobs = ServerKnobs()
      knobs.ties = .arrival
      var profile = Profile()
      profile.ties = .arrival
      let keys = Keyring()
      let world = try World(
        knobs: knobs, profile: profile, seed: seed,
        change: { config in
          config.open = { sealed in
            guard keys.opens else { return .notYet }
            return .plain(Array(sealed.frame[sealed.payload]), control: false, event: false)
          }
        })
      // A hundred are read at once.
      world.post(94)
      world.advance(ms: 1_000)
      world.post(12, everyMs: 0)
      world.post(2)
      try world.connect()
      try world.sync()
      try world.sync(.older, want: 1_000)
      #expect(try world.cached() == listed(world))
      #expect(try world.client.reopenPayloads(conversation: nil) == 0)
      let before = try world.cached()
      world.alter = { request, answer in
        request.contains("\"get_messages\"") ? Self.turningSecondsRound(answer) : answer
      }
      nonisolated(unsafe) let shared = world
      keys.come { _ = try? shared.sync() }
      #expect(try world.client.reopenPayloads(conversation: nil) >= 100)
      // Only what the page changed as well is left for the next time.
      let sealed = try world.page().rows.map { $0.flags & (1 << 6) != 0 }
      #expect(sealed[94..<106].allSatisfy { !$0 }, "seed \(seed)")
      #expect(try world.cached()[94..<106] == ArraySlice(before[94..<106].reversed()))
    }
  }

  /// A page inside one second waits until it is known which of its ends is the older one. What is
  /// edited meanwhile, and is not on it, stays where it is.
  @Test func anEditWhileAPageWaitsMovesNothing() throws {
    for seed in 1...8 as ClosedRange<UInt64> {
      let folder = try TrapsRestart.Folder()
      let world = try world(seed: seed, limit: 10, file: folder.file()) { knobs, profile in
        knobs.truncates = .oldest
        knobs.tellsChanges = true
        profile.capabilities = [.changedSince]
      }
      world.post(5)
      world.advance(ms: 20_000)
      let ids = world.post(30, everyMs: 0)
      try world.connect()
      try world.sync()
      try world.sync(.older, want: 1_000)
      try check(world)
      world.advance(ms: 20_000)
      world.post(1)
      try world.reopen()
      try world.connect()
      world.before = { _, request in
        guard request.contains("get_changed_since") else { return }
        for place in [4, 16, 25] {
          _ = world.server.edit(conversation: world.room, id: ids[place], payload: "\"edited\"")
        }
      }
      try world.sync(.live)
      world.before = { _, _ in }
      // Now a page from a time on shows two times.
      world.post(3)
      try world.sync()
      #expect(try world.cached() == listed(world), "seed \(seed)")
    }
  }

  /// The disk is full when a page comes: what it taught is not stored, and when it comes again it
  /// contradicts nothing.
  @Test func aPageThatIsNotStoredHasTaughtNothing() throws {
    let folder = try TrapsRestart.Folder()
    let disk = FaultVFS()
    let world = try World(
      knobs: arrivalKnobs(), profile: arrivalProfile(), file: folder.file()
    ) { $0.baseVFS = disk.name }
    world.post(20)
    try world.connect()
    try world.sync()
    // Four seconds of lines come the other way round, by push.
    for _ in 0..<4 {
      world.advance(ms: 2_000)
      let atUs = world.server.nowUs / 1_000_000 * 1_000_000
      for id in world.post(3, everyMs: 0).reversed() {
        _ = try world.hand(Frames.push(Frames.message(id, atUs: atUs)))
      }
    }
    #expect(try world.cached() != listed(world))
    var isFirst = true
    world.before = { _, request in
      if isFirst, request.contains("get_messages") { disk.fillDisk() }
      isFirst = false
    }
    #expect(throws: Failure.noRoomOnDisk) { try world.sync() }
    disk.fillDisk(false)
    try world.disconnect()
    try world.connect()
    try world.sync(.live)
    #expect(try world.cached() == listed(world))
  }

  /// Where page sizes vary, a walk asks for the lowest message once more to prove that it is at
  /// the beginning. Others have come since it asked for more, so a neighbour of it is shown alone.
  @Test func theProofOfTheBeginningMovesNothing() throws {
    for seed in 1...8 as ClosedRange<UInt64> {
      let world = try world(seed: seed) { knobs, profile in
        profile.ties = .unknown
        profile.pageSizeVaries = true
      }
      world.post(3, everyMs: 0)
      world.post(5, everyMs: 5_000)
      var wasEmpty = false
      var proofs = 0
      world.before = { _, request in
        do {
          let known = try world.cached()
          #expect(known == self.listed(world).filter(known.contains), "seed \(seed)")
        } catch {
          Issue.record(error)
        }
        if wasEmpty, proofs == 0, request.contains("get_messages") { world.post(2) }
      }
      world.alter = { request, answer in
        guard request.contains("get_messages") else { return answer }
        defer { wasEmpty = answer.contains("\"messages\":[]") }
        if !wasEmpty { return answer }
        proofs += 1
        return proofs == 1 ? Self.newestAlone(answer) : answer
      }
      try world.connect()
      try world.sync()
      try world.sync(.older, want: 100)
      #expect(proofs > 0)
      try check(world)
    }
  }

  private static func newestAlone(_ answer: String) -> String {
    guard var frame = try? JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any],
      var data = frame["data"] as? [String: Any],
      let messages = data["messages"] as? [[String: Any]]
    else { return answer }
    data["messages"] = Array(messages.suffix(1))
    frame["data"] = data
    guard let bytes = try? JSONSerialization.data(withJSONObject: frame) else { return answer }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// How pages from a time on are listed is told in another conversation. The next page of this
  /// one, whatever was asked for, puts right what had waited.
  @Test func aPageThatWaitedIsTakenByAnyOther() throws {
    for seed in 1...4 as ClosedRange<UInt64> {
      let world = try world(seed: seed)
      let other = "other"
      world.server.createConversation(other, participants: ["me", "you"])
      world.post(80)
      world.advance(ms: 60_000)
      world.post(2, everyMs: 0)
      world.put(in: other)
      try world.connect()
      try world.sync()
      try world.sync(in: other)
      for _ in 0..<6 { world.put() }
      try world.sync()
      for _ in 0..<3 {
        world.advance(ms: 1_000)
        world.put(in: other)
      }
      try world.sync(in: other)
      try world.sync(.older, want: 1_000)
      #expect(try world.cached() == listed(world), "seed \(seed)")
    }
  }

  /// How pages from a time on are listed is not known after a restart, and the first page shows one
  /// second. Another conversation tells it: this one is asked for once more without being told to.
  @Test func aPageThatWaitedIsPutRightOnceAnotherConversationTellsHow() throws {
    for seed in 1...8 as ClosedRange<UInt64> {
      let folder = try TrapsRestart.Folder()
      let world = try world(seed: seed, file: folder.file())
      let other = "other"
      world.server.createConversation(other, participants: ["me", "you"])
      world.post(80)
      world.put(in: other)
      try world.connect()
      try world.sync(.older, want: 1_000)
      try world.sync(in: other)
      world.advance(ms: 60_000)
      for _ in 0..<3 { world.put() }
      try world.sync()
      for _ in 0..<3 { world.put() }
      for _ in 0..<3 {
        world.advance(ms: 1_000)
        world.put(in: other)
      }
      try world.reopen()
      try world.sync()
      try world.sync(in: other)
      #expect(try world.cached() == listed(world), "seed \(seed)")
    }
  }

  /// A file that was read keeps the order.
  @Test func theOrderOutlivesTheProcess() throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(file: folder.file())
    for _ in 0..<20 {
      world.advance(ms: 1_000)
      world.post(6, everyMs: 0)
    }
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    try check(world)
    try world.reopen()
    #expect(try world.cached() == listed(world))
    let first = try world.page(limit: 31)
    #expect(
      first.rows.map { String(decoding: first[$0.id], as: UTF8.self) } == listed(world).suffix(31))
    try world.sync()
    try check(world)
  }

  /// Six lines are written within a second, on 200 servers, and stand in their places as each of
  /// them comes.
  @Test func sixLinesWithinASecond() throws {
    for seed in 1...200 as ClosedRange<UInt64> {
      let world = try world(seed: seed) { $1.pushIsLossless = seed.isMultiple(of: 2) }
      world.post(60, everyMs: 400)
      try world.connectListening()
      let screen = try TestScreen(world)
      try screen.settle(world)
      for _ in 0..<6 {
        world.advance(ms: 40)
        world.post(1, everyMs: 0)
        for _ in 0..<3 {
          try world.run()
          try screen.poll()
          let ids = try screen.ids()
          #expect(ids == listed(world).suffix(ids.count), "seed \(seed)")
        }
      }
      try screen.settle(world)
      #expect(try screen.ids().suffix(6) == listed(world).suffix(6))
    }
  }

  /// This user's own lines, written faster than the server answers.
  @Test func sixOwnLinesWithinASecond() throws {
    for seed in 1...50 as ClosedRange<UInt64> {
      let world = try world(seed: seed) { $1.pushIsLossless = seed.isMultiple(of: 2) }
      world.post(60, everyMs: 400)
      try world.connectListening()
      let screen = try TestScreen(world)
      try screen.settle(world)
      var texts: [String] = []
      for line in 0..<6 {
        texts.append("\"line \(line)\"")
        _ = try world.client.perform(
          Array(
            #"{"type":"send_message","conversation_id":"room","payload":"line \#(line)"}"#.utf8))
        try screen.poll()
        #expect(try payloads(screen).suffix(texts.count) == texts[...], "seed \(seed)")
      }
      for _ in 0..<8 {
        try world.run()
        try screen.poll()
        #expect(try payloads(screen).suffix(6) == texts[...], "seed \(seed)")
      }
      try screen.settle(world)
      #expect(try payloads(screen).suffix(6) == texts[...], "seed \(seed)")
      try world.sync()
      #expect(try Array(world.cached().suffix(6)) == listed(world).suffix(6))
    }
  }

  private func payloads(_ screen: TestScreen) throws -> [String] {
    let page = try screen.window.rows(first: 0, count: 10_000)
    guard let page else { return [] }
    return page.rows.map { String(decoding: page[$0.payload], as: UTF8.self) }
  }
}
