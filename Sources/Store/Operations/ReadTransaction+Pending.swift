/// Pending rows: sends that the server has not shown yet, as rows behind all others.
///
/// What a screen reads has them; what judges the server's pages (`rows`, `row`,
/// `count`, `oldest`, `newest`) never sees them. Where nothing is pending, which is
/// asked once a transaction, a read costs nothing more.
internal import Base
internal import Timeline

/// A send that the server has not confirmed, as a row of a screen.
package struct PendingSend: Sendable {
  package var seq: UInt64
  package var number: UInt64
  package var state: OperationState
  /// This user has deleted it.
  package var isHidden: Bool
}

extension ReadTransaction {
  func hasPending() throws(StoreFailure) -> Bool {
    let kept = try known
    if let isSome = somePending ?? kept?.some.pending { return isSome }
    let isSome = try connection.number(Queries.somePending) != nil
    somePending = isSome
    memo?.some.pending = isSome
    return isSome
  }

  /// The numbers of operations whose pending place is in `low ..< high`; nil for none.
  private func bounds(
    _ low: Position, high: Position
  ) throws(StoreFailure) -> (low: UInt64, high: UInt64)? {
    let top = high.pendingBound ?? UInt64(Int64.max)
    guard top > 0, low < high, let bottom = low.pendingBound, try hasPending() else { return nil }
    return (bottom, top)
  }

  /// Appends visible pending rows of `low ..< high`: the newest of them, newest first,
  /// or the oldest, oldest first.
  func appendPending(
    to page: inout RowBuilder, in cid: Int64, from low: Position, to high: Position, limit: Int,
    newestFirst: Bool, pinnedOnly: Bool = false
  ) throws(StoreFailure) {
    guard limit > 0, let bounds = try bounds(low, high: high) else { return }
    let wanted = pinnedOnly ? RowFlags.pinQueued.rawValue : 0
    let row = try connection.statement(
      newestFirst ? Queries.pendingDown : Queries.pendingUp, cid, bounds.low, bounds.high,
      RowFlags.hidden.rawValue, wanted, wanted, limit)
    while try row.step(), page.appendPending(row) {}
  }

  /// The same without content.
  func pendingKeys(
    _ cid: Int64, from low: Position, to high: Position, limit: Int, newestFirst: Bool
  ) throws(StoreFailure) -> [RowKey] {
    guard limit > 0, let bounds = try bounds(low, high: high) else { return [] }
    return try pendingKeys(
      try connection.statement(
        newestFirst ? Queries.pendingKeysDown : Queries.pendingKeysUp, cid, bounds.low,
        bounds.high, RowFlags.hidden.rawValue, limit))
  }

  func pendingKeys(
    numbers: ClosedRange<UInt64>, in cid: Int64, limit: Int
  ) throws(StoreFailure) -> [RowKey] {
    guard limit > 0, try hasPending() else { return [] }
    return try pendingKeys(
      try connection.statement(
        Queries.pendingKeysOfNumbers, numbers.lowerBound, numbers.upperBound, cid,
        RowFlags.hidden.rawValue, limit))
  }

  private func pendingKeys(_ row: consuming Statement) throws(StoreFailure) -> [RowKey] {
    var keys: [RowKey] = []
    while try row.step() {
      keys.append(
        RowKey(number: row.uint(0), position: .pending(row.uint(1)), revision: row.uint(2)))
    }
    return keys
  }

  /// The pending row at a place: false where the page has no room for it.
  func appendPending(
    to page: inout RowBuilder, at position: Position, in cid: Int64
  ) throws(StoreFailure) -> Bool {
    guard let bound = position.pendingBound, Position.pending(bound) == position,
      try hasPending()
    else { return true }
    let row = try connection.statement(
      Queries.pendingUp, cid, bound, bound &+ 1, RowFlags.hidden.rawValue, 0 as Int64,
      0 as Int64, 1)
    return try row.step() ? page.appendPending(row) : true
  }

  /// The place of the send with a client id: pending, or that of the message it made.
  func place(ofClientID name: [UInt8], in cid: Int64) throws(StoreFailure) -> Position? {
    if let send = try operation(clientID: name), send.cid == cid, let row = send.row {
      return row.position
    }
    return try row(try id(ofSend: name, in: cid), cid)?.position
  }

  /// What the server calls the message that was sent under a client id: as long as the send is
  /// remembered, or the message stored. Any other name as it is.
  package func id(ofSend name: [UInt8], in cid: Int64) throws(StoreFailure) -> [UInt8] {
    if let send = try operation(clientID: name), send.verb == .sendMessage, send.cid == cid {
      if send.state != .done { return name }
      if !send.target.isEmpty { return send.target }
    }
    let row = try connection.statement(Queries.messageByClient, cid, name)
    return try row.step() ? row.bytes(0) : name
  }

  /// The place of the pending row with a local number.
  func pendingPlace(ofNumber number: UInt64, in cid: Int64) throws(StoreFailure) -> Position? {
    guard try hasPending() else { return nil }
    let row = try connection.statement(
      Queries.pendingKeysOfNumbers, number, number, cid, 0 as Int64, 1)
    return try row.step() ? .pending(row.uint(1)) : nil
  }

  /// The pending row with a client id.
  package func send(_ clientID: [UInt8], in cid: Int64) throws(StoreFailure) -> PendingSend? {
    guard let send = try operation(clientID: clientID), send.cid == cid, let row = send.row else {
      return nil
    }
    return PendingSend(
      seq: send.seq, number: send.number, state: send.state, isHidden: !row.isVisible)
  }

  /// The client id under which this user sent a message that is stored.
  package func clientID(of id: [UInt8], in cid: Int64) throws(StoreFailure) -> [UInt8]? {
    let row = try connection.statement(
      "SELECT client_id FROM message WHERE cid = ? AND id = ?", cid, id)
    return try row.step() ? row.optionalBytes(0) : nil
  }
}
