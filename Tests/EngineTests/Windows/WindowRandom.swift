/// Random hosts on every kind of server: they scroll, jump, trim, fill, go offline and
/// come back, while messages come and go.
///
/// Rule protected: after each step the host's own list, kept up by differences alone, is
/// the window's; rows are in order and unique; neighbours without a split are neighbours
/// on the server. At rest, with its gaps filled, a window of
/// the newest messages shows the server's.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing
import Timeline

@Suite struct WindowRandom {
  @Test(arguments: CapableKind.all, 1...8)
  func whateverTheHostDoesTheListIsTrue(_ kind: CapableKind, _ seed: Int) throws {
    var random = Random(seed: UInt64(seed) &* 7_919)
    let isLossless = seed % 3 == 0
    let world = try kind.world(limit: [7, 20, 11][seed % 3]) {
      $0.pushIsLossless = isLossless
      $0.sendsPreviousIDs = seed % 4 == 1
      $0.tellsChanges = seed % 2 == 0
    } profile: {
      $0.pushIsLossless = isLossless
      if seed % 2 == 0 { $0.capabilities.insert(.changedSince) }
    }
    world.post(150 + random.below(60), everyMs: kind.everyMs)
    try world.connectListening()
    var screens: [TestScreen] = [try TestScreen(world, count: 15, rowsMax: 100)]
    var isUp = true
    for step in 0..<40 {
      let deed = try act(world, kind, &screens, &isUp, &random)
      for screen in screens {
        try screen.poll()
        if random.below(2) == 0 { try screen.settle(world) }
      }
      for screen in screens where random.below(2) == 0 {
        try screen.poll()
        let lies = try world.breaks(screen)
        #expect(lies == [], "\(kind.name) \(seed).\(step) \(deed)")
        if !lies.isEmpty { return }
      }
    }
    if !isUp { try world.connectListening() }
    for screen in screens { try screen.settle(world) }
    for screen in screens {
      try screen.settle(world)
      #expect(try screen.state().waiting == .nothing)
      #expect(try world.breaks(screen) == [])
      #expect(try screen.window.load(Load(.initial, count: 10)))
      try screen.settle(world)
      for round in 0..<60 {
        guard let row = try screen.splits().last else { break }
        #expect(try screen.window.fill(row: row))
        try screen.settle(world)
        #expect(round < 59, "\(kind.name) \(seed)")
      }
      let ids = try screen.ids()
      let order = world.order()
      let places = ids.map { order.firstIndex(of: $0) ?? -1 }
      #expect(places == Array(order.indices.suffix(ids.count)), "\(kind.name) \(seed)")
      #expect(ids.count >= 5 || ids == world.order())
    }
  }

  private func act(
    _ world: World, _ kind: CapableKind, _ screens: inout [TestScreen], _ isUp: inout Bool,
    _ random: inout Random
  ) throws -> String {
    let truth = world.order()
    let anyone = truth[random.below(truth.count)]
    let screen = screens[random.below(screens.count)]
    let rows = try screen.state().rowCount
    let count = 1 + random.below(40)
    let number = rows > 0 && random.below(2) == 0 ? screen.numbers[random.below(rows)] : 0
    let isPast = random.below(4) == 0
    switch random.below(16) {
    case 0, 1:
      _ = try screen.window.load(Load(.before(number), count: count, isPastGaps: isPast))
      return "before"
    case 2, 3:
      _ = try screen.window.load(Load(.after(number), count: count, isPastGaps: isPast))
      return "after"
    case 4:
      let place = world.serverPosition(of: anyone)
      let time = world.server.truth(world.room).first { $0.id == anyone }?.stampUs ?? place.time
      _ = try screen.window.load(Load(.around(.time(time)), count: count, isPastGaps: isPast))
      return "around a time"
    case 5:
      do {
        _ = try screen.window.load(Load(.around(.message(Array(anyone.utf8))), count: count))
      } catch {
        guard case .unsupported = error else { throw error }
      }
      return "around a message"
    case 6:
      _ = try screen.window.load(Load(random.below(2) == 0 ? .last : .initial, count: count))
      return "last or initial"
    case 7:
      let first = random.below(rows + 1)
      try screen.window.trim(first: first, count: random.below(rows + 2))
      return "trim"
    case 8:
      try screen.window.show(first: random.below(rows + 1), count: random.below(30))
      return "show"
    case 9:
      do { _ = try screen.window.fill(row: random.below(rows + 1)) } catch {
        #expect(error == .offline)
      }
      return "fill"
    case 10:
      world.advance(ms: 1_500)
      world.post(1 + random.below(25), everyMs: kind.everyMs)
      return "posts"
    case 11:
      let first = random.below(truth.count)
      world.advance(ms: 20_000)
      world.server.delete(
        conversation: world.room, ids: Array(truth[first...].prefix(1 + random.below(12))))
      world.advance(ms: 20_000)
      return "deletes"
    case 12, 13:
      if isUp { try world.disconnect() } else { try world.connectListening() }
      isUp.toggle()
      return isUp ? "up" : "down"
    case 14:
      if screens.count < 3 {
        screens.append(try TestScreen(world, .unread, count: 9, rowsMax: 100))
        return "another window"
      }
      screens.removeLast().window.close()
      return "closes a window"
    default:
      try world.run()
      return "runs"
    }
  }
}

extension World {
  /// Neighbours without a split that are none on the server; deleted ones that are still
  /// shown are known to be unknown, so they are left out.
  func breaks(_ screen: TestScreen) throws -> [String] {
    let ids = try screen.ids()
    let splits = Set(try screen.splits())
    #expect(Set(ids).count == ids.count)
    var place: [String: Int] = [:]
    for (index, id) in order().enumerated() { place[id] = index }
    var stamps: [String: Int64] = [:]
    for row in server.truth(room) { stamps[row.id] = row.stampUs }
    var found: [String] = []
    var below: Int?
    var isSplit = true
    for (row, id) in ids.enumerated() {
      isSplit = isSplit || splits.contains(row)
      guard let here = place[id] else { continue }
      if let below, !isSplit, here != below + 1 { found.append("row \(row): \(below) to \(here)") }
      // Of one second pushes tell no order; a page does, and closes the split.
      let isUntold = isSplit && row > 0 && stamps[ids[row - 1]] == stamps[id]
      if let below, here <= below, !isUntold { found.append("row \(row) is out of order") }
      below = here
      isSplit = false
    }
    return found
  }
}
