/// Windows over a log: they scroll through it, follow it, and keep their rows where entries move.
import Base
import Engine
import Foundation
import LogSupport
import Testing
import Timeline

@Suite struct LogWindowTests {
  private func kind(_ change: (inout LogServerKind) -> Void = { _ in }) -> LogServerKind {
    var kind = LogServerKind()
    kind.hasStream = true
    kind.refusesUnknown = true
    change(&kind)
    return kind
  }

  private func open(_ host: LogHost, _ at: At = .latest, count: Int = 20) throws -> Window {
    var config = WindowConfig(conversation: Array("room".utf8), at: at, count: count, rowsMax: 500)
    config.holdMs = 0
    let window = try host.client.openWindow(config)
    try host.settle(window)
    return window
  }

  /// Ids, with `|` for a split.
  private func picture(_ window: Window) throws -> [String] {
    guard let page = try window.rows(first: 0, count: 10_000) else { return [] }
    return page.rows.map { row in
      (row.flags & (1 << 8) != 0 ? "|" : "") + String(decoding: page[row.id], as: UTF8.self)
    }
  }

  private func ids(_ host: LogHost) -> [String] {
    host.truth().map { String($0.prefix { $0 != " " }) }
  }

  /// Protects: a screen scrolls to the start of a log that is longer than what it shows.
  @Test func aWindowScrollsToTheStart() throws {
    let host = try LogHost(kind(), pageLimit: 10)
    for index in 0..<95 { host.post(at: Int64(index % 7)) }
    try host.client.connected()
    let window = try open(host)
    #expect(try picture(window) == Array(ids(host).suffix(20)))
    for _ in 0..<8 {
      guard try window.load(Load(.before(0), count: 15)) else { break }
      try host.settle(window)
    }
    #expect(try picture(window) == ids(host))
    #expect(try window.state().isAtStart && window.state().isAtEnd)
  }

  /// Protects: a screen follows what is pushed, and what a push has put above all others takes its
  /// place when a catch-up says it.
  @Test(arguments: [true, false]) func aWindowFollows(_ namesPrevious: Bool) throws {
    let host = try LogHost(kind { $0.namesPrevious = namesPrevious }, pageLimit: 10)
    for _ in 0..<12 { host.post() }
    try host.client.connected()
    let window = try open(host)
    for index in 0..<9 {
      // Some are lost on their way.
      host.post(pushes: index % 3 != 1)
      if index % 4 == 0 { host.change(.edit, of: "m5", says: "edit \(index)", pushes: true) }
      try host.settle(window)
    }
    try host.reconnect()
    try host.settle(window)
    #expect(try picture(window) == ids(host))
    try host.expectWhole()
  }

  /// Protects: a window at a message that is not stored shows it among its neighbours, with splits
  /// to what is known, and closes them when it is scrolled.
  @Test func aWindowAtAMessage() throws {
    let host = try LogHost(kind(), pageLimit: 10)
    for _ in 0..<90 { host.post() }
    try host.client.connected()
    #expect(try host.sync(.live).trouble == nil)
    let window = try open(host, .message(Array("m40".utf8)), count: 8)
    let shown = try picture(window)
    #expect(shown.contains { $0.hasSuffix("m40") } && shown.count >= 8)
    #expect(!shown.dropFirst().contains { $0.hasPrefix("|") })
    for _ in 0..<12 {
      _ = try window.load(Load(.after(0), count: 20))
      try host.settle(window)
    }
    let last = try picture(window)
    #expect(last.last == "m90" && !last.dropFirst().contains { $0.hasPrefix("|") })
    for _ in 0..<12 {
      _ = try window.load(Load(.before(0), count: 20))
      try host.settle(window)
    }
    #expect(try picture(window) == ids(host))
    try host.expectWhole()
  }

