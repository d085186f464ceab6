/// Budgets, giving back and older caches, where a server keeps a log.
import Base
import Engine
import Foundation
import LogSupport
import Testing
import Timeline

extension LogHost {
  /// Keeps so many messages from now on, and purges what is beyond.
  func keep(_ messages: Int64, change: (inout Budget) -> Void = { _ in }) throws {
    var budget = Budget()
    budget.messages = messages
    change(&budget)
    try RetentionService(client).set(budget)
    let work = try RetentionService(client).purge()
    while try !work.step(milliseconds: 0).isDone {}
  }

  @discardableResult
  func take(_ lines: [String], name: String = "old") throws -> ImportStatus {
    let bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
    let source = ImportSource(name: Array(name.utf8), conversation: Array("room".utf8)) {
      offset, most in Array(bytes.dropFirst(Int(offset)).prefix(most))
    }
    let work = try Importer(client).start(source)
    while try !work.step(milliseconds: 0).isDone {}
    return try #require(try Importer(client).status(Array(name.utf8)))
  }

  func old(_ id: String, at second: Int, says text: String = "old") -> String {
    let stamp = Frames.time(World.epochUs + Int64(second) * 1_000_000)
    return """
      {"message_id":"\(id)","sender_id":"you","created_at":"\(stamp)","payload":"\(text)"}
      """
  }

  /// Reads until nothing more is to be had.
  func readAll() throws {
    for _ in 0..<40 {
      let coverage = try page().coverage
      if coverage.whole, coverage.stop == .start { break }
      try sync(.older, want: 50)
    }
    try sync()
  }

  var ids: [String] { get throws { try shown().map { String($0.prefix { $0 != " " }) } } }
}

@Suite struct LogUpkeepTests {
  private func host(_ count: Int = 0, pageLimit: Int = 20) throws -> LogHost {
    var kind = LogServerKind()
    kind.hasStream = true
    kind.refusesUnknown = true
    let host = try LogHost(kind, pageLimit: pageLimit)
    for _ in 0..<count { host.post() }
    try host.client.connected()
    return host
  }

  private func changes(_ host: LogHost, since seq: UInt64) throws -> [ChangeView] {
    guard case .changes(let entries) = try host.client.changes(after: seq, limit: 10_000) else {
      return []
    }
    return entries
  }

  private func unread(_ host: LogHost) throws -> Int {
    let list = try host.client.openList(ListConfig())
    defer { list.close() }
    _ = try list.poll()
    return try list.state().unread
  }

  // MARK: Budgets

  /// Protects: a budget takes the older end, tells each message once, claims nothing of it, and
  /// what comes again fills it.
  @Test func aBudgetTakesTheOlderEnd() throws {
    let host = try host(300)
    try host.readAll()
    try host.expectWhole()
    let seq = try host.client.state().changeSeq
    try host.keep(64)
    let left = try host.ids
    #expect(left.count <= 64 && left.count >= 50)
    #expect(left == host.truth().suffix(left.count).map { String($0.prefix { $0 != " " }) })
    let coverage = try host.page().coverage
    #expect(coverage.stop == .gap, "\(coverage)")
    var told: [UInt64] = []
    for entry in try changes(host, since: seq) where entry.kind == 9 {
      told += Array(entry.first...entry.last)
    }
    #expect(Set(told).count == told.count && told.count == 300 - left.count)
    let status = try RetentionService(host.client).room(Array("room".utf8))
    #expect(status.messages == UInt64(left.count) && !status.isOver)
    try RetentionService(host.client).set(Budget())
    try host.readAll()
    try host.expectWhole()
  }

