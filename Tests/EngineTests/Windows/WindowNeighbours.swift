/// What is proven adjacent is one range, and has no gap line within.
///
/// Rule protected: a split stands where something may be missing, not at each row that came by
/// itself.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct WindowNeighbours {
  /// A window over what was cached before an absence, and what came with the reconnect.
  private func missed(_ count: Int, in world: World) throws -> TestScreen {
    world.post(120)
    world.advance(ms: 60_000)
    try world.connect()
    let screen = try world.window(count: 100)
    try world.client.disconnected()
    try screen.settle(world)
    world.post(count)
    world.advance(ms: 60_000)
    world.reset()
    return screen
  }

  /// It is back at the rows from before the absence.
  private func scrolledPastAGap(in world: World) throws -> TestScreen {
    let screen = try missed(400, in: world)
    try world.connect()
    try screen.settle(world)
    #expect(try screen.window.load(Load(.before(0), count: 100, isPastGaps: true)))
    try screen.settle(world)
    return screen
  }

  private func pushes(_ count: Int, linked: Bool, to world: World) throws {
    let truth = world.server.truth(world.room)
    for index in truth.count - count..<truth.count {
      let more =
        linked ? ",\"prev_id\":\"\(truth[index - 1].id)\"" : ",\"seq\":\(truth[index].number)"
      try world.hand(
        Frames.push(Frames.message(truth[index].id, atUs: truth[index].stampUs, more: more)))
    }
  }

  /// A page of what was missed is an unbroken run, whichever end the server cuts.
  @Test(arguments: [.oldest, .newest, .unknown] as [Profile.Truncates], [130, 1_000])
  func aPageOfWhatWasMissedIsOneRange(_ end: Profile.Truncates, _ count: Int) throws {
    var knobs = ServerKnobs()
    knobs.truncates = end == .newest ? .newest : .oldest
    var profile = Profile()
    profile.truncates = end
    let world = try World(knobs: knobs, profile: profile)
    let screen = try missed(count, in: world)
    try world.connect()
    try screen.settle(world)
    #expect(try world.lies() == [])
    // Offline a window shows all that is cached, gaps or not.
    try world.client.disconnected()
    let all = try world.window(count: 400)
    #expect(try all.splits().count <= (end == .newest ? 8 : end == .oldest ? 3 : 5))
    try fillsUp(world, count)
  }

  /// Ten that come with a reconnect, while the request for the rest has no answer.
  @Test(arguments: [false, true])
  func tenThatNameEachOtherAreOneRange(_ linked: Bool) throws {
    let world =
      linked
      ? try World() : try ServerKind.capable.first { $0.capabilities == [.sequence] }!.world()
    let screen = try missed(300, in: world)
    try world.connect()
    try pushes(10, linked: linked, to: world)
    while try screen.poll() != nil {}
    #expect(try screen.ids().suffix(10) == world.truth().suffix(10))
    #expect(try screen.splits() == [screen.ids().count - 10])
    #expect(try world.lies() == [])
    try screen.settle(world)
    try fillsUp(world, 300)
  }

  /// The last rows before an absence may have late neighbours, so no range holds them. While they
  /// are on the screen they are asked for, and what changed of them is shown.
  @Test(
    arguments: [[], .before, .around, [.before, .around]] as [Profile.Capabilities],
    [Profile.Truncates.newest, .unknown])
  func whatStandsBesideAGapIsRefreshed(
    _ capabilities: Profile.Capabilities, _ end: Profile.Truncates
  ) throws {
    var knobs = ServerKnobs()
    knobs.truncates = end == .newest ? .newest : .oldest
    knobs.takesBefore = capabilities.contains(.before)
    knobs.takesAround = capabilities.contains(.around)
    var profile = Profile()
    profile.truncates = end
    profile.capabilities = capabilities
    let world = try World(knobs: knobs, profile: profile)
    let screen = try scrolledPastAGap(in: world)
    let truth = world.truth()
    let last = truth[119]
    world.server.edit(conversation: world.room, id: last, payload: "\"edited\"")
    let row = try #require(try screen.ids().firstIndex(of: last))
    world.reset()
    try screen.window.show(first: row - 10, count: 12)
    try screen.settle(world)
    // What a first page that keeps the oldest has shown is as new as this connection.
    #expect(try end == .unknown || world.payload(last) == "\"edited\"")
    #expect(world.requests.count <= (capabilities.isEmpty ? 12 : 2))
    let below = try screen.splits().filter { $0 <= row }
    #expect(below == [])
    #expect(try world.lies() == [])
    // And not again while it stays on the screen.
    world.reset()
    try screen.window.show(first: row - 9, count: 12)
    try screen.settle(world)
    #expect(world.requests == [])
  }

  /// Protects: all rows on the screen are read again where a page around one of them shows no
  /// more than that one.
  @Test func aPageOfOneRowIsNotAllThatIsRefreshed() throws {
    var knobs = ServerKnobs()
    knobs.takesAround = true
    knobs.truncates = .newest
    var profile = Profile()
    profile.truncates = .newest
    profile.capabilities = .around
    let world = try World(knobs: knobs, profile: profile)
    let screen = try scrolledPastAGap(in: world)
    let limit = try Regex(#""limit":[0-9]+"#)
    world.alter = { request, answer in
      guard request.contains("around_id") else { return answer }
      let one = Array(request.replacing(limit, with: #""limit":1"#).utf8)
      return world.server.handle(one, user: "me").first.map { String(decoding: $0, as: UTF8.self) }
    }
    let ids = Array(world.truth()[115...119])
    for id in ids { world.server.edit(conversation: world.room, id: id, payload: "\"edited\"") }
    let first = try #require(try screen.ids().firstIndex(of: ids[0]))
    world.reset()
    try screen.window.show(first: first, count: 5)
    try screen.settle(world)
    #expect(try ids.allSatisfy { try world.payload($0) == "\"edited\"" })
    #expect(world.requests.count == 5, "\(world.requests)")
  }

  /// Going back over the absence shows all of it.
  private func fillsUp(_ world: World, _ count: Int) throws {
    try world.connect()
    try world.sync()
    for _ in 0..<3 { try world.sync(.older, want: count) }
    #expect(try world.lies() == [])
    #expect(try world.cached().suffix(count) == world.truth().suffix(count))
  }
}
