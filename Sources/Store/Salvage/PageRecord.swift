/// A page of SQLite's taken apart, and the records of its cells, as its documented format has them.
///
/// Rule protected: nothing of a page is believed. What does not fit its page or its record is left
/// out, and no chain of pages is followed further than its record is long.
internal import Base

/// One value of a record.
enum StoredValue: Equatable {
  case null
  case int(Int64)
  case bytes([UInt8])

  var int: Int64? { if case .int(let value) = self { value } else { nil } }
  var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
  var isNull: Bool { self == .null }
}

/// A record, and the key of its row where its table has such keys.
struct PageRecord {
  var rowid: Int64?
  var values: [StoredValue]
}

struct TreePage {
  enum Kind: UInt8 {
    case indexInterior = 2
    case tableInterior = 5
    case indexLeaf = 10
    case tableLeaf = 13
  }

  let kind: Kind
  private let page: [UInt8]
  private let cells: [Int]
  /// The pages below it.
  let children: [Int]

  /// Nil for a page that is none of a tree.
  init?(_ page: [UInt8], number: Int) {
    let start = number == 1 ? 100 : 0
    guard page.count > start &+ 12, let kind = Kind(rawValue: page[start]) else { return nil }
    self.kind = kind
    self.page = page
    let isInterior = kind == .indexInterior || kind == .tableInterior
    let first = start &+ (isInterior ? 12 : 8)
    let count = Self.number(page, start &+ 3, 2)
    guard first &+ count &* 2 <= page.count else { return nil }
    cells = (0..<count).map { Self.number(page, first &+ $0 &* 2, 2) }
    guard cells.allSatisfy({ $0 >= first && $0 &+ 4 <= page.count }) else { return nil }
    children =
      isInterior
      ? cells.map { Self.number(page, $0, 4) } + [Self.number(page, start &+ 8, 4)] : []
  }

  /// The records of its cells; `overflow` gives the page of a number.
  func records(
    most: Int, _ overflow: (Int) throws(StoreFailure) -> [UInt8]?
  ) throws(StoreFailure) -> [PageRecord] {
    guard kind != .tableInterior else { return [] }
    var found: [PageRecord] = []
    for cell in cells {
      var place = kind == .indexInterior ? cell &+ 4 : cell
      guard let size = Self.varint(page, &place), size >= 0, size <= most else { continue }
      var rowid: Int64?
      if kind == .tableLeaf {
        guard let key = Self.varint(page, &place) else { continue }
        rowid = key
      }
      guard let payload = try payload(Int(clamping: size), at: place, overflow),
        let values = Self.values(payload)
      else { continue }
      found.append(PageRecord(rowid: rowid, values: values))
    }
    return found
  }

  /// The keys of rows between the pages below, one for each cell.
  func rowids() -> [Int64?] {
    cells.map { cell in
      var place = cell &+ 4
      return Self.varint(page, &place)
    }
  }

  /// The first two values of each cell's record, which lie in the page itself.
  func leads() -> [[StoredValue]?] {
    cells.map { cell in
      var place = cell &+ 4
      guard Self.varint(page, &place) != nil else { return nil }
      return Self.values(Array(page[place...]), most: 2)
    }
  }

  /// The bytes of a record, put together from its page and those that follow it.
  private func payload(
    _ size: Int, at place: Int, _ overflow: (Int) throws(StoreFailure) -> [UInt8]?
  ) throws(StoreFailure) -> [UInt8]? {
    let usable = page.count
    let least = (usable &- 12) &* 32 / 255 &- 23
    let most = kind == .tableLeaf ? usable &- 35 : (usable &- 12) &* 64 / 255 &- 23
    var here = size
    if size > most {
      let rest = least &+ (size &- least) % (usable &- 4)
      here = rest <= most ? rest : least
    }
    guard place &+ here <= usable else { return nil }
    var bytes = Array(page[place..<place &+ here])
    if here == size { return bytes }
    guard place &+ here &+ 4 <= usable else { return nil }
    var next = Self.number(page, place &+ here, 4)
    while bytes.count < size {
      guard next > 1, let page = try overflow(next), page.count == usable else { return nil }
      bytes.append(contentsOf: page[4..<4 &+ Swift.min(usable &- 4, size &- bytes.count)])
      next = Self.number(page, 0, 4)
    }
    return bytes
  }

  private static func values(_ record: [UInt8], most: Int = .max) -> [StoredValue]? {
    var place = 0
    guard let size = varint(record, &place), size >= place, size <= record.count else {
      return nil
    }
    let head = Int(clamping: size)
    var content = head
    var values: [StoredValue] = []
    while place < head, values.count < most {
      guard let type = varint(record, &place), place <= head else { return nil }
      let size: Int
      switch type {
      case 0, 8, 9: size = 0
      case 1...4: size = Int(clamping: type)
      case 5: size = 6
      case 6, 7: size = 8
      case 12...: size = Int(clamping: (type &- 12) / 2)
      default: return nil
      }
      guard size <= record.count &- content else { return nil }
      switch type {
      case 0: values.append(.null)
      case 8, 9: values.append(.int(type &- 8))
      case 1...6: values.append(.int(signed(record, content, size)))
      // No column of these tables has a fraction.
      case 7: return nil
      default: values.append(.bytes(Array(record[content..<content &+ size])))
      }
      content &+= size
    }
    return values
  }

  private static func number(_ bytes: [UInt8], _ place: Int, _ count: Int) -> Int {
    bytes[place..<place &+ count].reduce(0) { $0 &<< 8 | Int(clamping: $1) }
  }

  private static func signed(_ bytes: [UInt8], _ place: Int, _ count: Int) -> Int64 {
    let first = Int64(clamping: Int8(bitPattern: bytes[place]))
    return bytes[place &+ 1..<place &+ count].reduce(first) { $0 &<< 8 | Int64(clamping: $1) }
  }

  private static func varint(_ bytes: [UInt8], _ place: inout Int) -> Int64? {
    var value: UInt64 = 0
    for index in 0..<9 {
      guard place < bytes.count else { return nil }
      let byte = bytes[place]
      place &+= 1
      if index == 8 { return Int64(bitPattern: value &<< 8 | UInt64(clamping: byte)) }
      value = value &<< 7 | UInt64(clamping: byte & 0x7F)
      if byte & 0x80 == 0 { return Int64(bitPattern: value) }
    }
    return nil
  }
}
