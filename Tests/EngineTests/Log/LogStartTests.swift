/// Where a log starts, after the server has purged what was known.
import Base
import Engine
import LogSupport
import Testing
import Timeline

@Suite struct LogStartTests {
  private func streamKind() -> LogServerKind {
    var kind = LogServerKind()
    kind.hasStream = true
    kind.refusesUnknown = true
    return kind
  }

  private func host(
    _ count: Int, pageLimit: Int = 10, _ change: (inout LogServerKind) -> Void = { _ in }
  ) throws -> LogHost {
    var kind = streamKind()
    change(&kind)
    let host = try LogHost(kind, pageLimit: pageLimit)
    for number in 0..<count {
      host.post()
      if number % 7 == 3 { host.change(.edit, of: "m\(host.server.log.count)", says: "edited") }
    }
    try host.client.connected()
    try host.readAll()
    try host.expectWhole()
    host.reset()
    return host
  }

  /// Protects: a log that is known down to its start is asked for it once a connection.
  @Test func aStartIsLookedAtOnce() throws {
    let host = try host(60)
    #expect(try host.sync().trouble == nil)
    #expect(!host.requests.contains { $0.contains("around_id") })
    try host.reconnect()
    host.reset()
    try host.sync()
    #expect(host.requests.count { $0.contains("around_id") } == 1)
    #expect(host.requests.count == 2, "\(host.requests)")
    try host.sync()
    #expect(host.requests.count == 3, "\(host.requests)")
    try host.expectWhole()
  }

  /// Protects: what the server has purged goes, wherever the new start lies, and page by page only
  /// near to it.
  @Test(arguments: [1, 2, 9, 100, 199, 228])
  func whatIsPurgedBelowGoes(_ count: Int) throws {
    let host = try host(200)
    host.server.purge(count)
    for _ in 0..<3 { host.post() }
    try host.reconnect()
    host.reset()
    #expect(try host.sync().trouble == nil)
    try host.expectWhole()
    #expect(host.requests.count <= 14, "\(host.requests)")
    host.reset()
    try host.sync()
    #expect(host.requests.count == 1, "\(host.requests)")
  }

  /// Protects: where all of it was purged, what came since is there and nothing else is.
  @Test(arguments: [0, 3, 40])
  func allIsPurged(_ after: Int) throws {
    let host = try host(50)
    host.server.purge(host.server.log.count)
    for _ in 0..<after { host.post() }
    try host.reconnect()
    #expect(try host.sync().trouble == nil)
    if after == 0 {
      #expect(try host.shown().isEmpty)
    } else {
      try host.readAll()
      try host.expectWhole()
    }
  }

  /// Protects: who asks for older messages is told of a purge as well.
  @Test func olderLooksAtTheStart() throws {
    let host = try host(80)
    host.server.purge(31)
    try host.reconnect()
    try host.sync(.live)
    #expect(try host.shown() != host.truth())
    #expect(try host.sync(.older, want: 10).trouble == nil)
    try host.expectWhole()
  }

  /// Protects: a search for the start that is cut off goes on with the next sync.
  @Test(arguments: 1...6)
  func aCutUnderWay(_ answers: Int) throws {
    let host = try host(120)
    host.server.purge(77)
    try host.reconnect()
    var left = answers
    host.alter = { _, answer in
      left -= 1
      return left < 0 ? nil : answer
    }
    try host.sync()
    host.alter = { $1 }
    try host.reconnect()
    #expect(try host.sync().trouble == nil)
    try host.expectWhole()
  }

  /// Protects: what a server cannot be asked stays as it was claimed.
  @Test func aServerThatFindsNothing() throws {
    let host = try host(60)
    host.server.purge(20)
    host.findsNothing()
    try host.reconnect()
    #expect(try host.sync().trouble == nil)
    #expect(try host.shown().count > host.truth().count)
  }

  /// Protects: where another entry starts the log by now, what started it before claims nothing of
  /// what lies between the two.
  @Test func aLogStartsOnce() throws {
    let host = try host(6, pageLimit: 7) {
      $0.hasStream = false
      $0.refusesUnknown = false
    }
    for _ in 0..<60 { host.post() }
    host.server.purge(40)
    // The token of what was purged is answered from the start, and then the connection goes.
    var left = 1
    host.alter = { _, answer in
      left -= 1
      return left < 0 ? nil : answer
    }
    try host.sync()
    let page = try host.page()
    let shown = try host.shown()
    let known = try #require(shown.firstIndex { $0.hasPrefix("m1 ") })
    #expect(known == 7 && page.coverage.gaps.contains { $0.beforeRow == known })
    host.alter = { $1 }
    try host.reconnect()
    try host.readAll()
    try host.expectWhole()
  }

  /// Protects: where no entry can be asked for, and a push is all that is known, the way down is
  /// found by its token, or by the newest page.
  @Test(arguments: [true, false]) func aPushIsAllThatIsKnown(_ namesToken: Bool) throws {
    let host = try LogHost(streamKind(), pageLimit: 10)
    for _ in 0..<45 { host.post() }
    host.alter = { _, _ in nil }
    try host.client.connected()
    try host.sync(.live)
    let (before, id) = (try host.newestToken(), host.post())
    try host.hand(
      id, behind: namesToken ? before : nil, token: try host.newestToken())
    #expect(try host.shown().count == 1)
    host.findsNothing()
    try host.reconnect()
    #expect(try host.sync().trouble == nil)
    for _ in 0..<8 { try host.sync(.older, want: 10) }
    try host.expectWhole()
    #expect(host.requests.count < 20, "\(host.requests.count)")
  }

  /// Protects: a history that was put in below the start is found.
  @Test func olderOnesWerePutIn() throws {
    let host = try host(30)
    let all = host.server
    host.server.purge(20)
    try host.reconnect()
    try host.sync()
    try host.expectWhole()
    host.server = all
    try host.reconnect()
    try host.readAll()
    try host.expectWhole()
  }
}
