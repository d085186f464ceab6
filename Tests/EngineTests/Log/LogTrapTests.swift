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
    for index in 0..<300 { host.change(.edit, of: "m1", says: "edit \(index)") }
    try host.client.connected()
    try host.sync()
    for _ in 0..<5 { try host.sync(.older, want: 5) }
    try host.expectWhole()
    #expect(try host.shown() == ["m1 \"edit 299\""])
    #expect(host.requests.count <= 5)
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

  /// Protects: another epoch voids what is claimed, and all is read again.
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
