/// What needs no client, and errors.
import CTidelineShared
import Glibc
import Testing
import Tideline

@Suite struct LibraryTests {
  @Test func theLoadedLibraryIsTheOneOfTheHeader() {
    #expect(Library.isOfThisGeneration)
    let version = "\(TL_VERSION_MAJOR).\(TL_VERSION_MINOR).\(TL_VERSION_PATCH)"
    #expect(Library.version == version)
    #expect(Library.keyBytes == Int(TL_KEY_BYTES))
  }

  @Test func statusesHaveNames() {
    #expect(Status(TL_E_KEY).description == "TL_E_KEY")
    #expect(Status(code: 77).description == "TL_E_UNKNOWN")
    #expect(Status(TL_E_LOCKED).isTransient)
    #expect(!Status(TL_E_KEY).isTransient)
  }

  @Test func framesNameTheirAccount() throws {
    #expect(try Library.account(of: #"{"account":"work"}"#) == "work")
    #expect(try Library.account(of: "{}") == nil)
    #expect(throws: TidelineError.self) { try Library.account(of: "{") }
  }

  @Test func theChecksumIsTheOneOfTheHeader() {
    // As the header defines it, in Swift.
    func mix(_ a: UInt64, _ b: UInt64) -> UInt64 {
      var z = a &* 0x9E37_79B9_7F4A_7C15 &+ b
      z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
      return z ^ z >> 31
    }
    let numbers: [UInt64] = [3, 1, 1 << 63]
    let pairs = zip([0] + numbers, numbers)
    #expect(Library.checksum(numbers) == pairs.reduce(0) { $0 &+ mix($1.0, $1.1) })
    #expect(Library.checksum([]) == 0)
  }

  @Test func listsAreMergedWithoutAClient() throws {
    let merged = try Library.merge("[\(message(1))]", "[\(message(2)),7]")
    #expect(!merged.isWhole)
    #expect(merged.json.contains(#""m1""#) && merged.json.contains(#""m2""#))
    let deleted = #"[{"type":"message_deleted","conversation_id":"c","message_ids":["m1"]}]"#
    let left = try Library.merge("[\(message(1)),\(message(2))]", deltas: deleted)
    #expect(left.isWhole)
    #expect(!left.json.contains(#""m1""#) && left.json.contains(#""m2""#))
  }
}

@Suite struct ErrorTests {
  /// Gives the error of a call that has to fail.
  func error(_ call: () throws -> Void) throws -> TidelineError {
    try #require(throws: TidelineError.self) { try call() }
  }

  @Test func eachFailureHasItsStatusAndAReason() throws {
    let client = try caughtUp([message(1)])
    let missing = try error { _ = try client.message("c", "nobody") }
    #expect(missing.status == Status(TL_E_NOT_FOUND))
    #expect(missing.reason == "there is no such message")
    let frame = try error { try client.receive("{") }
    #expect(frame.status == Status(TL_E_FRAME))
    let long = try error { try client.sync(String(repeating: "x", count: 513)) }
    #expect(long.status == Status(TL_E_TOO_LARGE))
    #expect(long.reason == "conversation is over 512 bytes")
  }

  @Test func aClosedClientFailsEachCallAndIsStillThere() throws {
    let client = try caughtUp([message(1)])
    let window = try Window(client, "c")
    client.close()
    client.close()
    for call in [
      { _ = try client.state() }, { try client.connected() }, { _ = try client.messages("c") },
      { _ = try window.poll() },
    ] as [() throws -> Void] {
      #expect(try error(call).status == Status(TL_E_CLOSED))
    }
  }

  @Test func aClientRests() throws {
    try withFile { path in
      let options = Client.Options(path: path, key: key)
      let client = try caughtUp([message(1)], options)
      #expect(try client.rest())
      #expect(try !client.rest())
      #expect(try error { _ = try Client(options) }.status == Status(TL_E_LOCKED))
      #expect(try client.messages("c").map(\.id) == ["m1"])
    }
  }

  @Test func aFileIsHandedOver() throws {
    try withFile { path in
      let options = Client.Options(path: path, key: key)
      let client = try caughtUp([message(1)], options)
      let watch = try fileWatch(path)
      var news = pollfd(fd: watch, events: Int16(POLLIN), revents: 0)
      #expect(poll(&news, 1, 0) == 0)
      #expect(try client.release())
      #expect(poll(&news, 1, 0) == 1)
      close(watch)
      #expect(try error { _ = try client.state() }.status == Status(TL_E_RELEASED))
      do {
        let other = try Client(options)
        #expect(try error { try client.reacquire() }.status == Status(TL_E_LOCKED))
        #expect(try other.messages("c").map(\.id) == ["m1"])
      }
      #expect(try client.reacquire())
      #expect(try !client.reacquire())
      #expect(try client.messages("c").map(\.id) == ["m1"])
    }
  }

  @Test func aFileIsBoundToItsKeyAndItsUser() throws {
    try withFile { path in
      var options = Client.Options(path: path, key: key)
      var client: Client? = try caughtUp([message(1)], options)
      let locked = try error { _ = try Client(options) }
      #expect(locked.status == Status(TL_E_LOCKED) && locked.status.isTransient)
      client = nil
      #expect(client == nil)
      options.key[0] ^= 1
      #expect(try error { _ = try Client(options) }.status == Status(TL_E_KEY))
      options.key = key
      options.user = "somebody"
      #expect(try error { _ = try Client(options) }.status == Status(TL_E_MISMATCH))
      options.user = "me"
      let again = try Client(options)
      #expect(try again.messages("c").map(\.id) == ["m1"])
      try again.wipe()
      options.flags = TL_OPEN_EXISTING
      #expect(try error { _ = try Client(options) }.status == Status(TL_E_NOT_FOUND))
    }
  }
}
