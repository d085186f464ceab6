/// What the server tells beside messages: events for the host, and small
/// entities of which the newest copy is kept.
///
/// Both are written in the transaction of the update that brought them, and the
/// feed tells of them. Events are a bounded journal, entities a cache. Signs of typing
/// are many and soon over: they push out each other and nothing else.
internal import Base

/// Something that the host may have to act on.
package struct EventEntry: Equatable, Sendable {
  package var seq: UInt64
  package var kind: Int64
  package var action: Int64
  package var isSilent: Bool
  /// 0 and empty for none.
  package var cid: Int64
  package var conversation: [UInt8]
  package var entity: [UInt8]
  package var body: [UInt8]
  /// Of what it is about, or empty.
  package var id: [UInt8]

  /// The kind of signs of typing.
  package static let typing: Int64 = 2
}

package enum EventsPage: Equatable, Sendable {
  /// Fewer than asked where their bytes would have become too many, yet one at least.
  case entries([EventEntry])
  /// What lies after the asked number is no longer kept, or never was.
  case resync
}

/// The newest copy of a small thing, as it came.
package struct EntityRow: Equatable, Sendable {
  package var kind: Int64
  /// 0 and empty for none.
  package var cid: Int64
  package var conversation: [UInt8]
  package var id: [UInt8]
  package var body: [UInt8]
}

extension FeedTable {
  /// Adds an event, silent where it or the transaction is. Returns its number.
  @discardableResult
  package func addEvent(
    kind: Int64, action: Int64, isSilent: Bool, cid: Int64?, entity: [UInt8], body: [UInt8],
    id: [UInt8] = []
  ) throws(StoreFailure) -> UInt64 {
    let seq = (try tx.feedReader.lastEvent()) &+ 1
    let wasSilent = tx.feed.isSilent
    tx.feed.isSilent = wasSilent || isSilent
    defer { tx.feed.isSilent = wasSilent }
    try tx.connection.run(
      """
      INSERT INTO event (seq, kind, action, silent, cid, entity, body, id)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """, seq, kind, action, tx.feed.isSilent ? 1 : 0, cid ?? 0, entity, body, id)
    tx.feed.add(.events, cid ?? 0, seq...seq)
    if kind == EventEntry.typing {
      try tx.connection.run(
        """
        DELETE FROM event WHERE kind = 2 AND seq <=
          (SELECT seq FROM event WHERE kind = 2 ORDER BY seq DESC LIMIT 1 OFFSET ?)
        """, Limits.typingEventsKept)
    } else {
      try boundEvents()
    }
    return seq
  }

  /// One more of those that are no signs of typing. The oldest goes where they are too many, and
  /// what was typed before it.
  private func boundEvents() throws(StoreFailure) {
    try tx.connection.run("UPDATE meta SET event_count = event_count + 1 WHERE one = 1")
    let count = try tx.connection.number("SELECT event_count FROM meta") ?? 0
    guard count > Int64(clamping: Limits.eventsKept),
      let oldest = try tx.connection.number(
        "SELECT seq FROM event WHERE kind != 2 ORDER BY seq LIMIT 1")
    else { return }
    try tx.connection.run("DELETE FROM event WHERE seq <= ?", oldest)
    try tx.connection.run(
      "UPDATE meta SET event_count = ?, trimmed_event = ? WHERE one = 1",
      Limits.eventsKept, oldest)
  }

  /// Keeps an entity; `cid` 0 is for what belongs to no conversation. False where
  /// it is stored as it is.
  @discardableResult
  package func putEntity(
    kind: Int64, cid: Int64, id: [UInt8], body: [UInt8]
  ) throws(StoreFailure) -> Bool {
    try tx.connection.run(
      """
      INSERT INTO entity (kind, cid, id, body) VALUES (?, ?, ?, ?)
      ON CONFLICT (kind, cid, id) DO UPDATE SET body = excluded.body WHERE body != excluded.body
      """, kind, cid, id, body)
    return try noteEntities(cid)
  }

