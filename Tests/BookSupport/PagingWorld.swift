/// A client with a book among troubles. After each step each claim is compared with the server.
package import Base
package import Book

/// A claim that the server's list contradicts.
package struct BookTrouble: Error, CustomStringConvertible {
  /// What was wrong, the same for all worlds.
  package let kind: String
  package let detail: String

  package init(_ kind: String, _ detail: String = "") { (self.kind, self.detail) = (kind, detail) }

  package var description: String { detail.isEmpty ? kind : "\(kind): \(detail)" }
}

package enum PagingWorlds: CaseIterable, Sendable { case time, ties, unordered, numbers }

extension PageServerKind {
  init(_ worlds: PagingWorlds, _ dice: inout Random) {
    self.init()
    isNumbered = worlds == .numbers
    keepsOldest = dice.chance(0.5)
    pageMax = [5, 7, 30, 50][dice.below(4)]
    listing = [Listing.ascending, .descending, .mixed][dice.below(3)]
    isLate = dice.chance(0.5)
    hasBefore = worlds != .numbers && dice.chance(0.5)
    switch worlds {
    case .time, .numbers: ties = .arrival
    case .ties: ties = [Ties.arrival, .id, .reversed][dice.below(3)]
    case .unordered:
      ties = [Ties.arrival, .changing][dice.below(2)]
      if ties == .arrival { listing = .shuffled }
    }
    hasUnreadable = worlds == .time && dice.chance(0.25)
  }
}

