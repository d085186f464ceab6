/// Keeping the counts of unread messages, in the transactions that change rows.
///
/// Rule protected: a count that is called exact is never wrong. Our own count moves
/// with every row. Of the server's count only what was heard as it happened is taken
/// away; where something may have happened before the server counted, or after, its
/// count is given up. The read marker only moves forward.
internal import Base
package import Timeline

/// Writes the counts of unread messages, inside of a transaction.
package struct UnreadTable {
  let tx: WriteTransaction
}

extension UnreadTable {
  /// Notes that a row came, changed, moved or went.
  func noteUnread(
    _ cid: Int64, was before: RowState?, now after: RowState?
  ) throws(StoreFailure) {
    let isNew = before?.position.isPending ?? true
    try count(cid, was: before, now: after, isNew: isNew)
    if isNew, let position = after?.position, !position.isPending {
      try takeNamed(position, in: cid)
    }
  }

  private func count(
    _ cid: Int64, was before: RowState?, now after: RowState?, isNew: Bool
  ) throws(StoreFailure) {
    let old = before.flatMap { $0.isUnread ? $0.position : nil }
    let new = after.flatMap { $0.isUnread ? $0.position : nil }
    guard old != new else { return }
    var tally = try tx.tally(cid)
    let low = old.flatMap { tally.isAboveMarker($0) ? $0 : nil }
    let high = new.flatMap { tally.isAboveMarker($0) ? $0 : nil }
    if low != nil { tally.unread -= 1 }
    if high != nil { tally.unread += 1 }
    if old == nil { tally.moreLSN = tx.lsn }
    if new == nil { tally.fewerLSN = tx.lsn }
    // What this user does here happens now, whatever brought the row.
    let isHere = before.map { was in
      after.map { was.flags.symmetricDifference($0.flags).isSubset(of: .ownDoing) } ?? false
    }
    if var counted = tally.counted {
      let isHeard = tx.heardSince.map { $0 <= counted.lsn } ?? false
      // More rows were unread than the server counted: reads of another device were
      // missed, and which rows they are is not known.
      let known = tally.unread + (low == nil ? 0 : 1) - (high == nil ? 0 : 1)
      let isDoubtful = known - counted.arrived > counted.count
      counted.noteSurplus(of: known)
      let isKept = counted.applyChange(
        low, new: high, isNew: isNew, isHeard: isHeard, isHere: isHere ?? false && !isDoubtful)
      // Where its marker stands is not known: a row below the top was counted or not.
      let isBelow = [low, high].contains { $0.map { $0 <= counted.top } ?? false }
      // More than were counted stand below the top now: it came later, or others were read or are
      // gone. What stands below a marker whose place is not known says nothing.
      let more = tally.unread &- counted.arrived &- counted.count
      let isOneTooMany = isNew && isBelow && more >= 1 && tally.named == nil
      if counted.isDoubted, high == nil, isHere != true, let low, low <= counted.top {
        counted.takeSurplus()
      }
      // It came later, or another one was read or is gone, which is not known: also where all is
      // stored no count is exact until the server counts anew.
      if isOneTooMany, counted.surplus == 0 { counted.isOutlived = true }
      if !isKept || counted.isFromNamed && isBelow && !isNew || isOneTooMany { doubt(&counted) }
      tally.counted = counted
    }
    tx.change(cid, to: tally)
    if isNew, let high { try PurgedUnreadBook(tx).take(high, in: cid) }
    settleLater(cid)
  }

  /// Whether a doubt is settled goes by what the commit leaves: while it is made, a row may be
  /// counted that no range holds yet.
  func settleLater(_ cid: Int64) {
    tx.changed[cid, default: ConversationChange()].isUnsettled = true
  }

  func settleDoubts() throws(StoreFailure) {
    for cid in tx.changed.keys where tx.changed.value(cid)?.isUnsettled ?? false {
      try settleDoubt(cid)
    }
  }

