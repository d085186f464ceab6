/// Search equals a plain scan of the stored messages, whatever happened to them.
import Base
import Foundation
import TestSupport
import Testing
import Timeline

@testable import Store
@testable import Text

/// What a scan finds: each row by itself, with the tokens of Text and no index.
private struct Scan {
  struct Row {
    let place: SearchRequest.Place
    let cid: Int64
    let sender: [UInt8]
    let texts: [TokenPlaces]
    let size: Int64
  }

  let rows: [Row]

  init(_ fixture: Fixture) throws {
    rows = try fixture.read { rx throws(StoreFailure) in
      let hidesText = RowFlags([.deleted, .sealed, .control, .forgotten, .deleting]).rawValue
      let row = try rx.connection.statement(
        """
        SELECT number, coalesce(sent_us, time), cid, sender, payload FROM message
        WHERE flags & ? = 0
        """, hidesText)
      var rows: [Row] = []
      while try row.step() {
        let members = MemberTexts(row.bytes(4)).members
        let texts = members.map { TokenPlaces(Tokenizer.tokens($0.text.span, .text(.none))) }
        rows.append(
          Row(
            place: SearchRequest.Place(timeUs: row.int(1), number: row.uint(0)), cid: row.int(2),
            sender: row.bytes(3), texts: texts, size: members.bytes))
      }
      return rows
    }
  }

  func find(_ request: SearchRequest) -> [UInt64] {
    let query = Query(request.text.span, prefixes: .common)
    if query.nothing != nil { return [] }
    func has(_ row: Row, _ piece: Query.Piece) -> Bool {
      row.texts.contains { text in
        var isFound = false
        text.find(piece) { _ in isFound = true }
        return isFound
      }
    }
    let found = rows.filter { row in
      query.pieces.allSatisfy { has(row, $0) } && !query.excluded.contains { has(row, $0) }
        && (request.cid ?? row.cid) == row.cid && (request.sender ?? row.sender) == row.sender
        && row.place.timeUs >= request.fromUs && row.place.timeUs < request.beforeUs
    }
    return found.map(\.place).sorted { $1 < $0 }.map(\.number)
  }

  /// What each hit scores, with weights of all rows of the scan.
  func scores(_ request: SearchRequest) -> [UInt64: Double] {
    let query = Query(request.text.span, prefixes: .common)
    func count(_ row: Row, _ piece: Query.Piece) -> UInt8 {
      var count = 0
      for text in row.texts { text.find(piece) { _ in count += 1 } }
      return UInt8(clamping: count)
    }
    let weights = query.pieces.map { piece in
      Relevance.weight(Int64(rows.filter { count($0, piece) > 0 }.count))
    }
    let hits = Set(find(request))
    var scores: [UInt64: Double] = [:]
    for row in rows where hits.contains(row.place.number) {
      scores[row.place.number] = Relevance.score(
        query.pieces.map { count(row, $0) }, weights.count > 1 ? weights : [1], bytes: row.size)
    }
    return scores
  }
}

struct Dice {
  var state: UInt64

  mutating func roll(_ sides: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(sides))
  }

  mutating func pick<Value>(_ values: [Value]) -> Value { values[roll(values.count)] }
}

/// One file with search, and what random operations do to it.
private final class World {
  static let words = [
    "Příliš", "prilis", "kůň", "kun", "明天", "我们明天下午", "天", "重跑gen-itgc后", "gen", "👍🏽", "👍",
    "straße", "STRASSE", "a", "ab", "abc", "abcd", "abcde", "abcdef", "한국어", "ภาษาไทย", "п’ять",
    "1️⃣",
  ]
  let fixture: Fixture
  let disk: FaultVFS?
  var dice: Dice
  var conversations: [Int64] = []
  var next = 0

  /// With even seeds new messages wait to be indexed.
  init(_ seed: UInt64, on disk: FaultVFS? = nil) throws {
    self.disk = disk
    fixture = try Fixture(.file, baseVFS: disk?.name)
    try fixture.reopen { $0.indexesLater = seed % 2 == 0 }
    dice = Dice(state: seed)
    conversations = [try fixture.conversation("c"), try fixture.conversation("d")]
    try fixture.switchOn()
  }

