/// A client of a log with a book among troubles.
package import Base
package import Book
package import LogSupport
package import Timeline

package final class LogBookWorld {
  package private(set) var server: LogServer
  package private(set) var client: LogClient
  private var dice: Random
  private let faults: LogClientFaults
  private var waiting: [LogPush] = []
  private var isQuiet = false
  /// Before a restore that nobody names is found out, what was true of the log is claimed.
  private var hasRestored = false
  private let restores: Bool
  package private(set) var steps: [String] = []

  package init(seed: UInt64, book: BookFaults = [], faults: LogClientFaults = []) {
    var random = Random(seed: seed &* 17 &+ 3)
    var kind = LogServerKind(&random)
    // Changes are entries like others here.
    kind.marksInPlace = false
    server = LogServer(kind: kind, seed: random.next())
    restores = random.chance(0.3)
    dice = random
    self.faults = faults
    var disk = LogDisk()
    disk.book.faults = book
    client = LogClient(disk, refusesUnknown: kind.refusesUnknown) { _ in .notFound }
    replaceClient()
    client.connect()
  }

  private func replaceClient() {
    client = LogClient(
      client.disk, refusesUnknown: server.kind.refusesUnknown, leaves: server.kind.leaves,
      faults: faults
    ) { [unowned self] place in
      try between()
      let answer = server.answer(place, limit: isQuiet ? 7 : 1 + dice.below(8))
      note(place, answer)
      try between()
      return answer
    }
  }

  private func note(_ place: LogAsk.Place, _ answer: LogAnswer) {
    guard case .page(let page) = answer else {
      steps.append("\(place) -> \(answer)")
      return
    }
    let ends = (page.before == nil ? "start " : "") + (page.present ? "present " : "")
    let ids = page.entries.map { text($0.id) }.joined(separator: " ")
    steps.append("asked \(ask(place)) -> \(ids) \(ends)\(page.gap ? "gap" : "")")
    steps.append("  was \(picture)")
  }

  private func ask(_ place: LogAsk.Place) -> String {
    switch place {
    case .newest: "newest"
    case .before: "before"
    case .after: "after"
    case .around(let id): "around \(text(id))"
    }
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  package var picture: String {
    client.disk.book.picture { [disk = client.disk] in text(disk.ids[$0] ?? []) }
  }

  private func between() throws {
    if isQuiet { return }
    if dice.chance(0.3) { event() }
    if dice.chance(0.3) { deliver() }
    if dice.chance(0.04) { throw Killed() }
  }

  private func event() {
    switch dice.below(40) {
    case 0: server.purge(dice.below(server.log.count / 2 + 1))
    case 1, 2: server.backUp()
    case 3:
      guard restores, server.canRestore(top: nil), server.kind.namesEpoch else { return }
      server.restore()
      steps.append("restored")
      hasRestored = true
      waiting = []
      client.connect()
    case 4: server.expire()
    default:
      let entry = server.append(issued: 0)
      if dice.chance(0.6), let push = server.push(entry.id) { waiting.append(push) }
    }
  }

  private func deliver() {
    while !waiting.isEmpty, dice.chance(0.7) {
      let push = waiting[0]
      if dice.chance(0.8) { waiting.removeFirst() } else { waiting[0].isFirst = false }
      steps.append("push \(push.entries.map { text($0.id) }) after \(text(push.previous ?? []))")
      client.pushed(push)
    }
  }

  private func act(_ body: (LogClient) throws -> Void) throws {
    do {
      try body(client)
    } catch is Killed {
      steps.append("killed")
      waiting = []
      replaceClient()
      client.connect()
    }
  }

  package func run() throws {
    for _ in 0..<(6 + dice.below(14)) { event() }
    for _ in 0..<(10 + dice.below(30)) {
      for _ in 0..<dice.below(6) { event() }
      switch dice.below(10) {
      case 0..<4: try act { try $0.sync() }
      case 4, 5: try act { try $0.sync(live: true) }
      case 6, 7: try act { try $0.older() }
      case 8:
        for index in waiting.indices { waiting[index].isFirst = false }
        client.connect()
      default: purge()
      }
      deliver()
      try check()
    }
    try rest()
  }

  private func purge() {
    let rows = client.disk.book.entries.filter { !$0.isMark && !$0.isOut }
    if let row = rows.randomElement(using: &dice) { client.disk.book.purge(row.name) }
  }

  private func rest() throws {
    (isQuiet, waiting) = (true, [])
    client.connect()
    for _ in 0..<4 {
      try client.sync()
      for _ in 0..<300 {
        if client.reachesStart { break }
        try client.older()
      }
    }
    hasRestored = false
    try check()
    // Nobody tells of what the server has purged below.
    let shown = client.disk.book.entries.filter { !$0.isMark }.map(\.name).filter {
      client.disk.ids[$0].map { !server.purged.contains($0) } ?? true
    }
    let truth = server.log.map { client.name($0.entry.id) }
    let lost = Set(truth).subtracting(shown).count
    let ghosts = Set(shown).subtracting(truth).count
    if lost > 0 { throw BookTrouble("lost", "\(lost): \(picture)") }
    if ghosts > 0 { throw BookTrouble("gone and shown", "\(ghosts)") }
    if shown != truth { throw BookTrouble("order") }
    let entries = client.disk.book.entries
    let isWhole =
      entries.first?.place == .start && entries.last?.place == .present
      && entries.dropLast().allSatisfy { $0.link != .none }
    if !truth.isEmpty, !isWhole { throw BookTrouble("not whole at the end", picture) }
  }

  /// Linked entries are neighbours in the log.
  private func check() throws {
    let book = client.disk.book
    if let broken = book.broken() { throw BookTrouble("broken book", broken) }
    if hasRestored { return }
    var last: Int?
    for entry in book.entries where !entry.isOut {
      let place = entry.isMark ? nil : client.disk.ids[entry.name].flatMap { server.index(of: $0) }
      if let last, let place, place != last + 1 {
        let id = text(client.disk.ids[entry.name] ?? [])
        throw BookTrouble(place <= last ? "false order" : "false whole", "at \(id)")
      }
      last = entry.link == .none ? nil : place
    }
  }

  package var story: String {
    "\(server.kind)\nlog \(server.log.map { text($0.entry.id) }.joined(separator: " "))\n"
      + "book \(picture)\n" + steps.suffix(24).joined(separator: "\n")
  }
}

extension BookCounts {
  package static func runLogs(
    _ seeds: Range<UInt64>, book: BookFaults = [], faults: LogClientFaults = [],
    stopsAtFirst: Bool = false
  ) -> BookCounts {
    var counts = BookCounts()
    for seed in seeds {
      let world = LogBookWorld(seed: seed, book: book, faults: faults)
      counts.worlds += 1
      do {
        try world.run()
      } catch let trouble as BookTrouble {
        counts.failed[trouble.kind, default: []].append(seed)
        if stopsAtFirst { return counts }
      } catch {
        counts.failed["\(error)", default: []].append(seed)
      }
      counts.requests += world.client.requests
    }
    return counts
  }
}