  /// What is all stored is counted here: a count in doubt is never gone back to. One that is
  /// greater holds what has not been heard of yet, and goes on. Nor is one of which nobody can tell
  /// what came after it, since a server may count what is never shown, or how much of what was read
  /// here it held.
  private func settleDoubt(_ cid: Int64) throws(StoreFailure) {
    var tally = try tx.tally(cid)
    let before = tally.counted
    try PurgedUnreadBook(tx).settle(above: tally.marker, in: cid)
    tally.counted?.boundSurplus(by: tally.unread)
    if tally.counted != before { tx.change(cid, to: tally) }
    guard let counted = tally.counted else { return }
    try PurgedUnreadBook(tx).bound(by: tally, in: cid)
    let isVague =
      counted.isDoubted
      ? false : try tx.unreadReader.isOrderUnknown(at: counted.top, cid) || counted.isLow
    guard isVague || counted.isDoubted || counted.isOutlived,
      let record = try tx.conversation(cid: cid),
      isVague || counted.isOutlived || counted.count &+ counted.arrived <= tally.unread,
      try tx.unreadReader.isCovered(above: tally.marker, of: record),
      try !tx.unreadReader.isAhead(tally, cid),
      try !tx.unreadReader.isOrderUnknown(at: tally.marker, cid)
    else { return }
    if counted.isOutlived {
      // It is exact no more, and goes on from what is counted here.
      tally.counted?.count = tally.unread &- counted.arrived
      tally.counted?.surplus = 0
    } else if counted.surplus > 0, !isVague {
      // It had counted so many as read. What they are may still be told; until then, or until it
      // counts anew, no count is exact.
      tally.counted?.count = tally.unread &- counted.arrived &- counted.surplus
    } else {
      tally.counted = nil
    }
    if tally.counted != counted { tx.change(cid, to: tally) }
  }

  /// The server is to be asked for its count once more.
  private func doubt(_ counted: inout UnreadCounters.Counted) {
    counted.count = Swift.max(0, counted.count)
    if !counted.isDoubted { tx.doubtsCounts = true }
    counted.isDoubted = true
  }

  /// A connection that began after a commit has told of the conversation: a count from before says
  /// nothing of what was read elsewhere meanwhile.
  package func outliveCount(from lsn: UInt64, in cid: Int64) throws(StoreFailure) {
    var tally = try tx.tally(cid)
    guard let counted = tally.counted, counted.lsn <= lsn, !counted.isOutlived else { return }
    tally.counted?.isOutlived = true
    tx.change(cid, to: tally)
    tx.feedTable.change(.conversations, in: cid, numbers: nil)
    settleLater(cid)
  }

  /// Something was read or deleted of which nothing is stored: whether the server
  /// counted it cannot be told.
  func noteUnreadUnknown(_ cid: Int64) throws(StoreFailure) {
    var tally = try tx.tally(cid)
    if var counted = tally.counted {
      if !counted.isDoubted { tx.feedTable.change(.conversations, in: cid, numbers: nil) }
      counted.noteSurplus(of: tally.unread)
      doubt(&counted)
      tally.counted = counted
    }
    tally.fewerLSN = tx.lsn
    tx.change(cid, to: tally)
    settleLater(cid)
  }

  /// Moves the read marker up to a message. False where it stands there or above.
  @discardableResult
  package func moveReadMarker(
    _ cid: Int64, to position: Position, isNamed: Bool = false
  ) throws(StoreFailure) -> Bool {
    var tally = try tx.tally(cid)
    guard tally.isAboveMarker(position), !position.isPending else { return false }
    let low = tally.marker.map(\.successor) ?? .min
    let passed = try passUnread(cid, from: low, to: position.successor)
    if var counted = tally.counted {
      let countedFromNamed = counted.isFromNamed
      counted.isFromNamed = false
      if countedFromNamed, isNamed, position < counted.top {
        // Its place is known now, and what it counted stands above it as before.
        tally.counted = counted
      } else if position >= counted.top, !counted.isSharp {
        // It counted messages above that place, how many is not known.
        tally.counted = nil
      } else if position >= counted.top {
        counted.count = 0
        counted.arrived -= try tx.unreadReader.countUnread(
          cid, from: Swift.max(low, counted.top.successor), to: position.successor)
        tally.counted = counted
      } else {
        let isCovered = try tx.spans(cid).covers(low, high: position.successor)
        counted.noteSurplus(of: tally.unread)
        counted.count -= passed
        // What stood between was read too, and is not known; nor is what of it was counted.
        // Nor is known which of them another device had read before.
        let isKnown = isCovered && counted.surplus == 0 && counted.count >= 0
        if countedFromNamed || !isKnown { doubt(&counted) }
        tally.counted = counted
      }
    }
    tally.marker = position
    tally.unread -= passed
    tally.fewerLSN = tx.lsn
    tx.change(cid, to: tally)
    try PurgedUnreadBook(tx).pass(position, in: cid)
    // All above the new place may be here, where it was not above the old one.
    settleLater(cid)
    tx.feedTable.change(.conversations, in: cid, numbers: nil)
    return true
  }