  func text() -> String {
    (0...dice.roll(5)).map { _ in dice.pick(Self.words) }.joined(
      separator: dice.pick([" ", ", ", ""]))
  }

  func payload() -> String {
    var text = text()
    // What is long waits to be taken out.
    if dice.roll(16) == 0 { text += String(repeating: " slovo", count: 1_500 + dice.roll(300)) }
    switch dice.roll(4) {
    case 0: return text
    case 1: return #"{"text":"\#(text)","caption":"\#(self.text())"}"#
    case 2: return #"{"body":"\#(text)","n":[{"text":"abc"}]}"#
    default: return "\"\(text)\""
    }
  }

  func id() -> String { "m\(dice.roll(max(next, 1)))" }

  func incoming(_ id: String) -> IncomingMessage {
    var new = message(id, at: Int64(dice.roll(40)) * 400, payload(), version: Int64(dice.roll(9)))
    new.sender = bytes(dice.pick(["eva", "jan"]))
    switch dice.roll(12) {
    case 0: new.flags = .mine
    case 1: new.flags = .control
    case 2: new.flags = .deleted
    case 3:
      new.flags = .sealed
      new.raw = bytes("raw")
    default: break
    }
    return new
  }

  func step() throws {
    let cid = dice.pick(conversations)
    switch dice.roll(100) {
    case ..<45:
      let count = 1 + dice.roll(4)
      try fixture.apply((0..<count).map { incoming("m\(next + $0)") }, cid)
      next += count
    case ..<65: try fixture.apply([incoming(id()), incoming(id())], cid)
    case ..<90:
      let (id, way) = (bytes(id()), dice.roll(4))
      try fixture.write { tx throws(StoreFailure) in
        switch way {
        case 0: _ = try tx.tombstone(id, in: cid, version: nil)
        case 1: _ = try tx.forget(id, in: cid)
        case 2: _ = try tx.drop(id, in: cid)
        default:
          for row in try tx.sealed(after: 0, position: .min, limit: 3) {
            _ = try tx.takeOpened(row, payload: bytes("open 明天 abc"), flags: [])
          }
        }
      }
    case ..<93: try fixture.reopen()
    case ..<95: try rebuild()
    case 95: try fixture.write { tx throws(StoreFailure) in try tx.dropMessages(cid) }
    case 96: try fixture.write { tx throws(StoreFailure) in try tx.removeConversation(cid) }
    case 97: try abandon(cid)
    default: try build()
    }
  }

