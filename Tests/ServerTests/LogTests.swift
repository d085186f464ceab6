/// A conversation as a log: pages by tokens, changes as entries, and what a log may do to a client.

import Foundation
import Testing

@testable import ReferenceServer

@Suite struct LogTests {
  private func logging(_ set: @escaping (inout ServerKnobs) -> Void = { _ in }) -> ReferenceServer {
    server { knobs in
      knobs.keepsLog = true
      set(&knobs)
    }
  }

  private func ids(_ answer: Answer) -> [String] { ids(answer.data["entries"]) }

  private func ids(_ entries: Any?) -> [String] {
    (entries as? [[String: Any]] ?? []).compactMap {
      $0["entry_id"] as? String ?? $0["message_id"] as? String
    }
  }

  private func entries(_ answer: Answer) -> [[String: Any]] {
    answer.data["entries"] as? [[String: Any]] ?? []
  }

  private func pushes(_ server: ReferenceServer, _ token: Int) -> [[String: Any]] {
    server.drain(token).map { Answer($0).object }
  }

  @Test func pagesGoDownByTokensToTheStart() throws {
    let server = logging()
    server.fill(120)
    var page = server.ask("get_entries", ["limit": 50])
    #expect(ids(page) == names(70..<120))
    #expect(page.data["present"] as? Bool == true)
    var seen = ids(page)
    while seen.count < 200, let token = page.data["before"] as? String {
      page = server.ask("get_entries", ["limit": 50, "before": token])
      #expect(page.data["present"] == nil)
      seen = ids(page) + seen
    }
    #expect(seen == names(0..<120))
  }

  @Test func theTokenBehindAPageBringsWhatCameSince() throws {
    let server = logging()
    server.fill(10)
    let page = server.ask("get_entries", ["limit": 50])
    #expect(page.data["before"] == nil)
    let token = try #require(page.data["after"] as? String)
    #expect(ids(server.ask("get_entries", ["limit": 5, "after": token])) == [])
    let new = (0..<7).map { server.post(conversation: "c", sender: "jan", payload: "\($0)") }
    let first = server.ask("get_entries", ["limit": 5, "after": token])
    #expect(ids(first) == Array(new.prefix(5)))
    #expect(first.data["present"] == nil)
    let next = try #require(first.data["after"] as? String)
    let rest = server.ask("get_entries", ["limit": 5, "after": next])
    #expect(ids(rest) == Array(new.suffix(2)))
    #expect(rest.data["present"] as? Bool == true)
    #expect(ids(server.ask("get_entries", ["limit": Int.max, "after": token])) == new)
  }

  /// Order is that of arrival, whatever the stamps say.
  @Test func stampsThatGoBackOrderNothing() {
    let server = logging()
    server.fill(5)
    let early = server.post(
      conversation: "c", sender: "jan", payload: "1", stampUs: start - hour)
    let waiting = server.post(
      conversation: "c", sender: "jan", payload: "2", lateUs: 1_000_000)
    server.stepBack(us: hour)
    let late = server.post(conversation: "c", sender: "jan", payload: "3")
    #expect(ids(server.ask("get_entries")) == names(0..<5) + [early, late])
    server.nowUs += 1_000_000
    #expect(ids(server.ask("get_entries")) == names(0..<5) + [early, late, waiting])
  }

