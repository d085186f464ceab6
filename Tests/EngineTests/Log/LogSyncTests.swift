/// A server that keeps a log, from end to end: what is asked, what is shown, and what is whole.
import Base
import Engine
import Foundation
import LogSupport
import Testing
import Timeline

@Suite struct LogSyncTests {
  private func kind(_ change: (inout LogServerKind) -> Void = { _ in }) -> LogServerKind {
    var kind = LogServerKind()
    kind.hasStream = true
    kind.refusesUnknown = true
    change(&kind)
    return kind
  }

  private func path() -> String {
    FileManager.default.temporaryDirectory.appendingPathComponent("log-\(UUID().uuidString)").path
  }

  private func file(_ path: String) -> ClientConfig.File {
    .path(path, key: HostKey([UInt8](repeating: 7, count: 32)), create: true, strict: false)
  }

  /// Protects: a conversation that fits on a page is whole after one request, and nothing new costs
  /// one more.
  @Test func anEmptyFileIsFilled() throws {
    let host = try LogHost(kind())
    for _ in 0..<20 { host.post() }
    host.change(.edit, of: "m3", says: "edited")
    host.change(.delete, of: "m5")
    host.change(.react(Array("a".utf8)), of: "m7", by: "u1")
    try host.client.connected()
    #expect(try host.sync().trouble == nil)
    try host.expectWhole()
    #expect(host.requests.count == 1)
    host.reset()
    #expect(try host.sync().trouble == nil)
    #expect(host.requests.count == 1)
    try host.expectWhole()
  }

  /// Protects: of a log that was known to be empty a catch-up brings all that came since.
  @Test func anEmptyLogIsKnown() throws {
    let host = try LogHost(kind(), pageLimit: 10)
    try host.client.connected()
    #expect(try host.sync().trouble == nil)
    try host.client.disconnected()
    for _ in 0..<60 { host.post() }
    try host.client.connected()
    #expect(try host.sync().trouble == nil)
    try host.expectWhole()
    #expect(host.requests.count <= 8, "\(host.requests.count)")
  }

  /// Protects: the order is that of the log, whatever the stamps say.
  @Test func theOrderIsThatOfTheLog() throws {
    let host = try LogHost(kind(), pageLimit: 5)
    for index in 0..<23 { host.post(at: index % 4 == 3 ? 1 : Int64(100 - index)) }
    try host.client.connected()
    try host.sync()
    for _ in 0..<6 { try host.sync(.older, want: 5) }
    try host.expectWhole()
  }

  /// Protects: a catch-up brings what came since, and joins it; older messages come on demand.
  @Test func aGapIsClosed() throws {
    let host = try LogHost(kind(), pageLimit: 10)
    for _ in 0..<60 { host.post() }
    try host.client.connected()
    try host.sync()
    #expect(try host.shown() == Array(host.truth().suffix(10)))
    try host.client.disconnected()
    for index in 0..<35 {
      host.post()
      if index % 5 == 0 { host.change(.edit, of: "m\(55 - index)", says: "later \(index)") }
    }
    try host.client.connected()
    host.reset()
    #expect(try host.sync().trouble == nil)
    #expect(host.requests.count <= 5)
    #expect(try host.shown() == Array(host.truth().suffix(45)))
    let coverage = try host.page().coverage
    #expect(coverage.whole && coverage.stop == .gap)
    #expect(try host.sync(.older, want: 20).trouble == nil)
    #expect(try host.shown() == Array(host.truth().suffix(65)))
    while try host.page().coverage.stop != .start { try host.sync(.older, want: 10) }
    try host.expectWhole()
  }

  /// Protects: a sync that was content with the newest page leaves a gap, which a catch-up fills,
  /// however often it was left.
  @Test func aCatchUpFillsWhatWasLeft() throws {
    let host = try LogHost(kind(), pageLimit: 10)
    for _ in 0..<20 { host.post() }
    try host.client.connected()
    try host.readAll()
    for _ in 0..<2 {
      try host.client.disconnected()
      for _ in 0..<45 { host.post() }
      try host.client.connected()
      #expect(try host.sync(.live).trouble == nil)
      #expect(try host.shown() != host.truth())
    }
    #expect(try host.sync().trouble == nil)
    try host.expectWhole()
  }

