/// What a conversation list needs to know of each conversation to put it in its place.
///
/// Everything is read by a key, so that one changed conversation costs the same among
/// ten as among ten thousand. Contents are not read here.
internal import Base
package import Timeline

/// One conversation as a list orders it.
package struct ConversationSummary: Equatable, Sendable {
  package var cid: Int64
  package var id: [UInt8]
  /// Whether it belongs into a list: the server told of it, it is being made, or it
  /// holds a message that is seen.
  package var isListed: Bool
  /// The user is leaving or deleting it: it is in no list while that is on its way.
  package var isLeft: Bool
  /// When something last happened, for the order: pending sends are after everything.
  package var activity: Int64
  /// The newest message that is seen, pending ones included.
  package var newest: RowKey?
  /// The server showed that message, as it is, in a range that is trusted.
  package var isVerified: Bool
  package var unread: Unread
  package var isPending: Bool

  /// The first activity of what is pending; no time of a message is there.
  package static let pendingActivity: Int64 = 1 << 62

  /// Where it stands in a list: the newest activity first.
  package var position: Position { Position(time: -activity, key: id) }
}

extension ReadTransaction {
  package func summary(_ record: ConversationRecord) throws(StoreFailure) -> ConversationSummary {
    let cid = record.cid
    if let kept = try known?.entry(cid).summary { return kept }
    let connection = try connection
    let (newest, topmost) = try newestKey(cid)
    let isTold = try isTold(cid)
    var isLeft = try hasOperations()
    if isLeft { isLeft = try connection.statement(Queries.leavesConversation, cid).step() }
    let summary = ConversationSummary(
      cid: cid, id: record.id,
      isListed: !isLeft && (newest != nil || isTold || record.isPending), isLeft: isLeft,
      activity: try activity(cid, newest: newest?.position, isPending: record.isPending),
      newest: newest, isVerified: try isVerified(newest?.position, of: record),
      unread: try unreadReader.unread(record, topmost: .some(topmost)), isPending: record.isPending)
    memo?.entry(cid).summary = summary
    return summary
  }

  /// The newest message that is seen, pending ones included, without those that the server's list
  /// lacks; and where the newest row stands that is stored, hidden or not.
  private func newestKey(_ cid: Int64) throws(StoreFailure) -> (seen: RowKey?, topmost: Position?) {
    var seen = try pendingKeys(
      cid, from: .min, to: Self.beyond, limit: 1, newestFirst: true
    ).first
    var topmost: Position?
    let reader = NamedLastReader(rx: self, cid: cid)
    let named = try reader.named()
    let low = try named.map { named throws(StoreFailure) in try reader.low(of: named) }
    var passed = 0
    let row = try connection.statement(Queries.newestKeys, cid)
    while try row.step() {
      let position = Position(time: row.int(1), key: row.bytes(2))
      topmost = topmost ?? position
      if seen != nil || passed > NamedLast.rowsMax { break }
      guard RowFlags(rawValue: row.int(4)).isDisjoint(with: .hidden) else { continue }
      if let named, let low, row.uint(0) <= named.number, low < position, position.id != named.id {
        passed &+= 1
        continue
      }
      seen = RowKey(number: row.uint(0), position: position, revision: row.uint(3))
    }
    return (seen, topmost)
  }

  /// Whether the server told the conversation's object.
  private func isTold(_ cid: Int64) throws(StoreFailure) -> Bool {
    let entry = try known?.entry(cid)
    if let kept = entry?.isTold { return kept }
    let isTold = try connection.statement(Queries.entityOfConversation, cid).step()
    entry?.isTold = isTold
    return isTold
  }

  private func isVerified(
    _ place: Position?, of record: ConversationRecord
  ) throws(StoreFailure) -> Bool {
    guard let place else { return false }
    guard record.trusted(try spans(record.cid), self).holds(place) else { return false }
    return !(try unverified(record.cid).holds(place))
  }

  /// Whether anything is kept of what this user did: mostly nothing, and then no conversation
  /// is asked for its own.
  private func hasOperations() throws(StoreFailure) -> Bool {
    guard let memo else { return true }
    if let known = memo.some.operations { return known }
    let isSome = try connection.number("SELECT 1 FROM operation LIMIT 1") != nil
    memo.some.operations = isSome
    return isSome
  }

  /// Conversations above `cid`, in the order of their numbers.
  package func summaries(
    after cid: Int64, limit: Int
  ) throws(StoreFailure) -> [ConversationSummary] {
    let row = try connection.statement(Queries.conversationsAfter, cid, Swift.max(0, limit))
    var cids: [Int64] = []
    while try row.step() { cids.append(row.int(0)) }
    try prepareSummaries(cids)
    var found: [ConversationSummary] = []
    found.reserveCapacity(cids.count)
    for cid in cids {
      if let summary = try summary(cid: cid) { found.append(summary) }
    }
    return found
  }

