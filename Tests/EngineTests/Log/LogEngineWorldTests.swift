/// A client of a log among troubles, from the frames to the rows: kills, cuts, lost and doubled
/// pushes, purges, restores and tokens that expire.
import Base
import Engine
import Foundation
import LogSupport
import Testing
import Timeline

@Suite struct LogEngineWorldTests {
  /// Protects: two rows between which nothing is missing are neighbours on the server, and at rest
  /// all is there, in its order, as it is.
  @Test func nothingIsLostAmongTroubles() throws {
    for seed in 0..<40 as Range<UInt64> {
      var world = try EngineLogWorld(seed: seed)
      defer { world.end() }
      do { try world.run() } catch {
        Issue.record("seed \(seed): \(error)\n\(world.trail.suffix(30).joined(separator: "\n"))")
      }
    }
  }
}

struct EngineLogWorld {
  let host: LogHost
  var random: Random
  private let path: String?
  private(set) var trail: [String] = []
  private var isRestored = false

  init(seed: UInt64) throws {
    random = Random(seed: seed)
    let kind = LogServerKind(&random)
    var file = ClientConfig.File.memory
    if random.chance(0.3) {
      let name = FileManager.default.temporaryDirectory
        .appendingPathComponent("logworld-\(UUID().uuidString)").path
      path = name
      file = .path(
        name, key: HostKey([UInt8](repeating: 7, count: 32)), create: true, strict: false)
    } else {
      path = nil
    }
    host = try LogHost(kind, pageLimit: 1 + random.below(8), file: file)
    try host.client.connected()
  }

  func end() {
    host.client.close()
    if let path { try? FileManager.default.removeItem(atPath: path) }
  }

  mutating func run() throws {
    for _ in 0..<(6 + random.below(14)) { try event() }
    for _ in 0..<(10 + random.below(20)) {
      for _ in 0..<random.below(5) { try event() }
      try act()
      try check()
    }
    try rest()
  }

  private mutating func event() throws {
    switch random.below(40) {
    case 0:
      host.server.purge(random.below(host.server.log.count / 2 + 1))
      trail.append("purged")
    case 1, 2: host.server.backUp()
    case 3:
      guard
        host.server.kind.namesEpoch || !host.server.kind.marksInPlace && !host.server.kind.leaves
      else { return }
      host.server.restore()
      isRestored = host.server.kind.namesEpoch
      trail.append("restored")
      try host.reconnect()
    case 4:
      host.server.expire()
      trail.append("expired")
    default:
      let entry = host.server.append(issued: 0)
      trail.append("came \(String(decoding: entry.id, as: UTF8.self)) \(entry.change as Any)")
      if random.chance(0.6) { host.push(entry.id) }
    }
  }

  private mutating func act() throws {
    switch random.below(12) {
    case 0: try host.reconnect()
    case 1 where path != nil: try host.reopen()
    case 2: host.losePushes()
    case 3: try host.run()
    case 4, 5: try sync(.older, want: random.below(6))
    case 6: try sync(.live)
    case 7 where !host.server.log.isEmpty:
      let entry = host.server.log[random.below(host.server.log.count)].entry
      try sync(.at(entry.id))
    case 8:
      // The connection is cut under way.
      var left = random.below(3)
      host.alter = { _, answer in
        left -= 1
        return left < 0 ? nil : answer
      }
      try sync(.latest)
      host.alter = { $1 }
      try host.reconnect()
    default: try sync(.latest)
    }
  }

  private mutating func sync(_ kind: SyncRequest.Kind, want: Int = 0) throws {
    let status = try host.sync(kind, want: want)
    // By its first answer it knows of another epoch.
    if status.trouble == nil, status.requests > 0 { isRestored = false }
    trail.append("\(kind): \(status.trouble as Any), \(try host.shown())")
  }

  /// What is whole is compared with the server: neighbours are neighbours there.
  private func check() throws {
    if isRestored { return }
    let page = try host.page()
    let splits = Set(page.coverage.gaps.map(\.beforeRow))
    let order = host.server.log.filter { $0.entry.change == nil }.map(\.entry.id)
    var last: Int?
    for (index, row) in page.rows.enumerated() {
      if splits.contains(index) { last = nil }
      guard row.flags & (1 << 7) == 0, let at = order.firstIndex(of: page[row.id]) else {
        // Gone since, or not claimed.
        last = nil
        continue
      }
      if let last, at != last + 1 {
        throw LogTrouble(description: "no neighbours: \(try host.shown()), \(host.truth())")
      }
      last = at
    }
  }

  /// Nothing happens any more.
  private mutating func rest() throws {
    try host.reconnect()
    for _ in 0..<5 {
      try sync(.latest)
      for _ in 0..<400 {
        let coverage = try host.page().coverage
        if coverage.whole, coverage.stop == .start { break }
        let status = try host.sync(.older, want: 10)
        if status.trouble != nil || status.requests == 0 { break }
      }
    }
    try sync(.latest)
    // What is deleted leaves some logs unseen.
    func id(_ row: String) -> [UInt8] { Array(row.prefix { $0 != " " }.utf8) }
    let shown = try host.shown().filter { !host.server.left.contains(id($0)) }
    let truth = host.truth()
    guard shown == truth else {
      throw LogTrouble(description: "at rest \(shown) and not \(truth)")
    }
    let coverage = try host.page().coverage
    guard truth.isEmpty || coverage.whole && coverage.stop == .start else {
      throw LogTrouble(description: "at rest it is not whole: \(coverage)")
    }
  }
}