  /// Protects: a push that names the entry before it goes on there, one that names none is shown
  /// and a catch-up says where it stands.
  @Test(arguments: [true, false]) func pushesJoin(_ namesPrevious: Bool) throws {
    let host = try LogHost(kind { $0.namesPrevious = namesPrevious })
    for _ in 0..<5 { host.post() }
    try host.client.connected()
    try host.sync()
    host.reset()
    host.post(pushes: true)
    host.change(.edit, of: "m2", says: "edited", pushes: true)
    host.change(.react(Array("a".utf8)), of: "m6", pushes: true)
    host.post(at: 1, pushes: true)
    host.change(.delete, of: "m1", pushes: true)
    try host.run()
    try host.expectWhole()
    #expect(host.requests.isEmpty == namesPrevious)
  }

  /// Protects: what is known outlasts a kill, and tokens that expired cost a page by ids.
  @Test func killsAndExpiredTokens() throws {
    let path = path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let host = try LogHost(kind(), pageLimit: 10, file: file(path))
    for _ in 0..<30 { host.post() }
    try host.client.connected()
    try host.sync()
    for round in 0..<6 {
      for _ in 0..<4 { host.post() }
      host.change(.edit, of: "m\(20 + round)", says: "in round \(round)")
      host.change(.pin, of: "m\(25 + round)")
      if round % 2 == 1 { host.server.expire() }
      try host.reopen()
      #expect(try host.sync().trouble == nil)
      if round % 3 == 2 { try host.sync(.older, want: 8) }
      let shown = try host.shown()
      #expect(shown == Array(host.truth().suffix(shown.count)))
    }
    while try host.page().coverage.stop != .start {
      #expect(try host.sync(.older, want: 10).trouble == nil)
    }
    try host.expectWhole()
    host.client.close()
  }

  /// Protects: an answer that leaves out what lies between is a gap, until it is filled.
  @Test func aGapAnswerIsAGap() throws {
    let host = try LogHost(kind { $0.hasGaps = true }, pageLimit: 5)
    for _ in 0..<8 { host.post() }
    try host.client.connected()
    try host.sync()
    try host.sync(.older, want: 8)
    try host.expectWhole()
    try host.client.disconnected()
    for _ in 0..<40 { host.post() }
    try host.client.connected()
    #expect(try host.sync(.live).trouble == nil)
    let page = try host.page()
    #expect(!page.coverage.whole || page.rows.count == 48)
    for _ in 0..<20 where try host.page().coverage.stop != .start || !host.page().coverage.whole {
      #expect(try host.sync(.older, want: 10).trouble == nil)
    }
    try host.expectWhole()
  }