  /// The same as of its record, which is not copied where the summary is known: that was 9 % of the
  /// instructions of a list.
  private func summary(cid: Int64) throws(StoreFailure) -> ConversationSummary? {
    if let kept = try known?.entry(cid).summary { return kept }
    return try conversation(cid: cid).map { record throws(StoreFailure) in try summary(record) }
  }

  private func activity(
    _ cid: Int64, newest: Position?, isPending: Bool
  ) throws(StoreFailure) -> Int64 {
    let last = ConversationSummary.pendingActivity - 1
    if let newest, let seq = newest.pendingBound, newest.isPending {
      return last + 1 + Int64(clamping: Swift.min(seq, 1 << 56))
    }
    if isPending { return last + 1 }
    guard let newest else {
      let made = try connection.number(Queries.listing, cid) ?? 0
      return Swift.min(Swift.max(made, -last), last)
    }
    var time = newest.time
    if positionKind != 0 {
      let row = try connection.statement(Queries.byID, cid, newest.id)
      if try row.step() { time = row.optionalInt(5) ?? row.int(0) }
    }
    return Swift.min(Swift.max(time, -last), last)
  }
}

/// What a row of a list shows of a conversation beside its last message.
package struct ConversationEntry: Equatable, Sendable {
  package var summary: ConversationSummary
  /// The object as it came; nil where the server told none.
  package var body: [UInt8]?
  /// The members of the request that makes it, as an object; nil once the server told.
  package var made: [UInt8]?
  /// This user, where it is made here.
  package var user: [UInt8]?
  /// Those of the newest request that is to change it and was not refused.
  package var saved: [UInt8]?
  /// The last message that this user has read.
  package var marker: Position?
  /// The client id under which it was made here.
  package var clientID: [UInt8]?
  package var draft: StoredDraft?
  package var hasPending: Bool
  /// A send is unknown or refused.
  package var hasStuck: Bool
}

extension ReadTransaction {
  package func entry(_ record: ConversationRecord) throws(StoreFailure) -> ConversationEntry {
    try entry(try summary(record))
  }

  /// Nil where there is no such conversation.
  package func entry(cid: Int64) throws(StoreFailure) -> ConversationEntry? {
    try summary(cid: cid).map { summary throws(StoreFailure) in try entry(summary) }
  }

  private func entry(_ summary: ConversationSummary) throws(StoreFailure) -> ConversationEntry {
    let cid = summary.cid
    var entry = ConversationEntry(
      summary: summary, body: nil, marker: try tally(cid).marker,
      draft: try draft(cid), hasPending: false, hasStuck: false)
    if try isTold(cid) {
      let entity = try connection.statement(Queries.entityOfConversation, cid)
      if try entity.step() { entry.body = entity.bytes(0) }
    }
    guard try hasOperations() else { return entry }
    let alias = try connection.statement(Queries.aliasOf, cid)
    entry.clientID = summary.isPending ? summary.id : try alias.step() ? alias.bytes(0) : nil
    let sends = try connection.statement(Queries.pendingSends, cid)
    _ = try sends.step()
    entry.hasPending = sends.int(0) > 0
    entry.hasStuck = sends.int(1) > 0
    let asked = try connection.statement(Queries.askedOfConversation, cid)
    while try asked.step() {
      if OperationVerb(rawValue: asked.int(0)) == .createConversation {
        entry.made = asked.bytes(1)
        entry.user = try userID()
      } else if OperationState(rawValue: asked.int(2)) != .refused {
        entry.saved = asked.bytes(1)
      }
    }
    return entry
  }
}

extension WriteTransaction {
  /// Keeps the object of a conversation, and when it was made or changed. One that was
  /// asked for before another was pushed is older than that, and left aside; so is one that
  /// says itself that it is older.
  package func putConversation(
    _ cid: Int64, id: [UInt8], body: [UInt8], madeUs: Int64?, issued: UInt64?
  ) throws(StoreFailure) {
    let row = try connection.statement(Queries.listing, cid)
    guard try row.step(), issued.map({ row.uint(1) <= $0 }) ?? true else { return }
    if issued == nil, let madeUs, let known = row.optionalInt(0), madeUs < known { return }
    let told = issued == nil ? lsn : row.uint(1)
    try feedTable.putEntity(kind: 1, cid: cid, id: id, body: body)
    try conversationTable.note(madeUs: madeUs, told: told, of: cid)
  }
}
