/// What a window reads of a conversation: keys of rows without their content,
/// content of given rows, and the places where a window opens.
///
/// Each read goes by a key, so a window over a long conversation costs what it
/// shows. Keys are of visible rows only.
package import Base
package import Timeline

extension ReadTransaction {
  /// The newest keys in `low ..< high`, oldest first; nil for `low` is no bound.
  package func keys(
    _ cid: Int64, before high: Position, limit: Int, from low: Position?
  ) throws(StoreFailure) -> [RowKey] {
    let limit = Swift.min(limit, Limits.readRowsMax)
    let low = low ?? .min
    var found = try pendingKeys(cid, from: low, to: high, limit: limit, newestFirst: true)
    if low < high {
      let row = try connection.statement(Queries.keysDown, cid, high.time, high.key)
      try append(to: &found, row: row, low: low, high: high, limit: limit)
    }
    found.reverse()
    return found
  }

  /// The oldest keys in `low ..< high`, oldest first; nil for `high` is no bound.
  package func keys(
    _ cid: Int64, from low: Position, limit: Int, to high: Position?
  ) throws(StoreFailure) -> [RowKey] {
    let limit = Swift.min(limit, Limits.readRowsMax)
    let high = high ?? Self.beyond
    var found: [RowKey] = []
    if low < high {
      let row = try connection.statement(Queries.keysUp, cid, low.time, low.key)
      try append(to: &found, row: row, low: low, high: high, limit: limit)
    }
    found += try pendingKeys(
      cid, from: low, to: high, limit: limit - found.count, newestFirst: false)
    return found
  }

  /// Appends the keys of visible rows of `low ..< high` until there are `limit` of them.
  private func append(
    to keys: inout [RowKey], row: consuming Statement, low: Position, high: Position,
    limit: Int
  ) throws(StoreFailure) {
    while keys.count < limit, try row.step() {
      let time = row.int(1)
      if time < low.time || high.time < time { return }
      guard RowFlags(rawValue: row.int(4)).isDisjoint(with: .hidden) else { continue }
      let position = Position(time: time, key: row.bytes(2))
      if position < low || high <= position { return }
      keys.append(RowKey(number: row.uint(0), position: position, revision: row.uint(3)))
    }
  }

  /// Keys of the rows with these local numbers, in the order of numbers.
  package func keys(
    numbers: ClosedRange<UInt64>, in cid: Int64, limit: Int
  ) throws(StoreFailure) -> [RowKey] {
    let limit = Swift.min(limit, Limits.readRowsMax)
    guard limit > 0 else { return [] }
    if let known = try known?.inserted.keys(numbers, in: cid), known.count <= limit { return known }
    let found = try keys(
      try connection.statement(
        Queries.keysOfNumbers, numbers.lowerBound, numbers.upperBound, cid,
        RowFlags.hidden.rawValue, limit))
    var pending = try pendingKeys(numbers: numbers, in: cid, limit: limit)
    guard !pending.isEmpty else { return found }
    pending += found
    pending.order { $0.number < $1.number }
    return Array(pending.prefix(limit))
  }

  private func keys(_ row: consuming Statement) throws(StoreFailure) -> [RowKey] {
    var keys: [RowKey] = []
    while try row.step() {
      keys.append(
        RowKey(
          number: row.uint(0), position: Position(time: row.int(1), key: row.bytes(2)),
          revision: row.uint(3)))
    }
    return keys
  }

  /// Content of the visible rows at these places, in their order; those that are
  /// not there are left out.
  package func messages(
    _ cid: Int64, keys: ArraySlice<Position>
  ) throws(StoreFailure) -> RowPage {
    var page = RowBuilder(keys.count)
    var left = keys.prefix(Limits.readRowsMax)
    while let key = left.first, !page.isCut {
      if key.isPending {
        left.removeFirst()
        _ = try appendPending(to: &page, at: key, in: cid)
      } else {
        left.removeFirst(try append(to: &page, left, cid))
      }
    }
    try lay(over: &page, in: cid)
    return page.page()
  }

