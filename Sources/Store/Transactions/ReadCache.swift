/// What a connection has read of conversations, kept for as long as it holds.
///
/// A screen asks for the same ranges and counts at every look, and an update for those that it
/// changes. Rule protected: what is kept is what the file says in the state that is seen now, so
/// an answer never depends on whether it was kept. A statement that writes ends all of it; only
/// those that say themselves what they changed (`Connection.runNoted`) leave it.
internal import Timeline

final class ReadCache {
  /// What is known of one conversation; nil where it was not asked yet.
  final class Entry {
    var record: ConversationRecord?
    var spans: SpanSet?
    var unverified: SpanSet?
    var untaught: SpanSet?
    /// Unreadable places that were shown.
    var poisoned: [SpanSet.Span]?
    var tally: UnreadCounters?
    var count: Int?
    var summary: ConversationSummary?
    /// Whether any message of it was deleted, and whether any could not be read.
    var someDeleted: Bool?
    var someQuarantined: Bool?
  }

  /// Conversations kept at most.
  private static let entriesMax = 1_024

  private var lsn: UInt64?
  // Each kind of key that is hashed costs the first opening of a process a tenth of a
  // millisecond, so there is one kind.
  private var entries: [UInt64: Entry] = [:]
  /// The one that was asked for last, which is mostly asked for again.
  private var last: (cid: Int64, entry: Entry)?
  /// Names by what they hash to; of two with one hash the later is known.
  private var cids: [UInt64: (name: [UInt8], cid: Int64)] = [:]
  var somePending: Bool?
  var someOperations: Bool?
  /// Whether any operation is open, any mark waits for its message, any row was erased here.
  var someOpen: Bool?
  var someWait: Bool?
  var someForgotten: Bool?
  var facts: ServerFacts?
  /// The last of all refs of the table by their bytes; empty where there is none.
  var greatestRef: [UInt8]?
  var inserted = InsertedRows()

  /// Forgets what was read at another commit.
  func see(_ lsn: UInt64) {
    guard self.lsn != lsn || entries.count > Self.entriesMax else { return }
    forget()
    self.lsn = lsn
  }

  /// What is kept is of the state that this commit has made.
  func hold(_ lsn: UInt64) {
    self.lsn = lsn
  }

  func forget() {
    lsn = nil
    facts = nil
    greatestRef = nil
    inserted = InsertedRows()
    somePending = nil
    someOperations = nil
    someOpen = nil
    someWait = nil
    someForgotten = nil
    if !entries.isEmpty { entries = [:] }
    last = nil
    if !cids.isEmpty { cids = [:] }
  }

  func entry(_ cid: Int64) -> Entry {
    if let last, last.cid == cid { return last.entry }
    let key = UInt64(bitPattern: cid)
    if let entry = entries[key] {
      last = (cid, entry)
      return entry
    }
    let entry = Entry()
    entries[key] = entry
    last = (cid, entry)
    return entry
  }

  func record(named name: [UInt8]) -> ConversationRecord? {
    guard let known = cids[Self.hash(name)], known.name == name else { return nil }
    return entry(known.cid).record
  }

  func remember(_ record: ConversationRecord, named name: [UInt8]) {
    entry(record.cid).record = record
    cids[Self.hash(name)] = (name, record.cid)
  }

  private static func hash(_ name: [UInt8]) -> UInt64 {
    name.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
  }
}
