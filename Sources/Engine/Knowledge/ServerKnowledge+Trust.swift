/// What a row that came from no page puts in doubt: claims and watermarks go back.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension ServerKnowledge {
  /// A row that came from no page may have been deleted before the lowest time that
  /// deletions were ever asked from: the watermark goes below it.
  func lowerDeletions(
    _ record: inout ConversationRecord, below time: Int64, in tx: WriteTransaction
  ) throws(StoreFailure) {
    guard let lowest = record.lowestSinceUs, time < lowest.saturating(plus: overlapUs),
      let watermark = stamp(record.deletions)
    else { return }
    let lowered = time.saturating(minus: overlapUs)
    record.deletions = Watermark(timeUs: lowered, text: watermark.printed(lowered))
    record.lowestSinceUs = lowered
    try tx.save(record)
  }

  /// Deletions are asked once more from before those that were asked for last.
  func lowerDeletions(_ record: inout ConversationRecord) {
    guard let known = record.deletions, let form = stamp(known) else { return }
    let time = max(known.timeUs, WatermarkPolicy.earliestUs + overlapUs) - overlapUs
    record.deletions = Watermark(timeUs: time, text: form.printed(time))
    record.lowestSinceUs = min(record.lowestSinceUs ?? time, time)
  }

  /// The same for changes. A cursor that is no time has nothing before it but the beginning.
  func lowerMarks(_ record: inout ConversationRecord) {
    guard let known = record.marks else { return }
    record.marks = nil
    guard let form = stamp(known) else { return }
    let time = max(known.timeUs, WatermarkPolicy.earliestUs + overlapUs) - overlapUs
    record.marks = Watermark(timeUs: time, text: form.printed(time))
  }

  /// A row above the watermark that came from no page: what was missed may lie below
  /// it, so nothing above the watermark is claimed until the next catch-up. Numbers
  /// are given as messages become visible, so where they are the positions nothing
  /// can come to lie below a claim.
  func endTrust(
    _ spans: inout SpanSet, of record: ConversationRecord, below time: Int64,
    in tx: WriteTransaction
  ) throws(StoreFailure) {
    guard !scheme.isSequence, let fetch = record.fetch, time >= fetch.timeUs else { return }
    // In the watermark's own timestamp group others may have come before it, too.
    let boundary: Position =
      time == fetch.timeUs ? .before(timestampGroup: time) : .after(timestampGroup: fetch.timeUs)
    spans.endTrust(at: boundary, watermark: fetch)
    try tx.quarantineTable.doubtQuarantine(record.cid, above: boundary)
  }
}
