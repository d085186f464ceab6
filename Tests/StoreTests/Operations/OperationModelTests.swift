/// Random lives of an outbox against a model that is plain to see: a dictionary of what
/// the server said, a list of what the user did, and a screen made anew from both.
///
/// Sends are settled in any order, by client id or by payload, also after their deletion;
/// after each few steps every read agrees, and a consumer of the feed missed nothing.
import Base
import Testing
import Timeline

@testable import Store

@Suite struct OperationModelTests {
  /// A store and its model, side by side.
  private struct World {
    var random: Random
    var model = OutboxPolicy()
    var settled = 0
    var ids = 0

    mutating func text() -> String { "t\(random.below(5))" }

    mutating func anyID() -> String {
      let ids = model.messages.keys.sorted() + model.deleted.sorted()
      return ids.isEmpty || random.chance(0.4)
        ? "m\(random.below(40))" : ids[random.below(ids.count)]
    }

    mutating func step(_ tx: WriteTransaction, _ cid: Int64) throws(StoreFailure) {
      switch random.below(100) {
      case 0..<18: try send(tx, cid)
      case 18..<42: try change(tx, cid)
      case 42..<52: try other(tx, cid)
      case 52..<72: try mine(tx, cid)
      case 72..<82: try state(tx)
      case 82..<90: try drop(tx)
      case 90..<95:
        let id = anyID()
        _ = try tx.tombstone(bytes(id), in: cid, version: nil)
        model.messages[id] = nil
        model.deleted.insert(id)
      case 95..<97:
        // For good, so it is done to few of them.
        let id = "m\(random.below(4))"
        _ = try tx.forget(bytes(id), in: cid)
        guard model.messages[id] != nil else { return }
        model.messages[id]?.isForgotten = true
        model.forgotten.insert(id)
      default:
        let id = anyID()
        let isPinned = random.chance(0.5)
        _ = try tx.annotationTable.pin(bytes(id), in: cid, isPinned: isPinned, issued: tx.lsn)
        if model.messages[id]?.isForgotten == false { model.messages[id]?.isPinned = isPinned }
      }
    }

    private mutating func send(_ tx: WriteTransaction, _ cid: Int64) throws(StoreFailure) {
      ids += 1
      let plain = text()
      var record = OperationRecord(
        .sendMessage, cid: cid, clientID: bytes("c\(ids)"), plain: bytes(plain))
      if random.chance(0.3) { record.sealed = bytes("sealed \(plain)") }
      let sends = model.operations.filter { $0.isSend && $0.state != .done }
      if !sends.isEmpty, random.chance(0.3) {
        record.depends = sends[random.below(sends.count)].seq
      }
      let added = try tx.operationTable.addOperation(record)
      #expect(try tx.operationTable.addOperation(record).seq == added.seq)
      model.add(
        .sendMessage, target: "", clientID: "c\(ids)", depends: record.depends, plain: plain)
      #expect(added.seq == model.lastOperation && added.number == model.lastNumber)
      if record.sealed != nil {
        // Told apart from the plain ones: only a client id settles it here.
        model.operations[model.operations.count - 1].plain = plain
        sealed.insert(added.seq)
      }
    }

    var sealed: Set<UInt64> = []

    private mutating func change(_ tx: WriteTransaction, _ cid: Int64) throws(StoreFailure) {
      let verbs: [OperationVerb] = [
        .editMessage, .deleteMessage, .reactMessage, .unreactMessage, .pinMessage, .unpinMessage,
      ]
      var target = anyID()
      var depends: UInt64 = 0
      let sends = model.operations.filter { $0.isSend && $0.state != .done }
      if !sends.isEmpty, random.chance(0.5) {
        let send = sends[random.below(sends.count)]
        (target, depends) = (send.clientID, send.seq)
      }
      let verb = verbs[random.below(verbs.count)]
      let isReaction = verb == .reactMessage || verb == .unreactMessage
      let plain = isReaction ? "+" : text()
      var record = OperationRecord(verb, cid: cid, target: bytes(target), plain: bytes(plain))
      record.depends = depends
      _ = try tx.operationTable.addOperation(record)
      model.add(verb, target: target, clientID: "", depends: depends, plain: plain)
    }

