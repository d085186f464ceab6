/// What this user has sent or edited and the server has not confirmed, looked through at each
/// search: it is little, and changes with each answer.
///
/// Rule protected: it is found as a screen shows it. A message whose text is to be another one is
/// not found by what the index has of it.
internal import Base
internal import Text
internal import Timeline

struct UnconfirmedHits {
  /// What is looked at of each kind, the newest of it.
  static let most = 1_000

  var hits = SearchHitHeap()
  /// Numbers of messages that the index has as they were.
  var edited: [UInt64] = []
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
    let (user, names) = (try rx.userID(), try rx.connection.members)
    let row = try rx.connection.statement(Queries.searchSends, UnconfirmedHits.most)
    while try row.step() {
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
    while try row.step() {
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
  /// What has come and is not indexed yet: the index has nothing of it.
  private func addWaiting(
    _ query: Query, _ request: SearchRequest, to found: inout UnconfirmedHits
  ) throws(StoreFailure) {
    let names = try rx.connection.members
    let row = try rx.connection.statement(Queries.searchWaiting)
    while try row.step() {
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
