/// Which table a page belongs to, as far as the pages that are left say it.
///
/// The schema names the root of each tree, and pages inside of a tree the pages below them. A page
/// whose way to its root leads over a lost page has no owner, and is judged by its records alone.
internal import Base

struct PageOwners {
  private var parents: [Int32]
  private var roots: [Int: [UInt8]] = [:]
  /// The columns of a table in the order of its records, by its name.
  private var columns: [[UInt8]: [[UInt8]]] = [:]

  init(pages: Int) {
    parents = [Int32](repeating: 0, count: pages &+ 1)
  }

  mutating func note(_ page: TreePage, number: Int) {
    for child in page.children where child > 1 && child < parents.count && child != number {
      parents[child] = Int32(truncatingIfNeeded: number)
    }
  }

  /// A page whose parent is lost is named in the map of pages.
  mutating func note(parent: Int, of page: Int) {
    guard parent > 0, parent != page, parents.indices.contains(page),
      parents.indices.contains(parent)
    else { return }
    parents[page] = Int32(truncatingIfNeeded: parent)
  }

  func parent(of page: Int) -> Int? {
    parents.indices.contains(page) && parents[page] > 0 ? Int(clamping: parents[page]) : nil
  }

  func isRoot(_ page: Int) -> Bool { roots[page] != nil }

  /// Takes a record of the schema.
  mutating func note(schema values: [StoredValue]) {
    guard values.count == 5, let type = values[0].bytes, let name = values[1].bytes,
      let root = values[3].int, root > 0, root < parents.count,
      type == Self.table || type == Self.index
    else { return }
    roots[Int(clamping: root)] = name
    guard type == Self.table, let text = values[4].bytes else { return }
    columns[name] = Self.columns(of: text)
  }

  func owner(of page: Int) -> [UInt8]? {
    var page = page
    // Pages that were put back may lead in a ring.
    for _ in 0..<32 {
      if let name = roots[page] { return name }
      guard page < parents.count, parents[page] > 0 else { return nil }
      page = Int(clamping: parents[page])
    }
    return nil
  }

  func columns(of table: [UInt8]) -> [[UInt8]]? { columns[table] }

  func has(_ table: StaticString) -> Bool {
    let name = bytes(table)
    return roots.values.contains(name)
  }

  private static let table = bytes("table")
  private static let index = bytes("index")

  /// The names of the columns that a table keeps, out of the text that made it.
  private static func columns(of text: [UInt8]) -> [[UInt8]] {
    guard let start = text.firstIndex(of: UInt8(ascii: "(")) else { return [] }
    var (depth, parts, part): (Int, [[UInt8]], [UInt8]) = (0, [], [])
    for byte in text[(start &+ 1)...] {
      if byte == UInt8(ascii: "(") { depth &+= 1 }
      if byte == UInt8(ascii: ")") { depth &-= 1 }
      if depth < 0 { break }
      if byte == UInt8(ascii: ","), depth == 0 {
        parts.append(part)
        part = []
      } else {
        part.append(byte)
      }
    }
    parts.append(part)
    return parts.compactMap { part in
      let words = part.split { $0 <= UInt8(ascii: " ") }.map(Array.init)
      guard let first = words.first, first != bytes("PRIMARY"), !words.contains(bytes("GENERATED"))
      else { return nil }
      return first
    }
  }
}

func bytes(_ text: StaticString) -> [UInt8] { text.bytes }