  /// Protects: what stays by itself keeps its changes, and is shown as it was; above all what it
  /// stands beside is no neighbour.
  @Test func whatStaysKeepsItsChanges() throws {
    let host = try host()
    for index in 1...200 {
      host.post()
      if index == 60 { host.change(.edit, of: "m20", says: "first") }
      if index == 61 { host.change(.edit, of: "m21", says: "gone") }
      if index == 90 { host.change(.pin, of: "m20") }
      if index == 120 { host.change(.edit, of: "m20", says: "last") }
      if index == 150 { host.change(.react(Array("r".utf8)), of: "m20", by: "you") }
    }
    try host.readAll()
    try host.expectWhole()
    let pinned = try host.shown().first { $0.hasPrefix("m20 ") }
    #expect(pinned?.hasPrefix("m20 \"last\"") ?? false)
    try host.keep(40)
    #expect(try host.shown().first == pinned)
    #expect(try host.ids.count <= 41)
    let gaps = try host.page().coverage.gaps
    #expect(gaps.contains { $0.beforeRow == 1 }, "\(gaps)")
    try host.reconnect()
    try host.sync()
    #expect(try host.shown().first == pinned)
    try RetentionService(host.client).set(Budget())
    try host.readAll()
    try host.expectWhole()
  }

  /// Protects: what a screen shows of an old part stays, with its neighbours.
  @Test func whatAScreenShowsStays() throws {
    let host = try host(900, pageLimit: 50)
    try host.readAll()
    var config = WindowConfig(
      conversation: Array("room".utf8), at: .message(Array("m300".utf8)), count: 20, rowsMax: 500)
    config.holdMs = 0
    let window = try host.client.openWindow(config)
    for _ in 0..<10 {
      try host.run()
      _ = try window.poll()
    }
    try host.keep(100)
    _ = try window.poll()
    let page = try #require(try window.rows(first: 0, count: 100))
    #expect(page.rows.count >= 20 && page.rows.allSatisfy { $0.flags & (1 << 8) == 0 })
    let left = try host.ids
    #expect(left.contains("m300") && left.contains("m200") && !left.contains("m50"))
    #expect(left.last == "m900")
    #expect(try RetentionService(host.client).room(nil).isOver)
    window.close()
  }

  /// Protects: after a restart what was purged is still a gap, and what is unread is counted.
  @Test func aPurgeIsOnTheFile() throws {
    let name = FileManager.default.temporaryDirectory
      .appendingPathComponent("logpurge-\(UUID().uuidString)").path
    defer { for end in ["", "-wal"] { try? FileManager.default.removeItem(atPath: name + end) } }
    let key = HostKey([UInt8](repeating: 7, count: 32))
    let host = try LogHost(
      pageLimit: 20, file: .path(name, key: key, create: true, strict: false))
    for _ in 0..<100 { host.post() }
    try host.client.connected()
    try host.readAll()
    let before = try unread(host)
    try host.keep(20)
    let left = try host.ids
    let after = try unread(host)
    #expect(before == after && after == 100, "\(before), \(after)")
    try host.reopen()
    #expect(try host.ids == left)
    #expect(try host.page().coverage.stop == .gap)
    try host.readAll()
    try host.expectWhole()
    host.client.close()
  }

  // MARK: One message