  private func abandon(_ cid: Int64) throws {
    let new = incoming("m\(next)")
    #expect(throws: StoreFailure.self) {
      try fixture.write { tx throws(StoreFailure) in
        _ = try tx.apply(new, cid, issued: tx.lsn)
        throw .full
      }
    }
  }

  private func rebuild() throws {
    try fixture.write { tx throws(StoreFailure) in try SearchControl(tx).rebuild() }
  }

  private func build() throws {
    let slice = SearchSlice(Int64(1 + dice.roll(300)))
    _ = try fixture.write { tx throws(StoreFailure) in try SearchControl(tx).work(slice) }
  }

  func finishBuild() throws {
    try fixture.write { tx throws(StoreFailure) in try SearchControl(tx).finish() }
  }

  func check() throws {
    // What waits is found without being indexed first.
    if dice.roll(2) == 0 { try finishBuild() }
    if try fixture.coverage().unbuilt > 0 { try finishBuild() }
    let scan = try Scan(fixture)
    for _ in 0..<6 {
      var request = SearchRequest(bytes(query()), limit: 1 + dice.roll(5))
      if dice.roll(3) == 0 { request.cid = dice.pick(conversations) }
      if dice.roll(4) == 0 { request.sender = bytes("jan") }
      if dice.roll(4) == 0 { request.fromUs = Int64(dice.roll(40)) * 400 }
      if dice.roll(4) == 0 { request.beforeUs = Int64(dice.roll(40)) * 400 }
      let expected = scan.find(request)
      var found: [UInt64] = []
      while true {
        let asked = request
        let answer = try #require(
          try fixture.read { rx throws(StoreFailure) in try rx.searchReader.search(asked) })
        found += answer.hits.map(\.place.number)
        guard answer.hasMore else { break }
        request.after = answer.hits.last?.place
      }
      #expect(found == expected, "\(String(decoding: request.text, as: UTF8.self))")
      request.after = nil
      try checkRanked(request, scan.scores(request))
    }
  }

  /// By relevance the pages have the same hits, each once, the best first.
  private func checkRanked(_ request: SearchRequest, _ scores: [UInt64: Double]) throws {
    let text = String(decoding: request.text, as: UTF8.self)
    let found = try fixture.allRanked(text, limit: request.limit) {
      ($0.cid, $0.sender) = (request.cid, request.sender)
      ($0.fromUs, $0.beforeUs) = (request.fromUs, request.beforeUs)
    }
    #expect(found.count == scores.count && Set(found) == Set(scores.keys), "\(text)")
    // What words weigh goes by what is indexed.
    let waiting = try fixture.read { rx throws(StoreFailure) in
      try rx.connection.number("SELECT count(*) FROM search_change")
    }
    if waiting != 0 { return }
    let order = found.map { scores[$0] ?? -1 }
    #expect(zip(order, order.dropFirst()).allSatisfy { $0 > $1 - 1e-9 }, "\(text)")
  }

  private func query() -> String {
    var pieces = (0...dice.roll(2)).map { _ in dice.pick(Self.words) }
    if dice.roll(4) == 0 { pieces = ["\"\(pieces.joined(separator: " "))\""] }
    if dice.roll(5) == 0 { pieces.append("-\(dice.pick(Self.words))") }
    if dice.roll(3) == 0 { pieces.append(String(dice.pick(Self.words).prefix(2))) }
    return pieces.joined(separator: " ")
  }

  /// What is indexed is what an index built anew has, also under words that nobody asks for.
  func checkWords() throws {
    try finishBuild()
    #expect(try fixture.checkIndex(size: 1_000) == .right)
    let before = try fixture.vocabulary()
    try rebuild()
    try finishBuild()
    #expect(try fixture.vocabulary() == before)
  }
}

@Suite struct SearchModelTests {
  /// Operations of each of four seeds; `make search-model` asks for more.
  static let operations =
    ProcessInfo.processInfo.environment["TL_SEARCH_OPERATIONS"].flatMap { Int($0) } ?? 500

  /// Protects: after any operations, restarts among them, search finds what a scan finds, in its
  /// order and page by page.
  @Test(arguments: [UInt64(1), 2, 3, 4])
  func searchEqualsAScan(_ seed: UInt64) throws {
    let world = try World(seed)
    for step in 0..<Self.operations {
      try world.step()
      if step % 10 == 9 { try world.check() }
      if step % 100 == 99 { try world.checkWords() }
    }
  }

  /// Protects: a process that dies at any write, and a write that fails, leave an index that has
  /// what the messages say.
  @Test(arguments: [UInt64(11), 12])
  func whereverTheProcessDies(_ seed: UInt64) throws {
    let disk = FaultVFS()
    let world = try World(seed, on: disk)
    var deaths = 0
    for _ in 0..<Self.operations / 5 {
      disk.die(atWrite: 1 + world.dice.roll(12), afterBytes: world.dice.roll(3) * 1_000)
      for _ in 0..<6 where !disk.isDead { try? world.step() }
      world.fixture.store.close()
      deaths += disk.isDead ? 1 : 0
      disk.revive()
      try world.fixture.reopen()
      try world.check()
      if world.dice.roll(8) == 0 { try world.checkWords() }
    }
    #expect(deaths > Self.operations / 10)
  }
}
