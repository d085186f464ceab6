/// Entries in doubt after a restore: which are read again, and what they keep from being done.
import Base
import Engine
import LogSupport
import Testing
import Timeline

@Suite struct LogDoubtTests {
  /// Marks what is deleted in its place: after a restore these are in doubt.
  private func host(_ count: Int, pageLimit: Int, deleted: [Int]) throws -> LogHost {
    var kind = LogServerKind()
    (kind.hasStream, kind.refusesUnknown, kind.marksInPlace) = (true, true, true)
    let host = try LogHost(kind, pageLimit: pageLimit)
    for _ in 0..<count { host.post() }
    host.server.backUp()
    for number in deleted { host.change(.delete, of: "m\(number)") }
    try host.client.connected()
    return host
  }

  /// Protects: a gap of the log is filled, though what stands at its other end is in doubt.
  @Test(arguments: [false, true]) func aGapAboveADoubtIsFilled(_ findsNothing: Bool) throws {
    let host = try host(60, pageLimit: 5, deleted: [20])
    try host.sync(.live)
    try host.sync(.at(Array("m18".utf8)))
    if findsNothing { host.findsNothing() }
    host.server.restore()
    try host.reconnect()
    try host.sync(.live)
    var config = WindowConfig(
      conversation: Array("room".utf8), at: .latest, count: 5, rowsMax: 500)
    config.holdMs = 0
    let window = try host.client.openWindow(config)
    try host.settle(window)
    for _ in 0..<3 {
      let page = try window.rows(first: 0, count: 10_000)
      if let split = page?.rows.lastIndex(where: { $0.flags & (1 << 8) != 0 }) {
        _ = try window.fill(row: split)
      } else {
        _ = try window.load(Load(.before(0), count: 15))
      }
      try host.settle(window)
    }
    let page = try #require(try window.rows(first: 0, count: 10_000))
    let ids = page.rows.map { String(decoding: page[$0.id], as: UTF8.self) }
    #expect(ids.contains("m30") && ids.last == "m60", "\(ids)")
  }

  /// Protects: what moves while others are read again is read again too.
  @Test func whatIsInDoubtMoves() throws {
    let host = try host(100, pageLimit: 10, deleted: [84, 90])
    try host.sync(.live)
    try host.sync(.older, want: 10)
    for id in ["m60", "m69", "m76"] { try host.sync(.at(Array(id.utf8))) }
    host.server.restore()
    try host.reconnect()
    #expect(try host.sync().trouble == nil)
    #expect(try host.shown().suffix(40) == host.truth().suffix(40))
  }

  /// Protects: what comes into doubt below, while others are read again, is read again too.
  @Test func whatComesIntoDoubtBelow() throws {
    var kind = LogServerKind()
    (kind.hasStream, kind.refusesUnknown) = (true, true)
    let host = try LogHost(kind, pageLimit: 8)
    for _ in 0..<20 { host.post() }
    host.change(.delete, of: "m5")
    for _ in 0..<20 { host.post() }
    host.server.backUp()
    host.change(.delete, of: "m24")
    try host.client.connected()
    try host.readAll()
    host.server.restore()
    // The deletion of m5 has left the log.
    host.alter = { _, answer in answer.replacing(/\{"entry_id":"x21"[^}]*\},?/, with: "") }
    try host.reconnect()
    #expect(try host.sync().trouble == nil)
  }

  /// Protects: an entry in doubt that comes without a usable id keeps the others from nothing.
  @Test func whatIsInDoubtIsAHole() throws {
    let host = try host(30, pageLimit: 2, deleted: [3, 9, 14])
    try host.readAll()
    host.server.restore()
    host.alter = { _, answer in
      answer.replacing(#""message_id":"m3""#, with: #""message_id":4"#)
    }
    try host.reconnect()
    #expect(try host.sync().trouble == .incomplete)
    var truth = host.truth()
    truth[2] = "m3 -"
    #expect(try host.shown() == truth)
    host.alter = { $1 }
    try host.reconnect()
    #expect(try host.sync().trouble == nil)
    try host.expectWhole()
  }

  /// Protects: who asks for older messages passes many entries without a usable id.
  @Test func manyHoles() throws {
    let host = try host(121, pageLimit: 6, deleted: [])
    host.alter = { _, answer in
      answer.replacing(/"message_id":"m(\d+)"/) { match in
        Int(match.1).map { $0 % 4 == 0 } ?? false ? #""message_id":4"# : String(match.0)
      }
    }
    try host.sync(.live)
    for _ in 0..<24 { #expect(try host.sync(.older, want: 10).trouble == nil) }
    #expect(try host.shown().count == 91)
  }
}
