/// What one conversation list knows: its rows, the unread total, and how far it has
/// followed the feed.
///
/// It is a window's list with conversations for rows: a row's place is its activity,
/// the newest first, and nothing ever lies between two rows. Rule protected: a look
/// costs what changed since the last one. Which conversations those are is read off
/// the feed, and the total is kept by differences.
internal import Base
internal import Store
internal import Timeline

struct ListState: LiveQueryState {
  private(set) var config: ListConfig
  /// Whether it shows what the cache has.
  private(set) var fetchPolicy: FetchPolicyState
  var list: WindowList
  var isClosed = false
  /// The newest entry of the change feed that the list stands for; nil before it was
  /// read for the first time.
  private var seq: UInt64?
  /// What a row shows without its texts, of every conversation that belongs into a list, whether
  /// it has a row or not.
  private var shown: [Int64: Shown] = [:]
  private var total = 0
  private var inexact = 0
  /// Conversations in which somebody began or ended to type.
  private var typed: Set<[UInt8]> = []
  var isWhole = false
  private var isRefreshing = false
  private var link = Link()
  var trouble: Failure?
  /// Entries and keys read so far: the cost that tests hold to the change.
  private(set) var read = 0

  /// The connection, as of the last look.
  private struct Link {
    var isUp = false
    var connections: UInt64 = 0
    /// For which one the core received what the host's function says.
    var reported: (connection: UInt64, choice: PolicyChoice)?
  }

  /// Compared as it is: of a sum or another fingerprint two changes may cancel.
  private struct Shown: Equatable {
    let number: UInt64
    let revision: UInt64
    let isVerified: Bool
    let unread: Store.Unread

    init(_ summary: ConversationSummary) {
      number = summary.newest?.number ?? 0
      revision = summary.newest?.revision ?? 0
      isVerified = summary.isVerified
      unread = summary.unread
    }
  }

  init(_ config: ListConfig) {
    self.config = config
    list = WindowList(rowsMax: config.rowsMax)
    fetchPolicy = FetchPolicyState(config.choice)
  }

  var status: ListStatus {
    var status = ListStatus()
    status.version = list.version
    status.checksum = list.checksum
    status.rowCount = list.count
    status.unread = total
    status.isUnreadExact = inexact == 0 && isWhole
    status.isWhole = isWhole
    status.isRefreshing = isRefreshing
    status.conversationCount = shown.count
    status.trouble = trouble
    status.basis = link.isUp && isWhole ? .network : .cache
    status.asOfUs = fetchPolicy.asOfUs
    return status
  }

  /// Takes what stands on the board of a list with this number.
  mutating func observe(_ snapshot: inout SharedSnapshot, number: UInt64) {
    (isWhole, isRefreshing) = snapshot.list
    (link.isUp, link.connections) = (snapshot.isUp, snapshot.connections)
    for end in snapshot.ends.removeValue(forKey: number) ?? [] where end.trouble != .cancelled {
      trouble = end.trouble
      fetchPolicy.hasFailed = end.trouble != nil
    }
    typed.formUnion(snapshot.typing.take(number))
    fetchPolicy.asOfUs = snapshot.asOf[number] ?? 0
  }

  /// What the host's function says from this look on.
  mutating func choose(_ choice: PolicyChoice) {
    config.choice = choice
    fetchPolicy.choose(choice)
  }

  /// Whether the core is to receive what the host's function says: it may have to ask.
  var mustReportChoice: Bool {
    guard config.asksHost else { return false }
    return link.reported.map { $0 != (link.connections, config.choice) } ?? true
  }

  mutating func noteReported() { link.reported = (link.connections, config.choice) }

  /// Whether the cache may be shown from this look on.
  mutating func pass(at now: Instant) {
    let failure = fetchPolicy.judge(isUp: link.isUp, isCaughtUp: isWhole, nowMs: now.monotonicMs)
    if fetchPolicy.said != nil, trouble == fetchPolicy.said { trouble = nil }
    fetchPolicy.said = failure
    if let failure { trouble = failure }
  }

  // MARK: A look