  /// Takes in the id of the last message that was read, by this user's or the server's
  /// marker. One that is not stored is waited for.
  package func noteLastRead(_ id: [UInt8], in cid: Int64) throws(StoreFailure) {
    if let row = try tx.row(id, cid) {
      try moveReadMarker(cid, to: row.position)
      return
    }
    // A message that is still on its way stands behind all that is stored.
    if let send = try tx.operation(clientID: id), send.cid == cid, send.row != nil,
      let newest = try tx.newest(cid)
    {
      try moveReadMarker(cid, to: newest)
    }
    var tally = try tx.tally(cid)
    guard tally.named != id else { return }
    tally.named = id
    tally.counted?.isFromNamed = false
    tx.change(cid, to: tally)
  }

  /// What this user called read is taken back before the server did it: the marker goes back to
  /// where the server has it, or to the furthest message that it is still to be told.
  package func takeBackLastRead(_ id: [UInt8], in cid: Int64) throws(StoreFailure) {
    var tally = try tx.tally(cid)
    if tally.named == id { tally.named = nil }
    var marker = try tx.unreadReader.toldMarker(cid)
    let kept = try tx.connection.statement(Queries.markersKept, cid)
    var targets: [[UInt8]] = []
    while try kept.step() { targets.append(kept.bytes(0)) }
    for target in targets {
      if let place = try tx.row(target, cid)?.position {
        marker = marker.map { Swift.max($0, place) } ?? place
      } else {
        tally.named = target
      }
    }
    if let high = tally.marker, marker.map({ $0 < high }) ?? true {
      let low = marker.map(\.successor) ?? .min
      tally.marker = marker
      let back = try passUnread(cid, from: low, to: high.successor)
      tally.unread += back
      if var counted = tally.counted {
        // What was not stored was taken off as well, and is not known any more.
        counted.count += back
        doubt(&counted)
        tally.counted = counted
      }
      tally.moreLSN = tx.lsn
      tx.feedTable.change(.conversations, in: cid, numbers: nil)
    }
    tx.change(cid, to: tally)
  }

  /// What was called read while it was on its way has the server's id now.
  func renameLastRead(_ clientID: [UInt8]?, as id: [UInt8], in cid: Int64) throws(StoreFailure) {
    guard let clientID, try tx.tally(cid).named == clientID else { return }
    try noteLastRead(id, in: cid)
  }

  /// Whether a message stands at the read marker or below it.
  package func isRead(_ id: [UInt8], in cid: Int64) throws(StoreFailure) -> Bool {
    guard let row = try tx.row(id, cid) else { return false }
    return !(try tx.tally(cid).isAboveMarker(row.position))
  }

  /// The server's marker only goes forward: one that it names no more, and that it is not to be
  /// told, is passed.
  private func forgetNamed(besides id: [UInt8], in cid: Int64) throws(StoreFailure) {
    var tally = try tx.tally(cid)
    guard tally.named != id, try tx.unreadReader.isAhead(tally, cid) else { return }
    tally.named = nil
    tally.counted?.isFromNamed = false
    tx.change(cid, to: tally)
  }

  private func takeNamed(_ position: Position, in cid: Int64) throws(StoreFailure) {
    var tally = try tx.tally(cid)
    guard tally.named == position.id else { return }
    tally.named = nil
    tx.change(cid, to: tally)
    try moveReadMarker(cid, to: position, isNamed: true)
  }

