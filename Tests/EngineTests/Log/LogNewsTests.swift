/// What a host may notify of, where the server keeps a log: each message that is new to the device
/// once, and no history.
import Base
import Engine
import LogSupport
import Testing
import Timeline

@Suite struct LogNewsTests {
  private func host(
    pageLimit: Int = 20, _ change: (inout LogServerKind) -> Void = { _ in }
  ) throws -> LogHost {
    var kind = LogServerKind()
    kind.hasStream = true
    kind.refusesUnknown = true
    change(&kind)
    let host = try LogHost(kind, pageLimit: pageLimit)
    for _ in 0..<60 { host.post() }
    try host.client.connected()
    return host
  }

  /// The ids of what was offered behind a number of the feed, in the order of the feed.
  private func offered(_ host: LogHost, after seen: UInt64 = 0) throws -> [String] {
    let page = try host.page()
    guard case .changes(let all) = try host.client.changes(after: seen, limit: 10_000) else {
      Issue.record("the feed is not whole")
      return []
    }
    return all.filter(\.notifies).flatMap { change in
      page.rows.filter { (change.first...change.last).contains($0.number) }
        .map { String(decoding: page[$0.id], as: UTF8.self) }
    }
  }

  private func names(_ numbers: ClosedRange<Int>) -> [String] { numbers.map { "m\($0)" } }

  private func away(_ count: Int, _ host: LogHost) throws {
    try host.client.disconnected()
    for _ in 0..<count { host.post() }
    try host.client.connected()
  }

  /// Protects: the first fetch is history, also where a page around an entry came before it.
  @Test(arguments: [false, true]) func theFirstFetchIsHistory(_ looksFirst: Bool) throws {
    let host = try host()
    if looksFirst { try host.sync(.at(Array("m30".utf8))) }
    try host.readAll()
    try host.expectWhole()
    #expect(try offered(host) == [])
  }

  /// Protects: what a catch-up brings is offered, across pages and once; older pages bring history.
  @Test func aCatchUpOffersWhatIsNew() throws {
    let host = try host()
    try host.sync()
    try away(70, host)
    try host.sync()
    try host.readAll()
    try host.reconnect()
    try host.sync()
    let found = try offered(host)
    #expect(found.count == 70 && Set(found) == Set(names(61...130)), "\(found)")
    host.post(pushes: true)
    try host.run()
    #expect(try offered(host).suffix(1) == ["m131"])
    #expect(try offered(host).count == 71)
  }

  /// Protects: a page around an entry that shows what came since offers it: the catch-up behind it
  /// has nothing to show.
  @Test func aLookThatGoesOnOffersWhatIsNew() throws {
    let host = try host()
    try host.sync()
    try away(5, host)
    try host.sync(.at(Array("m58".utf8)))
    #expect(Set(try offered(host)) == Set(names(61...65)))
    try host.sync()
    #expect(try offered(host).count == 5)
  }

  /// Protects: so does one that stands apart and reaches the present. What lies between is offered
  /// once it is filled, as the gap is that a live catch-up leaves.
  @Test(arguments: [false, true]) func theGapBelowTheNewestPageIsNewToo(_ looks: Bool) throws {
    let host = try host()
    try host.sync()
    try away(70, host)
    try host.sync(looks ? .at(Array("m128".utf8)) : .live)
    let found = try offered(host)
    #expect(Set(found).count == found.count && found.contains("m130"), "\(found)")
    #expect(Set(found).isDisjoint(with: names(85...105)), "\(found)")
    try host.readAll()
    try host.expectWhole()
    #expect(try Set(offered(host)) == Set(names(61...130)) && offered(host).count == 70)
  }

  /// Protects: where the last entry that was known has left the log, those below it tell what is
  /// new.
  @Test func theLastKnownEntryHasLeft() throws {
    let host = try host {
      $0.leaves = true
      $0.refusesUnknown = false
    }
    try host.sync()
    try away(70, host)
    try host.sync(.live)
    try host.client.disconnected()
    host.change(.delete, of: "m130")
    let new = host.post()
    try host.client.connected()
    try host.sync()
    try host.readAll()
    try host.expectWhole()
    // The number of the row that went is told no more.
    let all = names(61...129) + [new]
    #expect(try Set(offered(host)) == Set(all) && offered(host).count == all.count)
  }

  /// Protects: the first messages of a conversation that was known to be empty are news.
  @Test func theFirstMessagesAreNews() throws {
    var kind = LogServerKind()
    kind.hasStream = true
    kind.refusesUnknown = true
    let host = try LogHost(kind, pageLimit: 20)
    try host.client.connected()
    try host.sync()
    try away(3, host)
    try host.sync()
    try host.expectWhole()
    #expect(try offered(host) == names(1...3))
  }

  /// Protects: the last message that a list tells of a conversation is history on a new device, and
  /// is offered by the catch-up that finds it new elsewhere.
  @Test(arguments: [false, true]) func aListOffersNothing(_ isKnown: Bool) throws {
    let host = try host()
    if isKnown {
      try host.sync()
      try away(1, host)
    }
    let last = isKnown ? 61 : 60
    try host.hand(
      """
      {"type":"conversation_updated","conversation":{"conversation_id":"room","last_message":{
      "message_id":"m\(last)","sender_id":"you","created_at":"2026-02-15T22:30:00",
      "payload":"text \(last)"}}}
      """)
    #expect(try host.shown().last?.hasPrefix("m\(last)") ?? false)
    #expect(try offered(host) == [])
    try host.sync()
    try host.readAll()
    #expect(try offered(host) == (isKnown ? ["m61"] : []))
  }

  /// Protects: what moves when two parts of the log are joined is not counted once more.
  @Test func aBadgeCountsAMessageOnce() throws {
    var kind = LogServerKind()
    kind.hasStream = true
    let host = try LogHost(kind, pageLimit: 5)
    for _ in 0..<2 { host.post() }
    try host.client.connected()
    try host.sync()
    try host.client.disconnected()
    for _ in 0..<2 { host.change(.react(Array("r".utf8)), of: "m1") }
    try host.client.connected()
    try host.hand(
      """
      {"type":"conversation_updated","conversation":{"conversation_id":"room","unread_count":0,
      "last_read_message_id":"m2","last_message":{"message_id":"m2","sender_id":"you",
      "created_at":"2026-02-15T22:15:47","payload":"text 2"}}}
      """)
    host.post(pushes: true)
    host.post(pushes: true)
    host.change(.react(Array("r".utf8)), of: "m1", pushes: true)
    try host.run()
    try host.sync()
    try host.expectWhole()
    let row = try #require(try host.client.conversation(Array("room".utf8)).rows.first)
    #expect(row.unread == 2)
    // The marker has gone with its message.
    let page = try host.page()
    let unread = page.rows.filter { $0.flags & MessageBit.unread != 0 }
    #expect(unread.map { String(decoding: page[$0.id], as: UTF8.self) } == ["m5", "m6"])
  }

  /// Protects: what is read again after a restore is no news.
  @Test func aRestoreIsHistory() throws {
    let host = try host { $0.namesEpoch = true }
    try host.readAll()
    host.server.backUp()
    host.server.restore()
    try host.reconnect()
    try host.sync()
    try host.readAll()
    try host.expectWhole()
    #expect(try offered(host) == [])
  }
}
