/// Why a message is shown or is not. The reason is read from rows, ranges and deletions, with a
/// trace or without; a trace adds where a message that is not stored was.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension Reading {
  /// Explains the message that is named.
  func explain(_ found: inout Explanation, limit: Int) throws(Failure) {
    do throws(StoreFailure) { try explainStored(&found, limit: limit) } catch {
      throw Failure(error)
    }
  }

  private func explainStored(_ found: inout Explanation, limit: Int) throws(StoreFailure) {
    let id = found.id
    let trace = try TraceReader(rx)
    found.isTraced = trace.isOn
    guard let record = try rx.conversation(found.conversation) else { return }
    found.conversation = record.id
    // A client id names the message that was sent under it.
    found.id = try rx.row(id, record.cid) == nil ? rx.id(ofSend: id, in: record.cid) : id
    let names = [found.id, try rx.clientID(of: found.id, in: record.cid) ?? id]
    found.entries = try trace.entries(of: names, in: record.cid, limit: limit)
    if record.fetch != nil { found.asOfUs = scheme.stamp(record.fetch?.text)?.timeUs }
    if try !explainRow(&found, of: record) { try explainAbsence(&found, trace, of: record) }
  }

  /// Explains a message that is stored, or pending. False where it is neither.
  private func explainRow(
    _ found: inout Explanation, of record: ConversationRecord
  ) throws(StoreFailure) -> Bool {
    if let row = try rx.row(found.id, record.cid) {
      (found.number, found.timeUs) = (row.number, row.timeUs)
      let spans = record.trusted(try rx.spans(record.cid), rx)
      let unverified = try rx.unverified(record.cid)
      found.isVerified = spans.holds(row.position) && !unverified.holds(row.position)
      found.reason = Explanation.Reason(row.flags)
      return true
    }
    guard let send = try rx.send(found.id, in: record.cid) else { return false }
    (found.number, found.operation) = (send.number, send.seq)
    found.isStuck = send.state == .unknown || send.state == .refused
    found.reason = send.isHidden ? .deleting : .pending
    return true
  }

  /// Explains a message that has no row.
  private func explainAbsence(
    _ found: inout Explanation, _ trace: TraceReader, of record: ConversationRecord
  ) throws(StoreFailure) {
    if try rx.isDeleted(found.id, in: record.cid) {
      found.reason = .deleted
      return
    }
    if try rx.isErased(found.id, in: record.cid) {
      found.reason = .erased
      return
    }
    if let last = found.entries.first, last.isOfPending, last.effect == .removed {
      (found.reason, found.operation) = (.cancelled, last.operation)
      return
    }
    let spans = record.trusted(try rx.spans(record.cid), rx)
    let place = rx.positionsMove ? nil : found.entries.first { $0.order != nil }?.order
    let position = place.map { Position(time: $0, id: found.id) }
    if let position, spans.holds(position) {
      found.reason = .absent
      return
    }
    if try isSetAside(found.id, trace, of: record) {
      found.reason = .unreadable
      return
    }
    let gaps = gaps(in: spans, of: record, around: position)
    // Two conversations may have messages of one id, so it is no answer where this one may have it.
    if gaps.isEmpty, let other = try trace.conversation(having: found.id, besides: record.cid) {
      (found.reason, found.conversation) = (.elsewhere, other)
      return
    }
    found.reason = gaps.isEmpty ? .absent : reason(found.entries.first)
    if spans.isEmpty, record.fetch == nil, found.reason == .gap { found.reason = .unfetched }
    found.isAtPresent = gaps.last?.high == .max
    for gap in gaps.reversed().prefix(Explanation.gapsMax) {
      found.gaps.append(try times(from: gap.low, to: gap.high, in: record))
    }
  }

  /// Why a message lies in a gap, by what was done to it last.
  private func reason(_ last: TraceEntry?) -> Explanation.Reason {
    guard let last, last.effect == .removed else { return .gap }
    return switch last.cause {
    case .retention: .purged
    case .call, .imported: .dropped
    default: .gap
    }
  }

  /// Where a message may be that is not stored: where it was, or else below all that was fetched
  /// last. What is newer than that is no reason, but where nothing reached the present.
  private func gaps(
    in spans: SpanSet, of record: ConversationRecord, around position: Position?
  ) -> [SpanSet.Span] {
    let all = spans.gaps(in: .min, high: .max)
    if let position { return all.filter { $0.contains(position) } }
    if !record.reachesPresent(spans, rx) || spans.isEmpty { return all }
    return all.filter { $0.high != .max }
  }

  /// Whether an item that could not be read is this message.
  private func isSetAside(
    _ id: [UInt8], _ trace: TraceReader, of record: ConversationRecord
  ) throws(StoreFailure) -> Bool {
    for item in try trace.setAside(holding: quoted(id), in: record.cid) {
      if namedMessage(item) == id { return true }
    }
    return false
  }
}
