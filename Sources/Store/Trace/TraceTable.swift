/// A bounded trace of what changed messages: a table of its own, which is there only while a host
/// wants it (`TL_OPEN_TRACE`).
///
/// Rule protected: it is written in the transaction of the change, by the calls that tell the feed
/// and nowhere else. No text of a message is in it. A file without it has no table, and its
/// transactions run no statement for it.
internal import Base
internal import Timeline

/// Writes the trace, inside of a transaction.
struct TraceTable {
  let tx: WriteTransaction
}

extension TraceTable {
  static func isOn(_ connection: Connection) -> Bool { connection.hasTable("trace") }

  /// Notes a change of a row, where there is a trace. Inlined, it is there once for each caller.
  @inline(never)
  func note(
    _ cid: Int64, number: UInt64, was before: RowState?, now after: RowState?, _ hint: TraceHint
  ) throws(StoreFailure) {
    // The notes themselves stay in one place: a second name for them would copy them.
    guard var cause = tx.feed.trace?.cause, let place = (after ?? before)?.position,
      let effect = effect(before, after, hint)
    else { return }
    var operation: UInt64 = 0
    if let pending = before?.position ?? after?.position, pending.isPending {
      operation = pending.pendingBound ?? 0
    } else if case .operation(let seq) = hint {
      operation = seq
    }
    var id = place.id
    if place.isPending { id = try tx.operation(operation)?.clientID ?? [] }
    if operation != 0, cause == .call { cause = .operation }
    tx.feed.trace?.add(
      TraceNotes.Note(
        cid: cid, id: id, number: number, operation: operation, cause: cause, effect: effect,
        order: place.isPending ? nil : place.time))
  }

  private func effect(
    _ before: RowState?, _ after: RowState?, _ hint: TraceHint
  ) -> TraceEffect? {
    if case .effect(let effect) = hint { return effect }
    guard let before else { return .inserted }
    guard let after else { return .removed }
    if before.position.isPending != after.position.isPending { return .confirmed }
    if before.isVisible != after.isVisible { return after.isVisible ? .shown : .hidden }
    if before.position != after.position { return .moved }
    if case .marks = hint { return nil }
    return .changed
  }

  /// Notes what became of a message that has no row.
  @inline(never)
  func note(_ effect: TraceEffect, _ id: [UInt8], in cid: Int64, order: Int64? = nil) {
    guard let cause = tx.feed.trace?.cause else { return }
    tx.feed.trace?.add(
      TraceNotes.Note(cid: cid, id: id, cause: cause, effect: effect, order: order))
  }

  /// Runs what removes all messages of a conversation: that is one entry.
  @inline(never)
  func removingAll(
    of cid: Int64, _ body: () throws(StoreFailure) -> Void
  ) throws(StoreFailure) {
    guard tx.feed.trace?.isMuted == false else { return try body() }
    note(.removed, [], in: cid)
    tx.feed.trace?.isMuted = true
    defer { tx.feed.trace?.isMuted = false }
    try body()
  }

  /// Nothing is left of a conversation.
  @inline(never)
  func erase(_ cid: Int64) throws(StoreFailure) {
    tx.feed.trace?.erase(cid)
    let connection = try tx.connection
    guard Self.isOn(connection) else { return }
    try connection.runNoted("DELETE FROM trace WHERE cid = ?", cid)
  }

  /// Writes what was noted, and drops the oldest entries beyond the bound.
  func flush() throws(StoreFailure) {
    guard let trace = tx.feed.trace, !trace.notes.isEmpty else { return }
    let connection = try tx.connection
    if !Self.isOn(connection) { try create(connection) }
    var isWritten = false
    for note in trace.notes {
      if note.effect == .ignored, try isRepeated(note, connection) { continue }
      isWritten = true
      try connection.runNoted(
        """
        INSERT INTO trace (cid, id, number, operation, cause, effect, place, at_us, request, verb,
          connection, lsn)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
      ) { row in
        row.bind(note.cid)
        row.bind(note.id)
        row.bind(note.number)
        row.bind(note.operation)
        row.bind(note.cause.rawValue)
        row.bind(note.effect.rawValue)
        row.bind(note.order)
        row.bind(trace.source.atUs)
        row.bind(trace.source.request)
        row.bind(trace.source.verb?.bytes ?? [])
        row.bind(trace.source.connection)
        row.bind(tx.lsn)
      }
    }
    guard isWritten else { return }
    // A bound that became lower is reached by and by: no commit has much more to write for it.
    let most = Swift.max(Self.droppedMax, Int64(clamping: trace.notes.count) &* 2)
    try connection.runNoted(
      """
      DELETE FROM trace WHERE seq <= min(
        (SELECT max(seq) FROM trace) - ?, (SELECT min(seq) FROM trace) + ?)
      """, Int64(clamping: trace.max), most)
  }

  /// Entries that a commit drops, unless it has written half as many.
  private static let droppedMax: Int64 = 2_000

  /// A server may list a deleted message on each page that it sends.
  private func isRepeated(
    _ note: TraceNotes.Note, _ connection: Connection
  ) throws(StoreFailure) -> Bool {
    try connection.number(
      "SELECT effect FROM trace WHERE cid = ? AND id = ? ORDER BY seq DESC LIMIT 1", note.cid,
      note.id) == TraceEffect.ignored.rawValue
  }

  private func create(_ connection: Connection) throws(StoreFailure) {
    try connection.execute(
      """
      CREATE TABLE trace (
        seq INTEGER NOT NULL PRIMARY KEY,
        cid INTEGER NOT NULL,
        id BLOB NOT NULL,
        number INTEGER NOT NULL,
        operation INTEGER NOT NULL,
        cause INTEGER NOT NULL,
        effect INTEGER NOT NULL,
        place INTEGER,
        at_us INTEGER NOT NULL,
        request BLOB NOT NULL,
        verb BLOB NOT NULL,
        connection INTEGER NOT NULL,
        lsn INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX trace_message ON trace (cid, id);
      CREATE INDEX trace_number ON trace (number) WHERE number != 0;
      """)
  }

  /// Takes a part of an earlier trace out of the file, which is to have none; whether it has none.
  @inline(never)
  func drop() throws(StoreFailure) -> Bool {
    let connection = try tx.connection
    guard Self.isOn(connection) else { return true }
    // What only drops tables is no change that SQLite counts, and is not committed.
    try connection.run(
      "DELETE FROM trace WHERE seq <= (SELECT min(seq) FROM trace) + ?", Self.droppedMax)
    if try connection.number("SELECT 1 FROM trace LIMIT 1") != nil { return false }
    try connection.execute("DROP TABLE trace")
    return true
  }
}
