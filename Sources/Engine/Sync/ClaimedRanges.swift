/// What is claimed of a conversation while one page changes it.
///
/// Rule protected: what is written is what was changed: what others have written since stays.
internal import Base
internal import Store
internal import Timeline

struct ClaimedRanges {
  /// What is whole.
  var spans: SpanSet
  /// The same as it is stored.
  private(set) var stored: SpanSet
  /// Where deletions were not known before this page, and where they are not now.
  let unverifiedBefore: SpanSet
  var unverified: SpanSet
  /// Of what changes may have been missed.
  var stale: SpanSet
  /// Both as they were written last.
  private var written: (unverified: SpanSet, stale: SpanSet)

  init(of record: ConversationRecord, in tx: WriteTransaction) throws(StoreFailure) {
    stored = try tx.spans(record.cid)
    spans = record.trusted(stored, tx)
    unverifiedBefore = try tx.unverified(record.cid)
    unverified = unverifiedBefore
    stale = try tx.stale(record.cid)
    written = (unverified, stale)
  }

  /// Writes them, so that what follows in this transaction reads them.
  mutating func flush(_ cid: Int64, in tx: WriteTransaction) throws(StoreFailure) {
    spans.keepNewest(Limits.spansMax)
    try tx.save(spans: spans, replacing: stored, in: cid)
    stored = spans
    if unverified != written.unverified {
      try tx.save(unverified: unverified, replacing: try tx.unverified(cid), in: cid)
    }
    if stale != written.stale {
      try tx.save(stale: stale, replacing: try tx.stale(cid), in: cid)
    }
    written = (unverified, stale)
  }
}