  /// Protects: what a screen had loaded of places that its rows have left is not loaded any more.
  /// Rows of another range that come to stand there are not shown.
  @Test func placesThatRowsLeftAreNotLoaded() throws {
    let host = try LogHost(kind(), pageLimit: 10)
    for index in 1...30 { host.post(at: Int64(1_000 + index)) }
    // Back-dated, and above what they change.
    for index in 31...45 { host.post(at: Int64(index)) }
    host.change(.edit, of: "m15", says: "new")
    for index in 47...60 { host.post(at: Int64(index)) }
    for index in 61...90 { host.post(at: Int64(5_000 + index)) }
    for index in 91...130 { host.post(at: Int64(9_000 + index)) }
    try host.client.connected()
    #expect(try host.sync(.live).trouble == nil)
    let window = try open(host, .message(Array("m15".utf8)), count: 6)
    let shown = try picture(window)
    #expect(shown.contains("m15"))
    // A range of which a change stands above m15, so that this one goes below it.
    try host.sync(.at(Array("m44".utf8)))
    try host.settle(window)
    #expect(try picture(window) == shown)
    // It stands by time where the window's rows stood.
    try host.sync(.at(Array("m75".utf8)))
    try host.settle(window)
    #expect(try picture(window) == shown)
    let order = try host.shown().map { String($0.prefix { $0 != " " }) }
    #expect(order.firstIndex(of: "m15") ?? 0 < order.firstIndex(of: "m75") ?? 0)
    // It scrolls on from where it is.
    for _ in 0..<12 {
      _ = try window.load(Load(.before(0), count: 20))
      try host.settle(window)
    }
    #expect(try picture(window).first == "m1")
  }

  /// Protects: a part of the log that stands above the newest messages, since its times are later,
  /// is not taken for the end: the window says that something is missing behind it, and asks.
  @Test func aPartThatStandsAboveTheNewestIsNotTheEnd() throws {
    let host = try LogHost(kind(), pageLimit: 10)
    for index in 1...90 { host.post(at: (40...50).contains(index) ? 1_000_000_000 : nil) }
    try host.client.connected()
    #expect(try host.sync(.live).trouble == nil)
    #expect(try host.sync(.at(Array("m45".utf8))).trouble == nil)
    let page = try host.page()
    #expect(String(decoding: page[page.rows[page.rows.count - 1].id], as: UTF8.self) != "m90")
    #expect(page.coverage.gaps.last?.beforeRow == page.rows.count && page.coverage.stop == .gap)
    let config = WindowConfig(
      conversation: Array("room".utf8), at: .latest, count: 8, rowsMax: 500)
    let window = try host.client.openWindow(config)
    var looks = 0
    for _ in 0..<200 {
      let count = host.requests.count
      let diff = try window.poll()
      let state = try window.state()
      if let last = try picture(window).last {
        looks += 1
        #expect(last == "m90" || !state.isAtEnd || state.hasGapAfter, "\(last) at look \(looks)")
      }
      try host.run()
      if diff == nil, host.requests.count == count { break }
    }
    #expect(looks > 1)
    for _ in 0..<12 {
      _ = try window.load(Load(.after(0), count: 20))
      try host.settle(window)
    }
    let state = try window.state()
    #expect(try picture(window).last == "m90" && state.isAtEnd && !state.hasGapAfter)
  }

  /// Protects: what comes between two stretches that a window shows is shown, where the push of it
  /// was lost and that of a later message was not.
  @Test(arguments: [1, 5, 30], [(8, 1), (2, 6)])
  func whatCameBetweenIsShown(_ lost: Int, _ counts: (known: Int, pushed: Int)) throws {
    let host = try LogHost(kind(), pageLimit: 10)
    for _ in 0..<counts.known { host.post() }
    try host.client.connected()
    let window = try open(host, count: 60)
    #expect(try picture(window) == ids(host))
    for _ in 0..<lost { host.post() }
    var frames = 0
    host.alter = { _, answer in
      // The window is looked at before each answer.
      frames += 1
      _ = try? window.poll()
      return answer
    }
    for _ in 0..<counts.pushed { host.post(pushes: true) }
    try host.settle(window)
    #expect(frames > 0)
    #expect(try picture(window) == ids(host))
  }

