/// What cannot be done with a log, or cannot be read of one: each says so, and nothing loops.
import Base
import Engine
import Foundation
import LogSupport
import Testing
import Timeline

@Suite struct LogRefusalTests {
  private func host(_ pageLimit: Int = 10) throws -> LogHost {
    var kind = LogServerKind()
    kind.hasStream = true
    kind.refusesUnknown = true
    return try LogHost(kind, pageLimit: pageLimit)
  }

  /// Protects: a conversation of a log may go from the cache, or all of it, and comes anew.
  @Test func whatIsDroppedComesAnew() throws {
    let host = try host()
    host.post()
    try host.client.connected()
    try host.sync()
    try host.client.drop(conversation: Array("room".utf8), id: [])
    #expect(try host.shown().isEmpty)
    try host.sync()
    try host.expectWhole()
    try host.client.clear()
    try host.run()
    try host.sync()
    try host.expectWhole()
  }

  /// Protects: where the one entry of the first page leaves the log, and its token is refused, what
  /// was pushed behind it stays: the range is kept by its other entries.
  @Test func aFirstEntryThatLeavesTakesNothingAlong() throws {
    var kind = LogServerKind()
    (kind.hasStream, kind.refusesUnknown, kind.leaves) = (true, true, true)
    let host = try LogHost(kind, pageLimit: 50)
    var ids = [host.post()]
    try host.client.connected()
    try host.sync()
    for _ in 0..<300 {
      ids.append(host.post())
      try host.hand(ids[ids.count - 1], behind: ids[ids.count - 2])
    }
    try host.client.disconnected()
    host.change(.delete, of: "m1")
    host.server.expire()
    var least = try host.shown().count
    host.alter = { _, answer in
      least = min(least, (try? host.shown().count) ?? 0)
      return answer
    }
    try host.client.connected()
    try host.sync()
    least = min(least, try host.shown().count)
    #expect(least == 300)
    try host.expectWhole()
  }

