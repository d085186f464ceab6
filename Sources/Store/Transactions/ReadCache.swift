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
    let cid: Int64
    var record: ConversationRecord?
    var spans: SpanSet?
    var unverified: SpanSet?
    var untaught: SpanSet?
    var news: SpanSet?
    /// Unreadable places that were shown.
    var poisoned: [SpanSet.Span]?
    var tally: UnreadCounters?
    var count: Int?
    var summary: ConversationSummary?
    /// Whether the server told its object.
    var isTold: Bool?
    /// Whether any message of it was deleted, and whether any could not be read.
    var someDeleted: Bool?
    var someQuarantined: Bool?

    init(_ cid: Int64) {
      self.cid = cid
    }

    /// Asked without a copy of it.
    var hasSummary: Bool {
      if case .some = summary { true } else { false }
    }
  }

  /// The entries by number. One value, so that a look is one access to a property of the class, for
  /// each is checked at run time: with three a look took 516 instructions, and takes 370. A row of
  /// a list has seven.
  private struct Entries {
    // No dictionary: the first one of its kind looks through all conformances of the process,
    // which was a seventh of the first window of a file that is opened.
    private var all: [Entry] = []
    private var numbers = SlotTable()

    var count: Int { all.count }

    mutating func entry(_ cid: Int64) -> Entry {
      let hash = Self.hash(cid)
      if let slot = numbers.find(hash, { all[$0].cid == cid }) { return all[slot] }
      let entry = Entry(cid)
      numbers.insert(all.count, hash) { Self.hash(all[$0].cid) }
      all.append(entry)
      return entry
    }

    private static func hash(_ cid: Int64) -> UInt64 {
      // The lower bits of what is found depend on all of the number.
      (UInt64(bitPattern: cid) &* 0x9E37_79B9_7F4A_7C15).byteSwapped
    }
  }

  /// Whether there is anything of a kind at all; nil where it was not asked yet. Mostly there is
  /// not, and each row of a screen, or each message that comes, asks.
  struct Some {
    /// Sends that no page has shown, what this user did, marks that are pending.
    var pending: Bool?
    var operations: Bool?
    var marks: Bool?
    /// Operations that are open, marks that wait for their message, rows that were erased here.
    var open: Bool?
    var wait: Bool?
    var forgotten: Bool?
    /// Messages that were offered and are not stored any more.
    var offers: Bool?
    var drafts: Bool?
    /// Conversations of which a list named another last message than is stored.
    var namedLast: Bool?
    /// Conversations whose messages are not one trusted range from the beginning on.
    var partial: Int?
  }

  private struct Named {
    let name: [UInt8]
    let entry: Entry
  }

  /// Conversations kept at most.
  private static let entriesMax = 1_024

  private var lsn: UInt64?
  private var entries = Entries()
  /// The one that was asked for last, which is mostly asked for again.
  private var last: Entry?
  private var named: [Named] = []
  private var names = SlotTable()
  var some = Some()
  var facts: ServerFacts?
  /// How often the index of words has followed since the opening.
  var indexChanges: UInt64 = 0
  /// The last of all refs of the table by their bytes; empty where there is none.
  var greatestRef: [UInt8]?
  var inserted = InsertedRows()

  /// Forgets what was read at another commit.
  func see(_ lsn: UInt64) {
    guard self.lsn != lsn || entries.count > Self.entriesMax else { return }
    invalidate()
    self.lsn = lsn
  }

  /// What is kept is of the state that this commit has made.
  func hold(_ lsn: UInt64) {
    self.lsn = lsn
  }

  func invalidate() {
    lsn = nil
    facts = nil
    greatestRef = nil
    inserted = InsertedRows()
    some = Some()
    last = nil
    if entries.count == 0 { return }
    entries = Entries()
    named = []
    names = SlotTable()
  }

  func entry(_ cid: Int64) -> Entry {
    if let last, last.cid == cid { return last }
    let entry = entries.entry(cid)
    last = entry
    return entry
  }

  func record(named name: [UInt8]) -> ConversationRecord? {
    let slot = names.find(SlotTable.hash(name)) { named[$0].name == name }
    return slot.flatMap { named[$0].entry.record }
  }

  func remember(_ record: ConversationRecord, named name: [UInt8]) {
    let entry = entry(record.cid)
    entry.record = record
    let hash = SlotTable.hash(name)
    let known = Named(name: name, entry: entry)
    if let slot = names.find(hash, { named[$0].name == name }) {
      named[slot] = known
      return
    }
    let slot = named.count
    named.append(known)
    names.insert(slot, hash) { SlotTable.hash(named[$0].name) }
  }
}
