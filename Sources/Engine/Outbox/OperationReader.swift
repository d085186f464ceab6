/// What the user did, as the host reads it: the row of an operation, and what memory knows of its
/// turn. It changes nothing.
internal import Base
internal import Store
internal import Wire

struct OperationReader {
  let store: MessageStore
  let outbox: Outbox
  let tracker: RequestTracker

  /// Those that a query asks for, in the order they were made.
  func operations(_ query: OperationQuery) throws(StoreFailure) -> [FoundOperation] {
    try store.read { rx throws(StoreFailure) in
      var filter = OperationFilter(
        openOnly: query.openOnly, after: query.after, limit: query.limit)
      if let name = query.conversation {
        guard let known = try rx.conversation(name) else { return [] }
        filter.cid = known.cid
      }
      var found: [FoundOperation] = []
      for record in try rx.operations(filter) where !record.verb.isMark {
        let conversation = try rx.conversation(cid: record.cid)?.id ?? []
        found.append(FoundOperation(record: record, conversation: conversation))
      }
      return found
    }
  }

  func operation(_ seq: UInt64) throws(StoreFailure) -> FoundOperation? {
    try store.read { rx throws(StoreFailure) in
      guard let record = try rx.operation(seq), !record.verb.isMark else { return nil }
      return FoundOperation(
        record: record, conversation: try rx.conversation(cid: record.cid)?.id ?? [])
    }
  }

  /// As the host reads them.
  func page(_ found: [FoundOperation], at now: Instant) -> OperationPage {
    var page = OperationPage(rows: [], bytes: [])
    for found in found {
      let record = found.record
      func put(_ value: [UInt8]) -> Range<Int> {
        let start = page.bytes.count
        page.bytes += value
        return start..<page.bytes.count
      }
      let isUploading = record.waits == .upload && record.state != .done
      let isNext = record.state == .queued && record.waits == .nothing && record.depends == 0
      let retry = isNext ? dueMs(record.seq, now).map { max(0, $0 &- now.monotonicMs) } : nil
      page.rows.append(
        OperationView(
          id: record.seq, number: record.number, standing: OperationStanding(record.state),
          waiting: waiting(record, now), attempts: UInt32(clamping: record.attempts),
          uploadPermille: isUploading ? outbox.permille[record.seq] ?? 0 : 1_000,
          retryMs: retry ?? -1,
          verb: put(bytes(record.verb.onWire.name)), conversation: put(found.conversation),
          message: put(record.target), clientID: put(record.clientID ?? []),
          request: put(record.request), result: put(record.result ?? []),
          errorCode: put(record.errorCode ?? []), errorText: put(record.errorText ?? [])))
    }
    return page
  }

  /// When it may be tried again, where that is known.
  private func dueMs(_ seq: UInt64, _ now: Instant) -> Int64? {
    let own = outbox.notBeforeMs[seq]
    return tracker.isResting(now.monotonicMs) ? max(own ?? .min, tracker.losses.restsUntilMs) : own
  }

  private func waiting(_ record: OperationRecord, _ now: Instant) -> OperationWaiting {
    switch record.state {
    case .inFlight, .answered, .refused, .done:
      return .nothing
    case .unknown:
      if outbox.checks[record.seq] == nil { return .nothing }
      return tracker.isUp ? .check : .connection
    case .queued:
      if record.waits == .upload { return .upload }
      if record.waits == .seal { return .seal }
      if record.depends != 0 { return .turn }
      if let due = dueMs(record.seq, now), due > now.monotonicMs { return .retry }
      if !tracker.isUp { return .connection }
      return tracker.isPending(.operation(record.seq)) ? .nothing : .turn
    }
  }
}
