/// Random operations against a model that is plain to see: a dictionary of
/// messages, a set of deletions, marks that wait, queues of marks that are pending.
/// After each step both agree on the outcome; every few steps on everything that
/// can be read, and a consumer of the change feed has been told of every change
/// that a screen would show.
import Base
import Testing
import Timeline

@testable import Store

/// Marks that came on their own, before their message.
private struct Waiting {
  var reactions: (json: [UInt8]?, version: Int64?, stamp: UInt64)?
  var pin: (isPinned: Bool, stamp: UInt64)?
  var users: [ReceiptKind: [[UInt8]]] = [:]
}

/// What the store should hold of one conversation.
private struct Model {
  struct Row {
    var message: IncomingMessage
    var number: UInt64
    var contentStamp: UInt64
    var reactionStamp: UInt64
    var reactionVersion: Int64?
    var pinStamp: UInt64
    var users: [ReceiptKind: [[UInt8]]]
    var isPlaceholder = false

    /// What a screen sees.
    var face: String? {
      guard !isPlaceholder, !message.flags.contains(.control) else { return nil }
      let names = [ReceiptKind.read, .delivered, .listened].map { kind in
        users[kind, default: []].map { String(decoding: $0, as: UTF8.self) }
      }
      return [
        "\(number) \(message.order) \(message.timeUs) \(text(message.id) ?? "")",
        "\(message.flags.rawValue) \(text(message.payload) ?? "")",
        "\(text(message.reactions) ?? "-") \(names)",
      ].joined(separator: " ")
    }

    mutating func react(_ json: [UInt8]?, _ version: Int64?, _ stamp: UInt64, tie: Bool) {
      var isNewer = tie ? stamp >= reactionStamp : stamp > reactionStamp
      if let a = reactionVersion, let b = version, a != b { isNewer = b > a }
      guard isNewer else { return }
      message.reactions = json
      reactionStamp = max(reactionStamp, stamp)
      if version != nil { reactionVersion = version }
    }

    mutating func pin(_ isPinned: Bool, _ stamp: UInt64, tie: Bool) {
      guard stamp > pinStamp || tie && stamp == pinStamp else { return }
      message.flags.remove(.pinned)
      if isPinned { message.flags.insert(.pinned) }
      pinStamp = stamp
    }

    mutating func add(_ more: [ReceiptKind: [[UInt8]]]) {
      for (kind, names) in more {
        for user in names where !users[kind, default: []].contains(user) {
          users[kind, default: []].append(user)
        }
        guard names.contains(bytes("me")) else { continue }
        if kind == .read { message.flags.insert(.readByMe) }
        if kind == .listened { message.flags.insert(.listenedByMe) }
      }
    }
  }

  var rows: [[UInt8]: Row] = [:]
  var forgotten: Set<[UInt8]> = []
  var deletions: [[UInt8]: (version: Int64?, lsn: UInt64)] = [:]
  var waiting: [[UInt8]: Waiting] = [:]
  var marks: [ReceiptKind: [[UInt8]]] = [.read: [], .delivered: [], .listened: []]
  var lastNumber: UInt64 = 0

  mutating func apply(
    _ m: IncomingMessage, _ users: [ReceiptKind: [[UInt8]]], _ stamp: UInt64
  ) -> Applied {
    if let deletion = deletions[m.id] {
      guard let version = m.version, let deleted = deletion.version, version > deleted else {
        return deletion.lsn <= stamp ? .tombstoned : .overtaken
      }
      deletions[m.id] = nil
    }
    guard var row = rows[m.id] else { return insert(m, users, stamp) }
    if row.isPlaceholder {
      let isMoved = m.order != row.message.order || m.timeUs != row.message.timeUs
      if stamp >= row.contentStamp, isMoved {
        row.message.timeUs = m.timeUs
        row.message.order = m.order
        row.contentStamp = stamp
      }
      rows[m.id] = row
      return .forgotten(row.number)
    }
    let old = row
    take(m, stamp, &row)
    row.react(m.reactions, m.version, stamp, tie: true)
    row.pin(m.flags.contains(.pinned), stamp, tie: true)
    for flag in [RowFlags.readByMe, .listenedByMe] where m.flags.contains(flag) {
      row.message.flags.insert(flag)
    }
    for (kind, names) in users {
      for user in names where !row.users[kind, default: []].contains(user) {
        row.users[kind, default: []].append(user)
      }
    }
    if old.message == row.message && old.users == row.users { return .unchanged(row.number) }
    let grown = row.message.flags.subtracting(old.message.flags)
    if grown.contains(.readByMe) { marks[.read]?.removeAll { $0 == m.id } }
    if grown.contains(.listenedByMe) { marks[.listened]?.removeAll { $0 == m.id } }
    if row.users[.delivered]?.contains(bytes("me")) == true {
      marks[.delivered]?.removeAll { $0 == m.id }
    }
    rows[m.id] = row
    return .updated(row.number)
  }

