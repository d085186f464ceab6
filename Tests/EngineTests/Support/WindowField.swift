import Engine
import ReferenceServer
import Testing

/// The four bugs that the weak-network seed saw in the field, and a weak network.
@Suite struct WindowFieldBugs {
  /// "After a new install and log-in some messages were not fetched; leaving and
  /// entering again helped." The open window and the background sync run together.
  @Test(arguments: ServerKind.few)
  func freshInstall(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(130)
    let screen = try TestScreen(world, count: 50)
    _ = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8)))
    _ = try world.client.sync(
      SyncRequest(conversation: Array(world.room.utf8), kind: .older, want: 70))
    try world.connect()
    // Messages go on arriving while the first pages are under way.
    world.before = { index, _ in if index < 3 { world.post(1) } }
    try screen.settle(world)
    world.before = { _, _ in }
    try world.sync()
    try screen.settle(world)
    let ids = try screen.ids()
    #expect(ids.count >= 49)
    #expect(ids == Array(world.truth().suffix(ids.count)))
    #expect(try screen.splits().isEmpty)
  }

  /// "A calls B, A hangs up, B taps the notification and sees an empty page": the
  /// event is pushed, the conversation was never opened, and its window opens at once.
  @Test func callThenTapTheNotification() throws {
    let world = try World.exact()
    world.post(120)
    try world.connect()
    let token = world.server.subscribe(user: "me")
    world.post(1)
    try world.deliver(token)
    let screen = try TestScreen(world)
    // Before any answer: what was pushed is there.
    try screen.poll()
    #expect(try screen.ids() == Array(world.truth().suffix(1)))
    try screen.settle(world)
    #expect(try screen.ids() == Array(world.truth().suffix(20)))
    #expect(try screen.splits().isEmpty)
  }

  /// "Kill the process, start, tap a conversation at once: messages are missing for
  /// good." The window opens before the connection stands, and again after it fell.
  @Test(arguments: ServerKind.few)
  func killAndQuickTap(_ kind: ServerKind) throws {
    let folder = try TrapsRestart.Folder()
    let world = try kind.world { _ in
    } profile: { _ in
    } config: {
      $0.file = folder.file()
    }
    world.post(60)
    try world.connect()
    try world.sync()
    world.post(130)
    // Killed in the middle of a catch-up: an answer is lost.
    _ = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8)))
    try world.run(drop: { index, _ in index >= 1 })
    world.client.close()
    world.client = try Client.open(world.config)
    let screen = try TestScreen(world, count: 50)
    try screen.poll()
    #expect(!(try screen.ids().isEmpty))
    #expect(try screen.state().waiting == .connection)
    try world.connect()
    try screen.poll()
    try world.client.disconnected()
    try world.connect()
    try screen.settle(world)
    while let split = try screen.splits().last {
      #expect(try screen.window.fill(row: split))
      try screen.settle(world)
    }
    let ids = try screen.ids()
    #expect(ids.count >= 49)
    #expect(ids == Array(world.truth().suffix(ids.count)))
  }

  /// "Tap a notification on the lock screen, enter the code: the message is not
  /// there." The window opens at a message that this device has never seen.
  @Test(arguments: [Profile.Capabilities.around, [.around, .before]])
  func lockScreenTap(_ capabilities: Profile.Capabilities) throws {
    let world = try World.exact {
      $0.takesAround = true
      $0.takesBefore = capabilities.contains(.before)
    } profile: {
      $0.capabilities = capabilities
    }
    world.post(90)
    try world.connect()
    try world.sync()
    try world.client.disconnected()
    world.post(90)
    let truth = world.truth()
    let screen = try TestScreen(world, .message(Array(truth[120].utf8)))
    try screen.poll()
    #expect(try screen.state().waiting == .connection)
    try world.connect()
    // The first answer is lost; the library asks again.
    var isLost = false
    for _ in 0..<6 {
      try world.run(drop: { _, _ in
        defer { isLost = true }
        return !isLost
      })
      try screen.poll()
      world.advance(ms: 130_000)
      _ = try world.client.advance()
    }
    try screen.settle(world)
    #expect(try screen.ids() == Array(truth[110..<130]))
    #expect(try screen.splits().isEmpty)
    #expect(try screen.window.find(Array(truth[120].utf8)) == 10)
  }

  /// Open windows go first, whatever else waits.
  @Test func openWindowsGoFirst() throws {
    let world = try World.exact()
    world.post(60)
    for index in 0..<30 {
      world.server.createConversation("other \(index)", participants: ["me", "you"])
      _ = try world.client.sync(SyncRequest(conversation: Array("other \(index)".utf8)))
    }
    let screen = try TestScreen(world)
    try world.connect()
    let frame = try #require(try world.client.nextFrame())
    #expect(String(decoding: frame.bytes, as: UTF8.self).contains("\"room\""))
    #expect(try screen.state().waiting == .connection)
    try screen.poll()
    #expect(try screen.state().waiting == .present)
  }

  /// What a closed window alone asked for is not asked any more.
  @Test func aClosedWindowAsksNoMore() throws {
    let world = try World.exact()
    world.post(300)
    let screen = try TestScreen(world, count: 200)
    screen.window.close()
    try world.connect()
    try world.run()
    #expect(world.requests.isEmpty)
  }
}
