/// Windows and the list: differences that are applied to a list of row numbers.
import CTidelineShared
import Testing
import Tideline

/// The rows of a screen, kept by differences alone.
struct Screen {
  var numbers: [UInt64] = []

  /// Applies a difference; `read` gives the number of each row of a range.
  mutating func apply(
    _ difference: borrowing Difference, _ read: (Range<Int>) throws -> [UInt64]
  ) throws {
    for step in difference.steps {
      switch step {
      case .insert(let rows):
        numbers.insert(contentsOf: repeatElement(0, count: rows.count), at: rows.lowerBound)
      case .remove(let rows): numbers.removeSubrange(rows)
      case .update: break
      case .move(let from, let to): numbers.insert(numbers.remove(at: from), at: to)
      }
    }
    for row in numbers.indices where numbers[row] == 0 {
      numbers[row] = try #require(try read(row..<row + 1).first)
    }
    #expect(numbers.count == difference.rowCount)
    #expect(Library.checksum(numbers) == difference.checksum)
  }
}

@Suite struct WindowTests {
  /// Polls until nothing changes, answering what the client asks.
  func settle(_ window: Window, _ client: Client, _ server: Server, _ screen: inout Screen) throws {
    repeat {
      try server.serve(client)
      guard let difference = try window.poll() else { break }
      try screen.apply(difference) { try window.rows($0).map(\.number) }
    } while true
  }

  /// Polls once.
  func look(_ window: Window, _ screen: inout Screen) throws {
    guard let difference = try window.poll() else { return }
    try screen.apply(difference) { try window.rows($0).map(\.number) }
  }

  @Test func aWindowShowsWhatIsThereAndGrows() throws {
    let server = Server((1...40).map { message($0) })
    let client = try Client()
    try client.connected()
    let window = try Window(client, "c", count: 10)
    var screen = Screen()
    try settle(window, client, server, &screen)
    #expect(try window.rows(0..<100).last?.id == "m40")
    while try window.load(TL_LOAD_BEFORE, count: 10) {
      try settle(window, client, server, &screen)
    }
    #expect(screen.numbers.count == 40)
    #expect(try window.find("m7") == 6)
    #expect(try window.find("nobody") == nil)
    #expect(try !window.fill(row: 0))

    try client.receive(push(message(50)))
    try settle(window, client, server, &screen)
    #expect(try window.find("m50") == 40)
    try window.show(0..<10)
    try window.trim(to: 5..<15)
    try settle(window, client, server, &screen)
    let state = try window.state()
    #expect(state.row_count == 10 && screen.numbers.count == 10)
    #expect(state.trouble == TL_OK)
    window.close()
    #expect(throws: TidelineError.self) { _ = try window.poll() }
  }

  @Test func aGapIsFilledWhenItIsAskedFor() throws {
    let client = try caughtUp([message(1)])
    try client.disconnected()
    try client.connected()
    try client.receive(push(message(30)))
    let window = try Window(client, "c")
    var screen = Screen()
    try look(window, &screen)
    #expect(try window.rows(0..<2).map { $0.has(TL_MESSAGE_GAP_BEFORE) } == [false, true])
    #expect(try window.state().split_count == 1)
    #expect(try window.fill(row: 1))
    let whole = Server([message(1), message(20), message(30)])
    try settle(window, client, whole, &screen)
    #expect(try window.rows(0..<9).map(\.id) == ["m1", "m20", "m30"])
    #expect(try window.state().split_count == 0)
  }

  /// The wrapper's window holds its client, so that it is open as long as the window is looked at.
  @Test func aWindowOutlivesTheNameOfItsClient() throws {
    var client: Client? = try caughtUp([message(1)])
    let window = try Window(#require(client), "c", at: TL_AT_MESSAGE, id: "m1")
    client = nil
    #expect(try window.poll()?.rowCount == 1)
    #expect(client == nil)
  }

  @Test func theListOfConversationsIsAWindowToo() throws {
    let client = try Client()
    try client.connected()
    let server = Server()
    let rooms = ["a", "b"].map { name in
      """
      {"conversation_id":"\(name)","title":"Room \(name)","participant_ids":["me","you"],\
      "created_at":"2024-05-01T09:00:00","updated_at":"2024-05-01T09:00:00"}
      """
    }
    server.data["get_conversations"] = { _ in
      #"{"conversations":[\#(rooms.joined(separator: ","))],"total_count":2}"#
    }
    let list = try ConversationList(client)
    var screen = Screen()
    func settle() throws {
      repeat {
        try server.serve(client)
        guard let difference = try list.poll() else { break }
        try screen.apply(difference) { try list.rows($0).map(\.number) }
      } while true
    }
    try settle()
    #expect(Set(try list.rows(0..<9).map(\.id)) == ["a", "b"])
    #expect(try list.state().conversation_count == 2)

    try client.receive(
      push(message(1)).replacing(#""conversation_id":"c""#, with: #""conversation_id":"b""#))
    try settle()
    #expect(try list.find("b") == 0)
    let row = try #require(try list.rows(0..<1).first)
    #expect(row.title == "Room b" && row.last?.id == "m1" && row.unread == 1)
    #expect(try client.conversations().map(\.id) == ["b", "a"])
    #expect(try client.conversations(offset: 1).map(\.id) == ["a"])

    try client.draft("a", "not yet")
    try settle()
    let place = try #require(try list.find("a"))
    #expect(try list.rows(place..<place + 1).map(\.draft) == ["not yet"])
    list.close()
    #expect(throws: TidelineError.self) { _ = try list.poll() }
  }
}
