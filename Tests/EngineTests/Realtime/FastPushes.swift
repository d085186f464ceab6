/// Pushes that come faster than answers: what stands between them is said rightly.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct FastPushes {
  /// Protects: consecutive numbers are neighbours, also where the conversation was never fetched.
  @Test func consecutiveNumbersAreNeighbours() throws {
    let world = try FoundServer.numbered.world()
    try world.connectListening()
    let ids = world.post(10)
    try world.run { _, _ in true }
    try world.disconnect()
    let screen = try world.window(count: 20)
    #expect(try screen.ids() == ids)
    #expect(try screen.splits().count <= 1)
  }

  /// Protects: while messages come at 25 a second each split between them is told as healing.
  @Test(arguments: FoundServer.allCases, [10, 75])
  func whatIsBetweenThemHeals(_ server: FoundServer, _ late: Int) throws {
    let world = try server.world()
    world.post(60)
    let token = world.server.subscribe(user: "me", account: "personal")
    try world.connect()
    let screen = try world.window(count: 20)
    var worst = 0
    for index in 0..<300 {
      world.post(1, everyMs: 40)
      try world.deliver(token)
      _ = try world.client.advance()
      if index % late == late - 1 { try world.run() }
      try screen.poll()
      let page = try screen.window.rows(first: 0, count: 10_000)
      let drawn = (page?.rows ?? []).filter { $0.flags & (1 << 8 | 1 << 12) == 1 << 8 }
      worst = max(worst, drawn.count)
    }
    #expect(worst == 0)
  }

  struct Telling: CustomTestStringConvertible, Sendable {
    var tells: Bool, answers: Bool, names: Bool
    var testDescription: String { "tells \(tells) answers \(answers) names \(names)" }
    static let all = [true, false].flatMap { tells in
      [true, false].flatMap { answers in
        [true, false].map { Telling(tells: tells, answers: answers, names: $0) }
      }
    }
  }

  /// Protects: what the user sent to a log is done once its answer and its entry have come, in
  /// whichever order, also where the answer says no more than `ok`.
  @Test(arguments: Telling.all, [true, false])
  func aSendIsDone(_ telling: Telling, _ pushComesFirst: Bool) throws {
    let world = try FoundServer.log.world(knobs: {
      $0.tellsSender = telling.tells
      $0.answersWithResult = telling.answers
      $0.echoesClientIDs = telling.names
    })
    world.post(3)
    try world.connectListening()
    try world.sync()
    try world.say("mine")
    if pushComesFirst {
      var late: [UInt8] = []
      try world.run { _, answer in
        if String(decoding: answer, as: UTF8.self).contains("send_message") { late = answer }
        return !late.isEmpty
      }
      world.post(1)
      try world.run { _, _ in true }
      _ = try world.client.receive(late)
      try world.wait(ms: 60_000)
    }
    try world.run()
    #expect(try world.open().isEmpty)
    #expect(try world.seen().filter { $0.text == "mine" }.count == 1)
  }
}