  private mutating func insert(
    _ m: IncomingMessage, _ users: [ReceiptKind: [[UInt8]]], _ stamp: UInt64
  ) -> Applied {
    lastNumber += 1
    var row = Row(
      message: m, number: lastNumber, contentStamp: stamp, reactionStamp: stamp,
      reactionVersion: m.version, pinStamp: stamp, users: users)
    row.isPlaceholder = forgotten.contains(m.id)
    if let waited = waiting.removeValue(forKey: m.id), !row.isPlaceholder {
      if let reactions = waited.reactions {
        row.react(reactions.json, reactions.version, reactions.stamp, tie: false)
      }
      if let pin = waited.pin { row.pin(pin.isPinned, pin.stamp, tie: false) }
      row.add(waited.users)
    }
    rows[m.id] = row
    return .inserted(lastNumber)
  }

  private func take(_ m: IncomingMessage, _ stamp: UInt64, _ row: inout Row) {
    var isNewer = stamp >= row.contentStamp
    if let a = row.message.editedUs, let b = m.editedUs, a != b { isNewer = b > a }
    if let a = row.message.version, let b = m.version, a != b { isNewer = b > a }
    guard isNewer else { return }
    row.message.payload = m.payload
    row.message.timeUs = m.timeUs
    row.message.order = m.order
    row.message.stamp = m.stamp
    row.message.editedUs = m.editedUs
    if m.version != nil { row.message.version = m.version }
    for flag in [RowFlags.control, .edited, .mine] {
      row.message.flags.remove(flag)
      if m.flags.contains(flag) { row.message.flags.insert(flag) }
    }
    row.contentStamp = max(row.contentStamp, stamp)
  }

  mutating func delete(_ id: [UInt8]) -> UInt64? {
    for kind in marks.keys { marks[kind]?.removeAll { $0 == id } }
    return rows.removeValue(forKey: id)?.number
  }

  mutating func tombstone(_ id: [UInt8], _ version: Int64?, _ lsn: UInt64) -> UInt64? {
    if let row = rows[id]?.message.version, let version, row > version { return nil }
    if let known = deletions[id] {
      if let version, known.version.map({ version > $0 }) ?? true { deletions[id] = (version, lsn) }
    } else {
      deletions[id] = (version, lsn)
    }
    waiting[id] = nil
    return rows[id] == nil ? nil : delete(id)
  }

  mutating func forget(_ id: [UInt8]) -> UInt64? {
    guard var row = rows[id] else { return nil }
    row.isPlaceholder = true
    rows[id] = row
    forgotten.insert(id)
    return row.number
  }

  mutating func receipt(
    _ kind: ReceiptKind, _ id: [UInt8], by user: [UInt8], isMe: Bool
  ) -> UInt64? {
    if isMe { marks[kind]?.removeAll { $0 == id } }
    guard var row = rows[id] else {
      guard deletions[id] == nil else { return nil }
      var users = waiting[id, default: Waiting()].users[kind, default: []]
      if !users.contains(user) { users.append(user) }
      waiting[id, default: Waiting()].users[kind] = users
      return nil
    }
    let old = row
    if row.isPlaceholder {
      if isMe, kind == .read { row.message.flags.insert(.readByMe) }
      if isMe, kind == .listened { row.message.flags.insert(.listenedByMe) }
    } else {
      row.add([kind: [user]])
    }
    rows[id] = row
    return old.message == row.message && old.users == row.users ? nil : row.number
  }

