/// What a host does with its cache where the server keeps a log: it keeps less, gives one message
/// back, or takes in an older cache.
///
/// Rule protected: the log is brought to each of them in their transaction, and proves nothing by
/// them. Pages that list what went, or what was imported, give it its place by its id.
internal import Base
internal import Store
internal import Timeline
internal import Wire

/// A budget's hand on a log.
struct LogRetention {
  let memory: SyncMemory
  let rules: IngestRules

  /// Takes out some of a conversation, from its far end on.
  func slice(
    _ record: ConversationRecord, from: Position, besides protection: Protection, limit: Int,
    in tx: WriteTransaction, until isEnough: (PurgeSlice) -> Bool
  ) throws(StoreFailure) -> (PurgeSlice, LogEffects?) {
    var input = try LogInput(memory, rules, of: record, in: tx)
    let slice = try Purge(tx).slice(
      record, of: &input.book, from: from, besides: protection, limit: limit, until: isEnough)
    // A slice that takes nothing writes nothing.
    if slice.ranges.isEmpty { return (slice, nil) }
    try input.finish()
    return (slice, input.effects)
  }
}

extension LogInput {
  /// Takes in messages that nobody knows the places of. Gives how many were not known.
  mutating func take(imported copies: [IncomingMessage]) throws(StoreFailure) -> Int {
    var entries: [LogEntry] = []
    var arrivals: [[UInt8]: IncomingMessage] = [:]
    for copy in copies where arrivals[copy.id] == nil {
      arrivals[copy.id] = copy
      entries.append(
        LogEntry(
          id: copy.id, sender: copy.sender, timeUs: copy.timeUs,
          isDeleted: copy.flags.contains(.deleted),
          content: LogBody.packed(copy)))
    }
    let taken = try book.take(imported: entries)
    try finish(arrivals: arrivals)
    return taken.count
  }
}
