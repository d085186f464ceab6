/// Reads: rows of the cache with a statement of how complete they are.
///
/// "Why did I get one message?" always has an answer: each page says which gaps
/// touch it and why it ends where it ends. The arithmetic is `Timeline.Completeness`.
internal import Base
internal import Store
internal import Timeline
internal import Wire

struct Reading {
  let rx: ReadTransaction
  private let board: ReadBoard

  init(_ rx: ReadTransaction, _ board: ReadBoard) {
    self.rx = rx
    self.board = board
  }

  var scheme: PositionScheme { board.scheme }

  /// Where all marks of a conversation were verified on this connection.
  func fresh(_ cid: Int64) -> SpanSet { board.fresh[cid] }

  /// Runs something of the store's, with its failures as the engine's.
  func storing<Result>(
    _ body: (ReadTransaction) throws(StoreFailure) -> Result
  ) throws(Failure) -> Result {
    do {
      return try body(rx)
    } catch {
      throw Failure(error)
    }
  }

  func page(_ query: MessageQuery) throws(Failure) -> MessagePage {
    guard
      let record = try storing({ rx throws(StoreFailure) in
        try rx.conversation(query.conversation)
      })
    else {
      if case .before = query.from { throw .noConversation }
      if case .after = query.from { throw .noConversation }
      return .unknown(query.conversation)
    }
    let start = try start(query, of: record)
    return try storing { rx throws(StoreFailure) in
      var rows = RowQuery(cid: record.cid, from: start.from, limit: query.limit)
      rows.pinnedOnly = query.isPinnedOnly
      let found = try rx.messages(rows)
      var anchor = start.anchor
      if start.isTime, anchor == nil {
        // Numbers say nothing of times, so the read begins at its first row.
        anchor = query.goesOlder ? found.ends?.last.successor : found.ends?.first
      }
      return try assemble(
        record, found: found, older: query.goesOlder, anchor: anchor,
        full: found.count >= query.limit || found.isCut, descending: query.descending)
    }
  }

  func page(conversation: [UInt8], id: [UInt8]) throws(Failure) -> MessagePage {
    let page = try storing { rx throws(StoreFailure) -> MessagePage? in
      guard let record = try rx.conversation(conversation) else { return nil }
      let found = try rx.message(id, record.cid)
      if found.count == 0 { return nil }
      return try assemble(
        record, found: found, older: true, anchor: nil, full: true, descending: false)
    }
    guard let page else { throw .noMessage }
    return page
  }

  /// Rows of a window with content as it is now. A row that went keeps its place.
  func page(
    _ screen: borrowing WindowState, items: [WindowList.Item], first: Int
  ) throws(Failure) -> MessagePage {
    let spans = screen.list.spans
    let poisoned = screen.trust.quarantined
    let conversation = screen.config.conversation
    return try storing { rx throws(StoreFailure) in
      guard let record = try rx.conversation(conversation) else {
        return .unknown(conversation)
      }
      let found = Self.inPlace(
        of: items, found: try rx.messages(record.cid, keys: items.map(\.position)[...]))
      let ends = items.first.flatMap { first in items.last.map { (first.position, $0.position) } }
      let marks = try RowAnnotator(
        rx, of: record, spans: spans, fresh: fresh(record.cid), ends: ends)
      let stale = mark(found, marks) { items[$0].position }
      unsafe found.withRows { rows in
        for index in rows.indices where items[index].drawnSplit != .none {
          unsafe rows[index].flags |= MessageFlags.gapBefore
          if items[index].drawnSplit == .healing {
            unsafe rows[index].flags |= MessageFlags.gapHealing
          }
        }
      }
      let shown = items.prefix(found.count)
      let confirmed = shown.firstIndex { $0.position.isPending } ?? shown.count
      let list = screen.list
      let next = list[first &+ confirmed]?.position
      var completeness = Completeness(
        spans: spans, poisoned: poisoned, count: confirmed, goesOlder: true, anchor: next,
        reachedLimit: true
      ) { items[$0].position }
      completeness.split(
        before: (0...shown.count).filter { list[first &+ $0]?.splitBefore ?? false },
        count: shown.count
      ) { list[first &+ $0]?.position ?? .max }
      var coverage = Coverage(completeness)
      try setGapTimes(&coverage, gaps: completeness.gaps, of: record)
      coverage.staleCount = stale
      try fill(&coverage, record, first: confirmed > 0 ? items[0].position : nil)
      return MessagePage(conversation: record.id, page: found, coverage: coverage)
    }
  }

