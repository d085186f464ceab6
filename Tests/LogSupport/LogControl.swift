/// The negative control: a client that appends what it hears, and how often worlds find faults.
internal import Base
package import Timeline

/// A client as many are: what is pushed goes behind all that it has, the newest page as well where
/// it is not known, and an older page goes before. Worlds that let it pass would prove nothing.
package struct LogControl {
  private var server: LogServer
  private var random: Random
  private var shown: [[UInt8]] = []
  private var known: Set<[UInt8]> = []
  private var older: [UInt8]?
  private var isAtStart = false

  package init(seed: UInt64) {
    random = Random(seed: seed)
    let kind = LogServerKind(&random)
    server = LogServer(kind: kind, seed: random.next())
  }

  /// The same troubles as in `LogWorld`, with as many rounds.
  package mutating func run() throws {
    for _ in 0..<(6 + random.below(14)) { event() }
    for _ in 0..<(8 + random.below(20)) {
      for _ in 0..<random.below(5) { event() }
      if random.chance(0.5) { catchUp() } else { goBack() }
    }
    catchUp()
    for _ in 0..<1_000 where !isAtStart { goBack() }
    let known = shown.filter { !server.left.contains($0) && !server.purged.contains($0) }
    let truth = server.log.map(\.entry.id)
    guard known == truth else {
      throw LogTrouble(description: "\(known.count) of \(truth.count), or in another order")
    }
  }

  private mutating func event() {
    switch random.below(40) {
    case 0: server.purge(random.below(server.log.count / 2 + 1))
    case 1, 2: server.backUp()
    case 3: server.restore()
    case 4: server.expire()
    default:
      let entry = server.append(issued: 0)
      guard random.chance(0.6), let push = server.push(entry.id) else { return }
      append(push.entries)
    }
  }

  private mutating func append(_ entries: [LogEntry]) {
    for entry in entries where known.insert(entry.id).inserted { shown.append(entry.id) }
  }

  private mutating func catchUp() {
    guard case .page(let page) = server.answer(.newest, limit: 8) else { return }
    append(page.entries)
    if older == nil { older = page.before }
  }

  private mutating func goBack() {
    guard let token = older else {
      isAtStart = true
      return
    }
    let place = LogToken(bytes: token, id: nil, connection: 0, epoch: nil)
    guard case .page(let page) = server.answer(.before(place), limit: 8) else {
      // It begins anew.
      older = nil
      return catchUp()
    }
    let new = page.entries.map(\.id).filter { known.insert($0).inserted }
    shown = new + shown
    older = page.before
    isAtStart = page.before == nil
  }
}

/// In how many of some worlds something is found.
package enum LogCount {
  package static func failures(_ fault: LogFault?, seeds: Range<UInt64>) -> Int {
    seeds.count { seed in
      var world = LogWorld(seed: seed, in: MemoryLogTable(), fault: fault)
      do { try world.run() } catch { return true }
      return false
    }
  }

  package static func failuresOfControl(seeds: Range<UInt64>) -> Int {
    seeds.count { seed in
      var control = LogControl(seed: seed)
      do { try control.run() } catch { return true }
      return false
    }
  }
}
