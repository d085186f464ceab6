/// Items over windows of a real store: what is read for them, and what they say to the window.
import Base
import Engine
import ReferenceServer
import Testing

/// A host's list of keys over a window, kept up by differences alone.
private final class ItemScreen {
  let world: World
  let window: Window
  let items: Items
  private(set) var keys: [UInt64] = []
  private(set) var steps: [DiffOp] = []
  private var version: UInt64 = 0

  /// What the robot says folds.
  init(
    _ world: World, isReversed: Bool = false, drawsUnread: Bool = false, at: At = .latest,
    tune: (inout WindowConfig) -> Void = { _ in }
  ) throws {
    self.world = world
    window = try TestScreen(world, at, tune: tune).window
    var config = ItemsConfig(isReversed: isReversed, drawsUnread: drawsUnread)
    config.fold = { page, answers throws(Failure) in
      for (index, row) in page.rows.enumerated() {
        let isRobot = page[row.sender] == Array("robot".utf8)
        answers[index] = FoldAnswer(fold: isRobot ? 7 : 0, zoneMinutes: 0, bits: row.number)
      }
    }
    items = try window.openItems(config)
  }

  /// Polls and carries frames until nothing moves.
  func settle() throws {
    steps = []
    for _ in 0..<200 {
      try world.run()
      let state = try window.state()
      if try !poll(), try world.isQuiet(), try window.state() == state { return }
    }
    Issue.record("the items do not come to rest: \(try window.state())")
  }

  @discardableResult
  func poll() throws -> Bool {
    guard let diff = try items.poll() else { return false }
    #expect(diff.from == version)
    version = diff.to
    steps += diff.ops
    for op in diff.ops {
      switch op.kind {
      case .insert:
        keys.insert(contentsOf: [UInt64](repeating: 0, count: op.count), at: op.row)
      case .remove: keys.removeSubrange(op.row..<op.row + op.count)
      case .update: try #require(op.row + op.count <= keys.count)
      case .move: keys.insert(keys.remove(at: op.from), at: op.row)
      }
    }
    for (index, view) in try views().enumerated() {
      #expect(keys[index] == 0 || keys[index] == view.key)
      keys[index] = view.key
    }
    #expect(keys.count == diff.rowCount)
    #expect(checksum(keys) == diff.checksum)
    #expect(try items.state().checksum == diff.checksum)
    return true
  }

  func views() throws -> [ItemView] { try items.items(first: 0, count: 10_000) }

  /// Ids of each item, in the order of the list.
  func ids() throws -> [[String]] {
    try views().indices.map { index in
      guard let page = try items.messages(of: index, first: 0, count: 10_000) else { return [] }
      return page.rows.map { String(decoding: page[$0.id], as: UTF8.self) }
    }
  }

  func counts() throws -> [Int] { try views().map(\.rowCount) }
}

@Suite struct ItemsTests {
  private func world(_ tune: (inout ClientConfig) -> Void = { _ in }) throws -> World {
    let world = try World { tune(&$0) }
    world.post(3)
    world.post(4, sender: "robot")
    world.post(2)
    try world.connectListening()
    return world
  }

  @Test func neighboursThatTheHostFoldsAreOneItem() throws {
    let world = try world()
    let screen = try ItemScreen(world)
    try screen.settle()
    #expect(try screen.counts() == [1, 1, 1, 4, 1, 1])
    let view = try screen.views()[3]
    #expect(view.flags & 1 != 0)
    #expect(view.row == 3)
    // What the host gave for each of its messages.
    for place in 0..<4 {
      let page = try #require(try screen.items.messages(of: 3, first: place, count: 1))
      #expect(try screen.items.bits(of: 3, place: place) == page.rows.first?.number)
    }
    #expect(try screen.items.bits(of: 3, place: 4) == nil)
    let id = try screen.ids()[3][2]
    let found = try #require(try screen.items.find(Array(id.utf8)))
    #expect(found == (3, 2))
    #expect(try screen.items.find(Array("nobody".utf8)) == nil)
    #expect(try screen.items.index(ofKey: view.key) == 3)
    // A live message of the robot's is an item of its own, the next one joins it.
    world.post(1, sender: "robot")
    try screen.settle()
    let key = try #require(screen.keys.last)
    world.post(1, sender: "robot")
    try screen.settle()
    #expect(screen.keys.last == key)
    #expect(try screen.counts() == [1, 1, 1, 4, 1, 1, 2])
  }

  @Test func aGroupIsOpenedAndClosed() throws {
    let world = try world()
    let screen = try ItemScreen(world, isReversed: true)
    try screen.settle()
    #expect(try screen.counts() == [1, 1, 4, 1, 1, 1])
    let ids = world.truth()
    #expect(Set(try screen.ids().joined()) == Set(ids))
    let newestFirst = try screen.ids()[2]
    let key = screen.keys[2]
    #expect(try screen.items.setOpen(2, true))
    #expect(try !screen.items.setOpen(0, true))
    try screen.settle()
    #expect(try screen.counts() == [1, 1, 1, 1, 1, 1, 1, 1, 1])
    #expect(try screen.ids()[2...5].map { $0[0] } == newestFirst)
    #expect(try screen.views()[2...5].map(\.place) == [0, 1, 2, 3])
    // The oldest message has the key of its group.
    #expect(screen.keys[5] == key)
    #expect(try screen.items.setOpen(3, false))
    try screen.settle()
    #expect(screen.keys[2] == key)
    #expect(try screen.counts() == [1, 1, 4, 1, 1, 1])
  }

