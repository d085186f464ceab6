/// Whether rows, the indexes over them and their conversations say the same: a walk in slices.
///
/// It finds what decrypts and is wrong, as an old page that was put back. Rule protected: a slice
/// is one committed state, so what is written meanwhile contradicts nothing.
internal import Base

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
    /// All tables but those of messages, by name.
    case tables(after: [UInt8])
    /// Messages behind a place.
    case messages(cid: Int64, time: Int64, key: [UInt8])
    /// What the index of numbers has behind one.
    case numbers(after: Int64)
    /// Operations and drafts of conversations that are not there.
    case work
    case done
  }

  /// Rows of a slice: some milliseconds.
  private static let rows: Int64 = 1_000

  private var stage = Stage.tables(after: [])
  package private(set) var found = Contradictions()

  package init() {}

  /// Looks at a slice; true when all was looked at.
  package mutating func step(_ rx: ReadTransaction) throws(StoreFailure) -> Bool {
    do throws(StoreFailure) {
      try look(try rx.connection)
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

  private mutating func skip() {
    stage =
      switch stage {
      case .tables: .messages(cid: .min, time: .min, key: [])
      case .messages: .numbers(after: .min)
      case .numbers: .work
      case .work, .done: .done
      }
  }

  private mutating func look(_ connection: Connection) throws(StoreFailure) {
    switch stage {
    case .tables(let last): try lookAtTable(after: last, connection)
    case .messages(let cid, let time, let key):
      try lookAtMessages(cid, time, key, connection)
    case .numbers(let last): try lookAtNumbers(after: last, connection)
    case .work:
      let lost = try connection.number(Queries.workOfNobody) ?? 0
      for _ in 0..<lost { found.note(isOfAny: false) }
      stage = .done
    case .done: break
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

  private mutating func lookAtMessages(
    _ cid: Int64, _ time: Int64, _ key: [UInt8], _ connection: Connection
  ) throws(StoreFailure) {
    let row = try connection.statement(Queries.messagesToCheck, cid, time, key, Self.rows)
    var (next, count) = (stage, 0 as Int64)
    while try row.step() {
      if row.int(3) == 0 { found.note(in: row.int(0)) }
      next = .messages(cid: row.int(0), time: row.int(1), key: row.bytes(2))
      count &+= 1
    }
    stage = next
    if count < Self.rows { skip() }
  }

  private mutating func lookAtNumbers(
    after last: Int64, _ connection: Connection
  ) throws(StoreFailure) {
    let row = try connection.statement(Queries.numbersToCheck, last, Self.rows)
    var (next, count) = (last, 0 as Int64)
    while try row.step() {
      if row.int(1) == 0 { found.note(in: row.int(2)) }
      next = row.int(0)
      count &+= 1
    }
    stage = .numbers(after: next)
    if count < Self.rows { skip() }
  }
}

extension Queries {
  /// Those of words check themselves. Tombstones and entries of a log may be many.
  fileprivate static let tableToCheck: StaticString = """
    SELECT name FROM sqlite_schema WHERE type = 'table' AND name > ?
      AND name NOT IN ('message', 'tombstone', 'entry') AND name NOT LIKE 'search%'
      AND name NOT LIKE 'sqlite%'
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
}
