/// Servers whose tokens count in one connection only: what is known leads on by its own entries.
import Base
import Engine
import LogSupport
import Testing
import Timeline

@Suite struct LogReconnectTests {
  /// Neither refuses tokens that it does not know, nor names an epoch.
  private func host(_ count: Int, pageLimit: Int = 5) throws -> LogHost {
    var kind = LogServerKind()
    kind.hasStream = true
    let host = try LogHost(kind, pageLimit: pageLimit)
    for _ in 0..<count { host.post() }
    try host.client.connected()
    return host
  }

  /// Protects: who asks for older messages after a reconnect gets them, however much is known.
  @Test func olderGoesOnBelowWhatIsKnown() throws {
    let host = try host(700)
    try host.sync(.older, want: 600)
    let known = try host.shown().count
    #expect(known >= 600)
    for round in 1...3 {
      try host.reconnect()
      host.reset()
      #expect(try host.sync(.older, want: 20).trouble == nil)
      #expect(try host.shown().count >= known + 20 * round)
      #expect(host.requests.count <= 8, "\(host.requests)")
    }
    try host.readAll()
    try host.expectWhole()
  }

  /// Protects: where no entry can be asked for, the newest page leads down to what is missing.
  @Test func whereNothingIsFoundTokensLeadOn() throws {
    let host = try host(600)
    try host.sync(.older, want: 450)
    let known = try host.shown().count
    host.findsNothing()
    try host.reconnect()
    host.reset()
    // After 64 answers in vain it ends, and the next one goes on from there.
    #expect(try host.sync(.older, want: 20).trouble == .incomplete)
    #expect(try host.sync(.older, want: 20).trouble == nil)
    #expect(try host.shown().count >= known + 20)
    #expect(host.requests.count <= 110, "\(host.requests.count)")
  }

  /// Protects: a catch-up that is cut after a few answers, again and again, gets further each time.
  @Test(arguments: [4, 5, 8]) func aCatchUpGetsFurtherByEachConnection(_ answers: Int) throws {
    let host = try host(30)
    try host.readAll()
    try host.client.disconnected()
    for _ in 0..<400 { host.post() }
    var left = 0
    host.alter = { _, answer in
      left -= 1
      return left < 0 ? nil : answer
    }
    var connections = 0
    while try !host.page().coverage.whole || host.shown().count < 430, connections < 90 {
      connections += 1
      left = answers
      // More than twelve a minute are not asked anything.
      host.clock.move(ms: 5_000)
      if connections == 1 { try host.client.connected() } else { try host.reconnect() }
      try host.sync()
    }
    #expect(connections < 90)
    host.alter = { $1 }
    host.clock.move(ms: 5_000)
    try host.reconnect()
    try host.sync()
    try host.expectWhole()
  }
}
