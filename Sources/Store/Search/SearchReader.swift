/// Asking the index: hits newest first, and what was not searched.
///
/// Rule protected: what is asked is made of tokens. Pages go by time and number, so a message that
/// was there all along comes exactly once.
internal import Base
internal import Text
internal import Timeline

package struct SearchReader {
  let rx: ReadTransaction

  /// Words of the vocabulary that stand for a beginning at most.
  private static let wordsMax = 64

  /// Whether search is switched on.
  package var isOn: Bool {
    get throws(StoreFailure) { SearchIndex(connection: try rx.connection).isOn }
  }

  /// How far the build is; nil where search is not switched on.
  package func state() throws(StoreFailure) -> SearchState? {
    try SearchIndex(connection: try rx.connection).state()
  }

  /// The newest hits; nil where search is not switched on.
  package func search(_ request: SearchRequest) throws(StoreFailure) -> SearchAnswer? {
    let connection = try rx.connection
    guard SearchIndex(connection: connection).isOn else { return nil }
    try connection.registerTokenizer()
    var answer = SearchAnswer(
      Query(request.text.span, prefixes: .common), names: connection.members)
    answer.coverage = try coverage(request.cid)
    guard answer.query.nothing == nil, request.limit > 0 else { return answer }
    let limit = Swift.min(request.limit, Limits.searchHitsMax)
    // As of other reads: a page ends early where its bytes would become too many.
    var page = RowBuilder(limit)
    if request.isByRelevance {
      var ranked: RankedHits
      if let behind = request.behind {
        ranked = behind
      } else {
        let own = try unconfirmed(answer.query, request)
        answer.note(own)
        ranked = try rank(answer.query, request, own, words: words(answer.query))
      }
      answer.hits = try self.hits(of: &ranked, limit: limit, &page)
      answer.rows = page.page()
      answer.hasMore = ranked.given < ranked.numbers.count
      answer.count = ranked.numbers.count
      answer.ranked = ranked
      return answer
    }
    let words = try words(answer.query)
    var request = request
    if let after = request.after, try isPending(after.number) { request.after?.timeUs = .max }
    let own = try unconfirmed(answer.query, request)
    answer.note(own)
    let found = try hits(
      request, request.expression(answer.query.expression(words: words)), own, limit: limit, &page)
    var hits = found.hits
    answer.hasMore = found.hasMore
    answer.read = found.read
    if try fill(&page, &hits) != nil {
      // What was read in another order than it is given has taken the room.
      page = RowBuilder(limit)
      for index in hits.indices { hits[index].row = nil }
      if let end = try fill(&page, &hits) {
        hits.removeSubrange(end...)
        answer.hasMore = true
      }
    }
    if !answer.hasMore, request.after == nil { answer.count = hits.count }
    answer.hits = hits
    answer.rows = page.page()
    return answer
  }

  /// The words that begin as the last one of a query; nil where they are too many, or are not
  /// looked up.
  private func words(_ query: Query) throws(StoreFailure) -> [[UInt8]]? {
    guard let last = query.pieces.last, last.beginning == .vocabulary, let token = last.tokens.last
    else { return nil }
    let row = try rx.connection.statement(
      Queries.searchWords, token, token + [0xFF], Self.wordsMax &+ 1)
    var words: [[UInt8]] = []
    while try row.step() { words.append(row.bytes(0)) }
    return words.count > Self.wordsMax ? nil : words
  }

  /// Hits in their order, whether there are more, and how many rows of the index were read. Once
  /// the page has no room, as many as are on it are looked for, and not all that were asked.
  private func hits(
    _ request: SearchRequest, _ expression: [UInt8], _ own: UnconfirmedHits, limit: Int,
    _ page: inout RowBuilder
  ) throws(StoreFailure) -> (hits: [SearchHit], hasMore: Bool, read: Int) {
    guard request.fromUs < request.beforeUs else { return ([], false, 0) }
    let (low, high) = try places(request)
    let row = try rx.connection.statement(Queries.searchHits, expression, low, high)
    var hits: [SearchHit] = []
    var read = 0
    /// False where there are enough without it.
    func take(_ next: SearchHit, most: Int) -> Bool {
      if hits.count >= most { return false }
      hits.append(next)
      return true
    }
    // What was read stands at its unit or behind it, so what is behind all units to come is next.
    var waiting = own.hits
    while try row.step() {
      read &+= 1
      let place = row.int(17)
      while let next = waiting.first, SearchPlace.unit(next.place.timeUs) > place {
        if !take(next, most: page.isCut ? page.count : limit) { return (hits, true, read) }
        waiting.removeFirst()
      }
      if let hit = try hit(row, request, own, &page) { waiting.insert(hit) }
    }
    while let next = waiting.first {
      if !take(next, most: page.isCut ? page.count : limit) { return (hits, true, read) }
      waiting.removeFirst()
    }
    return (hits, false, read)
  }

  /// Places that hits may have.
  func places(_ request: SearchRequest) throws(StoreFailure) -> (low: Int64, high: Int64) {
    let index = try SearchIndex(connection: rx.connection)
    let last = request.beforeUs == .max ? .max : request.beforeUs &- 1
    let end = Swift.min(last, request.after?.timeUs ?? .max)
    return (
      SearchPlace.unit(request.fromUs), try index.lastPlace(upTo: SearchPlace.unit(end))
    )
  }

  /// The row that a statement stands on, as a page has it; nil where it is not asked.
  private func hit(
    _ row: borrowing Statement, _ request: SearchRequest, _ own: UnconfirmedHits,
    _ page: inout RowBuilder
  ) throws(StoreFailure) -> SearchHit? {
    let place = SearchRequest.Place(
      timeUs: row.optionalInt(12) ?? row.int(1), number: row.uint(0))
    let (flags, index) = (RowFlags(rawValue: row.int(2)), page.count)
    guard request.isAsked(place), flags.isDisjoint(with: SearchableRow.notFound),
      try !isStale(place.number, own)
    else { return nil }
    var hit = SearchHit(
      cid: row.int(18), position: Position(time: row.int(1), key: row.bytes(4)), place: place)
    guard page.append(row, flags) else {
      hit.isUnread = true
      return hit
    }
    try rx.lay(over: &page, from: index, in: hit.cid)
    hit.row = index
    hit.searchable = row.optionalBytes(19)
    page.note(bytes: hit.searchable?.count ?? 0)
    return hit
  }

  /// Reads what a page shows of hits that were found without it; gives the first for which it has
  /// no room. One at least has room on an empty page.
  private func fill(
    _ page: inout RowBuilder, _ hits: inout [SearchHit]
  ) throws(StoreFailure) -> Int? {
    for index in hits.indices where hits[index].row == nil {
      if !page.isCut {
        hits[index].row = try rx.append(to: &page, at: hits[index].position, in: hits[index].cid)
      }
      if page.isCut { return index }
      if hits[index].isUnread { hits[index].searchable = try searchable(hits[index].place.number) }
      hits[index].isUnread = false
      page.note(bytes: hits[index].searchable?.count ?? 0)
    }
    return nil
  }

  // MARK: - What was not searched

  private func coverage(_ cid: Int64?) throws(StoreFailure) -> SearchCoverage {
    var coverage = SearchCoverage()
    let books = try SearchBooks(rx.connection)
    coverage.total = books.first
    coverage.unbuilt = UInt64(clamping: books.below)
    if let cid {
      coverage.sealed = try sealedCount(cid)
      coverage.partial = try isPartial(cid) ? 1 : 0
    } else {
      let sealed = try rx.connection.number(Queries.searchSealed, SearchCoverage.sealedMax)
      coverage.sealed = Int(clamping: sealed ?? 0)
      coverage.partial = try partial()
    }
    return coverage
  }

  /// Counted once for as long as no range begins elsewhere: someone asks with each key.
  private func partial() throws(StoreFailure) -> Int {
    let kept = try rx.known
    if let partial = kept?.some.partial { return partial }
    let partial = Int(clamping: try rx.connection.number(Queries.searchPartial) ?? 0)
    kept?.some.partial = partial
    return partial
  }

  /// Whether something of a conversation is not here.
  package func isPartial(_ cid: Int64) throws(StoreFailure) -> Bool {
    let spans = try rx.spans(cid)
    return !spans.covers(.min, high: spans.newest?.high ?? .max)
  }

  /// Messages of a conversation that are not opened yet, counted up to a bound.
  package func sealedCount(_ cid: Int64) throws(StoreFailure) -> Int {
    let most = SearchCoverage.sealedMax
    return Int(clamping: try rx.connection.number(Queries.searchSealedIn, cid, most) ?? 0)
  }

  /// Conversations behind a number of which something is not here or not opened.
  package func unsearched(after cid: Int64, limit: Int) throws(StoreFailure) -> [Int64] {
    let row = try rx.connection.statement(Queries.searchUnsearched, cid, limit)
    var cids: [Int64] = []
    while try row.step() { cids.append(row.int(0)) }
    return cids
  }
}

extension SearchRequest.Place: Comparable {
  package static func < (a: Self, b: Self) -> Bool {
    (a.timeUs, a.number) < (b.timeUs, b.number)
  }
}

extension SearchRequest {
  /// Whether a hit is in the times that are asked for, and behind the page before.
  func isAsked(_ place: Place) -> Bool {
    place.timeUs >= fromUs && (beforeUs == .max || place.timeUs < beforeUs)
      && (after.map { place < $0 } ?? true)
  }

  /// The same with the terms that all hits must have.
  func expression(_ query: [UInt8]) -> [UInt8] {
    var terms: [SearchTerm] = []
    if let cid { terms.append(.conversation(cid)) }
    if let sender { terms.append(.sender(sender)) }
    if isMine { terms.append(.mine) }
    if hasAttachment { terms.append(.attachment) }
    if terms.isEmpty { return query }
    var result = [UInt8(ascii: "(")] + query + [UInt8(ascii: ")")]
    for term in terms {
      result += " AND \"".utf8
      result += term.token
      result.append(UInt8(ascii: "\""))
    }
    return result
  }
}
