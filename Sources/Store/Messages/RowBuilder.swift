/// Makes a page of messages out of the columns of a statement: each row and each text is written
/// once, where the host will read it.
internal import Base
internal import Glibc
internal import Timeline

@safe struct RowBuilder: ~Copyable {
  /// Bytes of one page, unless its only row is larger.
  static let bytesMax = 64 << 20
  /// What is expected of a row's texts.
  private static let textBytes = 384

  private(set) var count = 0
  /// Ended before its limit, because its bytes would have become too many.
  private(set) var isCut = false
  /// The flags of all rows together.
  private(set) var flags: RowFlags = []
  private var byteCount = 0
  /// Bytes that come with its rows and lie elsewhere.
  private var bytesBeside = 0
  private var rowRoom: Int
  private var byteRoom: Int
  private var start: UnsafeMutableRawPointer
  /// In the block the rows, and behind room for all of them the bytes.
  private var rows: UnsafeMutablePointer<MessageRow>
  private var bytes: UnsafeMutableRawPointer
  private let bytesMax: Int

  /// - Parameters:
  ///   - limit: rows at most.
  ///   - room: for how many of them room is made at first; mostly for those of a screen.
  init(_ limit: Int, room: Int = 64, bytesMax: Int = Self.bytesMax) {
    self.bytesMax = bytesMax
    rowRoom = Swift.max(1, Swift.min(limit, room))
    byteRoom = rowRoom * Self.textBytes
    unsafe start = Self.block(rowRoom, bytes: byteRoom)
    unsafe rows = Self.rows(start, rowRoom)
    unsafe bytes = UnsafeMutableRawPointer(rows + rowRoom)
  }

  deinit {
    unsafe start.deallocate()
  }

  private static func block(_ rows: Int, bytes: Int) -> UnsafeMutableRawPointer {
    unsafe RowPage.allocate(RowPage.headBytes + rows * RowPage.rowBytes + bytes)
  }

  private static func rows(
    _ start: UnsafeMutableRawPointer, _ capacity: Int
  ) -> UnsafeMutablePointer<MessageRow> {
    unsafe (start + RowPage.headBytes).bindMemory(to: MessageRow.self, capacity: capacity)
  }

  /// Moves everything to a block with other room.
  private mutating func move(rows rowRoom: Int, bytes byteRoom: Int) {
    let next = unsafe Self.block(rowRoom, bytes: byteRoom)
    let nextRows = unsafe Self.rows(next, rowRoom)
    let nextBytes = unsafe UnsafeMutableRawPointer(nextRows + rowRoom)
    unsafe nextRows.initialize(from: rows, count: count)
    unsafe nextBytes.copyMemory(from: bytes, byteCount: byteCount)
    unsafe start.deallocate()
    unsafe start = next
    unsafe rows = nextRows
    unsafe bytes = nextBytes
    self.rowRoom = rowRoom
    self.byteRoom = byteRoom
  }

  /// Ends the page; rows that came newest first are turned round.
  consuming func page(newestFirst: Bool = false) -> RowPage {
    // The bytes follow the last row, so that all between the ends is set.
    let end = unsafe UnsafeMutableRawPointer(rows + count)
    if count < rowRoom { unsafe end.copyMemory(from: bytes, byteCount: byteCount) }
    let room = RowPage.headBytes + rowRoom * RowPage.rowBytes + byteRoom
    let page = unsafe RowPage(
      adopting: start, room: room, rows: count, bytes: byteCount, isCut: isCut)
    discard self
    if newestFirst { page.reverse() }
    return page
  }

  /// Appends the row that a statement stands on: false when it has no room.
  mutating func append(_ row: borrowing Statement, _ flags: RowFlags) -> Bool {
    guard appendAll(row, flags) else { return false }
    // The key begins with the rank, where there is one.
    let last = count - 1
    if flags.contains(.edited) { unsafe rows[last].editedUs = row.int(15) }
    if flags.contains(.mine) {
      let name = appendText(row, column: 16)
      if !name.isEmpty { unsafe rows[last].clientID = name }
    }
    let id = unsafe rows[last].texts.id
    if id.count > Position.rankBytes, Position.hasRank(byte(at: id.lowerBound)) {
      unsafe rows[last].texts.id = id.lowerBound + Position.rankBytes..<id.upperBound
      unsafe rows[last].isRanked = true
    }
    return true
  }

