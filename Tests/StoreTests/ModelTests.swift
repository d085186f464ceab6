/// Random operations against a model that is plain to see: a dictionary of
/// messages, a set of deletions, a queue of marks. After each step both agree on
/// the outcome; every few steps on everything that can be read, and a consumer of
/// the change feed has been told of every change that a screen would show.
import Base
import Testing
import Timeline

@testable import Store

/// What the store should hold of one conversation.
private struct Model {
  struct Row {
    var message: IncomingMessage
    var number: UInt64
    var contentStamp: UInt64
    var markStamp: UInt64
    var readers: [[UInt8]]
    var isHusk = false

    /// What a screen sees.
    var face: String? {
      guard !isHusk, !message.flags.contains(.control) else { return nil }
      let names = readers.map { String(decoding: $0, as: UTF8.self) }
      return [
        "\(number) \(message.timeUs) \(text(message.id) ?? "") \(message.flags.rawValue)",
        "\(text(message.payload) ?? "") \(text(message.reactions) ?? "-") \(names)",
      ].joined(separator: " ")
    }
  }

  var rows: [[UInt8]: Row] = [:]
  var deletions: [[UInt8]: Int64?] = [:]
  var marks: [[UInt8]] = []
  var lastNumber: UInt64 = 0

  mutating func apply(_ m: IncomingMessage, _ readers: [[UInt8]], _ stamp: UInt64) -> Applied {
    if let deletion = deletions[m.id] {
      guard let version = m.version, let deleted = deletion, version > deleted else {
        return .tombstoned
      }
      deletions[m.id] = nil
    }
    guard var row = rows[m.id] else {
      lastNumber += 1
      rows[m.id] = Row(
        message: m, number: lastNumber, contentStamp: stamp, markStamp: stamp, readers: readers)
      return .inserted(lastNumber)
    }
    if row.isHusk {
      if stamp >= row.contentStamp, m.timeUs != row.message.timeUs {
        row.message.timeUs = m.timeUs
        row.contentStamp = stamp
      }
      rows[m.id] = row
      return .forgotten(row.number)
    }
    let old = row
    var isNewer = stamp >= row.contentStamp
    if let a = row.message.editedUs, let b = m.editedUs, a != b { isNewer = b > a }
    if let a = row.message.version, let b = m.version, a != b { isNewer = b > a }
    if isNewer {
      row.message.payload = m.payload
      row.message.timeUs = m.timeUs
      row.message.stamp = m.stamp
      row.message.editedUs = m.editedUs
      if m.version != nil { row.message.version = m.version }
      for flag in [RowFlags.control, .edited, .mine] {
        row.message.flags.remove(flag)
        if m.flags.contains(flag) { row.message.flags.insert(flag) }
      }
      row.contentStamp = max(row.contentStamp, stamp)
    }
    if stamp >= row.markStamp {
      row.message.reactions = m.reactions
      row.markStamp = stamp
    }
    if m.readByMe { row.message.readByMe = true }
    for reader in readers where !row.readers.contains(reader) { row.readers.append(reader) }
    let isSame =
      old.message == row.message && old.readers == row.readers
    if isSame { return .unchanged(row.number) }
    if row.message.readByMe && !old.message.readByMe { marks.removeAll { $0 == m.id } }
    rows[m.id] = row
    return .updated(row.number)
  }

  mutating func delete(_ id: [UInt8]) -> UInt64? {
    marks.removeAll { $0 == id }
    return rows.removeValue(forKey: id)?.number
  }

  mutating func tombstone(_ id: [UInt8], _ version: Int64?) -> UInt64? {
    if let row = rows[id]?.message.version, let version, row > version { return nil }
    let known = deletions[id] ?? nil
    deletions[id] = .some(version.map { max($0, known ?? $0) } ?? known)
    return rows[id] == nil ? nil : delete(id)
  }

  mutating func forget(_ id: [UInt8]) -> UInt64? {
    guard var row = rows[id] else { return nil }
    row.isHusk = true
    rows[id] = row
    return row.number
  }

  mutating func read(_ id: [UInt8], by user: [UInt8], isMe: Bool) -> UInt64? {
    if isMe { marks.removeAll { $0 == id } }
    guard var row = rows[id] else { return nil }
    var isChanged = false
    if isMe, !row.message.readByMe {
      row.message.readByMe = true
      isChanged = true
    }
    if !row.isHusk, !row.readers.contains(user) {
      row.readers.append(user)
      isChanged = true
    }
    rows[id] = row
    return isChanged ? row.number : nil
  }

  mutating func enqueue(_ id: [UInt8]) -> Bool {
    guard let row = rows[id], !row.isHusk, !row.message.readByMe,
      !row.message.flags.contains(.mine), !marks.contains(id)
    else { return false }
    marks.append(id)
    return true
  }

  var sorted: [Row] { rows.values.sorted { $0.message.position < $1.message.position } }
}

@Suite struct ModelTests {
  private static let users = ["eva", "jan", "me"].map(bytes)

  private struct Undo: Error {}

