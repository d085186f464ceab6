/// Whether rows, the indexes over them and their conversations say the same: a walk in slices.
///
/// It finds what decrypts and is wrong, as an old page that was put back. Rule protected: a slice
/// is one committed state, so what is written meanwhile contradicts nothing.
internal import Base
internal import Timeline
internal import Vault

/// What contradicts something.
package struct Contradictions: Equatable, Sendable {
  /// Rows, tables and pieces of work.
  package var count: UInt64 = 0
  /// Whose messages are concerned.
  var conversations: Set<Int64> = []
  /// It cannot be told whose.
  var isOfAny = false

  package init() {}

  mutating func note(in cid: Int64) {
    count &+= 1
    conversations.insert(cid)
  }

  mutating func note(isOfAny: Bool) {
    count &+= 1
    if isOfAny { self.isOfAny = true }
  }
}

package struct RowCheck: Sendable {
  private enum Stage {
    /// Tables that are small, by name.
    case tables(after: [UInt8])
    /// Those that may be large, in their order, behind a key.
    case keys(Int, after: TableKey?)
    /// Messages behind a place.
    case messages(cid: Int64, time: Int64, key: [UInt8])
    /// What the index of numbers has behind one.
    case numbers(after: Int64)
    /// Operations and drafts of conversations that are not there, and counts without rows.
    case work
    /// Operations, marks and drafts against the file of own work.
    case own(OwnWalk)
    case done
  }

  /// Rows of a slice: some milliseconds.
  private static let rows: Int64 = 1_000

  private var stage = Stage.tables(after: [])
  private var counting: RowCount?
  package private(set) var found = Contradictions()

  package init() {}

  /// It is to be asked with the writer's connection.
  var walk: OwnWalk? { if case .own(let walk) = stage { walk } else { nil } }

  /// Looks at a slice; true when all was looked at.
  package mutating func step(_ rx: ReadTransaction) throws(StoreFailure) -> Bool {
    do throws(StoreFailure) {
      try look(rx)
    } catch .damaged {
      // A page between them; what is below it is not reached.
      found.note(isOfAny: true)
      skip()
    }
    if case .done = stage { return true }
    return false
  }

  /// Nothing more can be looked at.
  package var foundAll: Contradictions {
    var all = found
    all.note(isOfAny: true)
    return all
  }

  /// Takes a slice of own work; true when all was looked at.
  mutating func took(_ walk: OwnWalk?, differing: UInt64) -> Bool {
    for _ in 0..<differing { found.note(isOfAny: false) }
    guard let walk else {
      stage = .done
      return true
    }
    stage = .own(walk)
    return false
  }

  private mutating func skip() {
    counting = nil
    stage =
      switch stage {
      case .tables: .keys(0, after: nil)
      case .keys(let table, _):
        table &+ 1 < KeyedTable.all.count
          ? .keys(table &+ 1, after: nil) : .messages(cid: .min, time: .min, key: [])
      case .messages: .numbers(after: .min)
      case .numbers: .work
      case .work: .own(OwnWalk())
      case .own, .done: .done
      }
  }

  private mutating func look(_ rx: ReadTransaction) throws(StoreFailure) {
    let connection = try rx.connection
    switch stage {
    case .tables(let last): try lookAtTable(after: last, connection)
    case .keys(let table, let last): try lookAtKeys(KeyedTable.all[table], after: last, rx)
    case .messages(let cid, let time, let key): try lookAtMessages(cid, time, key, rx)
    case .numbers(let last): try lookAtNumbers(after: last, connection)
    case .work:
      let lost = try connection.number(Queries.workOfNobody) ?? 0
      for _ in 0..<lost { found.note(isOfAny: false) }
      try lookAtEmpty(rx)
      skip()
    case .own, .done: break
    }
  }

  /// SQLite's own check of one table and its indexes.
  private mutating func lookAtTable(
    after last: [UInt8], _ connection: Connection
  ) throws(StoreFailure) {
    let row = try connection.statement(Queries.tableToCheck, last)
    guard try row.step() else { return skip() }
    let name = row.bytes(0)
    _ = consume row
    // Before it is looked at: one that fails is not looked at again.
    stage = .tables(after: name)
    let isOfAny = Self.tablesOfRanges.contains { bytes($0) == name }
    do throws(StoreFailure) {
      let wrong = try connection.number(Queries.tableCheck, name) ?? 0
      if wrong > 0 { found.note(isOfAny: isOfAny) }
    } catch .damaged {
      found.note(isOfAny: isOfAny)
    }
  }

  /// What says of messages that they are all there.
  private static let tablesOfRanges: [StaticString] = [
    "conversation", "meta", "quarantine", "log_fact", "log_range", "log_token",
  ]

  /// A page of another state has keys that do not belong where it is.
  private mutating func lookAtKeys(
    _ table: KeyedTable, after last: TableKey?, _ rx: ReadTransaction
  ) throws(StoreFailure) {
    let connection = try rx.connection
    if let name = table.onlyIn, !connection.hasTable(name) { return skip() }
    let from = last ?? TableKey(first: .min, second: .min, rest: [])
    let row = try connection.statement(table.next, from.first, from.second, from.rest, Self.rows)
    var (next, count) = (last, 0 as Int64)
    while try row.step() {
      let key = TableKey(first: row.int(0), second: row.int(1), rest: row.bytes(2))
      if let next, !(next < key) {
        // Which others have keys there is not known, and what follows may lead in a ring.
        found.note(isOfAny: table.isByConversation)
        return skip()
      }
      next = key
      count &+= 1
    }
    guard count == Self.rows, let next else { return skip() }
    if case .keys(let table, _) = stage { stage = .keys(table, after: next) }
  }

  private mutating func lookAtMessages(
    _ cid: Int64, _ time: Int64, _ key: [UInt8], _ rx: ReadTransaction
  ) throws(StoreFailure) {
    let row = try rx.connection.statement(Queries.messagesToCheck, cid, time, key, Self.rows)
    if counting?.lsn != rx.lsn { counting?.isOfOneState = false }
    var count: Int64 = 0
    var ended: [RowCount] = []
    var last = TableKey(first: cid, second: time, rest: key)
    while try row.step() {
      let cid = row.int(0)
      let place = TableKey(first: cid, second: row.int(1), rest: row.bytes(2))
      guard last < place else {
        // What follows may lead in a ring, and is not looked at.
        found.note(isOfAny: true)
        return skip()
      }
      last = place
      if row.int(3) == 0 { found.note(in: cid) }
      if counting?.cid != cid {
        if let counting { ended.append(counting) }
        counting = RowCount(cid: cid, lsn: rx.lsn)
      }
      counting?.rows &+= 1
      count &+= 1
    }
    _ = consume row
    stage = .messages(cid: last.first, time: last.second, key: last.rest)
    if count < Self.rows {
      if let counting { ended.append(counting) }
      skip()
    }
    for one in ended where one.isOfOneState {
      guard try rx.conversation(cid: one.cid) != nil else { continue }
      if try rx.count(one.cid, from: .min, to: .max) != one.rows { found.note(in: one.cid) }
    }
  }

  private mutating func lookAtNumbers(
    after last: Int64, _ connection: Connection
  ) throws(StoreFailure) {
    let row = try connection.statement(Queries.numbersToCheck, last, Self.rows)
    var (next, count) = (last, 0 as Int64)
    while try row.step() {
      guard next < row.int(0) else {
        found.note(isOfAny: true)
        return skip()
      }
      if row.int(1) == 0 { found.note(in: row.int(2)) }
      next = row.int(0)
      count &+= 1
    }
    stage = .numbers(after: next)
    if count < Self.rows { skip() }
  }

  /// Conversations that count rows and have none.
  private mutating func lookAtEmpty(_ rx: ReadTransaction) throws(StoreFailure) {
    var empty: [Int64] = []
    do {
      let row = try rx.connection.statement(Queries.countedAndEmpty)
      while try row.step() { empty.append(row.int(0)) }
    }
    // What the last one counts may be in the row of meta.
    if let cid = try rx.kept()?.record.cid,
      try rx.connection.number("SELECT 1 FROM message WHERE cid = ? LIMIT 1", cid) == nil,
      !empty.contains(cid)
    {
      empty.append(cid)
    }
    for cid in empty where try rx.count(cid, from: .min, to: .max) != 0 { found.note(in: cid) }
  }
}