  /// Protects: what is sent stays behind all others until the log lists it, once.
  @Test(arguments: [true, false], [true, false])
  func sendsAreListed(_ tellsClientIDs: Bool, _ echoes: Bool) throws {
    let host = try LogHost(kind())
    host.tellsClientIDs = tellsClientIDs
    host.echoes = echoes
    for _ in 0..<3 { host.post() }
    try host.client.connected()
    try host.sync()
    for index in 0..<3 {
      _ = try host.client.perform(
        Array(
          #"{"type":"send_message","conversation_id":"room","payload":"mine \#(index)"}"#.utf8))
      host.post(pushes: index == 1)
    }
    try host.run()
    try host.expectWhole()
    #expect(try host.client.state().operationsOpen == 0)
    #expect(try host.client.state().operationsStuck == 0)
  }

  /// Protects: what the user does to a message is shown at once and stays shown until the log says
  /// it itself.
  @Test func changesOfMineAreListed() throws {
    let host = try LogHost(kind())
    for _ in 0..<4 { host.post() }
    try host.client.connected()
    try host.sync()
    let verbs = [
      #""edit_message","message_id":"m1","payload":"edited""#,
      #""delete_message","message_id":"m2""#,
      #""react_message","message_id":"m3","reaction":"a""#,
      #""pin_message","message_id":"m4""#,
    ]
    for verb in verbs {
      _ = try host.client.perform(Array(#"{"type":\#(verb),"conversation_id":"room"}"#.utf8))
    }
    try host.run()
    try host.expectWhole()
    #expect(try host.client.state().operationsOpen == 0)
  }

  /// Protects: a message that the user deletes and the server does not have any more stays away.
  @Test func whatIsDeletedAndGoneStaysAway() throws {
    let host = try LogHost(kind())
    for _ in 0..<10 { host.post() }
    try host.client.connected()
    try host.sync()
    host.server.purge(6)
    host.alter = { request, answer in
      guard request.contains("delete_message") else { return answer }
      return answer.replacing(/"status".*/) { _ in
        #""status":"error","error":{"code":"not_found"}}"#
      }
    }
    _ = try host.client.perform(
      Array(#"{"type":"delete_message","message_id":"m3","conversation_id":"room"}"#.utf8))
    try host.run()
    #expect(try !host.shown().contains { $0.hasPrefix("m3 ") })
    try host.sync()
    #expect(try !host.shown().contains { $0.hasPrefix("m3 ") })
    #expect(try host.client.state().operationsOpen == 0)
  }

  /// Protects: a send whose answer was lost is found in the log by its client id, and told once.
  @Test func lostAnswersAreFound() throws {
    let host = try LogHost(kind())
    for _ in 0..<3 { host.post() }
    try host.client.connected()
    try host.sync()
    host.alter = { request, answer in request.contains("send_message") ? nil : answer }
    for index in 0..<4 {
      _ = try host.client.perform(
        Array(
          #"{"type":"send_message","conversation_id":"room","payload":"mine \#(index)"}"#.utf8))
      try host.run()
      try host.client.formerConnectionIsDead()
      try host.reconnect()
      try host.client.formerConnectionIsDead()
      try host.run()
    }
    host.alter = { $1 }
    try host.sync()
    try host.expectWhole()
    #expect(try host.client.state().operationsOpen == 0)
    #expect(try host.client.state().operationsStuck == 0)
    #expect(host.requests.count { $0.contains("send_message") } == 4)
  }

  /// Protects: what was answered and is not listed yet outlasts a kill and is not sent again; where
  /// the whole log lacks it the user is told.
  @Test func whatTheLogLacksIsTold() throws {
    let path = path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let host = try LogHost(kind(), file: file(path))
    for _ in 0..<3 { host.post() }
    try host.client.connected()
    try host.sync()
    host.drops = true
    _ = try host.client.perform(
      Array(#"{"type":"send_message","conversation_id":"room","payload":"lost"}"#.utf8))
    host.alter = { request, answer in request.contains("get_entries") ? nil : answer }
    try host.run()
    #expect(try host.client.state().operationsOpen == 1)
    host.alter = { $1 }
    try host.reopen()
    try host.sync()
    #expect(try host.client.state().operationsOpen == 0)
    #expect(try host.client.state().operationsStuck == 1)
    #expect(host.requests.count { $0.contains("send_message") } == 1)
    #expect(try host.page().coverage.whole)
    host.client.close()
  }

  /// Protects: what was sent before the log was read, and lies below its newest page, does not stay
  /// last on the screen; it is shown once its gap is filled.
  @Test(arguments: [10, 60, 400]) func whatLiesBelowTheNewestPageIsDone(_ later: Int) throws {
    let host = try LogHost(kind(), pageLimit: 20)
    host.echoes = false
    for _ in 0..<5 { host.post() }
    try host.client.connected()
    host.alter = { request, answer in request.contains("get_entries") ? nil : answer }
    _ = try host.client.perform(
      Array(#"{"type":"send_message","conversation_id":"room","payload":"mine"}"#.utf8))
    try host.run()
    #expect(try host.client.state().operationsOpen == 1)
    host.alter = { $1 }
    for _ in 0..<later { host.post() }
    try host.reconnect()
    try host.sync()
    #expect(try host.client.state().operationsOpen == 0)
    #expect(try host.client.state().operationsStuck == 0)
    for _ in 0..<3 { try host.sync(.older, want: 1_000) }
    try host.expectWhole()
    #expect(host.requests.count { $0.contains("send_message") } == 1)
  }
}