  private static func asError(_ failure: StoreFailure) -> any Error { failure }

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
        try fixture.store.write(failure: Self.asError) { tx throws(any Error) in
          for _ in 0...random.below(4) { try Self.step(tx, cid, &tried, &random) }
          if isUndone { throw Undo() }
        }
        model = tried
      } catch is Undo {
        #expect(isUndone)
      }
      if step % 20 == 0 {
        try compare(fixture, cid, model)
        try follow(fixture, model, &seen, &cursor)
      }
      if step % 500 == 499 { try fixture.reopen() }
    }
    #expect(model.lastNumber > 100 && cursor > 1_000)
  }

  private static func step(
    _ tx: WriteTransaction, _ cid: Int64, _ model: inout Model, _ random: inout Random
  ) throws {
    let id = bytes("m\(random.below(24))")
    switch random.below(100) {
    case 0..<60:
      var new = message(
        "", at: Int64(random.below(8)), "text \(random.below(4))",
        version: random.chance(0.3) ? Int64(random.below(5)) : nil,
        edited: random.chance(0.3) ? Int64(random.below(5)) : nil,
        reactions: random.chance(0.5) ? "{\(random.below(3))}" : nil)
      new.id = id
      if random.chance(0.1) { new.flags.insert(.control) }
      if random.chance(0.2) { new.flags.insert(.edited) }
      if random.chance(0.1) { new.readByMe = true }
      let readers = users.filter { _ in random.chance(0.1) }
      if !readers.isEmpty { new.readBy = ReaderList.encode(readers) }
      let stamp = tx.lsn - min(tx.lsn, UInt64(random.below(12)))
      let outcome = try tx.apply(new, cid, issued: stamp)
      new.readBy = nil
      #expect(outcome == model.apply(new, readers, stamp))
    case 60..<68:
      let version = random.chance(0.7) ? Int64(random.below(4)) : nil
      #expect(try tx.tombstone(id, cid, version: version) == model.tombstone(id, version))
    case 68..<72:
      let place = model.rows[id]?.message.position ?? Position(time: 0, id: id)
      #expect(try tx.remove(place, cid) == (model.rows[id] == nil ? nil : model.delete(id)))
    case 72..<74:
      #expect(try tx.forget(id, cid) == model.forget(id))
    case 74..<84:
      let user = users[random.below(3)]
      let isMe = user == bytes("me")
      let changed = try tx.receipts(.read, user: user, ids: [id], cid, isMe: isMe)
      #expect(changed == [model.read(id, by: user, isMe: isMe)].compactMap { $0 })
    case 84..<94:
      #expect(try tx.enqueueMark(.read, id, cid) == model.enqueue(id))
    case 94..<97:
      let changed = try tx.confirmMarks(.read, [id], cid)
      #expect(changed == [model.read(id, by: bytes("me"), isMe: true)].compactMap { $0 })
    case 97:
      try tx.dropMarks(.read, [id], cid)
      model.marks.removeAll { $0 == id }
    default:
      if random.chance(0.2) {
        try tx.clearTombstones(cid)
        model.deletions = [:]
      }
    }
  }

  /// Everything that can be read.
  private func compare(_ fixture: Fixture, _ cid: Int64, _ model: Model) throws {
    let sorted = model.sorted
    let visible = sorted.compactMap(\.face)
    try fixture.read { tx throws(StoreFailure) in
      let up = try tx.messages(RowQuery(cid: cid, from: .oldest, limit: 1_000))
      #expect(Self.faces(up) == visible)
      let down = try tx.messages(RowQuery(cid: cid, from: .latest, limit: 5))
      #expect(Self.faces(down) == visible.suffix(5))
      let rows = try tx.rows(cid, from: .min, to: .max, limit: 1_000, newestFirst: false)
      #expect(rows.map(\.number) == sorted.map(\.number))
      #expect(rows.map(\.position) == sorted.map(\.message.position))
      #expect(try tx.count(cid, from: .min, to: .max) == sorted.count)
      #expect(try tx.counts().tombstones == UInt64(model.deletions.count))
      #expect(try tx.pendingMarkCount() == model.marks.count)
    }
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.pendingMarks(limit: 100).flatMap(\.ids) == model.marks)
      for id in model.deletions.keys { #expect(try tx.isTombstoned(id, cid)) }
    }
  }

  private static func faces(_ page: RowPage) -> [String] {
    page.rows.map { row in
      let readers = row.readBy.isEmpty ? [] : ReaderList.decode(Array(page[row.readBy])) ?? []
      let names = readers.map { String(decoding: $0, as: UTF8.self) }
      let reactions = row.reactions.isEmpty ? "-" : text(Array(page[row.reactions])) ?? ""
      return [
        "\(row.number) \(row.timeUs) \(text(Array(page[row.id])) ?? "") \(row.flags.rawValue)",
        "\(text(Array(page[row.payload])) ?? "") \(reactions) \(names)",
      ].joined(separator: " ")
    }
  }

  /// A consumer that knows of changes by the feed only.
  private func follow(
    _ fixture: Fixture, _ model: Model, _ seen: inout [UInt64: String], _ cursor: inout UInt64
  ) throws {
    let after = cursor
    let page = try fixture.read { tx throws(StoreFailure) in
      try tx.changes(after: after, limit: 10_000)
    }
    guard case .entries(let entries) = page else {
      Issue.record("nothing was trimmed yet")
      return
    }
    var now: [UInt64: String] = [:]
    for row in model.rows.values { now[row.number] = row.face }
    for entry in entries {
      for number in entry.first...entry.last { seen[number] = now[number] }
      cursor = entry.seq
    }
    #expect(seen == now)
  }
}