  /// Protects: what the user sent stays on the screen when the log lists it, whatever was pushed
  /// before that.
  @Test(arguments: [true, false], [0, 1, 3]) func ownMessagesStay(
    _ echoes: Bool, others: Int
  ) throws {
    let host = try LogHost(kind(), pageLimit: 10)
    host.echoes = echoes
    for _ in 0..<8 { host.post() }
    try host.client.connected()
    let window = try open(host, count: 60)
    host.alter = { request, answer in
      _ = try? window.poll()
      return answer
    }
    for number in 1...2 {
      let frame =
        #"{"type":"send_message","conversation_id":"room","payload":"own \#(number)"}"#
      _ = try host.client.perform(Array(frame.utf8))
      if number == 1 {
        try host.run()
        host.losePushes()
      }
    }
    for _ in 0..<others { host.post(pushes: true) }
    try host.settle(window)
    try host.sync()
    try host.settle(window)
    #expect(try picture(window) == ids(host))
  }

  /// Protects: a window at the first unread message asks how far the user has read, where nobody
  /// has said it.
  @Test(arguments: [true, false]) func aWindowAtTheFirstUnread(_ isTold: Bool) throws {
    let host = try LogHost(kind(), pageLimit: 10)
    for _ in 0..<90 { host.post() }
    host.readTo = isTold ? "m40" : nil
    try host.client.connected()
    let window = try open(host, .unread, count: 8)
    #expect(host.requests.count { $0.contains("get_conversation") } == 1)
    #expect(try picture(window).contains { $0.hasSuffix("m41") } == isTold)
    #expect(try window.state().isMarkerUnknown == !isTold)
  }

  /// Protects: what is pushed without the entry before it opens a split that the catch-up settles:
  /// it is held back, and none flashes.
  @Test func aSplitThatHealsIsHeldBack() throws {
    let host = try LogHost(kind { $0.namesPrevious = false }, pageLimit: 10)
    for _ in 0..<8 { host.post() }
    try host.client.connected()
    var config = WindowConfig(
      conversation: Array("room".utf8), at: .latest, count: 30, rowsMax: 500)
    config.holdMs = 1_000
    let window = try host.client.openWindow(config)
    try host.settle(window)
    var drawn = 0
    host.alter = { _, answer in
      if (try? window.poll()) != nil, let rows = try? self.picture(window) {
        drawn += rows.count { $0.hasPrefix("|") }
      }
      return answer
    }
    for _ in 0..<3 {
      host.post(pushes: true)
      host.post(pushes: true)
      try host.settle(window)
      // What comes soon after is checked together, a while later.
      host.clock.move(ms: 3_000)
      _ = try host.client.advance()
      try host.settle(window)
    }
    #expect(drawn == 0)
    #expect(try picture(window) == ids(host))
  }

  /// Protects: a split beside rows in doubt is closed by who fills it: they are read again.
  @Test(arguments: [2, 3, 10]) func aSplitBesideRowsInDoubtIsFilled(_ pageLimit: Int) throws {
    let kind = kind { $0.marksInPlace = true }
    let host = try LogHost(kind, pageLimit: pageLimit)
    for _ in 0..<12 { host.post() }
    for number in [2, 6, 10] { host.change(.delete, of: "m\(number)") }
    for number in [3, 8] { host.change(.edit, of: "m\(number)", says: "edited") }
    try host.client.connected()
    try host.sync(.live)
    try host.sync(.older, want: 6)
    try host.client.disconnected()
    host.server.purge(host.server.log.count - 10)
    host.server.expire()
    try host.client.connected()
    #expect(try host.sync().trouble == nil)
    let window = try open(host)
    for _ in 0..<12 {
      guard try window.load(Load(.before(0), count: 20)) else { break }
      try host.settle(window)
    }
    for _ in 0..<12 {
      guard let row = try picture(window).lastIndex(where: { $0.hasPrefix("|") }) else { break }
      host.reset()
      #expect(try window.fill(row: row))
      try host.settle(window)
      #expect(!host.requests.isEmpty)
    }
    #expect(try picture(window) == ids(host))
  }

  /// Protects: a message that does not exist ends with the status that says so.
  @Test func aMessageThatIsNowhere() throws {
    let host = try LogHost(kind(), pageLimit: 10)
    for _ in 0..<5 { host.post() }
    try host.client.connected()
    #expect(try host.sync(.at(Array("nowhere".utf8))).trouble == .noMessage)
  }
}
