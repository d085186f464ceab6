/// Rows on a screen that were not read on this connection, of a part of the log that stands apart.
import Base
import Engine
import Foundation
import LogSupport
import Testing
import Timeline

@Suite struct LogRefreshTests {
  /// A server that shows edits in place: nothing of the range tells of them.
  private func host(
    _ count: Int = 120, _ change: (inout LogServerKind) -> Void = { $0.marksInPlace = true }
  ) throws -> LogHost {
    var kind = LogServerKind()
    kind.hasStream = true
    kind.refusesUnknown = true
    change(&kind)
    let host = try LogHost(kind, pageLimit: 10)
    for _ in 0..<count { host.post() }
    try host.client.connected()
    #expect(try host.sync(.live).trouble == nil)
    return host
  }

  private func settle(_ window: Window, _ host: LogHost) throws {
    for _ in 0..<100 {
      try host.run()
      let count = host.requests.count
      let diff = try window.poll()
      try window.show(first: 0, count: try window.state().rowCount)
      try host.run()
      if diff == nil, host.requests.count == count { return }
    }
    Issue.record("the window does not come to rest: \(try window.state())")
  }

  private func open(_ host: LogHost, _ id: String, count: Int = 8) throws -> Window {
    var config = WindowConfig(
      conversation: Array("room".utf8), at: .message(Array(id.utf8)), count: count, rowsMax: 500)
    config.holdMs = 0
    let window = try host.client.openWindow(config)
    try settle(window, host)
    return window
  }

  private func says(_ window: Window) throws -> [String: String] {
    guard let page = try window.rows(first: 0, count: 1_000) else { return [:] }
    var all: [String: String] = [:]
    for row in page.rows {
      let isDeleted = row.flags & (1 << 3) != 0
      all[String(decoding: page[row.id], as: UTF8.self)] =
        (isDeleted ? "-" : String(decoding: page[row.payload], as: UTF8.self))
        + (row.flags & (1 << 9) != 0 ? " stale" : "")
    }
    return all
  }

  private func asked(_ host: LogHost, _ word: String) -> Int {
    host.requests.count { $0.contains("\"\(word)\"") }
  }

  /// Protects: rows of a range that was not read on this connection are read again while they are
  /// shown, and those alone.
  @Test func rowsOfAnIslandAreReadAgain() throws {
    let host = try host()
    let window = try open(host, "m40")
    let before = try says(window)
    #expect(before["m41"] == "\"text 41\"" && !before.values.contains { $0.hasSuffix("stale") })
    host.change(.edit, of: "m41", says: "new")
    for _ in 0..<5 { host.post() }
    try host.client.disconnected()
    #expect(try says(window).values.allSatisfy { $0.hasSuffix("stale") })
    host.reset()
    try host.client.connected()
    try settle(window, host)
    let after = try says(window)
    #expect(after["m41"] == "\"new\"" && after.count >= before.count)
    #expect(!after.values.contains { $0.hasSuffix("stale") })
    // What came since, and one page of what is shown.
    #expect(asked(host, "around_id") == 1 && host.requests.count <= 2, "\(host.requests)")
    // It still stands apart.
    #expect(!(try host.page().coverage.whole))
    // Once is enough, whatever is pushed elsewhere.
    host.reset()
    for _ in 0..<5 {
      host.post(pushes: true)
      try settle(window, host)
    }
    #expect(asked(host, "around_id") == 0, "\(host.requests)")
  }

  /// Protects: a screen that is longer than a page is read page by page, each once.
  @Test func aLongScreenIsReadPageByPage() throws {
    let host = try host(200)
    let window = try open(host, "m60", count: 45)
    let before = try says(window)
    #expect(before.count >= 40)
    for id in before.keys { host.change(.edit, of: id, says: "new \(id)") }
    host.reset()
    try host.reconnect()
    try settle(window, host)
    let after = try says(window)
    for id in before.keys { #expect(after[id] == "\"new \(id)\"") }
    #expect(asked(host, "around_id") <= before.count / 5 + 1, "\(host.requests)")
  }

  /// Protects: what has left the log goes from the screen, and the rest is read all the same.
  @Test func whatLeftTheLogGoes() throws {
    let host = try host { $0.leaves = true }
    let window = try open(host, "m40")
    let ids = try says(window).keys.sorted { Int($0.dropFirst()) ?? 0 < Int($1.dropFirst()) ?? 0 }
    guard let top = ids.last else { throw LogHost.Endless() }
    host.change(.delete, of: "m40")
    host.change(.delete, of: top)
    host.reset()
    try host.reconnect()
    try settle(window, host)
    let after = try says(window)
    #expect(after["m40"] == nil && after[top] == nil && after.count >= ids.count - 2)
    #expect(!after.values.contains { $0.hasSuffix("stale") }, "\(after)")
    #expect(host.requests.count <= 8, "\(host.requests)")
  }

  /// Protects: where the server has purged what is shown, no deleted message is shown again
  /// meanwhile: rows are asked for, and not what changed them.
  @Test func aDeletedMessageDoesNotComeBack() throws {
    let host = try host(60) { _ in }
    for number in 30...41 { host.change(.delete, of: "m\(number)") }
    for _ in 0..<60 { host.post() }
    let window = try open(host, "m50", count: 45)
    let before = try says(window)
    let deleted = (30...41).filter { before["m\($0)"] == "-" }
    #expect(deleted.count > 5)
    host.server.purge(115)
    try host.client.disconnected()
    host.reset()
    var back: Set<String> = []
    host.alter = { _, answer in
      for number in deleted {
        let row = "m\(number) \"text \(number)\""
        if ((try? host.shown()) ?? [row]).contains(row) { back.insert(row) }
      }
      return answer
    }
    try host.client.connected()
    try settle(window, host)
    #expect(back.isEmpty, "\(back)")
    #expect(!host.requests.isEmpty)
  }

  /// Protects: a server that finds no message leaves the rows as stale as they were, and nobody
  /// asks again and again.
  @Test func aServerThatFindsNothing() throws {
    let host = try host()
    let window = try open(host, "m40")
    host.findsNothing()
    host.reset()
    try host.reconnect()
    try settle(window, host)
    for _ in 0..<5 { try settle(window, host) }
    #expect(asked(host, "around_id") == 1, "\(host.requests)")
    #expect(try window.state().trouble == nil)
    #expect(try says(window).values.allSatisfy { $0.hasSuffix("stale") })
  }
}