  /// Takes in what the server says of a conversation, asked for after commit `issued`:
  /// its count of unread messages, and the last one that it knows as read. `newest` is
  /// the newest message that it told beside them; nil where it told none. A count is
  /// left aside where so much happened meanwhile that it says nothing.
  package func noteServer(
    _ cid: Int64, unread count: Int64?, lastRead: [UInt8]?, newest: Position?, issued: UInt64
  ) throws(StoreFailure) {
    let before = try tx.tally(cid)
    if let lastRead {
      try noteLastRead(lastRead, in: cid)
      try noteTold(marker: lastRead, in: cid)
      try forgetNamed(besides: lastRead, in: cid)
    }
    var tally = try tx.tally(cid)
    let isMixed = before.fewerLSN > issued || newest == nil && before.moreLSN > issued
    guard let count, count >= 0, !isMixed else { return }
    var top = Position.min
    if let newest {
      top = newest
    } else if let row = try tx.rows(
      cid, from: .min, to: ReadTransaction.beyond, limit: 1, newestFirst: true
    ).first {
      top = row.position
    }
    let marker = tally.marker ?? .min
    // A marker that the server has not heard of may lie anywhere in what it counted.
    let isRead = newest != nil && tally.marker != nil && marker >= top
    if !isRead, try tx.connection.number(Queries.markerQueued, cid) != nil { return }
    // It counted from its own marker; another one is another count. What only counts
    // says no marker, and is of the one that the server has now.
    let isFromNamed = lastRead != nil && lastRead == tally.named
    if !isRead, !isFromNamed, let own = tally.marker, newest != nil || lastRead != nil,
      lastRead != own.id
    {
      return
    }
    if let named = tally.named, let lastRead, lastRead != named,
      try tx.connection.number(Queries.markerTold, cid, named) != nil
    {
      return
    }
    let queued = try tx.connection.number(
      Queries.countQueued, cid, top.time, top.key, marker.time, marker.key,
      RowFlags.notUnread.subtracting([.readQueued, .deleting]).rawValue)
    tally.counted = UnreadCounters.Counted(
      count: isRead ? 0 : Swift.max(0, count &- (queued ?? 0)), top: top, isSharp: newest != nil,
      // What it has not heard of, another device or a deletion may have told it.
      isLow: !isRead && queued ?? 0 > 0,
      isWhole: try tx.rows(
        cid, from: top.successor, to: ReadTransaction.beyond, limit: 1, newestFirst: true
      ).isEmpty,
      arrived: try tx.unreadReader.countUnread(
        cid, from: Swift.max(marker, top).successor, to: ReadTransaction.beyond), lsn: tx.lsn,
      isFromNamed: isFromNamed)
    if tally != before { tx.feedTable.change(.conversations, in: cid, numbers: nil) }
    tx.change(cid, to: tally)
    settleLater(cid)
  }

  /// The server's count is of a state that is lost.
  package func dropServerUnread(_ cid: Int64) throws(StoreFailure) {
    var tally = try tx.tally(cid)
    guard tally.counted != nil else { return }
    tally.counted = nil
    tx.change(cid, to: tally)
    tx.feedTable.change(.conversations, in: cid, numbers: nil)
  }

  /// Tells the feed of the rows that are unread no more, or again, and gives their number.
  func passUnread(
    _ cid: Int64, from low: Position, to high: Position
  ) throws(StoreFailure) -> Int64 {
    let row = try tx.connection.statement(
      Queries.unreadNumbers, cid, low.time, low.key, high.time, high.key,
      RowFlags.notUnread.rawValue)
    var count: Int64 = 0
    while try row.step() {
      let number = row.uint(0)
      tx.feed.add(.updated, cid, number...number)
      count += 1
    }
    return count
  }

}

extension UnreadCounters.Counted {
  /// A row above the marker went from `old` to `new`. False where it cannot be told
  /// whether the server counted it.
  fileprivate mutating func applyChange(
    _ old: Position?, new: Position?, isNew: Bool, isHeard: Bool, isHere: Bool
  ) -> Bool {
    let wasAbove = old.map { $0 > top }
    let isAbove = new.map { $0 > top }
    switch (wasAbove, isAbove) {
    case (true, true), (false, false), (nil, nil):
      return true
    case (nil, true):
      arrived += 1
      if isNew, !isHeard { isWhole = false }
      // Without the newest message of the count, only what is heard is surely later. The rest is
      // taken for one that was counted, as long as there are any.
      if !isNew || isSharp || isHeard { return true }
      if count > 0 { count -= 1 }
      return false
    case (true, nil):
      arrived -= 1
      return true
    case (nil, false):
      // A message that comes late below the count, or was counted.
      if isNew { return !isHeard }
      count += 1
      return isHeard || isHere
    case (false, nil):
      count -= 1
      return (isHeard || isHere) && count >= 0
    case (true, false), (false, true):
      return false
    }
  }
}