  mutating func react(
    _ id: [UInt8], _ json: [UInt8]?, _ version: Int64?, _ stamp: UInt64
  ) -> UInt64? {
    guard var row = rows[id] else {
      guard deletions[id] == nil else { return nil }
      let known = waiting[id]?.reactions
      var isNewer = stamp >= known?.stamp ?? 0
      if let a = known?.version, let b = version, a != b { isNewer = b > a }
      if isNewer {
        waiting[id, default: Waiting()].reactions = (json, version ?? known?.version, stamp)
      }
      return nil
    }
    let old = row.message
    if !row.isPlaceholder { row.react(json, version, stamp, tie: true) }
    rows[id] = row
    return row.message == old ? nil : row.number
  }

  mutating func pin(_ id: [UInt8], _ isPinned: Bool, _ stamp: UInt64) -> UInt64? {
    guard var row = rows[id] else {
      guard deletions[id] == nil else { return nil }
      if stamp >= waiting[id]?.pin?.stamp ?? 0 {
        waiting[id, default: Waiting()].pin = (isPinned, stamp)
      }
      return nil
    }
    let old = row.message
    if !row.isPlaceholder { row.pin(isPinned, stamp, tie: true) }
    rows[id] = row
    return row.message == old ? nil : row.number
  }

  mutating func enqueue(_ kind: ReceiptKind, _ id: [UInt8]) -> Bool {
    guard let row = rows[id], !row.isPlaceholder, !row.message.flags.contains(.mine),
      marks[kind]?.contains(id) == false
    else { return false }
    switch kind {
    case .read: if row.message.flags.contains(.readByMe) { return false }
    case .delivered: if row.users[.delivered]?.contains(bytes("me")) == true { return false }
    case .listened: if row.message.flags.contains(.listenedByMe) { return false }
    }
    marks[kind]?.append(id)
    return true
  }

  var firstUnread: Position? {
    let tail = sorted.filter { $0.face != nil }.reversed().prefix { row in
      row.message.flags.isDisjoint(with: [.mine, .readByMe])
        && marks[.read]?.contains(row.message.id) == false
    }
    return tail.last?.message.position
  }

  /// The rows as a screen sees them: what is pending is shown as done.
  func face(_ row: Row) -> String? {
    var row = row
    if marks[.read]?.contains(row.message.id) == true { row.message.flags.insert(.readQueued) }
    if marks[.listened]?.contains(row.message.id) == true {
      row.message.flags.insert(.listenQueued)
    }
    return row.face
  }

  var sorted: [Row] { rows.values.sorted { $0.message.position < $1.message.position } }
}

@Suite struct ModelTests {
  private static let users = ["eva", "jan", "me"].map(bytes)

  private struct Undo: Error {}