  /// What is on the screen is the window's to know: all messages of a group are seen with it.
  @Test func itemsOnScreenAreSeen() throws {
    let world = try world {
      $0.autoMarkRead = true
      $0.seenMs = 1_000
    }
    let screen = try ItemScreen(world)
    try screen.settle()
    world.reset()
    try screen.items.show(first: 2, count: 2)
    world.advance(ms: 1_000)
    _ = try world.client.advance()
    try world.run()
    let marked = world.asked("mark_read").joined()
    let ids = try screen.ids()
    let read = ids.joined().filter { marked.contains("\"\($0)\"") }
    #expect(read == Array(ids[2...3].joined()))
    #expect(throws: Failure.self) { try screen.items.show(first: 99, count: 1) }
    try screen.items.show(first: 0, count: 0)
  }

  /// Near an edge the window loads by itself where it is to.
  @Test(arguments: [false, true])
  func anEdgeThatComesNearIsLoaded(_ isReversed: Bool) throws {
    let world = try World()
    world.post(100)
    try world.connect()
    let screen = try ItemScreen(world, isReversed: isReversed) { $0.preloads = true }
    try screen.settle()
    let count = screen.keys.count
    #expect(count < 50)
    try screen.items.show(first: isReversed ? count - 3 : 0, count: 3)
    try screen.settle()
    #expect(screen.keys.count > count)
  }

  /// The unread line stands before the first message that was unread, breaks a group, and stays.
  @Test func theUnreadLineIsPutOnce() throws {
    let world = try World()
    let ids = world.post(6, sender: "robot")
    try world.connectListening()
    try world.sync()
    try world.client.markRead(
      conversation: Array(world.room.utf8), ids: ids[0..<2].map { Array($0.utf8) })
    try world.run()
    let screen = try ItemScreen(world, drawsUnread: true)
    try screen.settle()
    #expect(try screen.counts() == [2, 4])
    #expect(try screen.items.state().unreadItem == 1)
    try world.client.markRead(
      conversation: Array(world.room.utf8), ids: ids.map { Array($0.utf8) })
    try screen.settle()
    #expect(try screen.counts() == [2, 4])
    try screen.items.setUnread(0)
    try screen.settle()
    #expect(try screen.counts() == [6])
    #expect(try screen.items.state().unreadItem == nil)
    let row = try #require(try screen.items.messages(of: 0, first: 4, count: 1)?.rows.first)
    try screen.items.setUnread(row.number)
    try screen.settle()
    #expect(try screen.counts() == [4, 2])
    #expect(throws: Failure.notFound("no row of the window has this number")) {
      try screen.items.setUnread(1 << 40)
    }
  }

  /// What the user sends keeps its item while the server takes it and gives it its place.
  @Test func aMessageThatIsSentKeepsItsItem() throws {
    let world = try world()
    let screen = try ItemScreen(world)
    try screen.settle()
    _ = try world.client.send(
      Outgoing(conversation: Array(world.room.utf8), payload: Array("1".utf8)))
    try screen.poll()
    let key = try #require(screen.keys.last)
    #expect(try screen.views().last?.day == nil)
    try screen.settle()
    #expect(screen.keys.last == key)
    #expect(try screen.views().last?.day != nil)
  }

  /// A function of the host's that polls the window has its poll fail, and the next one goes on.
  @Test func aPollFromInsideOfAPollIsRefused() throws {
    let world = try world()
    let window = try TestScreen(world).window
    let reentry = Lock<(items: Items?, failures: [Failure], isOn: Bool)>((nil, [], true))
    var config = ItemsConfig()
    config.fold = { _, _ throws(Failure) in
      let (items, isOn) = reentry.withLock { ($0.items, $0.isOn) }
      guard isOn, let items else { return }
      do throws(Failure) {
        _ = try items.poll()
      } catch {
        reentry.withLock { $0.failures.append(error) }
      }
      _ = try items.window.poll()
    }
    let items = try window.openItems(config)
    reentry.withLock { $0.items = items }
    try world.run()
    _ = try window.poll()
    try world.run()
    world.post(1)
    try world.run()
    // The window has rows by now, and news: both are seen.
    #expect(try items.state().isBehind)
    #expect(throws: Failure.self) { try items.items(first: 0, count: 1) }
    var failures = 0
    for _ in 0..<3 {
      do throws(Failure) { _ = try items.poll() } catch { failures += 1 }
      world.post(1)
      try world.run()
    }
    #expect(reentry.withLock { $0.failures.count } > 0)
    reentry.withLock { $0.isOn = false }
    while try items.poll() != nil {}
    #expect(try items.state().itemCount == window.state().rowCount)
    #expect(try items.state().itemCount > 0)
    reentry.withLock { $0.items = nil }
  }

  @Test func thereAreEightOverOneWindow() throws {
    let world = try world()
    let window = try TestScreen(world).window
    var all = try (0..<8).map { _ in try window.openItems(ItemsConfig()) }
    #expect(
      throws: Failure.full("8 lists of items stand over one window; nothing changed")
    ) { try window.openItems(ItemsConfig()) }
    all.removeLast().close()
    let last = try window.openItems(ItemsConfig())
    last.close()
    #expect(throws: Failure.closed) { try last.poll() }
    window.close()
    #expect(throws: Failure.closed) { try all[0].poll() }
    #expect(throws: Failure.self) {
      try world.window().window.openItems(ItemsConfig(gapMinutes: 527_041))
    }
    #expect(throws: Failure.self) {
      try world.window().window.openItems(ItemsConfig(zoneMinutes: 1_440))
    }
  }
}
