/// Hits as rows of messages, each with what is marked in it.
internal import Base
internal import Store
internal import Timeline

extension Reading {
  func hits(_ query: SearchQuery) throws(Failure) -> HitPage {
    if let behind = query.behind, behind.mark != query.mark {
      throw .invalid("behind holds hits of another query")
    }
    let page = try storing { rx throws(StoreFailure) -> HitPage? in
      var request = SearchRequest(query.text, limit: query.limit)
      if let conversation = query.conversation {
        // Nothing is found in one that is not known; a number that none has says so.
        request.cid = try rx.conversation(conversation)?.cid ?? -1
      }
      request.sender = query.sender
      request.isMine = query.isMine
      request.hasAttachment = query.hasAttachment
      request.fromUs = query.fromUs
      request.beforeUs = query.beforeUs
      if query.afterNumber > 0 {
        request.after = SearchRequest.Place(timeUs: query.afterUs, number: query.afterNumber)
      }
      request.isByRelevance = query.isByRelevance
      request.behind = query.behind.map {
        RankedHits(numbers: $0.numbers, given: $0.given, isCut: $0.isCut)
      }
      guard let answer = try rx.searchReader.search(request) else { return nil }
      return try self.page(answer, of: query)
    }
    guard let page else { throw .notFound("search is not switched on") }
    return page
  }

  private func page(
    _ answer: SearchAnswer, of query: SearchQuery
  ) throws(StoreFailure) -> HitPage {
    var page = HitPage()
    var marker = query.leavesMarks ? nil : answer.marker
    page.hasMore = answer.hasMore
    page.count = answer.count
    page.order = answer.ranked.map {
      HitOrder(
        numbers: $0.numbers, given: $0.given, isCut: $0.isCut, mark: query.mark)
    }
    page.isCut = answer.isCut
    page.asksNoWord = answer.nothing == .noWord
    page.asksOnlyExclusions = answer.nothing == .onlyExclusions
    page.unbuilt = answer.coverage.unbuilt
    page.total = answer.coverage.total
    page.sealed = answer.coverage.sealed
    page.partial = answer.coverage.partial
    page.messages = answer.rows
    var known: [Int64: Known] = [:]
    for hit in answer.hits {
      guard let message = hit.row else { continue }
      let entry: Known
      if let met = known[hit.cid] {
        entry = met
      } else {
        entry = try self.known(hit.cid, in: &page)
        known[hit.cid] = entry
      }
      let flags = entry.annotator?.flags(page.messages[message].rowFlags, hit.position) ?? 0
      unsafe page.messages.withRows { rows in unsafe mark(&rows[message], flags) }
      var row = HitRow(
        message: message, conversation: entry.name, searchable: page.add(hit.searchable ?? []),
        marks: [])
      let payload = page.messages[message].payload
      for mark in marker?.marks(page.messages[payload], hit.searchable) ?? [] {
        row.marks.append(
          HitMark(member: page.add(mark.member), utf8: mark.utf8, utf16: mark.utf16))
      }
      page.rows.append(row)
    }
    return page
  }

  /// What all hits of one conversation have in common.
  private struct Known {
    let name: Range<Int>
    let annotator: RowAnnotator?
  }

  private func known(_ cid: Int64, in page: inout HitPage) throws(StoreFailure) -> Known {
    guard let record = try rx.conversation(cid: cid) else {
      return Known(name: 0..<0, annotator: nil)
    }
    let annotator = try RowAnnotator(
      rx, of: record, spans: record.trusted(rx.spans(cid), rx), fresh: fresh(cid), ends: nil)
    return Known(name: page.add(record.id), annotator: annotator)
  }
}

// MARK: - What is not searched

extension Reading {
  func unsearched(
    _ conversation: [UInt8]?, after number: UInt64, limit: Int
  ) throws(Failure) -> [UnsearchedView] {
    let found = try storing { rx throws(StoreFailure) -> [UnsearchedView]? in
      guard try rx.searchReader.state() != nil else { return nil }
      let after = Int64(clamping: number)
      if let conversation {
        guard let record = try rx.conversation(conversation) else { return nil }
        let found = try view(record)
        let isWhole = !found.isPartial && found.sealed == 0
        return record.cid <= after || isWhole ? [] : [found]
      }
      var views: [UnsearchedView] = []
      for cid in try rx.searchReader.unsearched(after: after, limit: limit) {
        if let record = try rx.conversation(cid: cid) { views.append(try view(record)) }
      }
      return views
    }
    guard let found else {
      throw .notFound("search is not switched on, or there is no such conversation")
    }
    return found
  }

  private func view(_ record: ConversationRecord) throws(StoreFailure) -> UnsearchedView {
    var wholeFromUs = Int64.max
    if let newest = record.trusted(try rx.spans(record.cid), rx).newest {
      wholeFromUs = try self.wholeFromUs(newest, in: record.cid)
    }
    return UnsearchedView(
      number: UInt64(clamping: record.cid), conversation: record.id, wholeFromUs: wholeFromUs,
      isPartial: try rx.searchReader.isPartial(record.cid),
      sealed: try rx.searchReader.sealedCount(record.cid))
  }

  private func wholeFromUs(_ newest: SpanSet.Span, in cid: Int64) throws(StoreFailure) -> Int64 {
    if newest.low == .min { return 0 }
    guard let time = scheme.time(at: newest.low.time)?.us else {
      let first = try rx.rows(cid, from: newest.low, to: newest.high, limit: 1, newestFirst: false)
      return first.first?.timeUs ?? .max
    }
    // Of the time in whose midst it begins some may be missing.
    return newest.low.key.isEmpty ? time : time.saturating(plus: 1)
  }
}

extension HitPage {
  /// Adds bytes, and says where they lie.
  fileprivate mutating func add(_ added: [UInt8]) -> Range<Int> {
    let start = bytes.count
    bytes += added
    return start..<bytes.count
  }
}