  @discardableResult
  package func removeEntity(kind: Int64, cid: Int64, id: [UInt8]) throws(StoreFailure) -> Bool {
    try tx.connection.run(
      "DELETE FROM entity WHERE kind = ? AND cid = ? AND id = ?", kind, cid, id)
    return try noteEntities(cid)
  }

  /// Removes the entities of a conversation, of all kinds: 1 to 3, and what was named as its last
  /// message.
  @discardableResult
  package func removeEntities(of cid: Int64) throws(StoreFailure) -> Bool {
    try tx.connection.run("DELETE FROM entity WHERE kind IN (1, 2, 3, 4) AND cid = ?", cid)
    return try noteEntities(cid)
  }

  private func noteEntities(_ cid: Int64) throws(StoreFailure) -> Bool {
    guard try tx.connection.changes > 0 else { return false }
    tx.feed.add(.entities, cid, 0...0)
    return true
  }
}

extension FeedReader {
  /// Events after a number, oldest first; after 0, all that are kept.
  package func events(after: UInt64, limit: Int) throws(StoreFailure) -> EventsPage {
    let last = try lastEvent()
    let trimmed = UInt64(clamping: try rx.connection.number(Queries.trimmedEvent) ?? 0)
    if after > last || (after > 0 && after < trimmed) { return .resync }
    let limit = Swift.min(limit, Limits.readRowsMax)
    guard limit > 0 else { return .entries([]) }
    let row = try rx.connection.statement(Queries.events, after, limit)
    var entries: [EventEntry] = []
    var size = 0
    while try row.step() {
      size += row.size(7)
      if !entries.isEmpty, size > RowBuilder.bytesMax { break }
      entries.append(
        EventEntry(
          seq: row.uint(0), kind: row.int(1), action: row.int(2), isSilent: row.int(3) != 0,
          cid: row.int(4), conversation: row.bytes(5), entity: row.bytes(6), body: row.bytes(7),
          id: row.bytes(8)))
    }
    return .entries(entries)
  }

  /// The number of the newest event.
  package func lastEvent() throws(StoreFailure) -> UInt64 {
    UInt64(clamping: try rx.connection.number(Queries.lastEvent) ?? 0)
  }

  /// Entities of a kind behind a place, by id: of one conversation, or of none (0).
  package func entities(
    kind: Int64, cid: Int64, after id: [UInt8], limit: Int
  ) throws(StoreFailure) -> [EntityRow] {
    let limit = Swift.min(limit, Limits.readRowsMax)
    guard limit > 0 else { return [] }
    return try entities(try rx.connection.statement(Queries.entities, kind, cid, id, limit))
  }

  /// Those of a kind in all conversations behind a place, by conversation and id.
  package func entities(
    kind: Int64, after place: (cid: Int64, id: [UInt8]), limit: Int
  ) throws(StoreFailure) -> [EntityRow] {
    let limit = Swift.min(limit, Limits.readRowsMax)
    guard limit > 0 else { return [] }
    return try entities(
      try rx.connection.statement(Queries.entitiesOfKind, kind, place.cid, place.id, limit))
  }

  /// The one with an id, nil where it is not stored.
  package func entity(
    kind: Int64, cid: Int64, id: [UInt8]
  ) throws(StoreFailure) -> EntityRow? {
    try entities(try rx.connection.statement(Queries.entity, kind, cid, id)).first
  }

  private func entities(_ row: consuming Statement) throws(StoreFailure) -> [EntityRow] {
    var rows: [EntityRow] = []
    var size = 0
    while try row.step() {
      size += row.size(4)
      if !rows.isEmpty, size > RowBuilder.bytesMax { break }
      rows.append(
        EntityRow(
          kind: row.int(0), cid: row.int(1), conversation: row.bytes(2), id: row.bytes(3),
          body: row.bytes(4)))
    }
    return rows
  }
}