  /// The rows found for these items, and one that says so for each item that went.
  private static func inPlace(of items: [WindowList.Item], found: RowPage) -> RowPage {
    let areAllThere = unsafe found.withRows { rows in
      rows.count == items.count
        && rows.indices.allSatisfy { unsafe rows[$0].number == items[$0].number }
    }
    if areAllThere { return found }
    var rows: [MessageRow] = []
    var next = 0
    for item in items {
      if next < found.count, found[next].number == item.number {
        rows.append(found[next])
        next += 1
      } else if found.isCut, next >= found.count {
        break
      } else {
        // Another message may stand there now.
        if next < found.count, found.position(at: next) == item.position { next += 1 }
        var gone = MessageRow()
        gone.number = item.number
        gone.flags = MessageFlags.gone
        rows.append(gone)
      }
    }
    return RowPage(rows, over: found)
  }

  func changePage(after: UInt64, limit: Int) throws(Failure) -> ChangePage {
    try storing { rx throws(StoreFailure) in
      guard case .entries(let entries) = try rx.feedReader.changes(since: after, limit: limit)
      else {
        return .resync
      }
      if entries.isEmpty { return .none }
      return .changes(
        entries.map { entry in
          ChangeView(
            seq: entry.seq, kind: Int32(truncatingIfNeeded: entry.kind.rawValue),
            isSilent: entry.isSilent, notifies: entry.notifies,
            origin: Int32(truncatingIfNeeded: entry.origin.rawValue), first: entry.first,
            last: entry.last,
            conversation: entry.conversation)
        })
    }
  }

  func eventPage(after: UInt64, limit: Int) throws(Failure) -> EventPage {
    try storing { rx throws(StoreFailure) in
      guard case .entries(let events) = try rx.feedReader.events(after: after, limit: limit) else {
        return .resync
      }
      if events.isEmpty { return .none }
      return .events(
        events.map { event in
          EventView(
            seq: event.seq, kind: Int32(truncatingIfNeeded: event.kind),
            action: Int32(truncatingIfNeeded: event.action), isSilent: event.isSilent,
            conversation: event.conversation, entity: event.entity, body: event.body, id: event.id)
        })
    }
  }

  /// Of one conversation where it is given.
  func quarantined(
    in conversation: [UInt8]?, after: UInt64, limit: Int
  ) throws(Failure) -> [QuarantinedView] {
    try storing { rx throws(StoreFailure) in
      var cid: Int64?
      if let conversation {
        guard let record = try rx.conversation(conversation) else { return [] }
        cid = record.cid
      }
      return try rx.quarantinedItems(cid, after: after, limit: limit).map { item in
        // Without a place it hides none; with numbers as positions its ends are no times.
        let isPlaced = item.high != .min
        return QuarantinedView(
          seq: item.seq, isCut: item.size > UInt64(clamping: item.bytes.count),
          lowUs: isPlaced ? scheme.time(at: item.low)?.us ?? .min : .min,
          highUs: isPlaced ? scheme.time(at: item.high)?.us ?? .max : .max,
          size: item.size, conversation: item.conversation,
          reason: BadItem.text(code: item.reason), item: item.bytes)
      }
    }
  }

  func entities(_ query: EntityQuery) throws(Failure) -> [EntityView] {
    try storing { rx throws(StoreFailure) in
      try entities(query, of: rx).map { entity in
        EntityView(
          role: query.role, conversation: entity.conversation, id: entity.id, body: entity.body)
      }
    }
  }

  private func entities(
    _ query: EntityQuery, of rx: ReadTransaction
  ) throws(StoreFailure) -> [EntityRow] {
    let kind = Int64(query.role.rawValue)
    // What conversations are and have is kept under their numbers.
    func number(_ conversation: [UInt8]?) throws(StoreFailure) -> Int64? {
      guard let conversation, !conversation.isEmpty else { return nil }
      return try rx.conversation(conversation)?.cid
    }
    let isConversation = query.role == .conversation
    let isProfile = query.role == .profile
    if let id = query.id {
      let owner = isProfile ? 0 : try number(isConversation ? id : query.conversation)
      guard let owner else { return [] }
      return try rx.feedReader.entity(kind: kind, cid: owner, id: id).map { [$0] } ?? []
    }
    if isProfile || query.conversation != nil {
      guard let owner = isProfile ? 0 : try number(query.conversation) else { return [] }
      return try rx.feedReader.entities(
        kind: kind, cid: owner, after: query.afterID, limit: query.limit)
    }
    let last = try number(isConversation ? query.afterID : query.afterConversation)
    return try rx.feedReader.entities(
      kind: kind, after: (last ?? 0, query.afterID), limit: query.limit)
  }

  func counts() throws(Failure) -> StoreCounts {
    try storing { rx throws(StoreFailure) in try rx.counts() }
  }

