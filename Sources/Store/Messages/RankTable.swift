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
  /// is of an earlier one.
  package func rankBehind(
    _ message: IncomingMessage, previous: [UInt8]?, in cid: Int64
  ) throws(StoreFailure) -> Int {
    if let previous, let named = try tx.row(previous, cid)?.position, named.time <= message.order {
      let rank = try rank(of: message, behind: named, in: cid)
      if let rank { return rank }
    }
    let last = try tx.rows(
      cid, from: .before(timestampGroup: message.order),
      to: .after(timestampGroup: message.order), limit: 1, newestFirst: true
    ).first
    guard let last, last.position.id != message.id else { return 0 }
    return TieOrder.rank(of: message.id, behind: last.position)
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
  /// Gives all rows of one time their ranks, new or not: those that stand elsewhere than they did
  /// are told, and those that another one passes with the read marker.
  package func rerank(
    _ rows: [(row: StoredRow, rank: Int)], at time: Int64, in cid: Int64
  ) throws(StoreFailure) {
    let changed = rows.filter { $0.row.position.rank != $0.rank }
    if changed.isEmpty { return }
    var tally = try tx.tally(cid)
    let marker = tally.marker
    let counts = try unreadOfGroup(time, by: tally, in: cid)
    var places: [[UInt8]: Position] = [:]
    for (row, rank) in changed {
      let id = row.position.id
      let place = Position(time: time, rank: rank, id: id)
      try tx.connection.run(
        "UPDATE message SET key = ? WHERE cid = ? AND time = ? AND key = ?", place.key, cid, time,
        row.position.key)
      places[id] = place
      if row.flags.isDisjoint(with: .hidden) { tx.feed.add(.updated, cid, row.number...row.number) }
    }
    tx.inserted.spoil()
    tx.memo?.entry(cid).summary = nil
    try moveMarkers(to: places, at: time, &tally, in: cid)
    if let marker, let moved = tally.marker, moved != marker {
      for (row, rank) in rows where row.position.rank == rank && row.flags.isDisjoint(with: .hidden)
      {
        let place = row.position
        if (marker < place) != (moved < place) {
          tx.feed.add(.updated, cid, row.number...row.number)
        }
      }
    }
    let now = try unreadOfGroup(time, by: tally, in: cid)
    if now != counts {
      tally.unread &+= now.unread &- counts.unread
      tally.counted?.arrived &+= now.arrived &- counts.arrived
      tx.feedTable.change(.conversations, in: cid, numbers: nil)
    }
    tx.change(cid, to: tally)
  }

  private struct GroupCounts: Equatable {
    var unread: Int64 = 0
    var arrived: Int64 = 0
  }

  /// Unread rows of a group that stand above the marker, and above what the server counted.
  private func unreadOfGroup(
    _ time: Int64, by tally: UnreadCounters, in cid: Int64
  ) throws(StoreFailure) -> GroupCounts {
    let marker = tally.marker ?? .min
    let top = tally.counted.map { Swift.max(marker, $0.top) }
    guard marker.time == time || top?.time == time else { return GroupCounts() }
    let low = Position.before(timestampGroup: time)
    let high = Position.after(timestampGroup: time)
    var counts = GroupCounts()
    counts.unread = try tx.unreadReader.countUnread(
      cid, from: Swift.max(low, marker.successor), to: high)
    if let top {
      counts.arrived = try tx.unreadReader.countUnread(
        cid, from: Swift.max(low, top.successor), to: high)
    }
    return counts
  }

  /// Markers name messages: they go where those go.
  private func moveMarkers(
    to places: [[UInt8]: Position], at time: Int64, _ tally: inout UnreadCounters, in cid: Int64
  ) throws(StoreFailure) {
    if let marker = tally.marker, marker.time == time, let place = places[marker.id] {
      tally.marker = place
    }
    if let top = tally.counted?.top, top.time == time, let place = places[top.id] {
      tally.counted?.top = place
    }
    if let told = try tx.unreadReader.toldMarker(cid), told.time == time,
      let place = places[told.id]
    {
      try tx.connection.run(
        "UPDATE conversation SET told_id = ? WHERE cid = ? AND told_time = ?", place.key, cid,
        time)
    }
  }
}