/// How many rows of a conversation were seen.
private struct RowCount: Sendable {
  let cid: Int64
  let lsn: UInt64
  var rows = 0
  /// Nothing was written since the first one.
  var isOfOneState = true
}

/// Where a walk over a table is.
struct TableKey: Comparable, Sendable {
  var first: Int64
  var second: Int64
  var rest: [UInt8]

  static func < (a: TableKey, b: TableKey) -> Bool {
    if a.first != b.first { return a.first < b.first }
    if a.second != b.second { return a.second < b.second }
    return a.rest.lexicographicallyPrecedes(b.rest)
  }
}

/// A table that may have very many rows, whose keys are looked at in slices.
private struct KeyedTable {
  let next: StaticString
  var isByConversation = true
  var onlyIn: StaticString?

  static let all: [KeyedTable] = [
    KeyedTable(
      next: """
        SELECT kind, cid, id FROM entity WHERE (kind, cid, id) > (?, ?, ?)
        ORDER BY kind, cid, id LIMIT ?
        """,
      isByConversation: false),
    KeyedTable(
      next: "SELECT last, 0, x'' FROM change WHERE last > ?1 ORDER BY last LIMIT ?4",
      isByConversation: false),
    KeyedTable(
      next: "SELECT seq, 0, x'' FROM trace WHERE seq > ?1 ORDER BY seq LIMIT ?4",
      isByConversation: false, onlyIn: "trace"),
    KeyedTable(
      next: """
        SELECT cid, 0, id FROM tombstone WHERE (cid, id) > (?1, ?3)
        ORDER BY cid, id LIMIT ?4
        """),
    KeyedTable(
      next: """
        SELECT cid, place, x'' FROM entry WHERE (cid, place) > (?1, ?2)
        ORDER BY cid, place LIMIT ?4
        """,
      onlyIn: "entry"),
  ]
}

