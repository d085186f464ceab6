/// What a connection has read of conversations, kept for as long as it holds.
///
/// A screen asks for the same ranges and counts at every look, and an update for those that it
/// changes. Rule protected: what is kept is what the file says in the state that is seen now, so
/// an answer never depends on whether it was kept. A statement that writes ends all of it; only
/// those that say themselves what they changed (`Connection.runNoted`) leave it.
internal import Timeline

final class Memo {
  /// What is known of one conversation; nil where it was not asked yet.
  final class Entry {
    var record: ConversationRecord?
    var spans: SpanSet?
    var unverified: SpanSet?
    /// Unreadable places that were shown.
    var poisoned: [SpanSet.Span]?
    var tally: Tally?
    var count: Int?
    var summary: ConversationSummary?
  }

  /// Conversations kept at most.
  private static let entriesMax = 1_024

  private var lsn: UInt64?
  private var entries: [Int64: Entry] = [:]
  private var cids: [[UInt8]: Int64] = [:]
  var somePending: Bool?
  var someOperations: Bool?
  var facts: ServerFacts?

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
    somePending = nil
    someOperations = nil
    if !entries.isEmpty { entries = [:] }
    if !cids.isEmpty { cids = [:] }
  }

  func entry(_ cid: Int64) -> Entry {
    if let entry = entries[cid] { return entry }
    let entry = Entry()
    entries[cid] = entry
    return entry
  }

  func record(named name: [UInt8]) -> ConversationRecord? {
    cids[name].flatMap { entries[$0]?.record }
  }

  func note(_ record: ConversationRecord, named name: [UInt8]) {
    entry(record.cid).record = record
    cids[name] = record.cid
  }
}
