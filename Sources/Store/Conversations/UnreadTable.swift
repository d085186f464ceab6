/// Keeping the number of unread messages, in the transactions that change rows.
///
/// `UnreadCounters` has the rule; here is what it needs to know of a change: where the row stands,
/// how it became known, and what the commit leaves. The read marker only moves forward.
internal import Base
package import Timeline

/// What a commit has to know for the numbers of unread messages, and what it finds.
package struct UnreadCommit {
  /// The newest commit when the last connection began; whether it loses no push.
  package var connectedAt: UInt64?
  package var losesNoPush = false
  /// Conversations of which the number is to be asked for, or not any more.
  package internal(set) var recounts: [Int64: Bool] = [:]
  /// The one that has been caught up with.
  package internal(set) var caughtUp: Int64?
  /// Those of which it is settled at the end.
  var unsettled = SmallDictionary<Int64, UnreadEffect>()
  /// Entries of a log move together with the marker: rows count where they go.
  var movesEntries = false

  package init() {}
}

/// Writes the numbers of unread messages, inside of a transaction.
package struct UnreadTable {
  let tx: WriteTransaction
}

extension UnreadTable {
  // MARK: Rows

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
    let isTaken = before?.isUnreadThere ?? false && !(after?.isUnreadThere ?? false)
    if isNew, new == nil, let after { try noteRead(after, in: cid) }
    guard old != new || isTaken else { return }
    var isOwn = tx.origin == .own
    if let before, let after {
      isOwn = before.flags.symmetricDifference(after.flags).isSubset(of: .ownDoing)
    }
    var tally = try tx.tally(cid)
    if isTaken || new == nil { tally.went = tx.lsn }
    if old == nil, new != nil { tally.came = tx.lsn }
    let low = (tx.counting.movesEntries ? old.flatMap { _ in after?.position } : old)
      .flatMap { tally.isAboveMarker($0) ? $0 : nil }
    let high = new.flatMap { tally.isAboveMarker($0) ? $0 : nil }
    if low != nil { tally.here &-= 1 }
    if high != nil { tally.here &+= 1 }
    let source = source(of: tally, isOwn: isOwn && !isNew)
    var effect: UnreadEffect
    switch (low, high) {
    case (nil, nil): effect = .settle
    case (nil, let high?) where old == nil:
      effect = tally.take(isNew: isNew, tally.side(of: high), from: source)
    case (let low?, nil) where new == nil: effect = tally.lose(tally.side(of: low), from: source)
    case (let low?, let high?) where tally.side(of: low) == tally.side(of: high): effect = .settle
    // It has moved over the marker, or over the newest that was counted.
    default: effect = .unsure
    }
    // By the server's order it may stand on the other side of the marker.
    if let marker = tally.marker, (new ?? old)?.time == marker.time,
      try tx.unreadReader.isOrderUnknown(at: marker, cid)
    {
      effect = .unsure
    }
    // Who reads the feed looks at the conversation of a row that changed.
    try write(tally, effect, in: cid, tells: false)
  }

  /// A row came that is read or deleted already. Above an unread one it may have been counted.
  private func noteRead(_ row: RowState, in cid: Int64) throws(StoreFailure) {
    guard row.flags.isDisjoint(with: .hidden.union([.mine, .event])), !row.position.isPending,
      !row.flags.isDisjoint(with: [.readByMe, .deleted])
    else { return }
    let tally = try tx.tally(cid)
    guard tally.isExact, tally.here > 0, tally.side(of: row.position) != .above,
      tally.isAboveMarker(row.position),
      source(of: tally, isOwn: tx.origin == .own) != .counted,
      try tx.unreadReader.hasRow(
        cid, from: tally.marker?.successor ?? .min, to: row.position, without: .notUnread)
    else { return }
    try noteUnreadUnknown(cid)
  }

  /// How what happens now became known, as far as a number goes by it.
  private func source(of tally: UnreadCounters, isOwn: Bool) -> UnreadSource {
    if isOwn { return .own }
    if let since = tx.receivedSince { return since <= tally.countedLSN ? .sure : .push }
    if tx.origin == .pushed { return .push }
    guard isOfThisConnection(tally) else { return .shown }
    return tx.counting.losesNoPush ? .counted : .doubtful
  }

  private func isOfThisConnection(_ tally: UnreadCounters) -> Bool {
    tx.counting.connectedAt.map { $0 < tally.countedLSN } ?? false
  }

  /// Something was read or deleted of which nothing is stored.
  package func noteUnreadUnknown(_ cid: Int64) throws(StoreFailure) {
    var tally = try tx.tally(cid)
    tally.went = tx.lsn
    switch source(of: tally, isOwn: tx.origin == .own) {
    case .own: try write(tally, .inexact, in: cid)
    case .counted: try write(tally, .settle, in: cid)
    case .sure, .push, .doubtful, .shown: try write(tally, .unsure, in: cid)
    }
  }

  /// Rows go from the cache and stay on the server: as many messages are unread as before.
  func keep(_ rows: [RowState], of cid: Int64) throws(StoreFailure) {
    var tally = try tx.tally(cid)
    let unread = rows.filter { $0.isUnread && tally.isAboveMarker($0.position) }
    guard let highest = unread.map(\.position).max() else { return }
    if tally.number == nil { (tally.number, tally.top) = (tally.here, try tx.newest(cid)) }
    tally.top = tally.top.map { max($0, highest) }
    tally.here = tally.here.saturating(minus: Int64(clamping: unread.count))
    try write(tally, .settle, in: cid, tells: false)
  }

  // MARK: What a change does, at once and at the end of its commit

  /// - Parameter tells: the feed does not say otherwise that the number changes.
  func write(
    _ changed: UnreadCounters, _ effect: UnreadEffect, in cid: Int64, tells: Bool = true
  ) throws(StoreFailure) {
    let before = try tx.tally(cid)
    var tally = changed
    if effect.rawValue >= UnreadEffect.inexact.rawValue { tally.isExact = false }
    if effect == .unsure, tally.number != nil { tx.counting.recounts[cid] = true }
    settleLater(cid, effect)
    if tally == before { return }
    let isSeen = tally.number != before.number || tally.here != before.here
    let isRead = tally.marker != before.marker || tally.named != before.named
    if tells, isSeen || isRead || tally.isExact != before.isExact {
      tx.feedTable.change(.conversations, in: cid, numbers: nil)
    }
    tx.memo?.entry(cid).summary = nil
    tx.change(cid, to: tally)
  }

  /// Whether all is here goes by what the commit leaves: while it is made, a row may be counted
  /// that no range holds yet.
  func settleLater(_ cid: Int64, _ effect: UnreadEffect = .settle) {
    let known = tx.counting.unsettled[cid, default: effect]
    tx.counting.unsettled[cid, default: effect] = known.rawValue < effect.rawValue ? effect : known
  }

  package func settle() throws(StoreFailure) {
    let unsettled = tx.counting.unsettled
    for cid in unsettled.keys {
      let effect = unsettled[cid, default: .settle]
      var tally = try tx.tally(cid)
      guard tally.number != nil, !tally.isExact || effect != .settle,
        let record = try tx.conversation(cid: cid)
      else { continue }
      let isWhole = try tx.unreadReader.isWhole(tally, of: record)
      let newest = isWhole ? try tx.newest(cid) : nil
      let isAnswer =
        tx.origin != .own && tx.origin != .pushed && !isOfThisConnection(tally)
      let outcome = tally.settle(effect, isWhole: isWhole, isAnswer: isAnswer, newest: newest)
      try write(tally, outcome, in: cid)
    }
    tx.counting.unsettled = SmallDictionary()
  }

  /// A connection that began after a commit has caught up the conversation: an earlier count does
  /// not include what was read elsewhere meanwhile.
  package func outliveCount(from lsn: UInt64, in cid: Int64) throws(StoreFailure) {
    tx.counting.caughtUp = cid
    let tally = try tx.tally(cid)
    if tally.countedLSN <= lsn { try write(tally, .inexact, in: cid) }
  }

  /// What was counted is of a state that is lost, or in another order.
  package func doubt(_ cid: Int64) throws(StoreFailure) {
    try write(tx.tally(cid), .unsure, in: cid)
  }

  /// The places of a log are given anew: the marker is of its message, wherever that comes.
  package func clearPlaces(_ cid: Int64) throws(StoreFailure) {
    var tally = try tx.tally(cid)
    if let id = tally.marker?.id, !id.isEmpty, tally.named == nil { tally.named = id }
    (tally.marker, tally.top) = (nil, nil)
    try write(tally, .unsure, in: cid)
    try clearServerMarker(cid)
  }

  /// An own mark is refused: the server counts without it, and its message may never come.
  package func noteRefused(_ id: [UInt8], in cid: Int64) throws(StoreFailure) {
    if try tx.tally(cid).named == id { try name(nil, in: cid) }
    try doubt(cid)
  }

  // MARK: The marker

  /// Moves the read marker up to a message. False where it stands there or above.
  @discardableResult
  package func moveReadMarker(
    _ cid: Int64, to position: Position, isNamed: Bool = false
  ) throws(StoreFailure) -> Bool {
    var tally = try tx.tally(cid)
    guard tally.isAboveMarker(position), !position.isPending else { return false }
    let passed = try passUnread(
      cid, from: tally.marker.map(\.successor) ?? .min, to: position.successor)
    tally.marker = position
    tally.here &-= passed
    tally.went = tx.lsn
    var effect = UnreadEffect.settle
    // An exact number was counted from the message that was named.
    if !isNamed || !tally.isExact {
      let top = if let top = tally.top { top } else { try tx.newest(cid) ?? .min }
      effect = tally.pass(
        passed, isAtTop: position >= top,
        isOrderKnown: try !tx.unreadReader.isOrderUnknown(at: position, cid),
        from: source(of: tally, isOwn: tx.origin == .own))
    }
    try write(tally, effect, in: cid)
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
    // A count that was asked for before may be from another message.
    try name(id, in: cid, went: tx.lsn)
  }

  /// What this user called read is taken back before the server did it: the marker goes back to
  /// where the server has it, or to the furthest marker that is still to be sent.
  package func takeBackLastRead(_ id: [UInt8], in cid: Int64) throws(StoreFailure) {
    var marker = try tx.unreadReader.serverMarker(cid)
    let kept = try tx.connection.statement(Queries.markersKept, cid)
    var targets: [[UInt8]] = []
    while try kept.step() { targets.append(kept.bytes(0)) }
    var tally = try tx.tally(cid)
    if tally.named == id { tally.named = nil }
    for target in targets {
      if let place = try tx.row(target, cid)?.position {
        marker = marker.map { max($0, place) } ?? place
      } else {
        tally.named = target
      }
    }
    guard let high = tally.marker, marker.map({ $0 < high }) ?? true else {
      return try write(tally, .settle, in: cid)
    }
    tally.marker = marker
    tally.came = tx.lsn
    let back = try passUnread(cid, from: marker.map(\.successor) ?? .min, to: high.successor)
    tally.here &+= back
    // What was not stored was taken off as well, and is not known any more.
    tally.number = tally.number.map { $0 &+ back }
    try write(tally, .unsure, in: cid)
  }

  /// What was called read while it was on its way has the server's id now.
  func renameLastRead(_ clientID: [UInt8]?, as id: [UInt8], in cid: Int64) throws(StoreFailure) {
    guard let clientID, try tx.tally(cid).named == clientID else { return }
    try noteLastRead(id, in: cid)
  }

  private func takeNamed(_ position: Position, in cid: Int64) throws(StoreFailure) {
    guard try tx.tally(cid).named == position.id else { return }
    try name(nil, in: cid)
    try moveReadMarker(cid, to: position, isNamed: true)
  }

  func name(
    _ id: [UInt8]?, in cid: Int64, went: UInt64? = nil
  ) throws(StoreFailure) {
    var tally = try tx.tally(cid)
    if id != tally.named, let went { tally.went = went }
    tally.named = id
    try write(tally, .settle, in: cid)
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