  /// Moves the list to the state that `rx` sees.
  mutating func look(_ rx: ReadTransaction) throws(StoreFailure) -> [DiffOp] {
    if fetchPolicy.isShut { return [] }
    // What is kept of too many rows are those at the top.
    var change = WindowChange(focus: .min)
    guard let seq, try applyChanges(rx, after: seq, change: &change) else {
      return try readAnew(rx)
    }
    // Rows were cut off, and so many have left since that there is room for them.
    if list.loaded != Self.everything, list.count - change.removed.count < config.rowsMax / 4 * 3 {
      return try readAnew(rx)
    }
    return list.apply(change)
  }

  private static let everything = SpanSet().inserting(.min, high: .max)

  private mutating func readAnew(_ rx: ReadTransaction) throws(StoreFailure) -> [DiffOp] {
    seq = try rx.feedReader.lastChange()
    shown = [:]
    total = 0
    inexact = 0
    typed = []
    var change = WindowChange(
      loaded: Self.everything, spans: Self.everything, focus: .min, isWhole: true)
    var last: Int64 = .min
    while true {
      let found = try rx.summaries(after: last, limit: Limits.readRowsMax)
      read += found.count
      shown.reserveCapacity(shown.count &+ found.count)
      change.upserted.reserveCapacity(change.upserted.count &+ found.count)
      for summary in found { apply(summary, isTouched: false, &change) }
      guard let cid = found.last?.cid, found.count >= Limits.readRowsMax else { break }
      last = cid
    }
    return list.apply(change)
  }

  /// What the feed and the board say since the last look: false where that is too much.
  private mutating func applyChanges(
    _ rx: ReadTransaction, after: UInt64, change: inout WindowChange
  ) throws(StoreFailure) -> Bool {
    let limit = Limits.windowChangesMax
    guard case .entries(let entries) = try rx.feedReader.changes(since: after, limit: limit),
      entries.count < limit
    else { return false }
    read += entries.count
    /// By conversation, whether it looks different though nothing of it moved.
    var changed: [Int64: [ChangeEntry]] = [:]
    for entry in entries where entry.cid != 0 && entry.kind != .events {
      changed[entry.cid, default: []].append(entry)
    }
    for name in typed {
      if let record = try rx.conversation(name) { changed[record.cid, default: []] += [] }
    }
    for (cid, entries) in changed {
      guard let record = try rx.conversation(cid: cid) else {
        _ = note(cid, nil)
        change.removed.append(UInt64(clamping: cid))
        continue
      }
      let summary = try rx.summary(record)
      read += 1
      let isTouched =
        typed.contains(record.id) || entries.contains { Self.shows($0, summary: summary) }
      apply(summary, isTouched: isTouched, &change)
    }
    typed = []
    if let last = entries.last { seq = last.seq }
    return true
  }

  /// Whether an entry changes what a row shows beyond its place and its counts.
  private static func shows(_ entry: ChangeEntry, summary: ConversationSummary) -> Bool {
    switch entry.kind {
    case .entities, .conversations, .operations: return true
    case .updated:
      guard let number = summary.newest?.number else { return false }
      return entry.first <= number && number <= entry.last
    default: return false
    }
  }

  private mutating func apply(
    _ summary: ConversationSummary, isTouched: Bool, _ change: inout WindowChange
  ) {
    let number = UInt64(clamping: summary.cid)
    let now = summary.isListed ? Shown(summary) : nil
    let isDifferent = note(summary.cid, now) != now
    guard summary.isListed else {
      change.removed.append(number)
      return
    }
    change.upserted.append(RowKey(number: number, position: summary.position, revision: 0))
    if isTouched || isDifferent { change.touched.append(number) }
  }

  /// Gives what was shown before.
  private mutating func note(_ cid: Int64, _ new: Shown?) -> Shown? {
    let was: Shown?
    if let new {
      was = shown.updateValue(new, forKey: cid)
    } else {
      was = shown.removeValue(forKey: cid)
    }
    // What wraps around comes back: the sum of what is there is right again.
    if let old = was?.unread {
      total &-= old.count
      if !old.isExact { inexact -= 1 }
    }
    if let new = new?.unread {
      total &+= new.count
      if !new.isExact { inexact += 1 }
    }
    return was
  }
}