  @Test func changesAreEntriesAndMessagesStayAsTheyWere() throws {
    let server = logging()
    server.fill(3)
    server.edit(conversation: "c", id: "1001", payload: "\"new\"")
    server.react(conversation: "c", id: "1001", user: "eva", reaction: "+")
    server.react(conversation: "c", id: "1001", user: "eva", reaction: "+", isSet: false)
    server.pin(conversation: "c", id: "1000")
    server.markRead(conversation: "c", ids: ["1002"], user: "eva")
    server.delete(conversation: "c", ids: ["1000"])
    let page = entries(server.ask("get_entries"))
    #expect(page[1]["payload"] as? String == "1")
    let changes = page.suffix(6)
    #expect(
      changes.map { $0["change"] as? String } == [
        "edit", "reactions", "reactions", "pin", "read", "delete",
      ])
    #expect(
      changes.compactMap { $0["target_id"] as? String } == [
        "1001", "1001", "1001", "1000", "1002", "1000",
      ])
    #expect(
      changes.compactMap { $0["sender_id"] as? String } == [
        "jan", "eva", "eva", "jan", "eva", "jan",
      ])
    #expect(changes.first?["payload"] as? String == "new")
    #expect(changes.compactMap { $0["reactions"] as? [String] } == [["+"], []])
    #expect(Set(page.compactMap { $0["entry_id"] as? String }).count == 6)
  }

  /// An id that was deleted is still that of its entry.
  @Test func anIdStandsInALogOnce() {
    let server = logging()
    server.fill(3)
    server.delete(conversation: "c", ids: ["1001"])
    let before = server.entryIDs("c")
    server.post(conversation: "c", sender: "jan", payload: "1", id: "1001")
    #expect(before.count == 4)
    #expect(server.entryIDs("c") == before)
  }

  @Test func pushesNameWhatIsBeforeThem() throws {
    let server = logging()
    server.fill(2)
    let page = server.ask("get_entries")
    let token = server.subscribe(user: "eva")
    let id = server.post(conversation: "c", sender: "jan", payload: "1")
    server.edit(conversation: "c", id: id, payload: "2")
    let told = pushes(server, token)
    #expect(told.map { $0["type"] as? String } == ["entries_new", "entries_new"])
    #expect(ids(told[0]["entries"]) == [id])
    #expect(told[0]["prev"] as? String == "1001")
    #expect(told[0]["before"] as? String == page.data["after"] as? String)
    #expect(told[1]["prev"] as? String == id)
    let after = try #require(told[1]["after"] as? String)
    #expect(server.ask("get_entries", ["after": after]).data["present"] as? Bool == true)
    let silent = logging { $0.sendsPreviousEntries = false }
    let other = silent.subscribe(user: "eva")
    silent.fill(1)
    #expect(pushes(silent, other).allSatisfy { $0["prev"] == nil && $0["before"] == nil })
  }

  @Test func whatIsTypedIsNoEntry() {
    let server = logging()
    server.fill(1)
    let token = server.subscribe(user: "eva")
    server.typing(conversation: "c", user: "jan")
    #expect(pushes(server, token).map { $0["type"] as? String } == ["typing"])
    #expect(server.entryIDs("c") == ["1000"])
  }

  @Test func tokensExpireAndAnIdLeadsBack() throws {
    let server = logging { $0.tokenLifeUs = hour }
    server.fill(30)
    let old = try #require(server.ask("get_entries", ["limit": 5]).data["before"] as? String)
    #expect(server.ask("get_entries", ["before": old]).code == "")
    server.nowUs += hour + 1
    #expect(server.ask("get_entries", ["before": old]).code == "unknown_cursor")
    let young = try #require(server.ask("get_entries", ["limit": 5]).data["before"] as? String)
    server.expireTokens()
    #expect(server.ask("get_entries", ["before": young]).code == "unknown_cursor")
    let now = server.nowUs
    let bads = [
      "", "s", "s1.1.1", "t1.1.1.\(now)", "s999.1.1.\(now)", "s-1.1.1.\(now)", "s01.1.1.\(now)",
      "s1.x.1.1.\(now)", "s1.1.1.\(Int64.min)", "s1.1.1.\(now).",
      "s99999999999999999999.1.1.\(now)",
    ]
    for bad in bads {
      #expect(server.ask("get_entries", ["before": bad]).code == "unknown_cursor")
    }
    #expect(server.ask("get_entries", ["before": "s1.1.1.\(now)"]).code == "")
    let around = server.ask("get_entries", ["limit": 5, "around_id": "1010"])
    #expect(ids(around) == names(8..<13))
    #expect(server.ask("get_entries", ["around_id": "nobody"]).code == "not_found")
    #expect(server.ask("get_entries", ["around_id": "1010", "after": young]).code == "invalid")
  }

  @Test func aLongAbsenceIsAGap() throws {
    let server = logging { $0.logGapMin = 20 }
    server.fill(5)
    let token = try #require(server.ask("get_entries").data["after"] as? String)
    for number in 0..<20 {
      server.post(conversation: "c", sender: "jan", payload: "\(number)", id: "n\(number)")
    }
    #expect(server.ask("get_entries", ["limit": 10, "after": token]).data["gap"] == nil)
    server.post(conversation: "c", sender: "jan", payload: "20", id: "n20")
    let page = server.ask("get_entries", ["limit": 10, "after": token])
    #expect(page.data["gap"] as? Bool == true)
    #expect(page.data["present"] as? Bool == true)
    #expect(ids(page) == (11...20).map { "n\($0)" })
    let whole = server.ask("get_entries", ["limit": 50, "after": token])
    #expect(whole.data["gap"] == nil)
    #expect(ids(whole) == (0...20).map { "n\($0)" })
  }

  @Test func aPurgeMovesTheStartAndARestoreVoidsTokens() throws {
    let server = logging()
    server.fill(40)
    let backup = server.backup()
    let low = try #require(server.ask("get_entries", ["limit": 35]).data["before"] as? String)
    server.purgeLog(conversation: "c", count: 20)
    let page = server.ask("get_entries", ["limit": 50])
    #expect(ids(page) == names(20..<40))
    #expect(page.data["before"] == nil)
    #expect(server.message("c", "1019") == nil && server.message("c", "1020") != nil)
    #expect(server.ask("get_entries", ["before": low]).code == "unknown_cursor")
    let token = try #require(page.data["after"] as? String)
    server.restore(backup)
    #expect(server.ask("get_entries", ["after": token]).code == "unknown_cursor")
    let again = server.ask("get_entries", ["limit": 50])
    #expect(ids(again) == names(0..<40))
    #expect(again.data["epoch"] as? String == "2")
  }

  @Test func aLogIsReadByEntriesAlone() {
    let server = logging()
    server.fill(1)
    for verb in ["get_messages", "get_deleted_since", "get_changed_since"] {
      #expect(server.ask(verb).code == "unsupported")
    }
    let plain = ReferenceServer(seed: 7)
    plain.fill(1)
    #expect(plain.ask("get_entries").code == "unsupported")
  }

  @Test func whatIsKeptComesBackInItsOrder() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "tideline-log-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("server.db").path
    let before: [String]
    do {
      let server = logging()
      let file = try ServerFile(path: path, server: server)
      server.fill(30)
      server.post(conversation: "c", sender: "jan", payload: "1", id: "back", stampUs: start)
      server.edit(conversation: "c", id: "1020", payload: "2")
      server.delete(conversation: "c", ids: ["1021"])
      server.purgeLog(conversation: "c", count: 10)
      before = server.entryIDs("c")
      try file.save()
    }
    #expect(before.count == 23)
    do {
      let server = logging()
      let file = try ServerFile(path: path, server: server)
      #expect(server.entryIDs("c") == before)
      let backup = server.backup()
      server.post(conversation: "c", sender: "jan", payload: "3", id: "lost")
      server.restore(backup)
      server.post(conversation: "c", sender: "jan", payload: "4", id: "kept")
      try file.save()
    }
    do {
      let server = logging()
      let file = try ServerFile(path: path, server: server)
      #expect(server.entryIDs("c") == before + ["kept"])
      #expect(server.message("c", "1009") == nil && server.message("c", "1010") != nil)
      withExtendedLifetime(file) {}
    }
    #expect(throws: ServerFileFailure.self) {
      _ = try ServerFile(path: path, server: ReferenceServer(seed: 7))
    }
    let other = folder.appendingPathComponent("other.db").path
    do {
      let server = ReferenceServer(seed: 7)
      let file = try ServerFile(path: other, server: server)
      server.fill(1)
      try file.save()
    }
    #expect(throws: ServerFileFailure.self) {
      _ = try ServerFile(path: other, server: logging())
    }
  }
}