  /// The messages at these places, each of a conversation of its own, and which row is which; nil
  /// where none is seen. However large they are, all of them come.
  package func messages(
    at places: [(cid: Int64, position: Position)]
  ) throws(StoreFailure) -> (page: RowPage, rows: [Int?]) {
    var page = RowBuilder(places.count, room: places.count, bytesMax: .max)
    var rows: [Int?] = []
    rows.reserveCapacity(places.count)
    var left = places[...]
    while let (cid, position) = left.first {
      let some = left.prefix(Self.placesAtOnce)
      if places.count >= Self.placesMany, some.count == Self.placesAtOnce,
        !some.contains(where: \.position.isPending)
      {
        try append(to: &page, &rows, at: some)
        left.removeFirst(some.count)
      } else {
        rows.append(try append(to: &page, at: position, in: cid))
        left.removeFirst()
      }
    }
    return (page.page(), rows)
  }

  /// So many places are read by one statement, where there are many: a statement begun anew gets
  /// its memory for each column anew. That saves 4.3 of 25 thousand instructions of a list's row,
  /// and preparing it costs 150 more.
  private static let placesAtOnce = 8
  private static let placesMany = 64

  private func append(
    to page: inout RowBuilder, _ rows: inout [Int?],
    at places: ArraySlice<(cid: Int64, position: Position)>
  ) throws(StoreFailure) {
    let row = try connection.statement(Queries.atEight)
    var parameters = row.parameters()
    for (cid, position) in places {
      parameters.bind(cid)
      parameters.bind(position.time)
      parameters.bind(position.key)
    }
    try parameters.end()
    var next = places.startIndex
    while try row.step() {
      let cid = row.int(17)
      // They come in their order, and those that are not seen are left out.
      while next < places.endIndex, places[next].cid != cid {
        rows.append(nil)
        next &+= 1
      }
      let index = page.count
      _ = page.append(row, RowFlags(rawValue: row.int(2)))
      try lay(over: &page, from: index, in: cid)
      rows.append(index)
      next &+= 1
    }
    while next < places.endIndex {
      rows.append(nil)
      next &+= 1
    }
  }

  /// Appends the message at a place; which row it is, nil where none is seen.
  func append(
    to page: inout RowBuilder, at position: Position, in cid: Int64
  ) throws(StoreFailure) -> Int? {
    let count = page.count
    if position.isPending {
      _ = try appendPending(to: &page, at: position, in: cid)
    } else {
      let row = try connection.statement(Queries.at, cid, position.time, position.key)
      if try row.step() { _ = page.append(row, RowFlags(rawValue: row.int(2))) }
    }
    try lay(over: &page, from: count, in: cid)
    return page.count > count ? count : nil
  }

  /// Appends the rows at the next places; gives how many places were dealt with, one at
  /// least. Mostly nothing lies between them, so that one statement finds them all.
  private func append(
    to page: inout RowBuilder, _ keys: ArraySlice<Position>, _ cid: Int64
  ) throws(StoreFailure) -> Int {
    let row = try connection.statement(
      Queries.newer, cid, keys[keys.startIndex].time, keys[keys.startIndex].key)
    var place = keys.startIndex
    func hasNext() -> Bool {
      let next = place + 1
      return next < keys.endIndex && keys[place] < keys[next] && !keys[next].isPending
    }
    var strangers = 0
    while try row.step() {
      let flags = RowFlags(rawValue: row.int(2))
      guard flags.isDisjoint(with: .hidden) else { continue }
      if row.int(1) != keys[place].time || !row.isEqual(4, to: keys[place].key) {
        let found = Position(time: row.int(1), key: row.bytes(4))
        // Nothing stands at a place that is passed.
        while keys[place] < found {
          guard hasNext() else { return place + 1 - keys.startIndex }
          place += 1
        }
        if keys[place] != found {
          strangers += 1
          // One at least, also where pages contradict each other.
          if strangers > Self.strangersMax { return Swift.max(1, place &- keys.startIndex) }
          continue
        }
      }
      guard page.append(row, flags), hasNext() else { return place + 1 - keys.startIndex }
      place += 1
    }
    return Swift.max(1, place - keys.startIndex)
  }

