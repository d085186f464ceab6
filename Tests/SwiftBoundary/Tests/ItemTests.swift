/// Items: differences that are applied to a list of keys, and a Swift function that folds.
import CTidelineShared
import Testing
import Tideline

@Suite struct ItemTests {
  @Test func whatAFunctionFoldsIsOneItem() throws {
    let server = Server((1...12).map { message($0) })
    let client = try Client()
    try client.connected()
    let window = try Window(client, "c", count: 20)
    // Three that stand together fold.
    let items = try Items(window, flags: TL_ITEMS_REVERSED) { message in
      let id = String(
        decoding: UnsafeBufferPointer(start: message.id.data, count: message.id.size),
        as: UTF8.self)
      return (["m4", "m5", "m6"].contains(id) ? 1 : 0, message.number)
    }
    var screen = Screen()
    func settle() throws {
      repeat {
        try server.serve(client)
        guard let difference = try items.poll() else { break }
        try screen.apply(difference) { try items.read($0).map(\.key) }
      } while true
    }
    try settle()
    while try window.load(TL_LOAD_BEFORE, count: 10) { try settle() }
    #expect(screen.numbers.count == 10)
    let group = try #require(try items.read(6..<7).first)
    #expect(group.row_count == 3 && group.flags & UInt32(TL_ITEM_GROUP) != 0)
    #expect(try items.messages(6).map(\.id) == ["m6", "m5", "m4"])
    let found = try #require(try items.find("m5"))
    #expect(found == (6, 1))
    #expect(try items.find("nobody") == nil)
    #expect(try items.find(key: group.key) == 6)
    #expect(try items.bits(6, place: 2) == group.number)
    #expect(try items.bits(6, place: 3) == nil)
    #expect(try items.range(0) == nil)
    try items.show(0..<3)

    #expect(try items.setOpen(6, true))
    try settle()
    #expect(screen.numbers.count == 12)
    #expect(try items.setOpen(7, false))
    try settle()
    #expect(screen.numbers[6] == group.key)
    try items.setUnread(group.number)
    try settle()
    #expect(try items.state().unread_item == 6)
    let state = try items.state()
    #expect(state.checksum == Library.checksum(screen.numbers) && state.row_count == 12)
    items.close()
    #expect(throws: TidelineError.self) { _ = try items.poll() }
  }
}