  /// Where the read begins, and the position it leaves from.
  private func start(
    _ query: MessageQuery, of record: ConversationRecord
  ) throws(Failure) -> (from: RowQuery.From, anchor: Position?, isTime: Bool) {
    switch query.from {
    case .latest: return (.latest, nil, false)
    case .oldest: return (.oldest, nil, false)
    case .time(let time): return (.atTime(time), scheme.boundary(at: ServerTime(us: time)), true)
    case .beforeTime(let time):
      return (.beforeTime(time), scheme.boundary(at: ServerTime(us: time)), true)
    case .before(let number):
      let position = try position(of: number, record: record)
      return (.before(position), position, false)
    case .after(let number):
      let position = try position(of: number, record: record)
      return (.after(position), position.successor, false)
    }
  }

  private func position(
    of number: UInt64, record: ConversationRecord
  ) throws(Failure) -> Position {
    let position = try storing { rx throws(StoreFailure) in
      try rx.position(ofNumber: number, in: record.cid)
    }
    guard let position else {
      throw .notFound("no message of the conversation has this number")
    }
    return position
  }

  private func assemble(
    _ record: ConversationRecord, found: RowPage, older: Bool, anchor: Position?, full: Bool,
    descending: Bool
  ) throws(StoreFailure) -> MessagePage {
    let spans = record.trusted(try rx.spans(record.cid), rx)
    let completeness = Completeness(
      spans: spans, poisoned: try rx.quarantined(record.cid, seen: true),
      count: found.confirmedCount, goesOlder: older, anchor: anchor, reachedLimit: full,
      endsAtPresent: record.reachesPresent(spans, rx)
    ) { found.position(at: $0) }
    var coverage = Coverage(completeness)
    try setGapTimes(&coverage, gaps: completeness.gaps, of: record)
    let marks = try RowAnnotator(
      rx, of: record, spans: spans, fresh: fresh(record.cid), ends: found.ends)
    coverage.staleCount = mark(found, marks) { found.position(at: $0) }
    try fill(&coverage, record, first: found.confirmedCount > 0 ? found.ends?.first : nil)
    if descending {
      found.reverse()
      for index in coverage.gaps.indices {
        coverage.gaps[index].beforeRow = found.count - coverage.gaps[index].beforeRow
      }
    }
    return MessagePage(conversation: record.id, page: found, coverage: coverage)
  }

  /// Writes into each row what is known of it beside its content; gives how many are stale.
  @discardableResult func mark(
    _ page: RowPage, _ marks: RowAnnotator, _ place: (Int) -> Position
  ) -> Int {
    unsafe page.withRows { rows in
      var stale = 0
      for index in rows.indices {
        // Of one that went nothing is known.
        if unsafe rows[index].flags & MessageFlags.gone != 0 { continue }
        let flags = unsafe marks.flags(rows[index].rowFlags, place(index))
        if flags & MessageFlags.stale != 0 { stale += 1 }
        unsafe mark(&rows[index], flags)
      }
      return stale
    }
  }

  func mark(_ row: inout MessageRow, _ flags: UInt32) {
    row.flags = flags
    if row.operation != 0 {
      row.uploadPermille = board.permille[row.operation] ?? 1_000
    } else if let number = scheme.sequence(at: row.order) {
      row.sequence = UInt64(clamping: number.value)
    }
  }

  private func fill(
    _ coverage: inout Coverage, _ record: ConversationRecord, first: Position?
  ) throws(StoreFailure) {
    coverage.knownCount = try rx.count(record.cid, from: .min, to: .max)
    try scheme.history.fill(&coverage, of: record, first: first, self)
  }

  /// Where positions are no times, a gap is told by the times of the messages beside it.
  private func setGapTimes(
    _ coverage: inout Coverage, gaps: [Completeness.Gap], of record: ConversationRecord
  ) throws(StoreFailure) {
    for (index, gap) in gaps.enumerated() where coverage.gaps.indices.contains(index) {
      (coverage.gaps[index].lowUs, coverage.gaps[index].highUs) = try times(
        from: gap.low, to: gap.high, in: record)
    }
  }

  /// Server times of the ends of a gap; the least and the greatest where there is none.
  func times(
    from low: Position, to high: Position, in record: ConversationRecord
  ) throws(StoreFailure) -> (lowUs: Int64, highUs: Int64) {
    if let low = scheme.time(at: low.time), let high = scheme.time(at: high.time) {
      return (low.us, high.us)
    }
    func time(_ low: Position, high: Position, newest: Bool) throws(StoreFailure) -> Int64? {
      try rx.rows(record.cid, from: low, to: high, limit: 1, newestFirst: newest).first?.timeUs
    }
    let below = try time(.min, high: low, newest: true)
    // Of what was never fetched no end is known.
    if high == .max { return (below ?? .min, .max) }
    let top = max(scheme.stamp(record.fetch?.text)?.timeUs ?? .min, below ?? .min)
    return (below ?? .min, try time(high, high: .max, newest: false) ?? top)
  }
}