    private mutating func other(_ tx: WriteTransaction, _ cid: Int64) throws(StoreFailure) {
      let id = "m\(random.below(40))"
      if model.messages[id]?.isMine == true { return }
      let time = Int64(random.below(9))
      let text = text()
      _ = try tx.apply(message(id, at: time, text), cid, issued: tx.lsn)
      model.apply(id, time, text, clientID: nil, isMine: false)
      if model.messages[id]?.isForgotten == false { model.messages[id]?.isPinned = false }
    }

    /// A message of this user: of a send by its client id, or by its payload, or of
    /// another device; under a new id, a known one, or a deleted one.
    private mutating func mine(_ tx: WriteTransaction, _ cid: Int64) throws(StoreFailure) {
      ids += 1
      var id = random.chance(0.7) ? "s\(ids)" : anyID()
      if model.messages[id]?.isMine == false { id = "s\(ids)" }
      let time = Int64(random.below(9))
      var clientID: String?
      var text = text()
      let sends = model.operations.filter { $0.isSend && $0.state != .done }
      if random.chance(0.6), !sends.isEmpty {
        let send = sends[random.below(sends.count)]
        clientID = send.clientID
        text = send.plain
      } else if random.chance(0.3) {
        clientID = "other device \(ids)"
      }
      var copy = message(id, at: time, text, flags: [.mine, .readByMe])
      copy.clientID = clientID.map(bytes)
      copy.sentPayload = bytes(text)
      let before = model.operations.count { $0.state == .done }
      var isSealed: [OutboxPolicy.Operation] = []
      // Sealed ones went out as something else.
      for index in model.operations.indices where sealed.contains(model.operations[index].seq) {
        isSealed.append(model.operations[index])
        if clientID == nil { model.operations[index].plain = "sealed" }
      }
      _ = try tx.apply(copy, cid, issued: tx.lsn)
      model.apply(id, time, text, clientID: clientID, isMine: true)
      for old in isSealed {
        if let index = model.operations.firstIndex(where: { $0.seq == old.seq }) {
          model.operations[index].plain = old.plain
        }
      }
      if model.messages[id]?.isForgotten == false { model.messages[id]?.isPinned = false }
      settled += model.operations.count { $0.state == .done } - before
    }

    private mutating func state(_ tx: WriteTransaction) throws(StoreFailure) {
      let open = model.operations.indices.filter { model.operations[$0].state != .done }
      guard !open.isEmpty else { return }
      let index = open[random.below(open.count)]
      let states: [OperationState] = [.queued, .inFlight, .unknown, .refused, .done]
      // A send is done only when it is settled.
      let isSend = model.operations[index].isSend
      let state = states[random.below(isSend ? 4 : 5)]
      guard var record = try tx.operation(model.operations[index].seq) else {
        Issue.record("an operation is missing")
        return
      }
      record.state = state
      record.attempts += 1
      record.errorCode = state == .refused ? bytes("forbidden") : nil
      try tx.operationTable.saveOperation(record)
      let was = model.operations[index].state
      model.operations[index].state = state
      if isSend, state == .refused, was != .refused { model.refused(record.seq) }
    }

    private mutating func drop(_ tx: WriteTransaction) throws(StoreFailure) {
      guard !model.operations.isEmpty else { return }
      let seq = model.operations[random.below(model.operations.count)].seq
      try tx.operationTable.removeOperation(seq)
      model.drop(seq)
    }
  }

  private struct Undo: Error {}

