import Testing

@testable import Base

@_silgen_name("malloc_usable_size")
private func usableSize(_ block: UnsafeMutableRawPointer) -> Int

/// The block in which messages reach the host: who has it, and how large it is.
@Suite struct RowPageTests {
  /// A page of `count` rows, each with its number as its id, in a block of `room` bytes.
  private func page(_ count: Int, room: Int) -> RowPage {
    let start = RowPage.allocate(room)
    let bytes = unsafe start + RowPage.headBytes + count * RowPage.rowBytes
    for index in 0..<count {
      var row = MessageRow()
      row.number = UInt64(index)
      row.texts.id = index..<index + 1
      unsafe (start + RowPage.headBytes + index * RowPage.rowBytes).initializeMemory(
        as: MessageRow.self, to: row)
      unsafe (bytes + index).storeBytes(of: UInt8(index), as: UInt8.self)
    }
    return unsafe RowPage(adopting: start, room: room, rows: count, bytes: count, isCut: false)
  }

  private func used(_ count: Int) -> Int { RowPage.headBytes + count * (RowPage.rowBytes + 1) }

  @Test func aPageSaysWhatIsInIt() {
    let page = page(3, room: used(3))
    #expect(page.rows.map(\.number) == [0, 1, 2])
    #expect(page.rows.map { page[$0.id] } == [[0], [1], [2]])
    #expect(page[0..<3] == [0, 1, 2] && page[0..<4].isEmpty && page[1..<1].isEmpty)
    page.reverse()
    #expect(page.rows.map { page[$0.id] } == [[2], [1], [0]])
    let fewer = RowPage([page[2], page[0]], over: page)
    #expect(fewer.rows.map { fewer[$0.id] } == [[0], [2]])
    var bytes = [UInt8](repeating: 9, count: fewer.textBytes + 1)
    bytes.withUnsafeMutableBytes { room in
      if let start = room.baseAddress { unsafe fewer.copyTexts(to: start) }
    }
    #expect(bytes == [0, 1, 2, 9])
    #expect(RowPage().rows.isEmpty)
  }

  /// What is given stays as it was, whether its block has the room, lacks it, or has far too much.
  @Test(arguments: [0, 1_000, 100_000]) func aBlockIsGivenOnce(spare: Int) throws {
    let page = page(5, room: used(5) + spare)
    let block = try #require(unsafe page.give(extra: 1_000))
    defer { unsafe block.start.deallocate() }
    // As large as is needed, and not so large as it was without need.
    let room = usableSize(block.start)
    #expect(room >= used(5) + 1_000 && room < 3 * (used(5) + 1_000))
    #expect(unsafe block.end - block.start == used(5))
    for index in 0..<5 {
      let row = unsafe (block.start + RowPage.headBytes + index * RowPage.rowBytes).load(
        as: MessageRow.self)
      #expect(row.number == UInt64(index))
      #expect(unsafe (block.bytes + row.id.lowerBound).load(as: UInt8.self) == UInt8(index))
    }
    #expect(unsafe page.give(extra: 8) == nil)
    #expect(page.rows.isEmpty && page[0..<1].isEmpty && page.textBytes == 0)
  }
}
