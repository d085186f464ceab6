/// The one row of `meta`: what a file is bound to, what the store counts, and what is known of
/// the server. The opening of a file of the newest form reads it once.
internal import Base

struct Meta {
  var counters: Counters
  var facts: ServerFacts

  /// Nil where the cache has another form: what else the row says may have one then, too.
  static func load(
    _ connection: Connection, _ binding: Schema.Binding
  ) throws(StoreFailure) -> Meta? {
    let row = try connection.statement(
      """
      SELECT server_time, largest_page, overlap_us, epoch, restored_lsn, clock_ahead,
        owes_list, cache_form, account, user, position_kind,
        lsn, last_number, last_change, trimmed_change, last_operation, recent_changes, recent_refs,
        kept_state, own_lsn, own_opening
      FROM meta WHERE one = 1
      """)
    guard try row.step() else { throw .damaged }
    guard row.int(7) == Schema.cacheForm else { return nil }
    try binding.check(row, from: 8)
    return Meta(
      counters: Counters(
        lsn: row.uint(11), lastNumber: row.uint(12), lastChange: row.uint(13),
        trimmedChange: row.uint(14), lastOperation: row.uint(15),
        opening: .random(in: .min ... .max),
        recentChanges: try InlineChanges(stored: row.bytes(16)),
        recentRefs: InlineRefs(stored: row.bytes(17)),
        kept: try LastChangedState(stored: row.bytes(18)),
        own: OwnStamp(lsn: row.uint(19), opening: row.int(20))),
      facts: ServerFacts(row))
  }
}

/// What the store counts, as of a commit.
struct Counters: Sendable {
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
  var recentChanges = InlineChanges()
  var recentRefs = InlineRefs()
  var kept: LastChangedState?
  /// What the file has of own work.
  var own = OwnStamp()
}

extension ServerFacts {
  /// Out of the first columns of a row.
  init(_ row: borrowing Statement) {
    self.init()
    serverTime = row.optionalInt(0).map { ServerTime(us: $0) }
    largestPage = Int(clamping: row.int(1))
    overlapUs = row.int(2)
    epoch = row.optionalBytes(3)
    restoredLSN = row.uint(4)
    clockAheadUs = row.optionalInt(5)
    needsList = row.int(6) != 0
  }
}