  @Test(arguments: Kind.allCases, [1, 2, 3] as [UInt64])
  func everyReadIsTheServersTruthWithTheUsersDoingsOverIt(
    _ kind: Kind, _ seed: UInt64
  ) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    var world = World(random: Random(seed: seed))
    var seen: [UInt64: OutboxPolicy.Row] = [:]
    var cursor: UInt64 = 0
    for step in 0..<450 {
      var tried = world
      let isUndone = tried.random.chance(0.1)
      let count = 1 + tried.random.below(3)
      do {
        try fixture.attempt { tx in
          for _ in 0..<count {
            try tried.step(tx, cid)
            // What is known of the last operation is what its row says.
            if let known = tx.asked.operation {
              tx.asked.operation = nil
              #expect(try tx.operation(known.seq) == known)
            }
          }
          if isUndone { throw Undo() }
        }
        world = tried
      } catch is Undo {
        world.random = tried.random
      }
      if step % 15 == 0 { try compare(fixture, cid, &world) }
      if step % 4 == 0 { try applyFeed(fixture, world.model, &seen, &cursor) }
      if step % 150 == 149 { try fixture.reopen() }
      if step % 200 == 199 {
        try fixture.write { tx throws(StoreFailure) in try tx.clearCache() }
        world.model.messages = [:]
        world.model.deleted = []
        seen = [:]
      }
    }
    #expect(world.settled > 25)
  }

  private func row(_ page: RowPage, _ row: MessageRow) -> OutboxPolicy.Row {
    func text(_ range: Range<Int>) -> String { String(decoding: page[range], as: UTF8.self) }
    return OutboxPolicy.Row(
      number: row.number, position: page.position(of: row), id: text(row.id),
      payload: text(row.payload), isPinned: row.rowFlags.contains(.pinned),
      isEdited: row.rowFlags.contains(.edited), reactions: text(row.reactions),
      operation: row.operation, isMine: row.rowFlags.contains(.mine))
  }

  private func compare(_ fixture: Fixture, _ cid: Int64, _ world: inout World) throws {
    let model = world.model
    let screen = model.screen
    var random = world.random
    defer { world.random = random }
    try fixture.read { rx throws(StoreFailure) in
      func read(_ from: RowQuery.From, _ limit: Int = 500, pinned: Bool = false)
        throws(StoreFailure) -> [OutboxPolicy.Row]
      {
        let page = try rx.messages(
          RowQuery(cid: cid, from: from, limit: limit, pinnedOnly: pinned))
        return page.rows.map { row(page, $0) }
      }
      let all = try read(.oldest)
      #expect(all == screen)
      if all != screen { throw .broken("the screens differ") }
      #expect(try read(.latest) == screen)
      #expect(try read(.oldest, pinned: true) == screen.filter(\.isPinned))
      #expect(try read(.latest, 3, pinned: true) == screen.filter(\.isPinned).suffix(3))
      let limit = 1 + random.below(12)
      #expect(try read(.latest, limit) == screen.suffix(limit))
      #expect(try read(.oldest, limit) == Array(screen.prefix(limit)))
      #expect(
        try read(.beforeTime(4), limit)
          == screen.filter { $0.position.time < 4 }.suffix(limit))
      #expect(
        try read(.atTime(4), limit)
          == Array(screen.filter { $0.position.time >= 4 }.prefix(limit)))
      for place in screen.map(\.position) where random.chance(0.2) {
        #expect(
          try read(.before(place), limit)
            == screen.filter { $0.position < place }.suffix(limit))
        #expect(
          try read(.after(place), limit)
            == Array(screen.filter { $0.position > place }.prefix(limit)))
      }
      try Self.compareKeys(rx, cid, screen, &random)
      let page = try rx.messages(cid, keys: screen.map(\.position)[...])
      #expect(page.rows.map { row(page, $0) } == screen)
      // What judges the server's pages sees what the server said, and no more.
      let rows = try rx.rows(cid, from: .min, to: .max, limit: 500, newestFirst: false)
      #expect(Set(rows.map(\.number)) == Set(model.messages.values.map(\.number)))
      #expect(try rx.count(cid, from: .min, to: .max) == model.messages.count)
      #expect(try rx.newest(cid)?.isPending != true)
      try Self.compareOperations(rx, cid, model)
      for one in screen {
        let found = try rx.message(bytes(one.id), cid)
        #expect(found.rows.map { row(found, $0) } == [one])
        #expect(try rx.position(ofNumber: one.number, in: cid) == one.position)
        #expect(try rx.place(ofID: bytes(one.id), in: cid) == one.position)
      }
    }
  }

  private static func compareKeys(
    _ rx: ReadTransaction, _ cid: Int64, _ screen: [OutboxPolicy.Row], _ random: inout Random
  ) throws(StoreFailure) {
    let ends = [random.below(screen.count + 1), random.below(screen.count + 1)].sorted()
    let low = ends[0] < screen.count ? screen[ends[0]].position : .max
    let high = ends[1] < screen.count ? screen[ends[1]].position : .max
    let part = screen[ends[0]..<ends[1]].map(\.position)
    let limit = random.below(10)
    #expect(
      try rx.keys(cid, from: low, limit: limit, to: high).map(\.position)
        == Array(part.prefix(limit)))
    #expect(
      try rx.keys(cid, before: high, limit: limit, from: low).map(\.position)
        == part.suffix(limit))
    #expect(
      try rx.keys(cid, from: .min, limit: 500, to: nil).map(\.position)
        == screen.map(\.position))
    let first = UInt64(random.below(60))
    let numbers = first...(first + UInt64(random.below(200)))
    #expect(
      try rx.keys(numbers: numbers, in: cid, limit: 20).map(\.number)
        == Array(screen.map(\.number).filter { numbers.contains($0) }.sorted().prefix(20)))
  }

  private static func compareOperations(
    _ rx: ReadTransaction, _ cid: Int64, _ model: OutboxPolicy
  ) throws(StoreFailure) {
    let all = try rx.operations(OperationFilter(limit: 1_000))
    #expect(all.map(\.seq) == model.operations.map(\.seq))
    #expect(all.map(\.state) == model.operations.map(\.state))
    #expect(all.map(\.target) == model.operations.map { bytes($0.target) })
    #expect(all.map(\.depends) == model.operations.map(\.depends))
    #expect(all.map(\.number) == model.operations.map(\.number))
    #expect(try rx.operations(OperationFilter(cid: cid, limit: 1_000)) == all)
    #expect(try rx.operations(OperationFilter(cid: cid + 1, limit: 1_000)).isEmpty)
    let open = all.filter { $0.state != .done }
    #expect(try rx.operations(OperationFilter(openOnly: true, limit: 1_000)) == open)
    #expect(try rx.operations(OperationFilter(cid: cid, openOnly: true, limit: 1_000)) == open)
    #expect(try rx.openOperations(limit: 1_000).map(\.seq) == open.map(\.seq))
    let counts = try rx.operationCounts()
    #expect(counts.open == open.count { $0.state == .queued || $0.state == .inFlight })
    #expect(counts.stuck == open.count { $0.state == .unknown || $0.state == .refused })
    if open.count > 3 {
      let after = open[1].seq
      #expect(
        try rx.operations(OperationFilter(openOnly: true, after: after, limit: 2))
          == Array(open[2..<4]))
    }
  }

  /// A screen that knows of changes by the feed only.
  private func applyFeed(
    _ fixture: Fixture, _ model: OutboxPolicy, _ seen: inout [UInt64: OutboxPolicy.Row],
    _ cursor: inout UInt64
  ) throws {
    let after = cursor
    let page = try fixture.read { rx throws(StoreFailure) in
      try rx.feedReader.changes(after: after, limit: 10_000)
    }
    let rows = model.screen.map { ($0.number, $0) }
    let now = Dictionary(rows) { a, _ in
      Issue.record("a number is shown twice")
      return a
    }
    switch page {
    case .entries(let entries):
      for entry in entries {
        cursor = entry.seq
        guard [.inserted, .updated, .removed].contains(entry.kind) else { continue }
        for number in entry.first...entry.last { seen[number] = now[number] }
      }
    case .resync(let from):
      seen = now
      cursor = from
    }
    try #require(seen == now)
  }
}