  /// Protects: one message is given back and comes anew, with its changes; a range has a gap there.
  @Test(arguments: ["m1", "m25", "m40", "m42"]) func oneMessageIsGivenBack(_ id: String) throws {
    let host = try host(40)
    host.change(.edit, of: "m25", says: "new")
    host.post()
    try host.readAll()
    try host.expectWhole()
    let seq = try host.client.state().changeSeq
    try host.client.drop(conversation: Array("room".utf8), id: Array(id.utf8))
    #expect(try !host.ids.contains(id))
    // Behind the newest there is no row that a gap would be before.
    let isNewest = id == host.server.log.last.map { String(decoding: $0.entry.id, as: UTF8.self) }
    let coverage = try host.page().coverage
    #expect(isNewest || !coverage.whole || coverage.stop != .start)
    #expect(try changes(host, since: seq).contains { $0.kind == 3 })
    try host.run()
    // What is live is asked for by itself.
    if isNewest { try host.expectWhole() }
    try host.readAll()
    try host.expectWhole()
    try host.reconnect()
    try host.sync()
    try host.expectWhole()
    #expect(throws: Failure.noMessage) {
      try host.client.drop(conversation: Array("room".utf8), id: Array("nowhere".utf8))
    }
  }

  // MARK: An older cache

  private func unverified(_ host: LogHost) throws -> Int {
    try host.page().rows.count { $0.flags & (1 << 7) != 0 }
  }

  /// Protects: imported messages are shown by their times, claim nothing, and are confirmed by the
  /// pages that list them, by id.
  @Test func pagesConfirmWhatWasImported() throws {
    let host = try host(300)
    let status = try host.take((1...300).map { host.old("m\($0)", at: $0) })
    #expect(status.inserted == 300 && status.isDone)
    #expect(try host.ids == (1...300).map { "m\($0)" })
    #expect(try unverified(host) == 300 && !host.page().coverage.whole)
    let numbers = try host.page().rows.map(\.number)
    try host.sync(.live)
    #expect(try host.ids == (1...300).map { "m\($0)" })
    #expect(try unverified(host) == 280)
    #expect(try host.shown().last == "m300 \"text 300\"")
    try host.readAll()
    try host.expectWhole()
    // They are the same rows.
    #expect(try host.page().rows.map(\.number) == numbers && unverified(host) == 0)
    #expect(try host.client.stats().restores == 0)
    #expect(try host.take([host.old("m7", at: 7)], name: "more").known == 1)
  }

  /// Protects: what the server never had goes once the log was read from end to end, and a
  /// back-dated message takes nothing of an import along.
  @Test func whatTheLogLacksGoesInTheEnd() throws {
    let host = try host(120)
    // It is the newest of the log, with the oldest stamp.
    let late = host.post("late", at: 0)
    host.post()
    var lines = (1...120).map { host.old("m\($0)", at: $0) }
    lines.append(host.old(late, at: 0))
    lines.insert(host.old("nowhere", at: 30), at: 30)
    lines.insert(host.old("never", at: 300), at: 3)
    // In no order of time.
    #expect(try host.take(lines.reversed()).inserted == 123)
    try host.sync(.live)
    #expect(try host.ids.count == 124)
    try host.readAll()
    try host.expectWhole()
    #expect(try host.client.stats().restores == 0)
  }

  /// Protects: an import beside what is known changes nothing of it, also without a connection; an
  /// edit that came before its message counts.
  @Test func anImportBesideWhatIsKnown() throws {
    let host = try host(100)
    host.change(.edit, of: "m50", says: "new")
    try host.sync(.live)
    let known = try host.shown()
    try host.client.disconnected()
    try host.take((1...100).map { host.old("m\($0)", at: $0) })
    #expect(try host.shown().suffix(known.count) == known[...])
    #expect(try host.shown().contains("m50 \"new\""))
    #expect(try unverified(host) == 100 - known.count)
    try host.client.connected()
    try host.run()
    try host.readAll()
    try host.expectWhole()
  }

  // MARK: Search by time

  /// Protects: the answer of a search by time says by how much times were seen to step back.
  @Test func aSearchByTimeSaysHowFarItMayBeOff() throws {
    let host = try host(60)
    #expect(try host.sync(.time(World.epochUs + 50_000_000)).stepBackUs == 0)
    host.post("late", at: 20_000_000)
    for _ in 0..<3 { host.post() }
    // Known from the next page on: the message before it is of second 60.
    let status = try host.sync(.time(World.epochUs + 10_000_000))
    #expect(status.stepBackUs == 0 || status.stepBackUs == 40_000_000)
    try host.sync()
    #expect(try host.sync(.time(World.epochUs + 5_000_000)).stepBackUs == 40_000_000)
    try host.readAll()
    try host.expectWhole()
  }
}