extension RowPage {
  /// Where the first and the last row stand; nil where there is none.
  fileprivate var ends: (first: Position, last: Position)? {
    count == 0 ? nil : (position(at: 0), position(at: count - 1))
  }

  /// How many rows the server has; pending ones stand behind all others.
  fileprivate var confirmedCount: Int {
    unsafe withRows { rows in
      var count = rows.count
      while count > 0, unsafe rows[count - 1].operation != 0 { count -= 1 }
      return count
    }
  }
}

extension MessagePage {
  /// Of a conversation of which nothing is stored: all of it may be missing.
  static func unknown(_ conversation: [UInt8]) -> MessagePage {
    let completeness = Completeness(
      spans: SpanSet(), poisoned: [], rows: [], goesOlder: true, anchor: nil, reachedLimit: false)
    return MessagePage(
      conversation: conversation, page: RowPage(), coverage: Coverage(completeness))
  }
}

extension Coverage {
  fileprivate init(_ completeness: Completeness) {
    self.init()
    whole = completeness.isWhole
    stop =
      switch completeness.stop {
      case .limit: .limit
      case .start: .start
      case .gap: .gap
      case .present: .present
      }
    gaps = completeness.gaps.map { gap in
      GapView(
        beforeRow: gap.beforeRow, poisoned: gap.isQuarantined, lowUs: .min, highUs: .max)
    }
  }
}

/// What is known about the rows of one conversation beside their content.
struct RowAnnotator {
  private let spans: SpanSet
  private let unverified: SpanSet
  private let fresh: SpanSet
  private let marker: Position?
  /// What the place of a row says of it, where that is the same for all rows.
  private var common: UInt32?

  /// - Parameter ends: places of the first and the last row.
  init(
    _ rx: ReadTransaction, of record: ConversationRecord, spans: SpanSet, fresh: SpanSet,
    ends: (first: Position, last: Position)?
  ) throws(StoreFailure) {
    self.spans = spans
    self.fresh = fresh
    unverified = try rx.unverified(record.cid)
    marker = try rx.unreadReader.readMarker(record.cid)
    guard let (first, last) = ends,
      spans.holds(from: first, through: last) != nil,
      unverified.holds(from: first, through: last) != nil,
      self.fresh.holds(from: first, through: last) != nil,
      marker.map({ $0 < first || last <= $0 }) ?? true
    else { return }
    common = bits(at: first)
  }

  private static let unread: UInt32 = 1 << 1
  /// Mine, edited, deleted, pinned, event and sealed are the same bits in the file and in the
  /// header.
  private static let same: Int64 = 0b111_1101

  /// Those flags of a row that its place decides.
  private func bits(at position: Position) -> UInt32 {
    let isForgotten = unverified.holds(position)
    return Self.bits(
      isAboveMarker: marker.map { $0 < position } ?? true,
      isVerified: !isForgotten && spans.holds(position),
      isStale: isForgotten || !fresh.holds(position))
  }

  static func bits(isAboveMarker: Bool, isVerified: Bool, isStale: Bool) -> UInt32 {
    (isAboveMarker ? unread : 0) | (isVerified ? 0 : 1 << 7) | (isStale ? MessageFlags.stale : 0)
  }

  /// `TL_MESSAGE_` flags of the header.
  func flags(_ flags: RowFlags, _ position: @autoclosure () -> Position) -> UInt32 {
    Self.flags(flags, common ?? bits(at: position()))
  }

  static func flags(_ flags: RowFlags, _ bits: UInt32) -> UInt32 {
    var bits = bits
    if !flags.isDisjoint(with: .ownOrRead) { bits &= ~unread }
    bits |= UInt32(truncatingIfNeeded: flags.rawValue & same)
    if !flags.isDisjoint(with: .listened) { bits |= 1 << 10 }
    if flags.contains(.moderated) { bits |= MessageFlags.moderated }
    if flags.contains(.silent) { bits |= MessageFlags.silent }
    return bits
  }
}

extension MessageQuery {
  /// Whether the read goes towards older messages.
  var goesOlder: Bool {
    switch from {
    case .latest, .before, .beforeTime: true
    case .oldest, .after, .time: false
    }
  }
}

enum MessageFlags {
  static let pinned: UInt32 = 1 << 4
  static let gapBefore: UInt32 = 1 << 8
  static let stale: UInt32 = 1 << 9
  static let gone: UInt32 = 1 << 11
  static let gapHealing: UInt32 = 1 << 12
  static let moderated: UInt32 = 1 << 13
  static let silent: UInt32 = 1 << 14
}
