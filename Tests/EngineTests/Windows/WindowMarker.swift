/// A window that opens where the user left off, while this device does not know where that is.
///
/// Rule protected: the server is asked for the read marker, once, before anything is walked
/// through. Where nobody knows it the newest messages are shown, and the window says so.
import Engine
import ReferenceServer
import Testing

@Suite struct WindowMarker {
  static let kinds = CapableKind.all.filter { !$0.hasTies }

  private func markElsewhere(_ world: World, _ index: Int) {
    _ = world.server.moveReadMarker(
      conversation: world.room, id: world.order()[index], user: "me")
  }

  private func opened(_ world: World) throws -> (screen: TestScreen, first: String) {
    let screen = try world.window(.unread, count: 40)
    let state = try screen.state()
    #expect(state.waiting == .nothing && state.trouble == nil)
    #expect(try screen.splits().isEmpty)
    let row = screen.numbers.firstIndex(of: state.anchor)
    return (screen, try row.map { try screen.ids()[$0] } ?? "")
  }

  /// No list was fetched, and the marker stands thousands of messages ago.
  @Test(arguments: kinds) func theServerIsAskedForTheMarker(_ kind: CapableKind) throws {
    let world = try kind.world(limit: 50)
    world.post(3_000, everyMs: 30_000)
    markElsewhere(world, 400)
    try world.connect()
    let (screen, first) = try opened(world)
    #expect(first == world.order()[401])
    #expect(world.asked("get_conversation").count == 1)
    #expect(world.asked("get_messages").count <= 4)
    #expect(try !screen.state().isMarkerUnknown)
    // What is known now is not asked again.
    screen.window.close()
    world.reset()
    #expect(try opened(world).first == world.order()[401])
    #expect(world.asked("get_conversation").isEmpty)
  }

  enum Silence: CaseIterable { case noVerb, noMarker, nothingRead }

  /// The server has no marker, or tells none.
  @Test(arguments: kinds, Silence.allCases)
  func withoutAMarkerThePresentIsShown(_ kind: CapableKind, _ silence: Silence) throws {
    let world = try kind.world(limit: 50)
    world.post(3_000, everyMs: 30_000)
    if silence != .nothingRead { markElsewhere(world, 400) }
    world.alter = { request, answer in
      guard request.contains("\"get_conversation\"") else { return answer }
      switch silence {
      case .noVerb:
        guard let at = answer.firstRange(of: #""status":"ok""#)?.lowerBound else { return answer }
        return "\(answer[..<at])\"status\":\"error\",\"error\":{\"code\":\"unsupported\"}}"
      case .noMarker:
        guard let at = answer.firstRange(of: #","last_read_message_id""#)?.lowerBound,
          let end = answer.firstRange(of: #","last_message""#)?.lowerBound
        else { return answer }
        return "\(answer[..<at])\(answer[end...])"
      case .nothingRead: return answer
      }
    }
    try world.connect()
    let (screen, _) = try opened(world)
    #expect(world.asked("get_conversation").count == 1)
    #expect(world.asked("get_messages").count <= 2)
    let state = try screen.state()
    #expect(state.isMarkerUnknown && state.isAtEnd && state.anchor == 0)
    #expect(try screen.ids().last == world.order().last)
    #expect(screen.numbers.count >= 40 && screen.numbers.count <= 50)
    // It goes back from there as from any place, and then says nothing of a marker.
    #expect(try screen.window.load(Load(.before(0), count: 40)))
    try screen.settle(world)
    #expect(try !screen.state().isMarkerUnknown)
  }

  /// All messages are here and none is read: that is where reading begins.
  @Test func whatIsAllHereNeedsNoMarker() throws {
    let world = try CapableKind.all[0].world(limit: 50)
    world.post(30)
    try world.connect()
    try world.sync(.older, want: 100)
    let (screen, first) = try opened(world)
    #expect(first == world.order()[0])
    #expect(try !screen.state().isMarkerUnknown)
    #expect(world.asked("get_conversation").isEmpty)
  }
}

/// The message that the marker names was deleted before this device had it.
extension WindowMarker {
  private func deleteMarked(_ world: World, _ index: Int) {
    let id = world.order()[index]
    world.server.delete(conversation: world.room, ids: [id])
  }

  /// Nothing but the count says where it stood.
  @Test(arguments: kinds, [true, false])
  func theFirstUnreadBehindAMessageThatIsGone(_ kind: CapableKind, _ hasList: Bool) throws {
    let world = try kind.world(limit: 50)
    world.post(600, everyMs: 30_000)
    markElsewhere(world, 489)
    deleteMarked(world, 489)
    try world.connect()
    if hasList { #expect(try world.sync(.conversations).trouble == nil) }
    let (screen, first) = try opened(world)
    #expect(first == world.order()[489])
    #expect(world.asked("get_messages").count <= 8)
    #expect(try !screen.state().isMarkerUnknown)
  }

  /// This device had read less, and has all up to there.
  @Test(arguments: kinds) func theFirstUnreadAboveWhatWasReadHere(_ kind: CapableKind) throws {
    let world = try kind.world(limit: 50)
    world.post(500, everyMs: 30_000)
    try world.connect()
    try world.sync(.older, want: 500)
    try world.act("mark_last_read", world.order()[59])
    try world.run()
    try world.disconnect()
    world.post(30, everyMs: 30_000)
    markElsewhere(world, 510)
    deleteMarked(world, 510)
    try world.connect()
    #expect(try world.sync(.conversations).trouble == nil)
    let (_, first) = try opened(world)
    #expect(first == world.order()[510])
  }
}
