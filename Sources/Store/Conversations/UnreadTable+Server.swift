/// What the server says of a conversation: how many messages are unread, and how far this user has
/// read.
///
/// How far the server has the marker is kept apart from the marker that is shown, which moves
/// before the server has it: an older marker that is sent next must not move the server's back.
internal import Base
package import Timeline

extension UnreadTable {
  /// Takes in what the server says of a conversation, asked for after commit `issued`: its count
  /// of unread messages, and the last one that it knows as read.
  ///
  /// - Parameters:
  ///   - newest: the newest message of the same answer; nil where it has none.
  ///   - came: when an unread row came last, before that message did.
  package func noteServer(
    _ cid: Int64, unread count: Int64?, lastRead: [UInt8]?, newest: Position?, issued: UInt64,
    came: UInt64? = nil
  ) throws(StoreFailure) {
    let before = try tx.tally(cid)
    if let lastRead {
      try noteLastRead(lastRead, in: cid)
      try noteServer(marker: lastRead, in: cid)
      // The server's marker only goes forward: one that it names no more is passed, and an own one
      // of which the message was deleted never comes.
      let tally = try tx.tally(cid)
      if let named = tally.named, named != lastRead {
        var isPassed = try tx.unreadReader.isAhead(tally, cid)
        if !isPassed { isPassed = try tx.isTombstoned(named, in: cid) }
        if isPassed { try name(nil, in: cid) }
      }
    }
    var tally = try tx.tally(cid)
    guard let count, (0...Limits.countMax).contains(count) else {
      // How many are unread above a message that is not stored nobody knows.
      if tally.named != before.named, try tx.unreadReader.isAhead(tally, cid) { try doubt(cid) }
      return
    }
    let isRead = if let newest { try isRead(newest, by: tally, in: cid) } else { false }
    let covered = isRead ? nil : try countCovered(by: tally, from: lastRead, to: newest, in: cid)
    let isMixed = before.went > issued
    let isBehind = count == 0 ? false : try isBehind(lastRead, tally, in: cid)
    guard isRead || covered == nil && !isMixed && !isBehind else {
      // A server that stays behind is asked once.
      let isAsked = covered != nil || isMixed || tally.isExact
      if tally.number == nil || !isMixed && covered != nil {
        tally.number = max(count &- (covered ?? 0), min(count, tally.here))
        (tally.top, tally.counted) = (nil, tx.lsn &<< 1)
      }
      return try write(tally, isAsked ? .unsure : .inexact, in: cid)
    }
    let high = newest.map { Position.after(timestampGroup: $0.time) } ?? ReadTransaction.beyond
    // The server counts none of those that the list passes over: they were deleted.
    let passed = try NamedLastReader(rx: tx, cid: cid).passedOver(from: high, above: tally.marker)
    let later =
      try tx.unreadReader.countUnread(
        cid, from: max(high, tally.marker?.successor ?? .min), to: ReadTransaction.beyond)
      &- passed.unread
    let isTopmost = try tx.rows(
      cid, from: high, to: ReadTransaction.beyond, limit: 1, newestFirst: true
    ).isEmpty
    let hasCome = (came ?? before.came) > issued
    // What is read here the server has heard, or will hear, or refused to hear.
    var isHeard = !isBehind || isMixed
    if !isHeard { isHeard = try tx.connection.number(Queries.markerQueued, cid) != nil }
    // A push that may be late tells an earlier count, and one without its newest message does not
    // say what comes later, but where nothing is unread.
    let isExact =
      !hasCome && isTopmost && isHeard && (newest != nil || count == 0)
      && (issued < tx.lsn || tx.receivedSince != nil)
    tx.counting.unsettled[cid, default: .settle] = .settle
    tally.number = min((isRead ? 0 : count) &+ later, Limits.countMax)
    tally.top = passed.newest ?? newest
    tally.counted = tx.lsn &<< 1 | (isExact ? 1 : 0)
    try write(tally, hasCome ? .unsure : .settle, in: cid)
    tx.counting.recounts[cid] = hasCome
  }

  /// Whether the marker stands at the newest message or above it.
  private func isRead(
    _ newest: Position, by tally: UnreadCounters, in cid: Int64
  ) throws(StoreFailure) -> Bool {
    guard let marker = tally.marker else { return false }
    if marker.time != newest.time || marker.id == newest.id { return marker >= newest }
    return try !tx.unreadReader.isOrderUnknown(at: marker, cid) && marker > newest
  }

  /// How many stored rows the server counts that this user has read or deleted here; nil where it
  /// has heard of all that he did.
  private func countCovered(
    by tally: UnreadCounters, from lastRead: [UInt8]?, to newest: Position?, in cid: Int64
  ) throws(StoreFailure) -> Int64? {
    let isQueued = try tx.connection.number(Queries.markerQueued, cid) != nil
    let reader = tx.unreadReader
    let own = tally.marker?.successor ?? .min
    let high = newest?.successor ?? ReadTransaction.beyond
    var low = own
    if isQueued {
      var known = try reader.serverMarker(cid)
      if let lastRead, let row = try tx.row(lastRead, cid) { known = row.position }
      low = min(own, known?.successor ?? .min)
    }
    let there = try reader.countUnread(cid, from: low, to: high, without: .notUnreadThere)
    let here = try reader.countUnread(cid, from: own, to: high)
    return isQueued || there > here ? there &- here : nil
  }

  /// Whether the server counts from a message below the marker, with another one between them.
  private func isBehind(
    _ lastRead: [UInt8]?, _ tally: UnreadCounters, in cid: Int64
  ) throws(StoreFailure) -> Bool {
    guard let lastRead, lastRead != tally.named else { return false }
    if tally.named != nil { return true }
    guard let place = try tx.row(lastRead, cid)?.position, let marker = tally.marker else {
      return false
    }
    return try tx.unreadReader.hasRow(
      cid, from: place.successor, to: marker.successor, without: .hidden.union(.deleted))
  }

  /// The server has the marker at a message, or above it.
  package func noteServer(marker id: [UInt8], in cid: Int64) throws(StoreFailure) {
    guard let position = try tx.row(id, cid)?.position else { return }
    if let known = try tx.unreadReader.serverMarker(cid), known >= position { return }
    try tx.conversationTable.note(serverMarker: position, of: cid)
  }

  /// The server has taken an own mark: a count that was asked for before may be without it.
  package func noteConfirmed(_ cid: Int64) throws(StoreFailure) {
    var tally = try tx.tally(cid)
    tally.went = tx.lsn
    try write(tally, .settle, in: cid, tells: false)
  }

  /// What the server had may be lost.
  func clearServerMarker(_ cid: Int64) throws(StoreFailure) {
    try tx.conversationTable.note(serverMarker: nil, of: cid)
  }
}
