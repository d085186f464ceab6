/// Reads: rows of the cache with a statement of how complete they are.
///
/// "Why did I get one message?" always has an answer: each page says which gaps
/// touch it and why it ends where it ends. The arithmetic is `Timeline.Completeness`.
internal import Base
internal import Store
internal import Timeline

struct Reading {
  private let rx: ReadTransaction

  init(_ rx: ReadTransaction) {
    self.rx = rx
  }

  func page(_ query: MessageQuery) throws(Failure) -> MessagePage {
    do {
      guard let record = try rx.conversation(query.conversation) else {
        if case .before = query.from { throw Failure.notFound }
        if case .after = query.from { throw Failure.notFound }
        return MessagePage(
          conversation: query.conversation, rows: [], bytes: [],
          coverage: completeness(
            SpanSet(), [], [], older: query.goesOlder, anchor: nil, full: false))
      }
      let (from, anchor) = try start(query, record)
      let found = try rx.messages(
        RowQuery(cid: record.cid, from: from, limit: query.limit))
      return try assemble(
        record, found, older: query.goesOlder, anchor: anchor,
        full: found.rows.count >= query.limit || found.isCut, descending: query.descending)
    } catch let failure as Failure {
      throw failure
    } catch let failure as StoreFailure {
      throw Failure(failure)
    } catch {
      throw .internal("an error of no room")
    }
  }

  func page(conversation: [UInt8], id: [UInt8]) throws(Failure) -> MessagePage {
    do {
      guard let record = try rx.conversation(conversation) else { throw Failure.notFound }
      let found = try rx.message(id, record.cid)
      if found.rows.isEmpty { throw Failure.notFound }
      return try assemble(
        record, found, older: true, anchor: nil, full: true, descending: false)
    } catch let failure as Failure {
      throw failure
    } catch let failure as StoreFailure {
      throw Failure(failure)
    } catch {
      throw .internal("an error of no room")
    }
  }

  func changePage(after: UInt64, limit: Int) throws(Failure) -> ChangePage {
    do {
      switch try rx.changes(after: after, limit: limit) {
      case .resync:
        return .resync
      case .entries(let entries):
        if entries.isEmpty { return .none }
        return .changes(
          entries.map { entry in
            ChangeView(
              seq: entry.seq, kind: Int32(truncatingIfNeeded: entry.kind.rawValue),
              first: entry.first, last: entry.last, conversation: entry.conversation)
          })
      }
    } catch {
      throw Failure(error)
    }
  }

  func counts() throws(Failure) -> StoreCounts {
    do {
      return try rx.counts()
    } catch {
      throw Failure(error)
    }
  }

  /// Where the read begins, and the position it leaves from.
  private func start(
    _ query: MessageQuery, _ record: ConversationRecord
  ) throws -> (RowQuery.From, Position?) {
    switch query.from {
    case .latest: return (.latest, nil)
    case .oldest: return (.oldest, nil)
    case .time(let time): return (.atTime(time), .before(tick: time))
    case .before(let number):
      guard let position = try rx.position(ofNumber: number, record.cid) else {
        throw Failure.notFound
      }
      return (.before(position), position)
    case .after(let number):
      guard let position = try rx.position(ofNumber: number, record.cid) else {
        throw Failure.notFound
      }
      return (.after(position), position.successor)
    }
  }

  private func assemble(
    _ record: ConversationRecord, _ found: RowPage, older: Bool, anchor: Position?, full: Bool,
    descending: Bool
  ) throws -> MessagePage {
    let spans = record.trusted(try rx.spans(record.cid))
    let positions = found.rows.map { row in
      Position(time: row.order, id: Array(found.bytes[row.id]))
    }
    var coverage = completeness(
      spans, try rx.quarantined(record.cid), positions, older: older, anchor: anchor,
      full: full)
    coverage.deletionsAsOfUs = record.deletions?.timeUs ?? 0
    coverage.contentAsOfUs = record.fetch?.timeUs ?? 0
    coverage.totalCount = record.totalCount ?? -1
    coverage.knownCount = try rx.count(record.cid, from: .min, to: .max)
    // What the user did lies over what the server said.
    let marked = try rx.queuedMarks(.read, record.cid)
    var rows = zip(found.rows, positions).map { row, position in
      var view = view(row, isTrusted: spans.span(holding: position) != nil)
      if marked.contains(position.id) { view.flags &= ~MessageFlags.unread }
      return view
    }
    if descending {
      rows.reverse()
      for index in coverage.gaps.indices {
        coverage.gaps[index].beforeRow = rows.count - coverage.gaps[index].beforeRow
      }
    }
    return MessagePage(
      conversation: record.id, rows: rows, bytes: found.bytes, coverage: coverage)
  }

  private func completeness(
    _ spans: SpanSet, _ poisoned: [SpanSet.Span], _ rows: [Position], older: Bool,
    anchor: Position?, full: Bool
  ) -> Coverage {
    let result = Completeness(
      spans: spans, poisoned: poisoned, rows: rows, goesOlder: older, anchor: anchor,
      reachedLimit: full)
    var coverage = Coverage()
    coverage.whole = result.isWhole
    coverage.stop =
      switch result.stop {
      case .limit: .limit
      case .start: .start
      case .gap: .gap
      case .present: .present
      }
    coverage.gaps = result.gaps.map { gap in
      GapView(
        beforeRow: gap.beforeRow, poisoned: gap.isPoisoned, lowUs: gap.low.time,
        highUs: gap.high.time)
    }
    return coverage
  }

  private func view(_ row: RowView, isTrusted: Bool) -> MessageView {
    MessageView(
      number: row.number, timeUs: row.timeUs,
      flags: MessageFlags.of(row.flags, isTrusted: isTrusted), id: row.id, sender: row.sender,
      stamp: row.stamp, payload: row.payload, replyTo: row.replyTo, reactions: row.reactions,
      readBy: row.readBy, rest: row.rest)
  }
}

extension MessageQuery {
  /// Whether the read goes towards older messages.
  var goesOlder: Bool {
    switch from {
    case .latest, .before: true
    case .oldest, .after, .time: false
    }
  }
}

/// `TL_MESSAGE_` flags of the header.
enum MessageFlags {
  static let unread: UInt32 = 1 << 1

  static func of(_ flags: RowFlags, isTrusted: Bool) -> UInt32 {
    var bits: UInt32 = 0
    if flags.contains(.mine) { bits |= 1 << 0 }
    if !flags.contains(.mine), !flags.contains(.readByMe) { bits |= unread }
    if flags.contains(.edited) { bits |= 1 << 2 }
    if flags.contains(.deleted) { bits |= 1 << 3 }
    if flags.contains(.pinned) { bits |= 1 << 4 }
    if flags.contains(.event) { bits |= 1 << 5 }
    if flags.contains(.sealed) { bits |= 1 << 6 }
    if !isTrusted { bits |= 1 << 7 }
    return bits
  }
}