  /// Protects: an entry that cannot be read keeps its place, and hides nothing but itself.
  @Test func unreadableEntriesKeepTheirPlaces() throws {
    let host = try host()
    for _ in 0..<8 { host.post() }
    host.alter = { _, answer in
      answer.replacingOccurrences(
        of: #""sender_id":"you","payload":"text 4""#, with: #""sender_id":7,"payload":"text 4""#)
    }
    try host.client.connected()
    #expect(try host.sync().trouble == nil)
    var truth = host.truth()
    truth.remove(at: 3)
    #expect(try host.shown() == truth)
    let gaps = try host.page().coverage.gaps
    #expect(gaps.count == 1 && gaps[0].poisoned && gaps[0].beforeRow == 3, "\(gaps)")
    #expect(try host.client.stats().quarantined == 1)
    // A later copy that can be read takes the place.
    host.alter = { $1 }
    #expect(try host.sync(.at(Array("m4".utf8))).trouble == nil)
    try host.expectWhole()
  }

  /// Protects: between the entries on the two sides of a hole nothing is claimed, and a sync ends.
  @Test func holesAreGaps() throws {
    let host = try host()
    for _ in 0..<8 { host.post() }
    host.alter = { _, answer in
      answer.replacingOccurrences(of: #""message_id":"m4""#, with: #""message_id":4"#)
    }
    try host.client.connected()
    for _ in 0..<3 { try host.sync() }
    for _ in 0..<3 { try host.sync(.older, want: 5) }
    #expect(host.requests.count < 20, "\(host.requests)")
    var truth = host.truth()
    truth.remove(at: 3)
    #expect(try host.shown() == truth)
    let gaps = try host.page().coverage.gaps
    #expect(gaps.count == 1 && gaps[0].beforeRow == 3, "\(gaps)")
    host.alter = { $1 }
    try host.reconnect()
    try host.sync(.older, want: 5)
    try host.expectWhole()
  }

  private func spoil(_ id: String, _ host: LogHost) {
    host.alter = { _, answer in
      answer.replacingOccurrences(of: "\"message_id\":\"\(id)\"", with: "\"message_id\":4")
    }
  }

  /// Protects: with a hole in the newest page a sync of each connection ends well, where the server
  /// knows its tokens for one connection only.
  @Test func aHoleInTheNewestPage() throws {
    let host = try LogHost(pageLimit: 10)
    for _ in 0..<30 { host.post() }
    spoil("m24", host)
    try host.client.connected()
    for _ in 0..<3 {
      #expect(try host.sync(.live).trouble == nil)
      try host.reconnect()
    }
    #expect(try host.sync(.live).trouble == nil)
    #expect(try host.shown().last == "m30 \"text 30\"")
  }

  /// Protects: a catch-up goes past a hole in the page that it begins with, also in pages of later
  /// connections, and leaves a gap there.
  @Test func aHoleInACatchUp() throws {
    let host = try host(20)
    for _ in 0..<60 { host.post() }
    try host.client.connected()
    try host.readAll()
    try host.client.disconnected()
    for _ in 0..<120 { host.post() }
    spoil("m71", host)
    try host.client.connected()
    for _ in 0..<2 {
      try host.sync()
      try host.sync()
      try host.reconnect()
    }
    var truth = host.truth()
    truth.remove(at: 70)
    #expect(try host.shown() == truth)
    let gaps = try host.page().coverage.gaps
    #expect(gaps.count == 1 && gaps[0].beforeRow == 70, "\(gaps)")
    #expect(host.requests.count < 60, "\(host.requests.count)")
    host.alter = { $1 }
    try host.reconnect()
    try host.sync(.older, want: 5)
    try host.sync()
    try host.expectWhole()
  }

  /// Protects: an entry without a usable id right below the end costs some requests, not all that a
  /// walk may make.
  @Test func aHoleBelowTheEnd() throws {
    let host = try host(20)
    for _ in 0..<60 { host.post() }
    try host.client.connected()
    try host.readAll()
    try host.client.disconnected()
    for _ in 0..<40 { host.post() }
    spoil("m99", host)
    host.reset()
    try host.client.connected()
    try host.sync()
    #expect(host.requests.count < 12, "\(host.requests.count)")
    var truth = host.truth()
    truth.remove(at: 98)
    #expect(try host.shown() == truth)
    host.alter = { $1 }
    try host.reconnect()
    try host.readAll()
    try host.expectWhole()
  }

  /// Protects: who asks for older messages gets past an entry without a usable id, wherever on its
  /// page that stands, and after a reconnect as well.
  @Test(arguments: [71, 75, 80], [true, false])
  func olderGoesPastAHole(_ number: Int, refusesUnknown: Bool) throws {
    var kind = LogServerKind()
    kind.hasStream = true
    kind.refusesUnknown = refusesUnknown
    let host = try LogHost(kind, pageLimit: 10)
    for _ in 0..<100 { host.post() }
    host.alter = { _, answer in
      answer.replacing(/"message_id":"m(\d+)"/) { match in
        ["33", "\(number)"].contains(match.1) ? #""message_id":4"# : String(match.0)
      }
    }
    try host.client.connected()
    #expect(try host.sync(.live).trouble == nil)
    var truth = host.truth()
    truth.remove(at: number - 1)
    truth.remove(at: 32)
    for round in 0..<14 {
      if round % 4 == 3 { try host.reconnect() }
      #expect(try host.sync(.older, want: 10).trouble == nil)
    }
    #expect(try host.shown() == truth)
    let gaps = try host.page().coverage.gaps
    #expect(gaps.map(\.beforeRow) == [32, number - 2], "\(gaps)")
    #expect(host.requests.count < 60, "\(host.requests.count)")
    host.reset()
    #expect(try host.sync(.older, want: 10).trouble == nil)
    #expect(host.requests.count <= 3, "\(host.requests)")
  }

  /// Protects: an entry in doubt that no page shows does not keep the others from being read again.
  @Test func anEntryInDoubtThatIsNotShown() throws {
    var kind = LogServerKind()
    (kind.hasStream, kind.refusesUnknown, kind.marksInPlace) = (true, true, true)
    let host = try LogHost(kind, pageLimit: 2)
    for _ in 0..<30 { host.post() }
    host.server.backUp()
    for number in [3, 9, 14] { host.change(.delete, of: "m\(number)") }
    try host.client.connected()
    try host.readAll()
    try host.expectWhole()
    host.server.restore()
    host.revise = { $0.replacingOccurrences(of: "\"m3\"", with: "\"m20\"") }
    try host.reconnect()
    #expect(try host.sync().trouble == .incomplete)
    var truth = host.truth()
    truth[2] = "m3 -"
    #expect(try host.shown() == truth)
    host.revise = { $0 }
    #expect(try host.sync().trouble == nil)
    try host.expectWhole()
  }

  /// Protects: the part of a page that was not asked for may bring another epoch first: the other
  /// part is not joined to the history from before.
  @Test func aHoleBesideAnotherEpoch() throws {
    var kind = LogServerKind()
    kind.hasStream = true
    kind.namesEpoch = true
    let host = try LogHost(kind, pageLimit: 4)
    for _ in 0..<20 { host.post() }
    host.server.backUp()
    host.post()
    try host.client.connected()
    try host.readAll()
    try host.expectWhole()
    host.server.restore()
    // The stream gives the number of m21 again.
    for _ in 0..<5 { host.post() }
    spoil("m24", host)
    var left = 1
    let spoiled = host.alter
    host.alter = { request, answer in
      left -= 1
      return left < 0 ? nil : spoiled(request, answer)
    }
    try host.reconnect()
    try host.sync()
    let shown = try host.shown().map { String($0.prefix { $0 != " " }) }
    let next = try #require(shown.firstIndex(of: "m23"))
    #expect(try host.page().coverage.gaps.contains { $0.beforeRow == next }, "\(shown)")
    host.alter = { $1 }
    try host.reconnect()
    try host.readAll()
    try host.expectWhole()
  }

  /// Protects: tokens that lead nowhere end a sync with a gap, not in a loop.
  @Test func tokensThatLeadNowhere() throws {
    let host = try host()
    for _ in 0..<40 { host.post() }
    try host.client.connected()
    try host.sync()
    // Each older page is empty, and names the same place.
    host.alter = { request, answer in
      guard request.contains("\"before\"") else { return answer }
      let id = request.range(of: #""request_id":"[^"]*""#, options: .regularExpression)
      return """
        {"type":"get_entries",\(id.map { String(request[$0]) } ?? ""),"status":"ok",\
        "data":{"entries":[],"before":"same","after":"same"}}
        """
    }
    host.reset()
    let status = try host.sync(.older, want: 5)
    #expect(status.trouble == .incomplete)
    #expect(host.requests.count <= 70)
    host.alter = { $1 }
    for _ in 0..<5 { try host.sync(.older, want: 10) }
    try host.expectWhole()
  }

  /// Protects: a server that refuses everything ends a sync, and what is shown stays.
  @Test(arguments: ["unsupported", "forbidden", "unknown_cursor", "not_found", "other"])
  func refusalsEnd(_ code: String) throws {
    let host = try host(5)
    for _ in 0..<12 { host.post() }
    try host.client.connected()
    try host.sync()
    let shown = try host.shown()
    host.alter = { _, answer in
      let id = answer.range(of: #""request_id":"[^"]*""#, options: .regularExpression)
      return """
        {"type":"get_entries",\(id.map { String(answer[$0]) } ?? ""),"status":"error",\
        "error":{"code":"\(code)"}}
        """
    }
    host.reset()
    for kind in [SyncRequest.Kind.latest, .older, .live, .at(Array("m1".utf8))] {
      let status = try host.sync(kind, want: 5)
      #expect(status.phase == .ended && status.trouble != nil, "\(kind): \(status)")
    }
    #expect(host.requests.count < 200)
    host.alter = { $1 }
    for _ in 0..<4 { try host.sync() }
    for _ in 0..<4 { try host.sync(.older, want: 5) }
    try host.expectWhole()
    #expect(try host.shown().suffix(shown.count) == shown[...])
  }
}
