/// A burst of more messages than a page holds, within the overlap.
///
/// Rule protected: what was read when nothing could come to be stamped there any more is not read
/// again; and the device's clock is compared with itself, never with the server's.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension ServerKnowledge {
  /// Where the newest stored message ends, if the watermark stands so far above it that nothing can
  /// come to be stamped up to there any more; and whether a page is filled from the bound on, so
  /// that it is known how a page from there would end.
  func quietEnd(
    _ record: ConversationRecord, from bound: Position, limit: Int, in rx: ReadTransaction
  ) throws(StoreFailure) -> (Position?, isMore: Bool) {
    let newest = try rx.keys(record.cid, before: .beforePending, limit: 1, from: nil).first
    guard let newest = newest?.position, let time = scheme.time(at: newest.time),
      time.us <= bound.time
    else {
      return (nil, false)
    }
    let page = facts.largestPage > 0 ? min(facts.largestPage, limit) : limit
    let isMore = try rx.count(record.cid, from: bound, to: .max) >= page
    return (.after(time), isMore)
  }
}

extension PageMerge {
  /// More than a page stands within the overlap below the newest message. Once the server's clock
  /// has surely passed that by the overlap, nothing can come to be stamped there any more, and the
  /// watermark rises by it: the next catch-up asks for none of the burst. Where no answer tells the
  /// clock, the device's has to have gone on by as much since an earlier catch-up read the same.
  mutating func raiseTop() throws(StoreFailure) {
    job.catchUp.burstUs = nil
    guard !ingested.items.isEmpty, let top = scheme.late(job.catchUp.top), top.time > .zero,
      let stamp = scheme.stamp(top.text), job.catchUp.present == .after(top.time)
    else { return }
    let low = top.time.saturating(minus: scheme.overlapUs)
    for item in ingested.items { if let item, item.time < low.us { return } }
    let unit = stamp.resolutionUs
    let aboveUs = scheme.overlapUs.saturating(plus: unit)
    if let told = page.serverTime?.time, told == memory.server.surely {
      guard told >= top.time.saturating(plus: aboveUs) else { return }
    } else {
      guard let wall = now.wallUs else { return }
      let first = try BurstTable(tx).us(record.cid, topUs: top.time.us) ?? .max
      if first > wall { job.catchUp.burstUs = wall }
      guard first <= wall, wall.saturating(minus: first) >= aboveUs else { return }
    }
    let high = top.time.saturating(plus: scheme.overlapUs)
      .saturating(plus: unit.saturating(minus: 1)).floored(to: unit)
    job.catchUp.top = ContentMark(newest: .before(high), text: stamp.printed(high))
    job.catchUp.present = .after(high)
  }

  /// Keeps when the newest message of a burst was first read.
  func noteBurst() throws(StoreFailure) {
    guard case .catchUp(let catchUp) = job.stage, let us = catchUp.burstUs,
      record.fetch == catchUp.top, let fetch = scheme.lateTop(record)
    else { return }
    try BurstTable(tx).note(us, of: record.cid, topUs: fetch.time.us)
  }
}