package final class PagingWorld {
  package private(set) var server: PageServer
  package private(set) var client: PagingClient
  private let kind: PageServerKind
  private var dice: Random
  private var loss: Double
  private var reorders: Bool
  private var restores: Bool
  private var namesPrevious: Bool
  private var backup: PageServer.Backup?
  private var hasRestored = false
  private var isQuiet = false
  /// Commits before the last catch-up began.
  private var known = 0
  private let most: Int
  package private(set) var steps: [String] = []

  package init(
    seed: UInt64, _ worlds: PagingWorlds, book: BookFaults = [], pagers: PagerFaults = []
  ) {
    var random = Random(seed: seed &* 31 &+ 7)
    kind = PageServerKind(worlds, &random)
    server = PageServer(kind, seed: seed &+ 1)
    loss = [0, 0.3, 0.7][random.below(3)]
    reorders = random.chance(0.5)
    restores = random.chance(0.25) && kind.ties != .changing
    namesPrevious = random.chance(0.4) && worlds != .numbers
    // Few seconds with many messages, where ties are what is looked at.
    most = worlds == .ties || worlds == .unordered ? 2 : 7
    dice = random
    var disk = PagingDisk()
    disk.book.faults = book
    client = PagingClient(
      kind, disk, faults: pagers, fetch: { _ in ([], false) }, fetchDeleted: { _ in [] })
    replaceClient()
  }

  private func replaceClient() {
    let disk = client.disk
    client = PagingClient(
      kind, disk, faults: client.faults,
      fetch: { [unowned self] request in
        if server.requests > 3_000 { throw BookTrouble("endless") }
        let answer = server.page(
          limit: 50, offset: request.offset, after: request.after, before: request.before)
        steps.append("\(request) -> \(answer.messages.map(\.name)) \(answer.more)")
        steps.append("  before: \(client.disk.book.picture())")
        try between()
        return answer
      },
      fetchDeleted: { [unowned self] since in
        let names = server.deleted(since: since)
        try between()
        return names
      })
  }

  /// What happens while an answer is on its way.
  private func between() throws {
    if isQuiet { return }
    if dice.chance(0.25) {
      switch dice.below(10) {
      case 0..<4:
        for _ in 0..<[1, 2, 5][dice.below(3)] { server.post() }
        if dice.chance(0.6) { deliver() }
      case 4, 5: if let row = server.rows.suffix(10).randomElement(using: &dice) { remove(row) }
      default: server.pass(1)
      }
    }
    if dice.chance(0.04) { throw Killed() }
  }

  private func remove(_ row: BookMessage) { server.delete(row.name) }

  private func deliver() {
    var pushes = server.pushes
    server.pushes = []
    if reorders { pushes.shuffle(using: &dice) }
    for push in pushes where !dice.chance(loss) {
      steps.append("push \(push.message.name) after \(push.after ?? -1)")
      client.pushed(push.message, after: namesPrevious ? push.after : nil)
    }
  }

  private func act(_ body: (PagingClient) throws -> Void) throws {
    do {
      try body(client)
    } catch is Killed {
      steps.append("killed")
      replaceClient()
    }
  }

  package func run() throws {
    for turn in 0..<[25, 45][dice.below(2)] {
      server.pass([0, 0, 0, 1, 1, 2, most][dice.below(7)])
      try step(turn)
      try check()
    }
    isQuiet = true
    server.pass(18)
    server.pushes = []
    for _ in 0..<4 {
      try sync()
      server.pass(6)
    }
    // What is found to be restored is read anew, a few times where much has gone.
    for _ in 0..<8 {
      try readAll()
      for _ in 0..<3 { try sync() }
      if client.reachesStart { break }
    }
    try check()
    try checkAll()
  }

  /// Reads down to the start.
  private func readAll() throws {
    for _ in 0..<300 {
      if client.reachesStart { break }
      let before = client.disk.book.picture()
      try client.older()
      if client.disk.book.picture() == before { try sync() }
    }
  }

  private func sync(live: Bool = false) throws {
    let now = server.commits
    let connection = client.disk.connection
    steps.append("sync")
    try act { try $0.sync(live: live) }
    // A killed one proves less.
    if client.disk.connection > connection, steps.last == "sync" { known = now }
  }

  private func step(_ turn: Int) throws {
    switch dice.below(100) {
    case 0..<30:
      for _ in 0..<[1, 1, 2, 3, 6][dice.below(5)] { server.post() }
      if dice.chance(0.6) { deliver() }
    case 30..<36:
      for _ in 0..<[10, 40, 60, 170][dice.below(4)] { server.post() }
      if dice.chance(0.3) { deliver() } else { server.pushes = [] }
    case 36..<42:
      if let row = server.rows.suffix(12).randomElement(using: &dice) { remove(row) }
    case 42..<45:
      guard !server.rows.isEmpty else { return }
      let first = dice.below(server.rows.count)
      for row in server.rows[first...].prefix([3, 20][dice.below(2)]) { remove(row) }
    case 45..<53: deliver()
    case 53, 54: server.turnTies()
    case 55..<58: if restores, turn > 8 { restore() }
    case 58..<62:
      let rows = client.disk.book.entries.filter { !$0.isMark && !$0.isOut }
      if let row = rows.randomElement(using: &dice) { client.disk.book.purge(row.name) }
    case 62..<80: try sync()
    case 80..<88: try sync(live: true)
    default:
      steps.append("older")
      try act { try $0.older() }
    }
  }

  private func restore() {
    guard let backup else {
      self.backup = server.backup
      return
    }
    if hasRestored || server.hasNumbers <= backup.numbers { return }
    server.restore(backup)
    hasRestored = true
    steps.append("restored")
  }

  // MARK: The judge

  /// What is linked is whole and in the server's order, as far as a catch-up has told.
  package func check() throws {
    let book = client.disk.book
    if let broken = book.broken() { throw BookTrouble("broken book", broken) }
    // What a restore took away or brought back a client finds out by two more answers.
    if hasRestored { return }
    var places: [Int: Int] = [:]
    for (index, row) in server.rows.enumerated() { places[row.name] = index }
    /// The last place of the range, the rows of the set around it, and whether it was a set.
    var last: Int?
    var set: [Int] = []
    for entry in book.entries where !entry.isOut {
      let place = entry.place == .start ? -1 : entry.isMark ? nil : places[entry.name]
      if let place {
        set.append(place)
        if entry.link == .set { continue }
        try check(book, from: last, set, entry)
        last = set.max()
        set = []
      }
      if entry.link == .none {
        try check(book, from: last, set, entry)
        (last, set) = (nil, [])
      }
    }
  }

  /// A page in any order may look as if it were listed in one.
  private var tellsOrder: Bool { kind.ties != .changing && kind.listing != .shuffled }

  /// Rows that are a set, or one row, directly above a place.
  private func check(
    _ book: Book<Int64>, from low: Int?, _ set: [Int], _ entry: BookEntry<Int64>
  ) throws {
    guard let first = set.min(), let top = set.max() else { return }
    let isStable = tellsOrder
    if isStable, let low, low >= first { throw BookTrouble("false order", "before \(entry.name)") }
    let between = Set((min(low ?? first, first)...max(top, low ?? top))).subtracting(set)
    for index in between where index >= 0 && index != low {
      let row = server.rows[index]
      let committed = server.committed[row.name] ?? 0
      let isKnown = book.contains(row.name)
      // Its order has changed since, and it is linked elsewhere.
      if isKnown, !isStable { continue }
      if !isKnown, committed > known || client.disk.tombstones[row.name] != nil { continue }
      if isKnown, kind.isNumbered || committed > known { continue }
      throw BookTrouble("false whole", "\(row.name) at \(entry.name)")
    }
  }

  /// At rest: all of the server's list, in its order, without a gap.
  private func checkAll() throws {
    let book = client.disk.book
    let shown = book.entries.filter { !$0.isMark && !$0.isUnreadable }.map(\.name)
    let truth = server.rows.filter { !$0.isUnreadable }.map(\.name)
    let lost = Set(truth).subtracting(shown)
    let ghosts = Set(shown).subtracting(truth)
    if !lost.isEmpty { throw BookTrouble("lost", "\(lost.sorted())") }
    if !ghosts.isEmpty { throw BookTrouble("deleted and shown", "\(ghosts.sorted())") }
    // Nobody tells the order inside a set.
    let sets = Set(book.entries.filter { $0.link == .set }.map(\.place))
    let isOrdered = tellsOrder
    for (shown, truth) in zip(shown, truth) where isOrdered && shown != truth {
      if let key = book.keys[shown], sets.contains(.row(key)) { continue }
      throw BookTrouble("order", "\(shown), not \(truth)")
    }
    let readable = server.rows.filter { !$0.isUnreadable }
    let keys = readable.map { kind.isNumbered ? $0.number : $0.time }
    if shown.compactMap({ book.keys[$0] }) != keys { throw BookTrouble("order of keys") }
    if truth.isEmpty { return }
    let isWhole =
      book.entries.first?.place == .start && book.entries.last?.place == .present
      && book.entries.dropLast().allSatisfy { $0.link != .none && !$0.isOut }
    if !isWhole { throw BookTrouble("not whole at the end", book.picture()) }
    if kind.hasUnreadable {
      let unreadable = Set(server.rows.filter(\.isUnreadable).map(\.name))
      let known = Set(book.entries.filter(\.isUnreadable).map(\.name))
      if known != unreadable { throw BookTrouble("unreadable items") }
    }
  }
}

