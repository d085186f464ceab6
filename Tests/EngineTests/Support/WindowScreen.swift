/// A screen as a host keeps it: its own list of row numbers, kept up by differences
/// alone and checked against the window after each of them.
import Engine
import ReferenceServer
import Testing

final class TestScreen {
  let window: Window
  private(set) var numbers: [UInt64] = []
  private(set) var diffs: [WindowDiff] = []
  private var version: UInt64 = 0

  init(
    _ world: World, _ at: At = .latest, count: Int = 20, rowsMax: Int = 2_000,
    tune: (inout WindowConfig) -> Void = { _ in }
  ) throws {
    var config = WindowConfig(
      conversation: Array(world.room.utf8), at: at, count: count, rowsMax: rowsMax)
    // Pictures show each split as soon as it is there.
    config.holdMs = 0
    tune(&config)
    window = try world.client.openWindow(config)
  }

  /// Polls once and replays what comes.
  @discardableResult
  func poll() throws -> WindowDiff? {
    guard let diff = try window.poll() else { return nil }
    #expect(diff.from == version)
    version = diff.to
    var places: [Int] = []
    for op in diff.ops {
      switch op.kind {
      case .insert:
        numbers.insert(contentsOf: [UInt64](repeating: 0, count: op.count), at: op.row)
      case .remove:
        numbers.removeSubrange(op.row..<op.row + op.count)
      case .update:
        try #require(op.row + op.count <= numbers.count)
      case .move:
        let number = numbers.remove(at: op.from)
        numbers.insert(number, at: op.row)
      }
    }
    for (row, number) in numbers.enumerated() where number == 0 { places.append(row) }
    for row in places {
      numbers[row] = try #require(try window.rows(first: row, count: 1)?.rows.first?.number)
    }
    #expect(numbers.count == diff.rowCount)
    #expect(checksum(numbers) == diff.checksum)
    #expect(try window.state().version == version)
    diffs.append(diff)
    return diff
  }

  /// Polls and carries frames until nothing moves.
  func settle(_ world: World) throws {
    for _ in 0..<200 {
      try world.run()
      let state = try window.state()
      if try poll() == nil, try world.isQuiet(), try window.state() == state { return }
    }
    Issue.record("the window does not come to rest: \(try window.state())")
  }

  /// The rows as one line: ids, with `|` for a split.
  func picture() throws -> String {
    guard let page = try window.rows(first: 0, count: 10_000) else { return "" }
    #expect(page.rows.map(\.number) == numbers)
    return page.rows.enumerated().map { index, row in
      let id = String(decoding: page[row.id], as: UTF8.self)
      return (row.flags & (1 << 8) != 0 ? "| " : "") + (id.isEmpty ? "(gone)" : id)
    }.joined(separator: " ")
  }

  func ids() throws -> [String] {
    try picture().split(separator: " ").filter { $0 != "|" }.map(String.init)
  }

  /// Rows with a split before them.
  func splits() throws -> [Int] {
    let page = try window.rows(first: 0, count: 10_000)
    return (page?.rows ?? []).enumerated().filter { $0.element.flags & (1 << 8) != 0 }
      .map(\.offset)
  }

  func state() throws -> WindowStatus { try window.state() }
}

extension World {
  func isQuiet() throws -> Bool {
    let state = try client.state()
    return state.framesWaiting == 0 && state.requestsInFlight == 0
  }

  func window(
    _ at: At = .latest, count: Int = 20, rowsMax: Int = 2_000
  ) throws -> TestScreen {
    let screen = try TestScreen(self, at, count: count, rowsMax: rowsMax)
    try screen.settle(self)
    return screen
  }

  /// Delivers what the server pushed since the subscription.
  func deliver(_ token: Int) throws {
    for frame in server.drain(token) { _ = try client.receive(frame) }
  }

  /// A world whose pages have exact ends, so that pictures have no stray first rows.
  static func exact(
    page: Int = 20, knobs: (inout ServerKnobs) -> Void = { _ in },
    profile: (inout Profile) -> Void = { _ in }, config: (inout ClientConfig) -> Void = { _ in }
  ) throws -> World {
    var serverKnobs = ServerKnobs()
    serverKnobs.truncates = .newest
    serverKnobs.ties = .id
    knobs(&serverKnobs)
    var clientProfile = Profile()
    clientProfile.truncates = .newest
    clientProfile.ties = .id
    clientProfile.pageLimit = page
    profile(&clientProfile)
    return try World(knobs: serverKnobs, profile: clientProfile, change: config)
  }
}
