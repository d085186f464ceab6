/// Servers that contradict themselves, that seem restored, and that count other than they show.
///
/// Rule protected: no single answer takes a row away, an answer that contradicts itself proves
/// nothing, and a count that nobody can explain is told.
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct ContradictionTests {
  /// A client that knows a conversation of more than two pages from end to end.
  private func known(
    file: ClientConfig.File = .memory, _ change: (inout Profile) -> Void = { _ in }
  ) throws -> World {
    var profile = Profile()
    change(&profile)
    let world = try World(profile: profile, file: file)
    world.post(130)
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    #expect(try world.page().coverage.whole)
    #expect(try world.cached().count == 130)
    // Past the overlap, so that nothing is near the end any more.
    world.advance(ms: 60_000)
    return world
  }

  /// The same answer with other members of its data.
  private func altered(_ answer: String, _ members: [String: Any]) -> String {
    guard
      var frame = try? JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any],
      var data = frame["data"] as? [String: Any], data["messages"] != nil
    else { return answer }
    for (name, value) in members { data[name] = value }
    frame["data"] = data
    guard let bytes = try? JSONSerialization.data(withJSONObject: frame) else { return answer }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Lets time pass until nothing is asked any more.
  private func rest(_ world: World, ms: Int64 = 600_000) throws {
    var left = ms
    while left > 0 {
      world.advance(ms: 5_000)
      left -= 5_000
      _ = try world.client.advance()
      try world.run()
    }
  }

  @Test(
    "An empty page that says there is more proves nothing",
    arguments: [["has_more": true, "total_count": 50], ["has_more": true], ["total_count": 50]]
      as [[String: any Sendable]])
  func anEmptyPageThatSaysThereIsMore(_ members: [String: any Sendable]) throws {
    let world = try known()
    let before = try world.cached()
    world.post(1)
    world.alter = { _, answer in
      self.altered(answer, ["messages": [Any]()].merging(members) { $1 })
    }
    for _ in 0..<4 {
      try world.client.disconnected()
      try world.connect()
      _ = try world.client.sync(SyncRequest(conversation: Array("room".utf8)))
      try world.run()
      try rest(world)
      #expect(try Set(world.cached()).isSuperset(of: before))
    }
    // What is selected by time may be empty whatever the server counts, so two such answers may
    // speak for a restore; but nothing goes by an answer that contradicts itself.
    #expect(try members["has_more"] == nil || world.client.stats().restores == 0)
    world.alter = { $1 }
    try world.client.disconnected()
    try world.connect()
    try world.sync()
    #expect(try world.cached() == world.truth())
    #expect(try world.lies() == [])
  }

  /// A restored server shows the same lack again and again. Rows go at the second answer that
  /// counts: on another connection, or a minute later.
  @Test(arguments: [false, true])
  func aRestoreNeedsTwoAnswers(_ waits: Bool) throws {
    let world = try known()
    let before = try world.cached()
    let gone = Set(before.suffix(20))
    let kept = before.filter { !gone.contains($0) }
    world.alter = { _, answer in self.without(gone, answer) }
    try world.sync()
    try world.sync()
    #expect(try world.cached() == before)
    let flags = try world.page().rows.suffix(20).map { $0.flags & MessageBit.unverified }
    #expect(flags.allSatisfy { $0 != 0 })
    if waits {
      try rest(world, ms: 120_000)
    } else {
      try world.client.disconnected()
      try world.connect()
      try world.run()
      try rest(world, ms: 20_000)
    }
    try world.sync()
    #expect(try world.cached() == kept)
    #expect(try world.client.stats().restores == 1)
  }

  /// The beginning of a history goes, by a retention of the server's, and the app is only ever
  /// open for moments: what one process has doubted the next one looks at.
  @Test func whatAnEarlierProcessDoubtedIsLookedAt() throws {
    let folder = try TrapsRestart.Folder()
    let world = try known(file: folder.file())
    let before = try world.cached()
    let gone = Set(before.prefix(60))
    world.alter = { _, answer in self.without(gone, answer) }
    for _ in 0..<4 {
      try world.sync()
      try world.sync(.older, want: 1_000)
      try world.reopen()
    }
    #expect(try world.cached() == before.filter { !gone.contains($0) })
    #expect(try world.page().coverage.whole)
  }

  /// One odd answer, and the next one shows everything again.
  @Test func oneOddAnswerTakesNothing() throws {
    let world = try known()
    let before = try world.cached()
    let gone = Set(before.suffix(20))
    world.alter = { _, answer in self.without(gone, answer) }
    try world.sync()
    world.alter = { $1 }
    try rest(world, ms: 120_000)
    try world.client.disconnected()
    try world.connect()
    try world.sync()
    #expect(try world.cached() == before)
    #expect(try world.client.stats().restores == 0)
    #expect(try world.page().rows.allSatisfy { $0.flags & MessageBit.unverified == 0 })
    #expect(try world.lies() == [])
  }

  /// The answer of a server that never had some messages.
  private func without(_ gone: Set<String>, _ answer: String) -> String {
    guard
      let frame = try? JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any],
      let data = frame["data"] as? [String: Any],
      let messages = data["messages"] as? [[String: Any]]
    else { return answer }
    let left = messages.filter { !gone.contains($0["message_id"] as? String ?? "") }
    var members: [String: Any] = ["messages": left]
    if let total = data["total_count"] as? Int { members["total_count"] = total - gone.count }
    return altered(answer, members)
  }

  /// Many rows are missing, and between them others are shown: those are in no doubt.
  @Test func whatIsShownBesideManyThatAreMissingIsInNoDoubt() throws {
    let world = try known()
    let before = try world.cached()
    let gone = Set(before.enumerated().filter { !$0.offset.isMultiple(of: 3) }.map(\.element))
    #expect(gone.count > 64)
    world.alter = { _, answer in self.without(gone, answer) }
    try world.sync()
    world.alter = { _, answer in self.altered(answer, ["messages": [Any](), "total_count": 0]) }
    try world.sync()
    #expect(try world.cached() == before)
    world.alter = { $1 }
    try rest(world, ms: 120_000)
    try world.sync(.older, want: 1_000)
    #expect(try world.cached() == world.truth())
    #expect(try world.page().rows.allSatisfy { $0.flags & MessageBit.unverified == 0 })
  }

  /// A cursor that the server does not know says nothing of the rows.
  @Test func anUnknownCursorTakesNothing() throws {
    let world = try known()
    let before = try world.cached()
    world.server.failNext("unknown_cursor", verb: "get_messages")
    world.alter = { _, answer in self.altered(answer, ["messages": [Any](), "total_count": 0]) }
    try world.sync()
    try world.sync()
    #expect(try world.cached() == before)
    world.alter = { $1 }
    try world.lookOnceMore()
    try world.sync(.older, want: 1_000)
    #expect(try world.cached() == world.truth())
    #expect(try world.client.stats().restores == 0)
    #expect(try world.lies() == [])
  }

  /// What one answer lacked stays in doubt when everything that was proven is forgotten: the
  /// present says nothing of it, and the next answer that does counts beside the first.
  @Test func anUnknownCursorLeavesInDoubtWhatOneAnswerLacked() throws {
    let world = try known()
    let before = try world.cached()
    let gone = Set(before[20..<40])
    world.alter = { _, answer in self.without(gone, answer) }
    try world.sync()
    #expect(try world.cached() == before)
    world.post(1)
    world.server.failNext("unknown_cursor", verb: "get_messages")
    try world.sync()
    #expect(try world.cached().count == 131)
    let doubted = try world.page().rows[20..<40].map { $0.flags & MessageBit.unverified }
    #expect(doubted.allSatisfy { $0 != 0 })
    try world.lookOnceMore()
    try world.sync(.older, want: 1_000)
    #expect(try world.cached() == world.truth().filter { !gone.contains($0) })
    #expect(try world.client.stats().restores == 1)
  }

  /// A copy of the server that lags shows what was deleted, and lacks what is new: neither goes
  /// nor comes. One that only shows it is believed on the second connection that does.
  @Test(arguments: [false, true])
  func aDeletedMessageThatIsShownAgainIsNoRestoreByItself(_ lacksNew: Bool) throws {
    let world = try known()
    let all = world.truth()
    let (before, deleted) = (all[124], all[125])
    let atUs = try #require(world.server.message("room", deleted)).stampUs
    let object = Frames.message(deleted, atUs: atUs)
    world.server.delete(conversation: "room", ids: [deleted])
    let new = world.post(2)
    try world.sync()
    #expect(try !world.cached().contains(deleted))
    #expect(try Set(world.cached()).isSuperset(of: new))
    let hidden = lacksNew ? Set(new) : []
    world.alter = { _, answer in
      let left = self.without(hidden, answer)
      guard let at = left.range(of: "\"message_id\":\"\(before)\"") else {
        return self.altered(left, ["total_count": all.count + new.count - hidden.count])
      }
      // Objects are flat, so the next brace ends that of the one before.
      guard let end = left[at.upperBound...].firstIndex(of: "}") else { return left }
      let whole = left[...end] + "," + object + left[left.index(after: end)...]
      return self.altered(
        String(whole), ["total_count": all.count + new.count - hidden.count])
    }
    // On one connection, so that all of it is one answer.
    try world.lookOnceMore()
    world.reset()
    for _ in 0..<3 {
      try world.sync()
      try world.sync(.older, want: 1_000)
    }
    #expect(world.answers.contains { $0.contains(deleted) && $0.contains("created_at") })
    #expect(try Set(world.cached()).isSuperset(of: new))
    #expect(try !world.cached().contains(deleted))
    #expect(try world.client.stats().restores == 0)
    guard !lacksNew else { return }
    try world.lookOnceMore()
    try world.sync()
    #expect(try world.client.stats().restores == 1)
    // Its log of deletions still names the message, so that stays away.
    #expect(try Set(world.cached()).isSuperset(of: new))
    #expect(try !world.cached().contains(deleted))
  }

  /// One message, a count of fifty, and nothing more: an answer that contradicts itself is no
  /// evidence that the others are gone, however often it comes.
  @Test func aPageThatCountsWhatItDoesNotShowTakesNothing() throws {
    let world = try known()
    let before = try world.cached()
    // What is selected by time may be what it shows.
    let gone = Set(before.dropLast(20))
    world.alter = { _, answer in
      self.altered(self.without(gone, answer), ["has_more": false, "total_count": before.count])
    }
    for _ in 0..<3 {
      try world.sync()
      try rest(world, ms: 120_000)
      try world.lookOnceMore()
    }
    #expect(try world.cached() == before)
    world.alter = { $1 }
    try world.lookOnceMore()
    try world.sync(.older, want: 1_000)
    #expect(try world.cached() == world.truth())
  }

  /// A count that a walk the other way does not explain is told until it agrees.
  @Test func aCountThatDiffersIsTold() throws {
    let world = try known()
    world.alter = { _, answer in
      self.altered(answer, ["total_count": world.server.visibleCount("room") + 155])
    }
    world.post(1)
    try world.sync()
    try world.sync(.older, want: 1_000)
    var coverage = try world.page().coverage
    #expect(!coverage.whole)
    #expect(coverage.stop == .count)
    #expect(coverage.gaps.isEmpty)
    world.alter = { $1 }
    world.post(1)
    try world.sync()
    coverage = try world.page().coverage
    #expect(coverage.whole)
    #expect(coverage.stop == .start)
  }

  /// Where the host says that the server counts what it does not show, a count says nothing.
  @Test func aCountOfWhatIsHiddenSaysNothing() throws {
    let world = try known { $0.countsHidden = true }
    world.alter = { _, answer in
      self.altered(answer, ["total_count": world.server.visibleCount("room") + 155])
    }
    world.post(1)
    try world.sync()
    try world.sync(.older, want: 1_000)
    let coverage = try world.page().coverage
    #expect(coverage.whole)
    #expect(coverage.stop == .start)
    #expect(try world.client.stats().auditMismatches == 0)
  }
}
