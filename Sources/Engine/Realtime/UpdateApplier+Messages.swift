/// Messages that come by push: a detached range, unless something proves that they join.
///
/// A pushed message is stored and shown at once. By itself it claims nothing and moves
/// no watermark, because pushes may be lost or overtake each other, and it asks for a
/// catch-up that closes the gap. It joins the newest range where the profile says that
/// nothing is lost while connected and the range is live, where the message names its
/// predecessor, or where its number follows. Only a live range lets the watermark
/// follow. What comes without a connection, in a push notification, joins nothing.
internal import Base
internal import Store
internal import Timeline
internal import Wire

/// A pushed item: a new message, or one that was changed.
struct PushedItem {
  let item: PageItem
  let isNew: Bool
}

extension UpdateApplier {
  /// Takes messages of one conversation.
  mutating func messages(
    _ conversation: [UInt8], items: [PushedItem]
  ) throws(StoreFailure) {
    try memory.server.scheme.history.take(items, of: conversation, &self)
  }

  /// A row for each, and what it joins.
  mutating func insert(
    _ conversation: [UInt8], items: [PushedItem]
  ) throws(StoreFailure) {
    var record = try tx.conversation(creating: conversation)
    var readable = 0
    var newIDs = IDSet()
    for pushed in items {
      guard case .message(let message) = pushed.item else { continue }
      readable += 1
      guard pushed.isNew else { continue }
      newIDs.insert(message.id)
      effects.signs.append(TypingSignal(conversation: conversation, user: message.sender))
    }
    // Newer than every request that is on its way, older than the next one.
    var ingest = Ingest(
      rules, frame: arrival.frame, opened: takePayloads(readable), issued: issued ?? tx.lsn,
      autoMarkRead: false)
    ingest.newIDs = newIDs
    ingest.reacted = memory.reacted
    ingest.placesBehind = memory.server.scheme.learnsTies
    ingest.copies = copies
    let isPushed = asked == nil && answered == nil
    if isPushed { ingest.offer = .pushed(isSilent: update.isSilent) }
    ingest.revivable = revivable(isPushed: isPushed)
    if answered?.verb == .sendMessage { ingest.clientID = answered?.clientID }
    if answered?.verb == .editMessage { ingest.edit = answered }
    var ingested = try ingest.page(items.lazy.map(\.item), of: record, in: tx)
    copies = ingested.copies
    effects.duplicates += ingested.duplicates
    effects.queuedMarks = effects.queuedMarks || ingested.queuedMarks
    effects.sawClientID = effects.sawClientID || ingested.sawClientID
    var areTooMany = false
    for bad in ingested.bad {
      try setAside(bad.range, reason: bad.reason.code, cid: record.cid)
      try poison(bad.range, cid: record.cid)
      switch bad.reason {
      case .tooMany, .tooOften: areTooMany = true
      default: break
      }
    }
    var pushed: [PushedMessage] = []
    for (item, position) in zip(items, ingested.items) {
      guard let position, case .message(let message) = item.item else { continue }
      pushed.append(PushedMessage(message: message, position: position, isNew: item.isNew))
    }
    let times = pushed.map(\.message.stamp.time)
    pushed.order { $0.position < $1.position }
    ingested.insertedAt = ingested.insertedAt.ascending()
    var inserted = ingested.insertedAt[...]
    for index in pushed.indices {
      inserted = inserted.drop { $0 < pushed[index].position }
      pushed[index].isInserted = inserted.first == pushed[index].position
    }
    for position in ingested.insertedAt {
      effects.pushed.append(
        PushedRow(
          id: PushedID(cid: record.cid, id: position.id), position: position, lsn: tx.lsn))
    }
    try place(pushed, &record)
    // Another way than a push may show whether what was deleted is back.
    if ingested.sawBuried, isPushed, ingest.revivable == nil { effects.behind.insert(record.id) }
    if areTooMany { try doubt(SkippedList([.messages, .marks], in: conversation, list: .items)) }
    if pushReach.isUp {
      for time in times { memory.server.learnTime(time, at: arrival.now) }
    }
    try tx.save(memory.server.facts)
  }

