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
}

package enum ChangesPage: Equatable, Sendable {
  case entries([ChangeEntry])
  /// What lies after the asked number is no longer kept, or never was: read
  /// anew and go on from here.
  case resync(from: UInt64)
}

extension ReadTransaction {
  /// Entries after a number, oldest first; after 0, all that are kept.
  package func changes(after: UInt64, limit: Int) throws(StoreFailure) -> ChangesPage {
    let (last, trimmed) = try feedEnds()
    if after > last || (after > 0 && after < trimmed) { return .resync(from: last) }
    let limit = Swift.min(limit, Limits.changesMax)
    guard limit > 0 else { return .entries([]) }
    let statement = try connection.statement(Queries.changes, after, limit)
    var entries: [ChangeEntry] = []
    while try statement.step() {
      guard let kind = ChangeKind(rawValue: statement.int(1)) else { throw .damaged }
      entries.append(
        ChangeEntry(
          seq: statement.uint(0), kind: kind, cid: statement.int(2),
          conversation: statement.bytes(5), first: statement.uint(3), last: statement.uint(4),
          isSilent: statement.int(6) != 0))
    }
    return .entries(entries)
  }

  /// Whether any entry that is still there tells of a conversation. It reads them all, and
  /// is for who cannot follow them one by one.
  package func hasChanges(_ cid: Int64, after: UInt64) throws(StoreFailure) -> Bool {
    try connection.number(
      "SELECT 1 FROM change WHERE seq > ? AND cid = ? LIMIT 1", after, cid) != nil
  }

  /// The number of the newest entry.
  package func lastChange() throws(StoreFailure) -> UInt64 {
    try feedEnds().last
  }

  private func feedEnds() throws(StoreFailure) -> (last: UInt64, trimmed: UInt64) {
    let statement = try connection.statement(
      "SELECT last_change, trimmed_change FROM meta WHERE one = 1")
    guard try statement.step() else { throw .damaged }
    return (statement.uint(0), statement.uint(1))
  }
}
