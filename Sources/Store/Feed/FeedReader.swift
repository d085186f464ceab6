/// The change feed as a consumer pulls it.
internal import Base

/// One entry: messages of one conversation that changed in one commit.
package struct ChangeEntry: Equatable, Sendable {
  package var seq: UInt64
  package var kind: ChangeKind
  package var cid: Int64
  package var conversation: [UInt8]
  /// Local numbers from first to last; 0 for none. The conversation of an entry
  /// that belongs to none is 0 and empty.
  package var first: UInt64
  package var last: UInt64
  /// The server asked not to notify the user.
  package var isSilent: Bool
  /// It offers messages for a notification.
  package var notifies: Bool
  package var origin: ChangeOrigin
}

package enum ChangesPage: Equatable, Sendable {
  case entries([ChangeEntry])
  /// What lies after the asked number is no longer kept, or never was: read
  /// anew and go on from here.
  case resync(from: UInt64)
}

package struct FeedReader {
  let rx: ReadTransaction

  /// Entries for a reader that has the state after `seq`. One that saw an empty feed gets `resync`
  /// too, if the feed was trimmed since.
  package func changes(since seq: UInt64, limit: Int) throws(StoreFailure) -> ChangesPage {
    let (last, trimmed, _) = try feed()
    if seq == 0, trimmed > 0 { return .resync(from: last) }
    return try changes(after: seq, limit: limit)
  }

  /// Entries after a number, oldest first; after 0, all that are kept.
  package func changes(after: UInt64, limit: Int) throws(StoreFailure) -> ChangesPage {
    let (last, trimmed, recent) = try feed()
    if after > last || (after > 0 && after < trimmed) { return .resync(from: last) }
    let limit = Swift.min(limit, Limits.changesMax)
    guard limit > 0 else { return .entries([]) }
    var entries: [ChangeEntry] = []
    let after = after == 0 ? trimmed : after
    if after < last &- Swift.min(last, UInt64(recent.count)) {
      let row = try rx.connection.statement(Queries.changes, after)
      while entries.count < limit, try row.step() {
        let moved = try InlineChanges(stored: row.bytes(1))
        try append(moved, upTo: row.uint(0), after: after, limit: limit, to: &entries)
      }
    }
    try append(recent, upTo: last, after: after, limit: limit, to: &entries)
    return .entries(entries)
  }

  /// Appends the entries behind `after` of those whose numbers end with `last`.
  private func append(
    _ changes: InlineChanges, upTo last: UInt64, after: UInt64, limit: Int,
    to entries: inout [ChangeEntry]
  ) throws(StoreFailure) {
    let first = last &- Swift.min(last, UInt64(changes.count))
    var seq = Swift.max(after, first)
    let coming = Int(clamping: last &- Swift.min(last, seq))
    entries.reserveCapacity(entries.count + Swift.min(limit &- entries.count, coming))
    while seq < last, entries.count < limit {
      let run = try changes.run(Int(seq &- first))
      seq &+= 1
      entries.append(
        ChangeEntry(
          seq: seq, kind: run.kind, cid: run.cid,
          conversation: run.cid == 0 ? [] : try name(run.cid),
          first: run.numbers.lowerBound, last: run.numbers.upperBound, isSilent: run.isSilent,
          notifies: run.notifies, origin: run.origin))
    }
  }

  /// The name of a conversation, without a copy of all that is known of it.
  private func name(_ cid: Int64) throws(StoreFailure) -> [UInt8] {
    if let name = try rx.known?.entry(cid).record?.id { return name }
    return try rx.conversation(cid: cid)?.id ?? []
  }

  /// Whether any entry that is still there tells of a conversation. It reads them all, and
  /// is for who cannot follow them one by one.
  package func hasChanges(_ cid: Int64, after: UInt64) throws(StoreFailure) -> Bool {
    let (last, _, recent) = try feed()
    if try tells(recent, upTo: last, after: after, of: cid) { return true }
    let row = try rx.connection.statement(Queries.changes, after)
    while try row.step() {
      let moved = try InlineChanges(stored: row.bytes(1))
      if try tells(moved, upTo: row.uint(0), after: after, of: cid) { return true }
    }
    return false
  }

  private func tells(
    _ changes: InlineChanges, upTo last: UInt64, after: UInt64, of cid: Int64
  ) throws(StoreFailure) -> Bool {
    let first = last &- Swift.min(last, UInt64(changes.count))
    for place in 0..<changes.count where first &+ UInt64(place) >= after {
      if try changes.run(place).cid == cid { return true }
    }
    return false
  }

  /// The number of the newest entry.
  package func lastChange() throws(StoreFailure) -> UInt64 {
    try feed().last
  }

  private func feed() throws(StoreFailure) -> (
    last: UInt64, trimmed: UInt64, recent: InlineChanges
  ) {
    if let counters = rx.seenCounters {
      return (counters.lastChange, counters.trimmedChange, counters.recentChanges)
    }
    let statement = try rx.connection.statement(
      "SELECT last_change, trimmed_change, recent_changes FROM meta WHERE one = 1")
    guard try statement.step() else { throw .damaged }
    return (
      statement.uint(0), statement.uint(1), try InlineChanges(stored: statement.bytes(2))
    )
  }
}
