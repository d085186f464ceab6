/// Which rows lost pages may have had, as far as the pages above them say it.
///
/// A page inside of a tree has, between the pages below it, rows of the tree: what lies below is
/// between those. So of a lost page it is known between which rows its rows were. Rule protected:
/// where that is not known all is taken for lost that a table says of completeness.
internal import Base

/// The first two numbers of a row's key: mostly its conversation and its time or place.
struct PageKey: Comparable, Sendable {
  var first: Int64
  var second: Int64

  static let least = PageKey(first: .min, second: .min)
  static let greatest = PageKey(first: .max, second: .max)

  static func < (a: PageKey, b: PageKey) -> Bool { (a.first, a.second) < (b.first, b.second) }
}

/// What is not known to be whole any more.
struct SalvageLoss: Sendable {
  /// Nothing is known of what was lost.
  var isOfAny = false
  /// Conversations of which something may be missing that is in no interval below.
  private(set) var conversations: [ClosedRange<Int64>] = []
  /// Between these rows messages, or entries of a log, are missing.
  private(set) var rows: [(low: PageKey, high: PageKey)] = []

  mutating func note(in cid: Int64) {
    if !has(cid) { conversations.append(cid...cid) }
  }

  mutating func note(from low: PageKey, to high: PageKey) {
    conversations.append(low.first...Swift.max(low.first, high.first))
  }

  mutating func note(rowsFrom low: PageKey, to high: PageKey) {
    if low < high { rows.append((low, high)) }
  }

  func has(_ cid: Int64) -> Bool { isOfAny || conversations.contains { $0.contains(cid) } }
}

extension TreePage {
  /// The keys of the rows between the pages below, one for each cell; nil for one that has no
  /// number.
  func keys() -> [PageKey?] {
    switch kind {
    case .tableInterior: rowids().map { $0.map { PageKey(first: $0, second: 0) } }
    case .indexInterior: leads().map { $0.flatMap(Self.key) }
    case .indexLeaf, .tableLeaf: []
    }
  }

  private static func key(_ lead: [StoredValue]) -> PageKey? {
    guard let first = lead.first?.int else { return nil }
    return PageKey(first: first, second: lead.count > 1 ? lead[1].int ?? 0 : 0)
  }
}

/// What the map of pages, which SQLite keeps to move them, says of one.
enum PageUse {
  case root
  case free
  /// Goes on with a record of this page, or is below it.
  case of(Int)

  /// Where the map has a page, in a page of the map.
  static func place(of page: Int, usableBytes: Int) -> (map: Int, offset: Int) {
    let each = usableBytes / 5 &+ 1
    let map = (page &- 2) / each &* each &+ 2
    return (map, (page &- map &- 1) &* 5)
  }

  init?(_ map: [UInt8], at offset: Int) {
    guard offset >= 0, offset &+ 5 <= map.count else { return nil }
    let parent = map[offset &+ 1..<offset &+ 5].reduce(0) { $0 &<< 8 | Int(clamping: $1) }
    switch map[offset] {
    case 1: self = .root
    case 2: self = .free
    case 3, 4, 5: self = .of(parent)
    default: return nil
    }
  }
}

/// What the tables say whose pages are lost.
enum SalvageRole {
  /// Rows of messages or of a log, by conversation and place.
  case rows
  /// What is known of conversations, by their number.
  case facts
  /// What is known of all of them.
  case general
  /// It is made anew, or kept elsewhere, or says nothing of what is complete.
  case nothing

  private static let roles: [(StaticString, SalvageRole)] = [
    ("message", .rows), ("entry", .rows), ("span", .facts), ("tombstone", .facts),
    ("conversation", .facts), ("log_fact", .facts), ("log_range", .facts), ("meta", .general),
    ("quarantine", .general), ("sqlite_schema", .general),
  ]

  init(of table: [UInt8]) {
    self = Self.roles.first { bytes($0.0) == table }?.1 ?? .nothing
  }
}
