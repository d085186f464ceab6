/// Hooks: Swift closures that the library runs and lets go of.
import CTidelineShared
import Synchronization
import Testing
import Tideline

/// What hooks write down.
final class Notes: Sendable {
  struct Values {
    var hasKey = false
    var time: Int64 = 1_000
    var lines: [String] = []
    var drops = 0
  }
  let values = Mutex(Values())
}

@Suite struct HookTests {
  func options(_ notes: Notes) -> Client.Options {
    var options = Client.Options()
    options.profile.capabilities = UInt32(TL_SERVER_IDEMPOTENT_SEND)
    options.hooks.open = { id, payload in
      if id == "m2" { return .failed }
      return notes.values.withLock { $0.hasKey } ? .plain("opened \(payload)") : .later
    }
    options.hooks.seal = { payload in
      notes.values.withLock { $0.hasKey } ? .plain(#""sealed""#) : .later
    }
    options.hooks.log = { _, line in notes.values.withLock { $0.lines.append(line) } }
    options.hooks.clock = { notes.values.withLock { $0.time } }
    options.hooks.dropped = { notes.values.withLock { $0.drops += 1 } }
    return options
  }

  @Test func payloadsAreOpenedWhenTheirKeyHasCome() throws {
    let notes = Notes()
    let client = try caughtUp([message(1), message(2)], options(notes))
    #expect(try client.messages("c").allSatisfy { $0.has(TL_MESSAGE_SEALED) })
    #expect(try client.stats().open_failures >= 1)
    #expect(try client.reopen() == 0)
    notes.values.withLock { $0.hasKey = true }
    #expect(try client.reopen("c") == 1)
    #expect(try client.message("c", "m1").payload == #"opened "ahoj""#)
    #expect(try client.message("c", "m2").has(TL_MESSAGE_SEALED))
  }

  @Test func whatIsSentIsSealed() throws {
    let notes = Notes()
    let client = try Client(options(notes))
    try client.connected()
    let sent = try client.send("c", #""secret""#, id: "x1").operation
    #expect(try client.operation(sent).waiting == tl_operation_wait(TL_WAIT_SEAL))
    notes.values.withLock { $0.hasKey = true }
    #expect(try client.reopen() == 1)
    let requests = try Server.takingMessages().serve(client)
    let sealed = requests.filter { $0.type == "send_message" }.map(\.payload)
    #expect(sealed == [PayloadText("sealed")])
    #expect(try client.messages("c").map(\.payload) == [#"opened "sealed""#])
  }

  @Test func theClockOfTheHostMakesARequestTimeOut() throws {
    let notes = Notes()
    let client = try Client(options(notes))
    try client.connected()
    try client.sync("c")
    let frame = try #require(try client.nextFrame()?.id)
    try client.sent(frame)
    let wait = try #require(try client.advance())
    notes.values.withLock { $0.time += wait }
    try client.advance()
    #expect(try client.stats().timeouts == 1)
    #expect(notes.values.withLock { $0.lines }.contains { $0.hasPrefix("no answer in time") })
  }

  /// header: "Runs exactly once, when the client is freed or its opening failed"
  @Test func theLibraryLetsGoOfHooksOnce() throws {
    let notes = Notes()
    var client: Client? = try Client(options(notes))
    client?.close()
    #expect(notes.values.withLock { $0.drops } == 0)
    client = nil
    #expect(client == nil)
    #expect(notes.values.withLock { $0.drops } == 1)

    let failed = Notes()
    var wrong = options(failed)
    wrong.user = ""
    #expect(throws: TidelineError.self) { try Client(wrong) }
    #expect(failed.values.withLock { $0.drops } == 1)
  }
}
