/// A row that came from no page lowers claims and watermarks.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension ServerKnowledge {
  /// A row that came from no page may have been deleted before the lowest time that
  /// deletions were ever asked from: the watermark goes below it.
  func lowerDeletions(
    _ record: inout ConversationRecord, below time: ServerTime, in tx: WriteTransaction
  ) throws(StoreFailure) {
    guard let lowest = record.lowestSince, time < lowest.saturating(plus: overlapUs),
      record.deletions != nil
    else { return }
    askDeletions(of: &record, from: time.saturating(minus: overlapUs))
    try tx.save(record)
  }

  /// A page shows what was deleted before it was read, and this one is older than all that
  /// deletions were asked from: they are asked from twice as far back, so that walks down seldom
  /// ask. Gives whether there is something to ask.
  func lowerDeletions(_ record: inout ConversationRecord, showing time: ServerTime) -> Bool {
    guard let lowest = record.lowestSince else { return true }
    guard time < lowest.saturating(plus: overlapUs) else { return false }
    let newest = stamp(record.fetch?.text)?.time ?? facts.serverTime ?? time
    let back = max(overlapUs, newest.us(since: time))
    askDeletions(of: &record, from: WatermarkPolicy.below(time, overlapUs: back))
    return true
  }

  /// A cursor of the server's own has nothing below it: a time takes its place.
  private func askDeletions(of record: inout ConversationRecord, from time: ServerTime) {
    let form = stamp(record.deletions?.text) ?? stamp(record.fetch?.text) ?? form
    record.deletions = form.map { $0.watermark(at: time) }
    record.lowestSince = time
  }

  /// Deletions are asked once more from before those that were asked for last.
  func lowerDeletions(_ record: inout ConversationRecord) {
    guard let known = record.deletions,
      let form = stamp(known.text) ?? stamp(record.fetch?.text) ?? form
    else { return }
    let time = max(known.time.saturating(minus: overlapUs), WatermarkPolicy.earliest)
    record.deletions = form.watermark(at: time)
    record.lowestSince = min(record.lowestSince ?? time, time)
  }

  /// The same for changes. A cursor that is no time has nothing before it but the beginning.
  func lowerMarks(_ record: inout ConversationRecord) {
    guard let known = record.marks else { return }
    record.marks = nil
    guard let form = stamp(known.text) else { return }
    let time = max(known.time.saturating(minus: overlapUs), WatermarkPolicy.earliest)
    record.marks = form.watermark(at: time)
  }

  /// A row above the watermark that came from no page: what was missed may lie below
  /// it, so nothing above the watermark is claimed until the next catch-up. Numbers
  /// are given as messages become visible, so where they are the positions nothing
  /// can come to lie below a claim.
  func endTrust(
    _ spans: inout SpanSet, of record: ConversationRecord, below time: ServerTime,
    in tx: WriteTransaction
  ) throws(StoreFailure) {
    guard let fetch = scheme.lateTop(record), time >= fetch.time else { return }
    // In the watermark's own timestamp group others may have come before it, too.
    let boundary: Position = time == fetch.time ? .before(time) : .after(fetch.time)
    try spans.endTrust(at: boundary, of: record, in: tx)
  }
}
