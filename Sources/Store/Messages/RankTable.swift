/// Rows of one printed time that take another order.
///
/// Rule protected: an order is no proof. What is trusted, counted or read goes by the group or by
/// the id: no count changes but where a row passes the marker, which names a message.
internal import Base
internal import Timeline

/// Writes the ranks of messages of one time, inside of a transaction.
package struct RankTable {
  let tx: WriteTransaction
}

extension RankTable {
  /// The rank with which a new message stands behind all that are stored of its time, or, where it
  /// names the one before it, right behind that: as the first of its own time where the other one
  /// is of an earlier one. `isGuess`: others are of its time, and it named none of them.
  package func rankBehind(
    _ message: IncomingMessage, previous: [UInt8]?, in cid: Int64
  ) throws(StoreFailure) -> (rank: Int, isGuess: Bool) {
    if let previous, let named = try tx.row(previous, cid)?.position, named.time <= message.order {
      let rank = try rank(of: message, behind: named, in: cid)
      if let rank { return (rank, false) }
    }
    let last = try tx.rows(
      cid, from: .before(timestampGroup: message.order),
      to: .after(timestampGroup: message.order), limit: 1, newestFirst: true
    ).first
    guard let last, last.position.id != message.id else { return (0, false) }
    return (TieOrder.rank(of: message.id, behind: last.position), true)
  }

  /// Nil where there is no room: rows that are stored stay where they are.
  private func rank(
    of message: IncomingMessage, behind named: Position, in cid: Int64
  ) throws(StoreFailure) -> Int? {
    let isSame = named.time == message.order
    let low = isSame ? named.successor : .before(timestampGroup: message.order)
    let next = try tx.rows(
      cid, from: low, to: .after(timestampGroup: message.order), limit: 1, newestFirst: false
    ).first?.position
    if next?.id == message.id { return 0 }
    return TieOrder.rank(of: message.id, between: isSame ? named : nil, and: next)
  }
}

extension RankTable {
  /// Gives all rows of one time their ranks, new or not. Rows that moved are reported as changed,
  /// and so are others that the read marker passes.
  package func rerank(
    _ rows: [(row: StoredRow, rank: Int)], at time: Int64, in cid: Int64
  ) throws(StoreFailure) {
    let changed = rows.filter { $0.row.position.rank != $0.rank }
    if changed.isEmpty { return }
    var tally = try tx.tally(cid)
    let marker = tally.marker
    let before = unread(rows, at: time, above: marker) { $0.position }
    var places: [[UInt8]: Position] = [:]
    for (row, rank) in changed {
      let id = row.position.id
      let place = Position(time: time, rank: rank, id: id)
      try tx.connection.run(
        "UPDATE message SET key = ? WHERE cid = ? AND time = ? AND key = ?", place.key, cid, time,
        row.position.key)
      places[id] = place
      try tx.feedTable.noteMove(
        cid, number: row.number, was: RowState(position: row.position, flags: row.flags),
        now: RowState(position: place, flags: row.flags))
    }
    tx.inserted.spoil()
    tx.memo?.entry(cid).summary = nil
    try moveMarkers(over: rows, at: time, &tally, in: cid)
    if let marker, let moved = tally.marker, moved != marker {
      for (row, rank) in rows where row.position.rank == rank && row.flags.isDisjoint(with: .hidden)
      {
        let place = row.position
        if (marker < place) != (moved < place) {
          tx.feed.add(.updated, cid, row.number...row.number)
        }
      }
    }
    let now = unread(rows, at: time, above: tally.marker) {
      places[$0.position.id] ?? $0.position
    }
    tally.here &+= now &- before
    tx.change(cid, to: tally)
    if now == before { return }
    tx.feedTable.change(.conversations, in: cid, numbers: nil)
    try tx.unreadTable.doubt(cid)
  }

  /// Unread rows of a group that stand above the marker, where that is in the group.
  private func unread(
    _ rows: [(row: StoredRow, rank: Int)], at time: Int64, above marker: Position?,
    place: (StoredRow) -> Position
  ) -> Int64 {
    guard let marker, marker.time == time else { return 0 }
    let above = rows.count { marker < place($0.row) && $0.row.flags.isDisjoint(with: .notUnread) }
    return Int64(clamping: above)
  }

  /// Markers name messages: they go where those go. One of which the message is gone goes with the
  /// last of the rows that it stood above.
  private func moveMarkers(
    over rows: [(row: StoredRow, rank: Int)], at time: Int64, _ tally: inout UnreadCounters,
    in cid: Int64
  ) throws(StoreFailure) {
    func moved(_ marker: Position?) -> Position? {
      guard let marker, marker.time == time else { return marker }
      var held: (row: StoredRow, rank: Int)?
      for row in rows where row.row.position <= marker {
        if held.map({ $0.row.position < row.row.position }) ?? true { held = row }
      }
      return held.map { Position(time: time, rank: $0.rank, id: $0.row.position.id) }
        ?? .before(timestampGroup: time)
    }
    tally.marker = moved(tally.marker)
    tally.top = moved(tally.top)
    let known = try tx.unreadReader.serverMarker(cid)
    if moved(known) != known {
      try tx.conversationTable.note(serverMarker: moved(known), of: cid)
    }
  }
}
