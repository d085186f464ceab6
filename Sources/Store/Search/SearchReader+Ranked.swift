/// Hits by relevance: the newest ones are ranked once, and pages go through that order.
///
/// Rule protected: what was there all along comes exactly once, whatever comes or goes between two
/// pages, since the order is that of the first page.
internal import Base
internal import Text
internal import Timeline

extension SearchReader {
  private struct Entry {
    let score: Double
    let place: Int64
    let number: UInt64
  }

  /// What each piece weighs; of one piece nobody asks.
  private func weights(_ query: Query, _ words: [[UInt8]]?) throws(StoreFailure) -> [Double] {
    guard query.pieces.count > 1 else { return [1] }
    var weights: [Double] = []
    for piece in query.pieces.indices {
      let asked = query.expression(of: piece, words: words)
      let count = try rx.connection.number(Queries.searchCount, asked, Relevance.most)
      weights.append(Relevance.weight(count ?? 0))
    }
    return weights
  }

  func rank(
    _ query: Query, _ request: SearchRequest, _ own: UnconfirmedHits, words: [[UInt8]]?
  ) throws(StoreFailure) -> RankedHits {
    guard request.fromUs < request.beforeUs else { return RankedHits() }
    let weights = try weights(query, words)
    var found: [Entry] = []
    var waiting = own.hits
    while let hit = waiting.first {
      let isSent = hit.position.isPending
      found.append(
        Entry(
          score: Relevance.score(hit.counts, weights, bytes: hit.bytes),
          place: isSent ? .max : SearchPlace.unit(hit.place.timeUs), number: hit.place.number))
      waiting.removeFirst()
    }
    let (low, high) = try places(request)
    let row = try rx.connection.statement(
      Queries.searchRanked, query.pieces.count, query.lastPhrases(words: words),
      request.expression(query.expression(words: words)), low, high, Relevance.most &+ 1)
    let goesByTime = request.fromUs != .min || request.beforeUs != .max
    var count = 0
    while try row.step() {
      count &+= 1
      if count > Relevance.most { break }
      let number = row.uint(1)
      if try isStale(number, own) { continue }
      // Places tell times but for some seconds.
      if goesByTime, try !isInTime(number, request) { continue }
      let score = unsafe Relevance.score(row.blob(3), weights, bytes: row.int(2))
      found.append(Entry(score: score, place: row.int(0), number: number))
    }
    found.order { $0.score == $1.score ? $0.place > $1.place : $0.score > $1.score }
    return RankedHits(numbers: found.map(\.number), isCut: count > Relevance.most)
  }

  private func isInTime(_ number: UInt64, _ request: SearchRequest) throws(StoreFailure) -> Bool {
    guard let timeUs = try rx.connection.number(Queries.searchTime, number) else { return false }
    return request.isAsked(SearchRequest.Place(timeUs: timeUs, number: number))
  }

  /// The next hits of an order that a page has room for; what is gone since is left out.
  func hits(
    of ranked: inout RankedHits, limit: Int, _ page: inout RowBuilder
  ) throws(StoreFailure) -> [SearchHit] {
    var hits: [SearchHit] = []
    while hits.count < limit, ranked.given < ranked.numbers.count {
      if var hit = try hit(number: ranked.numbers[ranked.given]) {
        hit.row = try rx.append(to: &page, at: hit.position, in: hit.cid)
        if page.isCut { break }
        page.note(bytes: hit.searchable?.count ?? 0)
        hits.append(hit)
      }
      ranked.given &+= 1
    }
    return hits
  }

  /// What the host gave to be searched in place of the payload of a message.
  func searchable(_ number: UInt64) throws(StoreFailure) -> [UInt8]? {
    let row = try rx.connection.statement(Queries.searchNumbered, number)
    return try row.step() ? row.optionalBytes(4) : nil
  }

  private func hit(number: UInt64) throws(StoreFailure) -> SearchHit? {
    let row = try rx.connection.statement(Queries.searchNumbered, number)
    if try row.step() {
      var flags = RowFlags(rawValue: row.int(5))
      // What this user is to say instead is shown.
      if flags.contains(.overlaid) { flags.remove(.sealed) }
      guard flags.isDisjoint(with: SearchableRow.notFound) else { return nil }
      return SearchHit(
        cid: row.int(0), position: Position(time: row.int(1), key: row.bytes(2)),
        place: SearchRequest.Place(timeUs: row.int(3), number: number),
        searchable: row.optionalBytes(4))
    }
    let send = try rx.connection.statement(Queries.searchSend, number)
    guard try send.step() else { return nil }
    return SearchHit(
      cid: send.int(1), position: .pending(send.uint(0)),
      place: SearchRequest.Place(timeUs: .max, number: number))
  }
}