  @Test(arguments: Kind.allCases, [1, 2, 3] as [UInt64])
  func randomStepsAgreeWithTheModel(_ kind: Kind, _ seed: UInt64) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    var random = Random(seed: seed)
    var model = Model()
    var seen: [UInt64: String] = [:]
    var cursor: UInt64 = 0
    for step in 0..<2_500 {
      var tried = model
      let isUndone = random.chance(0.1)
      do {
        try fixture.attempt { tx in
          for _ in 0...random.below(4) { try Self.step(tx, cid, &tried, &random) }
          if isUndone { throw Undo() }
        }
        model = tried
      } catch is Undo {
        #expect(isUndone)
      }
      if step % 20 == 0 {
        try compare(fixture, cid, model)
        try applyFeed(fixture, model, &seen, &cursor)
      }
      if step % 500 == 499 { try fixture.reopen() }
    }
    #expect(model.lastNumber > 100 && cursor > 1_000)
  }

  private static func step(
    _ tx: WriteTransaction, _ cid: Int64, _ model: inout Model, _ random: inout Random
  ) throws(StoreFailure) {
    let id = bytes("m\(random.below(24))")
    let kind = [ReceiptKind.read, .delivered, .listened][random.below(3)]
    let stamp = tx.lsn - min(tx.lsn, UInt64(random.below(12)))
    let version = random.chance(0.5) ? Int64(random.below(4)) : nil
    switch random.below(100) {
    case 0..<45:
      try apply(id, stamp, version, tx, cid, &model, &random)
    case 45..<52:
      #expect(
        try tx.tombstone(id, in: cid, version: version) == model.tombstone(id, version, tx.lsn))
    case 52:
      guard random.chance(0.2) else { return }
      try tx.clearTombstones(cid)
      model.deletions = [:]
      model.waiting = [:]
    case 53..<55:
      let place = model.rows[id]?.message.position ?? Position(time: 0, id: id)
      #expect(try tx.remove(place, cid) == (model.rows[id] == nil ? nil : model.delete(id)))
    case 55..<57:
      // For good, so it is done to few of them.
      let id = bytes("m\(random.below(4))")
      #expect(try tx.forget(id, in: cid) == model.forget(id))
    case 57..<69:
      let user = users[random.below(3)]
      let isMe = user == bytes("me")
      let changed = try tx.annotationTable.receipts(
        kind, user: user, ids: [id], in: cid, isMe: isMe)
      #expect(changed == [model.receipt(kind, id, by: user, isMe: isMe)].compactMap { $0 })
    case 69..<78:
      let json = random.chance(0.3) ? nil : bytes("{\(random.below(9))}")
      let changed = try tx.annotationTable.reactions(
        id, in: cid, json: json, version: version, issued: stamp)
      #expect(changed == model.react(id, json, version, stamp))
    case 78..<86:
      let isPinned = random.chance(0.5)
      let changed = try tx.annotationTable.pin(id, in: cid, isPinned: isPinned, issued: stamp)
      #expect(changed == model.pin(id, isPinned, stamp))
    case 86..<94:
      #expect(try tx.annotationTable.enqueueMark(kind, id: id, in: cid) == model.enqueue(kind, id))
    case 94..<97:
      let changed = try tx.annotationTable.confirmMarks(kind, ids: [id], in: cid)
      let expected = model.receipt(kind, id, by: bytes("me"), isMe: true)
      #expect(changed == [expected].compactMap { $0 })
    case 97:
      try tx.annotationTable.dropMarks(kind, ids: [id], in: cid)
      model.marks[kind]?.removeAll { $0 == id }
    default:
      if random.chance(0.2) {
        try tx.clearTombstones(cid)
        model.deletions = [:]
        model.waiting = [:]
      }
    }
  }

  private static func apply(
    _ id: [UInt8], _ stamp: UInt64, _ version: Int64?, _ tx: WriteTransaction, _ cid: Int64,
    _ model: inout Model, _ random: inout Random
  ) throws(StoreFailure) {
    // The place of a message may be its time, or a number of its own.
    let order = random.chance(0.5) ? Int64(random.below(8)) : nil
    var new = IncomingMessage(
      id: id, sender: bytes("eva"), timeUs: Int64(random.below(8)), stamp: [],
      payload: bytes("text \(random.below(4))"), version: version,
      editedUs: random.chance(0.3) ? Int64(random.below(4)) : nil,
      reactions: random.chance(0.5) ? bytes("{\(random.below(3))}") : nil, order: order)
    if random.chance(0.1) { new.flags.insert(.control) }
    if random.chance(0.2) { new.flags.insert(.edited) }
    if random.chance(0.2) { new.flags.insert(.pinned) }
    if random.chance(0.1) { new.flags.insert(.readByMe) }
    if random.chance(0.1) { new.flags.insert(.listenedByMe) }
    var lists: [ReceiptKind: [[UInt8]]] = [:]
    for kind in [ReceiptKind.read, .delivered, .listened] where random.chance(0.3) {
      lists[kind] = [users[random.below(3)]]
    }
    new.readBy = lists[.read].map { JSONList($0).closed() }
    new.deliveredBy = lists[.delivered].map { JSONList($0).closed() }
    new.listenedBy = lists[.listened].map { JSONList($0).closed() }
    let outcome = try tx.apply(new, cid, issued: stamp)
    new.readBy = nil
    new.deliveredBy = nil
    new.listenedBy = nil
    #expect(outcome == model.apply(new, lists, stamp))
  }

  /// Everything that can be read.
  private func compare(_ fixture: Fixture, _ cid: Int64, _ model: Model) throws {
    let sorted = model.sorted
    let visible = sorted.compactMap(model.face)
    try fixture.read { tx throws(StoreFailure) in
      let up = try tx.messages(RowQuery(cid: cid, from: .oldest, limit: 1_000))
      #expect(Self.faces(up) == visible)
      let down = try tx.messages(RowQuery(cid: cid, from: .latest, limit: 5))
      #expect(Self.faces(down) == visible.suffix(5))
      let pins = try tx.messages(
        RowQuery(cid: cid, from: .latest, limit: 1_000, pinnedOnly: true))
      let pinned = sorted.filter { $0.message.flags.contains(.pinned) }
      #expect(Self.faces(pins) == pinned.compactMap(model.face))
      let rows = try tx.rows(cid, from: .min, to: .max, limit: 1_000, newestFirst: false)
      #expect(rows.map(\.number) == sorted.map(\.number))
      #expect(rows.map(\.position) == sorted.map(\.message.position))
      #expect(rows.map(\.timeUs) == sorted.map(\.message.timeUs))
      #expect(try tx.count(cid, from: .min, to: .max) == sorted.count)
      #expect(try tx.counts().tombstones == UInt64(model.deletions.count))
      #expect(try tx.counts().waiting == UInt64(model.waiting.count))
      #expect(try tx.pendingMarkCount() == model.marks.values.joined().count)
      let keys = try tx.keys(cid, from: .min, limit: 1_000, to: nil)
      #expect(keys.map(\.number) == sorted.filter { $0.face != nil }.map(\.number))
      let first = try tx.firstUnread(cid)
      #expect(first == model.firstUnread)
    }
    try fixture.write { tx throws(StoreFailure) in
      let pending = try tx.pendingMarks(limit: 100)
      for kind in [ReceiptKind.read, .delivered, .listened] {
        let ids = pending.filter { $0.kind == kind }.flatMap(\.ids)
        #expect(ids == model.marks[kind])
      }
      for id in model.deletions.keys { #expect(try tx.isTombstoned(id, in: cid)) }
    }
  }

  private static func faces(_ page: RowPage) -> [String] {
    page.rows.map { row in
      let names = [row.readBy, row.deliveredBy, row.listenedBy].map { list in
        (list.isEmpty ? [] : ReaderList.decode(Array(page[list])) ?? []).map {
          String(decoding: $0, as: UTF8.self)
        }
      }
      let reactions = row.reactions.isEmpty ? "-" : text(Array(page[row.reactions])) ?? ""
      return [
        "\(row.number) \(row.order) \(row.timeUs) \(text(Array(page[row.id])) ?? "")",
        "\(row.stored) \(text(Array(page[row.payload])) ?? "")",
        "\(reactions) \(names)",
      ].joined(separator: " ")
    }
  }

  /// A consumer that knows of changes by the feed only.
  private func applyFeed(
    _ fixture: Fixture, _ model: Model, _ seen: inout [UInt64: String], _ cursor: inout UInt64
  ) throws {
    let after = cursor
    let page = try fixture.read { tx throws(StoreFailure) in
      try tx.feedReader.changes(after: after, limit: 10_000)
    }
    guard case .entries(let entries) = page else {
      Issue.record("nothing was trimmed yet")
      return
    }
    var now: [UInt64: String] = [:]
    for row in model.rows.values { now[row.number] = model.face(row) }
    for entry in entries {
      for number in entry.first...entry.last { seen[number] = now[number] }
      cursor = entry.seq
    }
    #expect(seen == now)
  }
}
