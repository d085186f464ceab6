/// The one row of `meta`: what a file is bound to, what the store counts, and what is known of
/// the server. An opening reads it once.
internal import Base

struct Meta {
  var account: [UInt8]
  var user: [UInt8]
  var positionKind: Int64
  /// The form of the tables that hold what the server said.
  var cacheForm: Int64
  var counters: Counters
  var facts: ServerFacts

  static func load(_ connection: Connection) throws(StoreFailure) -> Meta {
    let row = try connection.statement(
      """
      SELECT server_time, largest_page, overlap_us, epoch, restored_lsn, clock_ahead,
        account, user, position_kind, cache_form,
        lsn, last_number, last_change, trimmed_change, last_operation, recent_changes, recent_refs
      FROM meta WHERE one = 1
      """)
    guard try row.step() else { throw .damaged }
    return Meta(
      account: row.bytes(6), user: row.bytes(7), positionKind: row.int(8), cacheForm: row.int(9),
      counters: Counters(
        lsn: row.uint(10), lastNumber: row.uint(11), lastChange: row.uint(12),
        trimmedChange: row.uint(13), lastOperation: row.uint(14),
        opening: .random(in: .min ... .max),
        recentChanges: try RecentChanges(stored: row.bytes(15)),
        recentRefs: RecentRefs(stored: row.bytes(16))),
      facts: ServerFacts(row))
  }
}

/// What the store counts, as of a commit.
struct Counters: Equatable, Sendable {
  /// Sequence number of the last commit.
  var lsn: UInt64 = 0
  /// The last local message number given out; never reused.
  var lastNumber: UInt64 = 0
  /// The newest entry of the change feed, and the newest that was trimmed.
  var lastChange: UInt64 = 0
  var trimmedChange: UInt64 = 0
  /// The last number given to an operation; never reused.
  var lastOperation: UInt64 = 0
  /// A random number of this opening of the file. Without it the first commit after a loss of
  /// power could be, byte by byte, one that was lost, and what had followed that would be valid
  /// again behind it, in the log.
  var opening: Int64 = 0
  /// What is not in its table yet.
  var recentChanges = RecentChanges()
  var recentRefs = RecentRefs()
}

extension ServerFacts {
  /// Out of the first columns of a row.
  init(_ row: borrowing Statement) {
    self.init()
    serverTimeUs = row.optionalInt(0)
    largestPage = Int(clamping: row.int(1))
    overlapUs = row.int(2)
    epoch = row.optionalBytes(3)
    restoredLSN = row.uint(4)
    clockAheadUs = row.optionalInt(5)
  }
}