/// Counts over many worlds.
package struct BookCounts {
  package var worlds = 0
  package var requests = 0
  /// The seeds that failed, by what was wrong.
  package var failed: [String: [UInt64]] = [:]

  package init() {}

  package var failures: Int { failed.values.reduce(0) { $0 + $1.count } }

  package static func run(
    _ seeds: Range<UInt64>, _ worlds: PagingWorlds, book: BookFaults = [],
    pagers: PagerFaults = [], stopsAtFirst: Bool = false
  ) -> BookCounts {
    var counts = BookCounts()
    for seed in seeds {
      let world = PagingWorld(seed: seed, worlds, book: book, pagers: pagers)
      counts.worlds += 1
      do {
        try world.run()
      } catch let trouble as BookTrouble {
        counts.failed[trouble.kind, default: []].append(seed)
        if stopsAtFirst { return counts }
      } catch {
        counts.failed["\(error)", default: []].append(seed)
      }
      counts.requests += world.server.requests
    }
    return counts
  }

  package var line: String {
    let kinds = failed.sorted { $0.key < $1.key }.map { kind, seeds in
      "\(kind) \(seeds.count) (\(seeds.prefix(5).map(String.init).joined(separator: " ")))"
    }
    return "\(worlds) worlds, \(failures) failed, \(requests) requests"
      + (kinds.isEmpty ? "" : ": " + kinds.joined(separator: ", "))
  }
}

extension PagingWorld {
  /// What a world was about, for a seed that failed.
  package var story: String {
    let rows = server.rows.map { "\($0.name)@\($0.time)" }.joined(separator: " ")
    return "\(server.kind)\nserver \(rows)\nbook \(client.disk.book.picture()) "
      + "settled \(client.disk.book.settled ?? -1) owed \(client.disk.book.owed ?? -1)\n"
      + steps.suffix(30).joined(separator: "\n")
  }
}
