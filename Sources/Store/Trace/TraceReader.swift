/// What a trace has of a message, and what else explains that it is not shown.
internal import Base
internal import Timeline

package struct TraceReader {
  private let connection: Connection

  package init(_ rx: ReadTransaction) throws(StoreFailure) {
    connection = try rx.connection
  }

  package var isOn: Bool { TraceTable.isOn(connection) }

  /// Entries of a message, the newest first: those of its ids, those of its rows under other ids,
  /// and those of the whole conversation that removed it.
  package func entries(
    of ids: [[UInt8]], in cid: Int64, limit: Int
  ) throws(StoreFailure) -> [TraceEntry] {
    guard isOn, let id = ids.first else { return [] }
    let row = try connection.statement(Queries.trace, cid, id, ids.last ?? id, limit)
    var entries: [TraceEntry] = []
    while try row.step() {
      entries.append(
        TraceEntry(
          cause: TraceCause(rawValue: row.int(0)), effect: TraceEffect(rawValue: row.int(1)),
          atUs: row.int(2), request: row.bytes(3), verb: row.bytes(4), connection: row.uint(5),
          commit: row.uint(6), number: row.uint(7), operation: row.uint(8),
          order: row.optionalInt(9), isOfAll: row.int(10) != 0))
    }
    entries.removeForeign(areAll: entries.count < limit)
    return entries
  }

  /// Another conversation that has a message of this id.
  package func conversation(
    having id: [UInt8], besides cid: Int64
  ) throws(StoreFailure) -> [UInt8]? {
    let row = try connection.statement(Queries.conversationHaving, cid, id)
    return try row.step() ? row.bytes(0) : nil
  }

  /// The newest items that were set aside and hold these bytes.
  package func setAside(
    holding bytes: [UInt8], in cid: Int64
  ) throws(StoreFailure) -> [[UInt8]] {
    let row = try connection.statement(Queries.quarantinedWith, cid, bytes)
    var items: [[UInt8]] = []
    while try row.step() { items.append(row.bytes(0)) }
    return items
  }
}

extension Queries {
  static let trace: StaticString = """
    SELECT cause, effect, at_us, request, verb, connection, lsn, number, operation, place, id = x''
      AND number = 0
    FROM trace WHERE seq IN (
      SELECT seq FROM trace WHERE cid = ?1 AND id = ?2
      UNION SELECT seq FROM trace WHERE cid = ?1 AND id = ?3
      UNION SELECT other.seq FROM trace AS one JOIN trace AS other
        ON other.number != 0 AND other.number = one.number
        WHERE one.cid = ?1 AND one.id IN (?2, ?3) AND one.number != 0
      UNION SELECT seq FROM trace WHERE cid IN (0, ?1) AND id = x'' AND number = 0)
    ORDER BY seq DESC LIMIT ?4
    """

  static let conversationHaving: StaticString = """
    SELECT id FROM conversation AS c WHERE cid != ?1 AND EXISTS (
      SELECT 1 FROM message INDEXED BY message_id WHERE cid = c.cid AND id = ?2)
    LIMIT 1
    """

  static let quarantinedWith: StaticString = """
    SELECT bytes FROM quarantine WHERE cid IN (0, ?1) AND instr(bytes, ?2)
    ORDER BY seq DESC LIMIT 16
    """
}