  /// Whether a copy says that a deleted message is back: it is of an answer that was asked for, or
  /// of pushes that do not overtake each other.
  private func revivable(isPushed: Bool) -> Set<PushedID>? {
    guard let early = memory.revivable else { return nil }
    if isPushed { return pushReach.isUp && pushReach.isLossless ? [] : nil }
    return issued == nil ? nil : early
  }

  /// Sees what each message joins, and what must be asked for where it joins nothing.
  private mutating func place(
    _ pushed: [PushedMessage], _ record: inout ConversationRecord
  ) throws(StoreFailure) {
    let isLive = pushReach.isLive(record, memory) && !isAside
    let isCatchingUp = pushReach.isCatchingUp(record.id)
    let stored = try tx.spans(record.cid)
    var spans = stored
    for message in pushed {
      if message.isInserted {
        try memory.server.lowerDeletions(&record, below: message.message.stamp.time, in: tx)
      }
      if spans.span(holding: message.position) != nil {
        if message.isInserted { noteLateness(of: message, record) }
        if isLive {
          raiseWatermark(message, &record)
        } else if message.isInserted || !(message.isNew || isAside) {
          effects.behind.insert(record.id)
        }
      } else if message.isNew, pushReach.isUp,
        let reach = try reach(of: message, spans: spans, record: record, isLive: isLive)
      {
        spans.insert(reach.span.low, reach.span.high)
        for hole in try tx.quarantined(record.cid, from: reach.span.low, to: reach.span.high) {
          spans.remove(hole.low, hole.high)
        }
        effects.shown.append((record.cid, isLive ? reach.span : message.span))
        if isLive { raiseWatermark(message, &record) }
        if reach.isDetached,
          let open = memory.server.scheme.open(reach.span.low, reach.span.high)
        {
          effects.linked.append((record.cid, open))
        }
        if isCatchingUp || reach.isDetached { effects.behind.insert(record.id) }
        continue
      } else if !isLive || isAbove(message, spans: spans) {
        effects.behind.insert(record.id)
      }
      effects.shown.append((record.cid, message.span))
      guard message.isInserted else { continue }
      if !isLive || isAbove(message, spans: spans) {
        try memory.server.endTrust(&spans, of: record, below: message.message.stamp.time, in: tx)
      }
      try endTrust(inside: &spans, at: message, of: record)
    }
    spans.keepNewest(Limits.spansMax)
    try tx.save(spans: spans, replacing: stored, in: record.cid)
    try tx.save(record)
  }

  /// A message that was committed below the watermark shows how late others may come. One that is
  /// stamped far back, as an import of the server's is, shows nothing of it.
  private func noteLateness(of message: PushedMessage, _ record: ConversationRecord) {
    guard let fetch = memory.server.scheme.lateTop(record),
      case let lateUs = fetch.time.us(since: ServerTime(us: message.position.time)),
      lateUs <= WatermarkPolicy.overlapUsMax
    else { return }
    memory.server.noteLateness(lateUs)
  }

  /// A row below the watermark in a range that was whole was committed late, and not alone
  /// perhaps: within the overlap trust ends below its timestamp group, and the next catch-up
  /// asks for all of that again. Further down only the group itself is unverified.
  private func endTrust(
    inside spans: inout SpanSet, at message: PushedMessage, of record: ConversationRecord
  ) throws(StoreFailure) {
    let (time, scheme) = (message.position.time, memory.server.scheme)
    guard
      let group = scheme.open(.before(timestampGroup: time), .after(timestampGroup: time)),
      let fetch = record.fetch, !pushReach.receivesAll(record),
      spans.span(holding: message.position) != nil
    else { return }
    if scheme.bound(fetch).map({ group.low >= $0.position }) ?? true {
      try spans.endTrust(at: group.low, of: record, in: tx)
    }
    // A range above the watermark was settled when it was claimed, and stays but for the group.
    spans.remove(group.low, group.high)
  }