extension Queries {
  /// Those of words check themselves. The others are walked over, since they may have many rows.
  fileprivate static let tableToCheck: StaticString = """
    SELECT name FROM sqlite_schema WHERE type = 'table' AND name > ?
      AND name NOT IN ('message', 'tombstone', 'entry', 'entity', 'change', 'trace')
      AND name NOT LIKE 'search%' AND name NOT LIKE 'sqlite%'
    ORDER BY name LIMIT 1
    """

  fileprivate static let tableCheck: StaticString = """
    SELECT count(*) FROM pragma_integrity_check(CAST(? AS TEXT)) WHERE integrity_check != 'ok'
    """

  fileprivate static let messagesToCheck: StaticString = """
    SELECT cid, time, key,
      EXISTS (SELECT 1 FROM conversation AS c WHERE c.cid = m.cid)
      AND EXISTS (SELECT 1 FROM message AS x INDEXED BY message_id
        WHERE x.cid = m.cid AND x.id = m.id AND x.time = m.time AND x.key = m.key)
      AND EXISTS (SELECT 1 FROM message AS x INDEXED BY message_number
        WHERE x.number = m.number AND x.cid = m.cid AND x.time = m.time AND x.key = m.key)
    FROM message AS m WHERE (cid, time, key) > (?, ?, ?) ORDER BY cid, time, key LIMIT ?
    """

  /// The plus keeps the look-up from the index that is being checked.
  fileprivate static let numbersToCheck: StaticString = """
    SELECT i.number, EXISTS (SELECT 1 FROM message AS m
      WHERE m.cid = i.cid AND m.time = i.time AND m.key = i.key AND +m.number = i.number), i.cid
    FROM message AS i INDEXED BY message_number WHERE i.number > ? ORDER BY i.number LIMIT ?
    """

  fileprivate static let workOfNobody: StaticString = """
    SELECT (SELECT count(*) FROM operation
        WHERE cid != 0 AND verb >= 10 AND cid NOT IN (SELECT cid FROM conversation))
      + (SELECT count(*) FROM draft WHERE cid NOT IN (SELECT cid FROM conversation))
    """

  fileprivate static let countedAndEmpty: StaticString = """
    SELECT cid FROM conversation AS c WHERE message_count != 0
      AND NOT EXISTS (SELECT 1 FROM message AS m WHERE m.cid = c.cid)
    """
}