  /// So many rows between two places cost less than another statement.
  private static let strangersMax = 4

  // MARK: Places

  /// Where the message with an id stands, hidden or not, or the send with a client id.
  package func place(ofID id: [UInt8], in cid: Int64) throws(StoreFailure) -> Position? {
    if let row = try row(id, cid) { return row.position }
    return try place(ofClientID: id, in: cid)
  }

  /// The oldest of the visible messages behind all that this user has read, marked
  /// as read, or sent; nil where the newest is none.
  package func firstUnread(_ cid: Int64) throws(StoreFailure) -> Position? {
    // What this user has to say stands behind all that.
    if try !pendingKeys(cid, from: .min, to: .max, limit: 1, newestFirst: true).isEmpty {
      return nil
    }
    let row = try connection.statement(Queries.newestFlags, cid, RowFlags.hidden.rawValue)
    let marker = try unreadReader.readMarker(cid)
    var first: Position?
    while try row.step() {
      let flags = RowFlags(rawValue: row.int(2))
      let position = Position(time: row.int(0), key: row.bytes(1))
      guard marker.map({ $0 < position }) ?? true else { break }
      // What is not to be read says nothing of what is.
      if !flags.isDisjoint(with: [.deleted, .event]) { continue }
      guard flags.isDisjoint(with: .notUnread) else { break }
      first = position
    }
    return first
  }

  /// Whether a message is remembered as deleted.
  package func isDeleted(_ id: [UInt8], in cid: Int64) throws(StoreFailure) -> Bool {
    try connection.statement(Queries.tombstone, cid, id).step()
  }

  /// Whether a message was erased here, with a row or without.
  package func isErased(_ id: [UInt8], in cid: Int64) throws(StoreFailure) -> Bool {
    try connection.statement(Queries.forgotten, cid, id).step()
  }

  /// The oldest of so many unread messages, the newest of all first, down to a boundary; nil where
  /// there are fewer.
  package func unread(
    _ cid: Int64, fromNewest count: Int, downTo low: Position
  ) throws(StoreFailure) -> Position? {
    let row = try connection.statement(Queries.newestFlags, cid, RowFlags.hidden.rawValue)
    var left = count
    while left > 0, try row.step() {
      let position = Position(time: row.int(0), key: row.bytes(1))
      guard position >= low else { return nil }
      if !RowFlags(rawValue: row.int(2)).isDisjoint(with: .notUnread) { continue }
      left -= 1
      if left == 0 { return position }
    }
    return nil
  }

  /// The boundary before the first message made at or after `time`.
  ///
  /// Where positions are the server's numbers it is found by halving: exact as far
  /// as times grow with the numbers, and near it otherwise.
  package func boundary(atTime time: Int64, in cid: Int64) throws(StoreFailure) -> Position {
    guard positionKind != 0 else { return .before(timestampGroup: time) }
    guard var low = try oldest(cid)?.time, let newest = try newest(cid)?.time else {
      return .before(timestampGroup: 0)
    }
    var high = newest == .max ? newest : newest + 1
    while low < high {
      // The mean, rounded down, without overflow.
      let middle = (low & high) &+ ((low ^ high) >> 1)
      let row = try connection.statement(Queries.timeFrom, cid, middle)
      guard try row.step(), row.int(0) < high, row.optionalInt(1) ?? row.int(0) < time else {
        high = middle
        continue
      }
      // Below `high`, so it has a successor.
      low = row.int(0) + 1
    }
    return .before(timestampGroup: low)
  }
}
