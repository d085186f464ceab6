/// Traps of servers that keep logs: each ends in a gap that is told, or in the right state.
import Base
import Engine
import Foundation
import LogSupport
import Testing
import Timeline

@Suite struct LogTrapTests {
  private func host(_ pageLimit: Int = 10) throws -> LogHost {
    var kind = LogServerKind()
    kind.hasStream = true
    kind.refusesUnknown = true
    kind.cap = max(kind.cap, pageLimit)
    return try LogHost(kind, pageLimit: pageLimit)
  }

  /// Protects: a token that is too long says nothing of what lies before, and no start is claimed.
  @Test func aTokenOverTheBoundIsNone() throws {
    let host = try host()
    for _ in 0..<25 { host.post() }
    let long = String(repeating: "x", count: Limits.tokenBytesMax + 1)
    host.alter = { _, answer in
      answer.replacingOccurrences(
        of: #""before":"[^"]*""#, with: "\"before\":\"\(long)\"", options: .regularExpression)
    }
    try host.client.connected()
    #expect(try host.sync().trouble == nil)
    #expect(try host.shown() == Array(host.truth().suffix(10)))
    #expect(try host.page().coverage.stop == .gap)
    // The way down is by ids then.
    for _ in 0..<12 { try host.sync(.older, want: 3) }
    #expect(host.requests.count < 100)
    let shown = try host.shown()
    #expect(shown == Array(host.truth().suffix(shown.count)) && shown.count > 10)
  }

  /// Protects: all the edits of a message are kept, and the last one counts.
  @Test func manyEditsOfOneMessage() throws {
    let host = try host(200)
    host.post()
    for index in 0..<10_000 { host.change(.edit, of: "m1", says: "edit \(index)") }
    try host.client.connected()
    try host.sync()
    for _ in 0..<5 { try host.sync(.older, want: 5) }
    #expect(try host.shown() == ["m1 \"edit 9999\""])
    let coverage = try host.page().coverage
    #expect(coverage.whole && coverage.stop == .start && coverage.gaps.isEmpty)
    #expect(host.requests.count <= 55, "\(host.requests.count)")
    // Those that are pushed cost no more for all that are known.
    for index in 0..<200 { host.change(.edit, of: "m1", says: "push \(index)", pushes: true) }
    try host.run()
    #expect(try host.shown() == ["m1 \"push 199\""])
    // The last one is taken back.
    host.change(.delete, of: "x10201", pushes: true)
    try host.run()
    #expect(try host.shown() == ["m1 \"push 198\""])
  }

  /// Protects: many edits that stand apart from their message, and come before it.
  @Test func manyEditsBeforeTheirMessage() throws {
    let host = try host(200)
    for _ in 0..<30 { host.post() }
    for index in 0..<2_000 { host.change(.edit, of: "m1", says: "edit \(index)") }
    try host.client.connected()
    try host.sync(.live)
    #expect(try host.sync(.at(Array("m1".utf8))).trouble == nil)
    #expect(try host.shown().first == "m1 \"edit 1999\"")
    for _ in 0..<15 { try host.sync(.older, want: 50) }
    #expect(try host.shown().first == "m1 \"edit 1999\"" && host.shown().count == 30)
    #expect(try host.page().coverage.whole)
    #expect(host.requests.count <= 20, "\(host.requests.count)")
  }

  /// All of a log is known, and each answer names the epoch.
  private func epochHost(_ count: Int) throws -> LogHost {
    var kind = LogServerKind()
    kind.namesEpoch = true
    let host = try LogHost(kind, pageLimit: 7)
    for _ in 0..<count { host.post() }
    try host.client.connected()
    try host.readAll()
    try host.expectWhole()
    return host
  }

  /// Protects: a log of many pages whose claims another epoch has refuted is read again to its end,
  /// where the server answers a token that it does not know from the start.
  @Test func manyPagesOfAnotherEpoch() throws {
    let host = try epochHost(600)
    host.server.backUp()
    for _ in 0..<3 { host.post(pushes: true) }
    try host.run()
    host.server.restore()
    try host.reconnect()
    #expect(try host.sync().trouble == nil)
    try host.sync(.older, want: 1_000)
    try host.expectWhole()
  }

  /// Protects: a server that names another epoch with each second answer ends a walk all the same.
  @Test func anEpochWithEachAnswer() throws {
    let host = try epochHost(1_400)
    host.reset()
    host.alter = { [unowned host] _, answer in
      answer.replacingOccurrences(
        of: #""epoch":"[^"]*""#, with: "\"epoch\":\"e\(host.requests.count / 2)\"",
        options: .regularExpression)
    }
    try host.reconnect()
    for _ in 0..<3 { try host.sync(.older, want: 2_000) }
    #expect(host.requests.count < 900, "\(host.requests.count)")
    host.alter = { $1 }
    try host.reconnect()
    for _ in 0..<8 { try host.sync(.older, want: 2_000) }
    try host.expectWhole()
  }

  // MARK: Tokens

  /// What a token becomes on its way to the client; the server gets its own back.
  private func rename(
    _ host: LogHost, _ name: @escaping (_ token: String, _ answer: Int) -> String
  ) {
    var real: [String: String] = [:]
    var count = 0
    host.revise = { request in
      for (theirs, ours) in real where request.contains("\"\(theirs)\"") {
        return request.replacingOccurrences(of: "\"\(theirs)\"", with: "\"\(ours)\"")
      }
      return request
    }
    host.alter = { _, answer in
      count += 1
      var answer = answer
      for member in ["before", "after"] {
        guard
          let found = answer.range(
            of: "\"\(member)\":\"[^\"]*\"", options: .regularExpression)
        else { continue }
        let token = String(answer[found].dropFirst(member.count + 4).dropLast())
        let theirs = name(token, count)
        real[theirs] = token
        answer.replaceSubrange(found, with: "\"\(member)\":\"\(theirs)\"")
      }
      return answer
    }
  }

  /// Protects: tokens that are others with each answer, and those of an earlier connection that
  /// nobody knows any more.
  @Test func tokensChangeWithEachConnection() throws {
    let host = try host()
    for _ in 0..<45 { host.post() }
    rename(host) { token, count in "\(token)-\(count)" }
    try host.client.connected()
    try host.sync(.live)
    for round in 0..<6 {
      try host.sync(.older, want: 5)
      host.server.expire()
      for _ in 0..<3 { host.post() }
      host.reset()
      try host.reconnect()
      try host.sync()
      #expect(host.requests.count <= 6, "round \(round): \(host.requests)")
    }
    for _ in 0..<6 { try host.sync(.older, want: 20) }
    try host.expectWhole()
  }

  /// Protects: a server that gives one token for every place: what it answers is taken by its ids,
  /// and nothing turns in a circle.
  @Test func aTokenThatRepeats() throws {
    let host = try host()
    for _ in 0..<60 { host.post() }
    rename(host) { _, _ in "same" }
    try host.client.connected()
    try host.sync()
    for _ in 0..<4 { try host.sync(.older, want: 10) }
    #expect(host.requests.count <= 5 * (LogWalk.idleMax + 2), "\(host.requests.count)")
    let shown = try host.shown()
    let truth = host.truth()
    // What is shown is there, in its order.
    #expect(shown == truth.filter { shown.contains($0) })
    #expect(shown.last == truth.last)
    host.alter = { $1 }
    host.revise = { $0 }
    try host.reconnect()
    for _ in 0..<12 { try host.sync(.older, want: 20) }
    try host.sync()
    try host.expectWhole()
  }

  /// Protects: of older pages that lead in a circle nothing is believed but what they list.
  @Test func tokensThatCycle() throws {
    let host = try host()
    for _ in 0..<60 { host.post() }
    try host.client.connected()
    try host.sync()
    // The second page below gives the token of the first one again.
    var first: String?
    var pages = 0
    host.alter = { request, answer in
      guard request.contains("\"before\"") else { return answer }
      let found = answer.range(of: "\"before\":\"[^\"]*\"", options: .regularExpression)
      guard let found else { return answer }
      pages += 1
      if first == nil { first = String(answer[found]) }
      return pages % 2 == 0 ? answer.replacingCharacters(in: found, with: first ?? "") : answer
    }
    host.reset()
    for _ in 0..<3 { try host.sync(.older, want: 30) }
    #expect(host.requests.count <= 3 * (LogWalk.idleMax + 2), "\(host.requests.count)")
    let shown = try host.shown()
    #expect(shown == Array(host.truth().suffix(shown.count)))
    #expect(shown.count >= 20)
    host.alter = { $1 }
    host.server.expire()
    try host.reconnect()
    for _ in 0..<8 { try host.sync(.older, want: 20) }
    try host.expectWhole()
  }

  /// Protects: tokens that expire between two pages of a walk.
  @Test func tokensThatExpireHalfWay() throws {
    let host = try host()
    for _ in 0..<95 { host.post() }
    try host.client.connected()
    try host.sync()
    host.alter = { request, answer in
      if request.contains("\"before\"") { host.server.expire() }
      return answer
    }
    host.reset()
    for _ in 0..<20 where try host.page().coverage.stop != .start {
      try host.sync(.older, want: 20)
    }
    host.alter = { $1 }
    try host.expectWhole()
    // Each page that had to be found again costs two requests more.
    #expect(host.requests.count <= 40, "\(host.requests.count)")
  }

  /// Protects: a change that names another conversation's message, or none that exists, keeps its
  /// place and changes nothing.
  @Test func aChangeForAnotherConversation() throws {
    let host = try host()
    for _ in 0..<6 { host.post() }
    host.change(.edit, of: "elsewhere", says: "no")
    host.change(.delete, of: "elsewhere")
    host.change(.react(Array("r".utf8)), of: "elsewhere")
    host.change(.edit, of: "m2", says: "yes")
    try host.client.connected()
    try host.sync()
    host.change(.edit, of: "elsewhere", says: "no", pushes: true)
    try host.run()
    for _ in 0..<2 { try host.sync(.older, want: 5) }
    try host.expectWhole()
    // One that says whose it is is not taken for one of this conversation.
    let before = try host.shown()
    let id = host.change(.edit, of: "m3", says: "other")
    host.alter = { _, answer in
      answer.replacingOccurrences(
        of: "\"entry_id\":\"\(id)\"",
        with: "\"conversation_id\":\"other\",\"entry_id\":\"\(id)\"")
    }
    try host.sync()
    #expect(try host.shown() == before)
    #expect(try host.client.stats().quarantined == 1)
  }

  /// Protects: a message that names another conversation is none of this one, and keeps its place.
  @Test func aMessageOfAnotherConversation() throws {
    let host = try host()
    for _ in 0..<6 { host.post() }
    host.alter = { _, answer in
      answer.replacingOccurrences(
        of: #""message_id":"m3""#, with: #""conversation_id":"other","message_id":"m3""#)
    }
    try host.client.connected()
    #expect(try host.sync().trouble == nil)
    var truth = host.truth()
    truth.remove(at: 2)
    #expect(try host.shown() == truth)
    #expect(try host.client.stats().quarantined == 1)
    let gaps = try host.page().coverage.gaps
    #expect(gaps.count == 1 && gaps[0].poisoned)
    // It is set aside once, however often it comes.
    for _ in 0..<3 { try host.sync(.at(Array("m2".utf8))) }
    let aside = try host.client.quarantined(conversation: nil, after: 0, limit: 10)
    #expect(aside.count == 1)
    #expect(try host.page().coverage.gaps.count == 1)
  }

  /// Protects: pages in another order than that which was known end the sync, and nothing is lost.
  @Test func aPageOutOfOrder() throws {
    let host = try host()
    for _ in 0..<6 { host.post() }
    try host.client.connected()
    try host.sync()
    host.alter = { _, answer in
      answer.replacingOccurrences(of: #""message_id":"m2""#, with: #""message_id":"m?""#)
        .replacingOccurrences(of: #""message_id":"m5""#, with: #""message_id":"m2""#)
        .replacingOccurrences(of: #""message_id":"m?""#, with: #""message_id":"m5""#)
    }
    try host.sync(.at(Array("m3".utf8)))
    host.alter = { $1 }
    try host.sync(.at(Array("m3".utf8)))
    try host.sync()
    for _ in 0..<3 { try host.sync(.older, want: 5) }
    try host.expectWhole()
  }

  /// Protects: another epoch refutes what is claimed, and all is read again.
  @Test func anotherEpoch() throws {
    var kind = LogServerKind()
    kind.hasStream = true
    kind.refusesUnknown = true
    kind.namesEpoch = true
    let host = try LogHost(kind, pageLimit: 10)
    for _ in 0..<8 { host.post() }
    host.server.backUp()
    for _ in 0..<8 { host.post() }
    host.change(.delete, of: "m3")
    try host.client.connected()
    for _ in 0..<3 { try host.sync(.older, want: 10) }
    try host.expectWhole()
    host.server.restore()
    host.post()
    try host.reconnect()
    for _ in 0..<2 { try host.sync() }
    for _ in 0..<4 { try host.sync(.older, want: 10) }
    try host.expectWhole()
  }

  /// Protects: what was answered ends with what the log says, also where all that was read of the
  /// log was cleared in between.
  @Test(arguments: [true, false]) func aClearedLogEndsWhatWasAnswered(_ isAll: Bool) throws {
    let host = try host(2)
    for _ in 0..<30 { host.post() }
    try host.client.connected()
    for _ in 0..<14 { try host.sync(.older, want: 2) }
    host.alter = { request, answer in request.contains("get_entries") ? nil : answer }
    _ = try host.client.perform(
      Array(
        #"{"type":"react_message","conversation_id":"room","message_id":"m30","reaction":"a"}"#
          .utf8))
    try host.run()
    #expect(try host.client.state().operationsOpen == 1)
    host.alter = { $1 }
    if isAll {
      try host.client.clear()
    } else {
      try host.client.drop(conversation: Array("room".utf8), id: [])
    }
    try host.reconnect()
    #expect(try host.sync().trouble == nil)
    #expect(try host.client.state().operationsOpen == 0)
    #expect(try host.shown().last?.contains("me") == true)
  }
}
