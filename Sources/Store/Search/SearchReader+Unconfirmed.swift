/// What this user has sent or edited and the server has not confirmed, and what waits to be
/// indexed, looked through at each search: it is little, and changes with each answer.
///
/// Rule protected: it is found as a screen shows it. A message whose text is to be another one is
/// not found by what the index has of it. Of each kind a search looks through so many bytes and no
/// more, whatever there is.
internal import Base
internal import Text
internal import Timeline

struct UnconfirmedHits {
  /// What is looked at of each kind, the newest of it.
  static let most = 1_000

  var hits = SearchHitHeap()
  /// Numbers of messages that the index has as they were.
  var edited: [UInt64] = []
  /// It has others as they were, which wait.
  var hasStale = false
  /// Messages that wait and were not looked through.
  var unread: Int64 = 0
  /// What was looked through: the cost that tests hold to the bounds.
  var look = SearchLook()
}

/// How much of one kind a search looks through: what it has begun with it looks through to its end.
struct SearchLook {
  /// Bytes of payloads, and those as which a short one counts.
  static let bytesMax = 1 << 20
  private static let bytesMin = 1 << 10

  private(set) var bytes = 0
  private var left = Self.bytesMax

  var isOver: Bool { left <= 0 }

  mutating func note(_ size: Int) {
    bytes &+= size
    left &-= Swift.max(size, Self.bytesMin)
  }

  mutating func beginNext() { left = Self.bytesMax }
}

extension SearchReader {
  /// Whether a number is that of a send that the server has not shown.
  func isPending(_ number: UInt64) throws(StoreFailure) -> Bool {
    guard try rx.hasPending() else { return false }
    return try rx.connection.number(Queries.searchSend, number) != nil
  }

  func unconfirmed(
    _ query: Query, _ request: SearchRequest
  ) throws(StoreFailure) -> UnconfirmedHits {
    var found = UnconfirmedHits()
    try addSends(query, request, to: &found)
    try addEdits(query, request, to: &found)
    try addWaiting(query, request, to: &found)
    return found
  }

  private func addSends(
    _ query: Query, _ request: SearchRequest, to found: inout UnconfirmedHits
  ) throws(StoreFailure) {
    guard try rx.hasPending() else { return }
    let user = try rx.userID()
    let names = try rx.connection.members
    let row = try rx.connection.statement(Queries.searchSends, UnconfirmedHits.most)
    while !found.look.isOver, try row.step() {
      found.look.note(row.size(4))
      let sent = SearchableRow(
        cid: row.int(2), flags: RowFlags(rawValue: row.int(3)).union(.mine), sender: user,
        payload: row.bytes(4), rest: row.bytes(5))
      // Behind all that the server has.
      let place = SearchRequest.Place(timeUs: .max, number: row.uint(0))
      let texts = sent.texts(names)
      guard request.asksFor(sent), request.isAsked(place), let counts = query.counts(texts)
      else { continue }
      found.hits.insert(
        SearchHit(
          cid: sent.cid, position: .pending(row.uint(1)), place: place, counts: counts,
          bytes: texts.bytes))
    }
  }

  private func addEdits(
    _ query: Query, _ request: SearchRequest, to found: inout UnconfirmedHits
  ) throws(StoreFailure) {
    let names = try rx.connection.members
    let row = try rx.connection.statement(Queries.searchEdits, UnconfirmedHits.most)
    found.look.beginNext()
    while !found.look.isOver, try row.step() {
      found.look.note(row.size(2))
      let cid = row.int(0)
      let message = try rx.connection.statement(Queries.searchEdited, cid, row.bytes(1))
      guard try message.step() else { continue }
      let number = message.uint(0)
      if found.edited.contains(number) { continue }
      found.edited.append(number)
      let edited = SearchableRow(
        cid: cid, flags: RowFlags(rawValue: message.int(4)).subtracting(.sealed),
        sender: message.bytes(5), payload: row.bytes(2), rest: message.bytes(6))
      let place = SearchRequest.Place(timeUs: message.int(3), number: number)
      let texts = edited.texts(names)
      guard edited.flags.isDisjoint(with: SearchableRow.notFound), request.asksFor(edited),
        request.isAsked(place), let counts = query.counts(texts)
      else { continue }
      found.hits.insert(
        SearchHit(
          cid: cid, position: Position(time: message.int(1), key: message.bytes(2)), place: place,
          counts: counts, bytes: texts.bytes))
    }
  }
}

extension SearchReader {
  /// What has come or changed and is not indexed yet: the index has nothing of it, or what it was.
  private func addWaiting(
    _ query: Query, _ request: SearchRequest, to found: inout UnconfirmedHits
  ) throws(StoreFailure) {
    let names = try rx.connection.members
    let row = try rx.connection.statement(Queries.searchWaiting)
    var last: Int64 = 0
    found.look.beginNext()
    while !found.look.isOver, try row.step() {
      found.look.note(row.size(4) &+ row.size(6))
      last = row.int(0)
      let waiting = SearchableRow(row, from: 1)
      let place = SearchRequest.Place(timeUs: row.int(7), number: row.uint(0))
      guard waiting.flags.isDisjoint(with: SearchableRow.notFound), request.asksFor(waiting),
        request.isAsked(place), !found.edited.contains(place.number)
      else { continue }
      let texts = waiting.texts(names)
      guard let counts = query.counts(texts) else { continue }
      found.hits.insert(
        SearchHit(
          cid: waiting.cid, position: Position(time: row.int(8), key: row.bytes(9)), place: place,
          searchable: waiting.searchable, counts: counts, bytes: texts.bytes))
    }
    _ = consume row
    found.hasStale = try rx.connection.number(Queries.searchChanged) != nil
    if found.look.isOver {
      let most = SearchCoverage.countMax
      found.unread = try rx.connection.number(Queries.searchWaitingBelow, last, most) ?? 0
    }
  }

  /// Whether the index has a message as it was.
  func isStale(_ number: UInt64, _ own: UnconfirmedHits) throws(StoreFailure) -> Bool {
    if own.edited.contains(number) { return true }
    guard own.hasStale else { return false }
    return try rx.connection.number(Queries.searchIsWaiting, number) != nil
  }
}

extension SearchRequest {
  /// What the terms ask of the index.
  fileprivate func asksFor(_ row: SearchableRow) -> Bool {
    (cid ?? row.cid) == row.cid && (sender ?? row.sender) == row.sender
      && (!isMine || row.flags.contains(.mine))
      && (!hasAttachment || MemberTexts.has("attachment", in: row.rest))
  }
}