  private func isAbove(_ message: PushedMessage, spans: SpanSet) -> Bool {
    spans.newest.map { $0.high <= message.position } ?? true
  }

  /// What is proven whole by a pushed message, and whether that is apart from the range that the
  /// watermark tops; nil where nothing is.
  private func reach(
    of pushed: PushedMessage, spans: SpanSet, record: ConversationRecord, isLive: Bool
  ) throws(StoreFailure) -> (span: SpanSet.Span, isDetached: Bool)? {
    let position = pushed.position
    guard let fetch = record.fetch else {
      // Without a watermark nothing is believed that could be joined, but numbers in a row.
      return try beside(pushed, spans: spans, in: record).map { ($0, true) }
    }
    guard let newest = spans.newest else { return nil }
    let isLive =
      isLive && memory.server.isBorneOut(pushed.message.stamp.time, at: arrival.now)
    // Where what the catch-up showed lies in the place of an unreadable item, no range reaches up
    // to the watermark. What it missed is below.
    var proven = Joining.pushed(
      position, onto: max(newest.high, fetch.boundary), isLive: isLive)
    if proven == nil { proven = try beside(pushed, spans: spans, in: record) }
    guard let proven else { return nil }
    let joined = spans.touching(proven.low)?.low ?? proven.low
    return (proven, joined > fetch.boundary)
  }

  /// A number with what is known right beside it: between the two nothing fits. Without numbers the
  /// message that it names as the one before.
  private func beside(
    _ pushed: PushedMessage, spans: SpanSet, in record: ConversationRecord
  ) throws(StoreFailure) -> SpanSet.Span? {
    let position = pushed.position
    guard let number = memory.server.scheme.sequence(at: position.time) else {
      return try named(by: pushed, in: record)
    }
    let low = Position.before(timestampGroup: position.time)
    let high = Position.after(timestampGroup: position.time)
    func isStored(_ order: Int64) throws(StoreFailure) -> Bool {
      try tx.rows(
        record.cid, from: .before(timestampGroup: order), to: .after(timestampGroup: order),
        limit: 1, newestFirst: true
      ).first != nil
    }
    let hasBelow = try isStored(number.value.saturating(minus: 1))
    let hasAbove = try isStored(number.value.saturating(plus: 1))
    if !hasBelow, !hasAbove, spans.touching(low) == nil, spans.touching(high) == nil { return nil }
    return Joining.numbered(number, hasBelow: hasBelow, hasAbove: hasAbove)
  }

  /// From the message that a pushed one names as the one before it, where that is stored and no
  /// other stands between.
  private func named(
    by pushed: PushedMessage, in record: ConversationRecord
  ) throws(StoreFailure) -> SpanSet.Span? {
    guard let previous = pushed.message.previousID,
      let fetch = record.fetch, fetch.newest <= pushed.position,
      let below = try tx.rows(
        record.cid, from: .min, to: pushed.position, limit: 1, newestFirst: true
      ).first?.position, below.id == previous
    else { return nil }
    return Joining.named(pushed.position, after: below)
  }

  /// In a live range the watermark follows what was applied, so that quiet hours are
  /// not fetched again.
  private func raiseWatermark(_ pushed: PushedMessage, _ record: inout ConversationRecord) {
    let stamp = pushed.message.stamp
    guard pushed.isNew, let fetch = record.fetch, !fetch.covers(pushed.position),
      memory.server.isBorneOut(stamp.time, at: arrival.now)
    else { return }
    record.fetch = ContentMark(newest: pushed.position, text: stamp.text)
  }
}

/// A readable pushed message in its place.
private struct PushedMessage {
  let message: WireMessage
  let position: Position
  let isNew: Bool
  var isInserted = false

  var span: SpanSet.Span { SpanSet.Span(low: position, high: position.successor) }
}
