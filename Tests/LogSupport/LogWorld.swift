/// A client of a log among troubles: what it claims is compared with the server at each step.
package import Base
package import Timeline

package struct LogTrouble: Error, CustomStringConvertible {
  package var description: String

  package init(description: String) { self.description = description }
}

package struct LogWorld<Table: InspectedLogTable> {
  package var server: LogServer
  package var book: LogBook<Table>
  package var random: Random
  private var waiting: [LogPush] = []
  private var states: [[UInt8]: LogState] = [:]
  package private(set) var requests = 0
  package private(set) var trail: [String] = []
  package var keepsTrail = false

  /// Called after each input: a client may end and begin again from what is stored.
  package var restart: ((inout LogBook<Table>) throws -> Void)?

  package init(
    seed: UInt64, in table: Table, fault: LogFault? = nil, kind: LogServerKind? = nil
  ) {
    random = Random(seed: seed)
    let drawn = LogServerKind(&random)
    server = LogServer(kind: kind ?? drawn, seed: random.next())
    let spacing =
      random.chance(0.5) ? LogSpacing.normal : LogSpacing(step: 2, gap: Int64(4 + random.below(9)))
    var profile = server.kind.profile
    // In some worlds few ranges are told apart.
    if seed % 3 == 2 { profile.rangesMax = 2 + Int(seed % 5) }
    book = LogBook(table: table, profile: profile, spacing: spacing)
    #if DEBUG
      book.planted = fault
    #endif
    book.connected()
  }

  // MARK: Running

  package mutating func run() throws {
    for _ in 0..<(6 + random.below(14)) { try event() }
    for _ in 0..<(8 + random.below(20)) {
      for _ in 0..<random.below(5) { try event() }
      let choice = random.below(4)
      if choice == 0 {
        try walkAll(pages: 1 + random.below(6), isQuiet: false)
      } else if choice == 1, !server.log.isEmpty {
        let id = server.log[random.below(server.log.count)].entry.id
        try walk(.entry(id), pages: 1 + random.below(6), isQuiet: false)
      } else {
        try walk(.present, pages: 1 + random.below(6), isQuiet: false)
      }
      if random.chance(0.2) { try takeOut() }
      if random.chance(0.05) { try takeImports() }
      if random.chance(0.3) { reconnect() }
    }
    reconnect()
    try rest()
  }

  private mutating func reconnect() {
    if keepsTrail { trail.append("reconnected") }
    for index in waiting.indices { waiting[index].isFirst = false }
    if random.chance(0.5) { waiting = [] }
    book.connected()
  }

  /// Something happens on the server's side.
  private mutating func event() throws {
    let issued = book.facts.issued
    switch random.below(40) {
    case 0:
      server.purge(random.below(server.log.count / 2 + 1))
      if keepsTrail { trail.append("purged") }
    case 1, 2: server.backUp()
    case 3:
      let top = try book.newest.flatMap {
        try book.table.rows(from: book.ranges[$0].high, through: book.ranges[$0].high).first
      }
      guard server.canRestore(top: top?.id) else { return }
      server.restore()
      if keepsTrail { trail.append("restored") }
      waiting = []
      reconnect()
      waiting = []
    case 4:
      server.expire()
      if keepsTrail { trail.append("expired") }
    default:
      let entry = server.append(issued: issued)
      if keepsTrail {
        let change = entry.change.map { "\($0.kind) of \(text($0.target ?? []))" } ?? ""
        trail.append("came \(text(entry.id)) \(change)")
      }
      guard random.chance(0.6), let push = server.push(entry.id) else { return }
      waiting.append(push)
    }
  }

  private mutating func receivePushes() throws {
    while !waiting.isEmpty, random.chance(0.7) {
      let push = waiting[0]
      if random.chance(0.8) { waiting.removeFirst() } else { waiting[0].isFirst = false }
      if keepsTrail {
        trail.append(
          "pushed \(push.entries.map { text($0.id) }) previous \(text(push.previous ?? []))")
      }
      try book.take(push)
      try check()
    }
  }

  /// A purge that leaves some, or one entry that is to come anew.
  private mutating func takeOut() throws {
    let rows = try book.table.all
    guard !rows.isEmpty else { return }
    let from = rows[random.below(rows.count)]
    if random.chance(0.3) {
      try book.giveBack(from.id)
      if keepsTrail { trail.append("gave back \(text(from.id))") }
    } else {
      var kept: Set<[UInt8]> = []
      for row in rows where random.chance(0.3) { kept.insert(row.id) }
      let purged = try book.purge(from: from.place, limit: 1 + random.below(9)) { row in
        kept.contains(row.id) ? .stays : .goes
      }
      if keepsTrail { trail.append("purged \(purged.runs.count), \(shape)") }
    }
    try check()
  }

  /// Messages of an older cache: some that the server has, or had, and one that it never had.
  private mutating func takeImports() throws {
    var entries: [LogEntry] = []
    for item in server.log + server.gone where item.entry.change == nil && random.chance(0.4) {
      entries.append(item.entry)
    }
    let time = Int64(random.below(40)) * 1000
    entries.append(
      LogEntry(id: Array("i\(random.below(9))".utf8), timeUs: time, content: [UInt8(ascii: "?")]))
    let taken = try book.take(imported: entries)
    if keepsTrail { trail.append("imported \(taken.map(text)), \(shape)") }
    try check()
  }

  /// The present, then down to the start, or the start once more if an earlier connection told it,
  /// then each entry of which nothing is claimed.
  @discardableResult
  private mutating func walkAll(pages: Int, isQuiet: Bool) throws -> LogWalk.End? {
    var end = try walk(.present, pages: pages, isQuiet: isQuiet)
    guard end == .done else { return end }
    if let range = book.newest.map({ book.ranges[$0] }),
      let top = try book.table.rows(from: range.high, through: range.high).first,
      range.start.map({ $0.connection < book.facts.connection }) ?? true
    {
      let goal: LogWalk.Goal = range.start == nil ? .down(from: top.id) : .start(of: top.id)
      end = try walk(goal, pages: pages, isQuiet: isQuiet)
      guard end == .done else { return end }
    }
    var last = Place.min
    while let row = try book.table.unclaimed(above: last) {
      last = row.place
      end = try walk(.entry(row.id), pages: pages, isQuiet: isQuiet)
      guard end == .done || end == .notFound else { return end }
    }
    return .done
  }

  /// So many pages of a walk, and a cut or a kill may end it.
  @discardableResult
  private mutating func walk(
    _ goal: LogWalk.Goal, pages: Int, isQuiet: Bool
  ) throws -> LogWalk.End? {
    var walk = try LogWalk(goal, book)
    if keepsTrail { trail.append("walk \(goal)") }
    for _ in 0..<pages {
      let place: LogAsk.Place
      let carried: LogClaim?
      switch try walk.next(book) {
      case .ended(let end):
        if keepsTrail { trail.append("ended \(end)") }
        return end
      case .ask(let next, let claim): (place, carried) = (next, claim)
      }
      let ask = book.ask(place, carried: carried)
      requests += 1
      if !isQuiet {
        for _ in 0..<random.below(3) { try event() }
        try receivePushes()
        if ask.connection != book.facts.connection { return nil }
      }
      let answer = server.answer(ask.place, limit: 1 + random.below(8))
      if !isQuiet {
        for _ in 0..<random.below(2) { try event() }
        try receivePushes()
        // Cut off, or restored meanwhile: the answer is lost.
        if ask.connection != book.facts.connection { return nil }
        if random.chance(0.05) {
          reconnect()
          return nil
        }
      }
      switch answer {
      case .page(let page):
        if keepsTrail {
          let ends = [page.before == nil, page.present, page.gap]
          let said = zip(["start", "present", "gap"], ends).filter(\.1).map(\.0)
          trail.append("\(text(place)) -> \(page.entries.map { text($0.id) }) \(said)")
        }
        try walk.take(page, of: ask, into: &book)
      case .unknownCursor:
        if keepsTrail { trail.append("\(text(place)) -> unknown") }
        try walk.tokenIsUnknown(ask, in: &book)
      case .notFound:
        if keepsTrail { trail.append("\(text(place)) -> not found") }
        try walk.isMissing(ask, in: &book)
      }
      if keepsTrail { trail.append("  \(shape)") }
      try check()
    }
    return nil
  }

  // MARK: At rest

  /// Nothing happens any more: all has to be there, in its order, as it is.
  package mutating func rest() throws {
    for _ in 0..<4 where try walkAll(pages: 3000, isQuiet: true) == .done {
      if book.ranges.count <= 1 { break }
    }
    // What is deleted leaves some logs unseen.
    let shown = try book.table.all.map(\.id).filter { !server.left.contains($0) }
    let truth = server.log.map(\.entry.id)
    guard shown == truth else {
      throw LogTrouble(description: "at rest \(shown.map(text)) and not \(truth.map(text))")
    }
    for (index, item) in server.log.enumerated() where item.entry.change == nil {
      let state = try book.state(of: item.entry.id)
      let right = server.state(of: item.entry.id, through: server.log.count - 1)
      guard same(state, right) else {
        throw LogTrouble(
          description:
            "at rest \(text(item.entry.id)) at \(index) is \(state as Any), not \(right as Any)")
      }
    }
    guard
      truth.isEmpty
        || book.ranges.count == 1 && book.ranges[0].start != nil
          && book.ranges[0].present != nil
    else { throw LogTrouble(description: "at rest it is not whole: \(shape)") }
    guard try book.table.unclaimed(above: .min) == nil else {
      throw LogTrouble(description: "at rest something is not claimed")
    }
  }

  private func same(_ state: LogState?, _ right: LogState?) -> Bool {
    guard let state, let right else { return state == right }
    if state.isDeleted, right.isDeleted { return true }
    return state.content == right.content && state.isDeleted == right.isDeleted
      && state.isPinned == right.isPinned && state.reactions == right.reactions
  }

  /// What a user has given changes where that is noted, and is the same for one user and for all.
  private func checkReactions(_ step: LogStep, _ before: [[UInt8]: LogState]) throws {
    let anew = Set(step.inserted + step.moved)
    for (id, state) in states {
      for user in Set(state.reactions.keys).union(before[id]?.reactions.keys ?? [:].keys) {
        let given = state.reactions[user] ?? []
        guard try book.reactions(of: id, by: user) == given else {
          throw LogTrouble(description: "\(text(user)) gave \(given) to \(text(id)) among all")
        }
        guard let known = before[id], !anew.contains(id), given != known.reactions[user] ?? []
        else { continue }
        guard step.reacted[id]?.contains(user) ?? false else {
          throw LogTrouble(description: "\(text(user)) has not reacted to \(text(id))")
        }
      }
    }
  }

  // MARK: What is claimed

  private mutating func check() throws {
    let step = book.takeStep()
    try restart?(&book)
    let before = states
    for id in step.touched + step.removed { states[id] = try book.state(of: id) }
    try checkReactions(step, before)
    for row in try book.table.all where row.entry.change == nil {
      let state = try book.state(of: row.id)
      guard states[row.id] == state else {
        throw LogTrouble(
          description: "\(text(row.id)) was not touched: \(states[row.id] as Any), \(state as Any)")
      }
    }
    guard book.ranges.count <= max(book.profile.rangesMax, 9) else {
      throw LogTrouble(description: "\(book.ranges.count) ranges: \(shape)")
    }
    guard !book.table.isBroken else { throw LogTrouble(description: "two entries in one place") }
    var covered = 0
    for (index, range) in book.ranges.enumerated() {
      let rows = try book.table.rows(from: range.low, through: range.high)
      covered += rows.count
      guard rows.first?.place == range.low, rows.last?.place == range.high,
        index == 0 || book.ranges[index - 1].high.saturating(plus: 1) < range.low
      else { throw LogTrouble(description: "the ranges are broken: \(shape)") }
    }
    let count = try book.table.all.count
    guard covered == count else {
      throw LogTrouble(description: "\(covered) in ranges of \(count): \(shape)")
    }
    try checkOrder()
    guard server.epochName == nil || book.facts.epoch == server.epochName else { return }
    for range in book.ranges where !range.isUnverified { try check(range) }
  }

  /// A change stands above what it changes, where both are in ranges that are claimed.
  private func checkOrder() throws {
    for row in try book.table.all {
      guard let target = row.entry.change?.target, let other = try book.table.row(target),
        let mine = book.range(holding: row.place), let its = book.range(holding: other.place),
        mine != its, !book.ranges[mine].isUnverified, !book.ranges[its].isUnverified,
        book.ranges[mine].start == nil, server.index(of: target) != nil
      else { continue }
      guard row.place > other.place else {
        throw LogTrouble(
          description: "\(text(row.id)) stands below what it changes, \(text(target)): \(shape)")
      }
    }
  }

  private func check(_ range: LogRange) throws {
    let rows = try book.table.rows(from: range.low, through: range.high)
    let places = rows.compactMap { row in server.index(of: row.id).map { (row, $0) } }
    for ((one, low), (two, high)) in zip(places, places.dropFirst()) where high != low + 1 {
      throw LogTrouble(
        description: "\(text(one.id)), \(text(two.id)) are no neighbours, \(shape)")
    }
    guard let first = places.first, let last = places.last else { return }
    if range.start != nil, first.1 != 0 {
      throw LogTrouble(description: "the log does not start at \(text(first.0.id)), \(shape)")
    }
    if let present = range.present {
      for item in server.log[(last.1 + 1)...] where item.appended < present.request {
        throw LogTrouble(
          description: "\(text(item.entry.id)) was there at \(present.request), \(shape)")
      }
    }
    // What was deleted since may be the range's newest.
    guard last.0.place == range.high else { return }
    let untrusted = try book.untrustedBelow() ?? .min
    for (row, _) in places
    where row.entry.change == nil && row.isClaimed && row.place > untrusted {
      // What was rolled back unseen shows on until the range is read again.
      let changes = try book.table.changes(of: row.id)
      guard changes.allSatisfy({ server.index(of: $0.id) != nil }) else { continue }
      try check(row, range, asOf: last.1)
    }
  }

  /// Content, deletions and annotations are as of the range's newest entry, or later.
  private func check(_ row: LogRow, _ range: LogRange, asOf index: Int) throws {
    guard let state = try book.state(of: row.id) else { return }
    // What other ranges have to say of it comes later than that, and may lack what lies between.
    for change in try book.table.changes(of: row.id) {
      guard range.holds(change.place),
        try book.table.changes(of: change.id).allSatisfy({ range.holds($0.place) })
      else { return }
    }
    let from = row.entry.edited == .no ? index : server.index(of: row.id) ?? index
    var right: [LogState] = []
    for at in from..<server.log.count {
      for isDeleted in [false, true] {
        let state = server.state(of: row.id, through: at, sinceDeleted: isDeleted)
        if let state { right.append(state) }
      }
    }
    let fits = right.contains { same in
      if same.isDeleted != state.isDeleted { return false }
      if state.isDeleted { return true }
      if row.entry.edited != .no { return same.content == state.content }
      return same.content == state.content && same.isPinned == state.isPinned
        && same.reactions == state.reactions
    }
    if !fits {
      let hi = text(server.log[index].entry.id)
      throw LogTrouble(
        description: "\(text(row.id)) is \(state), as of \(hi) \(right.first as Any)")
    }
  }

  // MARK: Words

  private func text(_ id: [UInt8]) -> String { String(decoding: id, as: UTF8.self) }

  private func text(_ place: LogAsk.Place) -> String {
    switch place {
    case .newest: "newest"
    case .before(let token): "before \(text(token.bytes)) at \(text(token.id ?? []))"
    case .after(let token): "after \(text(token.bytes)) at \(text(token.id ?? []))"
    case .around(let id): "around \(text(id))"
    }
  }

  package var shape: String {
    book.ranges.map { range in
      let rows = (try? book.table.rows(from: range.low, through: range.high)) ?? []
      let ids = rows.map { text($0.id) }
      let present = range.present.map { ">\($0.request)" } ?? ""
      let note = range.note.map { "(\($0.side) \(text($0.id)))" } ?? ""
      let claims = range.isByTime ? "imported" : range.isUnverified ? "unverified" : ""
      let front = claims + (range.start != nil ? "|" : "")
      return "\(front)[\(ids.joined(separator: " "))]\(present)\(note)"
    }.joined(separator: " ")
  }
}