  private mutating func appendAll(_ row: borrowing Statement, _ flags: RowFlags) -> Bool {
    // Long before that no row is asked how large it is.
    let used = byteCount &+ bytesBeside
    if used > bytesMax / 2, used &+ row.size(7) &+ row.size(11) > bytesMax {
      isCut = true
      return false
    }
    if count == rowRoom { move(rows: 2 * rowRoom, bytes: byteRoom) }
    // What is empty stays zero.
    unsafe memset(rows + count, 0, MemoryLayout<MessageRow>.stride)
    unsafe rows[count].state = .confirmed
    unsafe rows[count].uploadPermille = 1_000
    let order = row.int(1)
    unsafe rows[count].number = row.uint(0)
    unsafe rows[count].order = order
    unsafe rows[count].timeUs = row.optionalInt(12) ?? order
    unsafe rows[count].stored = flags.rawValue
    count += 1
    self.flags.formUnion(flags)
    for text in 0..<MessageTexts.count {
      // The time stands between the texts.
      let range = appendText(row, column: Int32(truncatingIfNeeded: text < 8 ? text + 4 : text + 5))
      if !range.isEmpty { unsafe rows[count - 1].texts[text] = range }
    }
    return true
  }

  /// The same for a row of an open send.
  mutating func appendPending(_ row: borrowing Statement) -> Bool {
    guard appendAll(row, RowFlags(rawValue: row.int(2))) else { return false }
    // What is not sent goes by the name that this user gave it.
    let last = count - 1
    unsafe rows[last].clientID = rows[last].texts.id
    let operation = row.uint(15)
    if operation == 0 { return true }
    unsafe rows[last].operation = operation
    unsafe rows[last].state = (OperationState(rawValue: row.int(16)) ?? .unknown).ofMessage
    return true
  }

  /// Copies a text to the bytes and says where it lies.
  private mutating func appendText(_ row: borrowing Statement, column: Int32) -> Range<Int> {
    let text = unsafe row.blob(column)
    guard let source = text.baseAddress else { return 0..<0 }
    return unsafe add(source, text.count)
  }

  private func byte(at offset: Int) -> UInt8 {
    unsafe bytes.load(fromByteOffset: offset, as: UInt8.self)
  }

  private mutating func add(_ source: UnsafeRawPointer, _ count: Int) -> Range<Int> {
    let lower = byteCount
    let upper = lower + count
    if upper > byteRoom { move(rows: rowRoom, bytes: Swift.max(2 * byteRoom, upper)) }
    unsafe (bytes + lower).copyMemory(from: source, byteCount: count)
    byteCount = upper
    return lower..<upper
  }

  /// So many bytes come with its rows beside those that it has.
  mutating func note(bytes: Int) { bytesBeside &+= bytes }

  // MARK: What is laid over a row

  /// Gives a row another payload, out of a column.
  mutating func setPayload(of index: Int, to row: borrowing Statement, column: Int32) {
    let range = appendText(row, column: column)
    unsafe rows[index].texts.payload = range
  }

  mutating func setReactions(of index: Int, to reactions: [UInt8]) {
    let range = unsafe reactions.withUnsafeBytes { bytes in
      unsafe bytes.baseAddress.map { unsafe add($0, bytes.count) } ?? 0..<0
    }
    unsafe rows[index].texts.reactions = range
  }

  func id(of index: Int) -> [UInt8] { unsafe copy(rows[index].texts.id) }

  func reactions(of index: Int) -> [UInt8] { unsafe copy(rows[index].texts.reactions) }

  private func copy(_ range: Range<Int>) -> [UInt8] {
    unsafe [UInt8](UnsafeRawBufferPointer(start: bytes + range.lowerBound, count: range.count))
  }

  /// The flags of a row.
  subscript(_ index: Int) -> RowFlags {
    get { unsafe RowFlags(rawValue: rows[index].stored) }
    set { unsafe rows[index].stored = newValue.rawValue }
  }
}
