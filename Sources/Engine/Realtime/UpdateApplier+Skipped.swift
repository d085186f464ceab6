/// Lists that are too long to be read, and many items about one message.
///
/// Rule protected: no frame holds the writer up, and nothing in it is lost. What is not read is
/// requested again, from before; many items about one message are written once.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension UpdateApplier {
  /// What is asked for again once the transaction is over.
  struct Doubts {
    /// The conversations, each with the topics of the list that names it.
    var conversations: [(id: [UInt8], cid: Int64, topics: SkippedList.Topics)] = []
    /// The topics for all conversations, where too many were named.
    var all: SkippedList.Topics = []
    /// The list of conversations.
    var list = false
  }

  /// Sets a frame or an item aside whose list is too long.
  mutating func skip(_ range: Range<Int>, _ skipped: SkippedList) throws(StoreFailure) {
    try setAside(range, reason: BadItem.tooMany(skipped.list).code, cid: 0)
    try poison(range, cid: nil)
    try doubt(skipped)
  }

  /// Lowers what is known of those conversations, so that the next sync brings what was skipped.
  mutating func doubt(_ skipped: SkippedList) throws(StoreFailure) {
    let topics = skipped.topics
    if topics.contains(.conversations) { try requireList() }
    guard let conversations = skipped.conversations else {
      effects.doubts.all.formUnion(topics)
      if topics.contains(.messages) { try requireList() }
      return
    }
    for name in conversations {
      guard var record = try tx.conversation(name) else {
        // Of one that is not known nothing is trusted; the list may tell of it.
        if topics.contains(.messages) { try requireList() }
        continue
      }
      if topics.contains(.deletions) { memory.server.lowerDeletions(&record) }
      if topics.contains(.marks) { memory.server.lowerMarks(&record) }
      if topics.contains(.messages), let fetch = memory.server.scheme.lateTop(record) {
        let stored = try tx.spans(record.cid)
        var spans = stored
        try memory.server.endTrust(&spans, of: record, below: fetch.time, in: tx)
        try tx.save(spans: spans, replacing: stored, in: record.cid)
      }
      try tx.save(record)
      effects.doubts.conversations.append((record.id, record.cid, topics))
    }
  }
}

extension UpdateApplier {
  /// The list is asked for, by this process or the next one, until it was read whole.
  private mutating func requireList() throws(StoreFailure) {
    effects.doubts.list = true
    guard !memory.server.facts.needsList else { return }
    memory.server.setNeedsList(true)
    try tx.save(memory.server.facts)
  }
}

// MARK: Many items of one message

extension UpdateApplier {
  /// Takes effects of one kind that stand beside each other; false where they are of another
  /// kind, or alone. Each message is written once.
  mutating func applyTogether(_ together: ArraySlice<Effect>) throws(StoreFailure) -> Bool {
    guard together.count > 1, let first = together.first else { return false }
    switch first {
    case .receipts: try receipts(together)
    case .reactions: try reactions(together)
    case .pin: try pins(together)
    default: return false
    }
    return true
  }

  private struct MessageReceipts {
    let message: PushedID
    var users: [ReceiptKind: [[UInt8]]] = [:]
    var areMine: Set<ReceiptKind> = []
  }

  private mutating func receipts(_ together: ArraySlice<Effect>) throws(StoreFailure) {
    var all: [MessageReceipts] = []
    var places: [PushedID: Int] = [:]
    for case .receipts(let conversation, let told, let user, let ids) in together {
      let cid = try tx.conversation(creating: conversation).cid
      let kind = ReceiptKind(told)
      for id in ids {
        let message = PushedID(cid: cid, id: id)
        let place = places[message] ?? all.count
        if place == all.count {
          places[message] = place
          all.append(MessageReceipts(message: message))
        }
        all[place].users[kind, default: []].append(user)
        if user == rules.user { all[place].areMine.insert(kind) }
      }
    }
    for one in all {
      _ = try tx.annotationTable.receipts(
        one.users, of: one.message.id, in: one.message.cid, areMine: one.areMine)
    }
  }

  /// One set of reactions, and its version.
  private struct ReactionSet {
    let json: Range<Int>
    let version: Int64?
  }

  /// Of many sets of one message those that decide: the last without a version, and the
  /// newest of those before and behind it.
  private struct ReactionSets {
    let message: PushedID
    var before: ReactionSet?
    var plain: ReactionSet?
    var behind: ReactionSet?

    mutating func add(_ set: ReactionSet) {
      if set.version == nil {
        before = newer(before, behind)
        plain = set
        behind = nil
      } else if plain == nil {
        before = newer(before, set)
      } else {
        behind = newer(behind, set)
      }
    }

    private func newer(_ first: ReactionSet?, _ second: ReactionSet?) -> ReactionSet? {
      guard let first, let second else { return first ?? second }
      return second.version ?? .min >= first.version ?? .min ? second : first
    }
  }

  private mutating func reactions(_ together: ArraySlice<Effect>) throws(StoreFailure) {
    var all: [ReactionSets] = []
    var places: [PushedID: Int] = [:]
    for case .reactions(let conversation, let id, let range, let version) in together {
      let message = PushedID(cid: try tx.conversation(creating: conversation).cid, id: id)
      let place = places[message] ?? all.count
      if place == all.count {
        places[message] = place
        all.append(ReactionSets(message: message))
      }
      all[place].add(ReactionSet(json: range, version: version))
    }
    for one in all {
      for set in [one.before, one.plain, one.behind].compactMap({ $0 }) {
        let json = set.json.isEmpty ? nil : Array(arrival.frame[set.json])
        _ = try tx.annotationTable.reactions(
          one.message.id, in: one.message.cid, json: json, version: set.version, issued: tx.lsn)
      }
    }
  }

  private mutating func pins(_ together: ArraySlice<Effect>) throws(StoreFailure) {
    var all: [(message: PushedID, isPinned: Bool)] = []
    var places: [PushedID: Int] = [:]
    for case .pin(let conversation, let id, let isPinned) in together {
      let message = PushedID(cid: try tx.conversation(creating: conversation).cid, id: id)
      if let place = places[message] {
        all[place].isPinned = isPinned
      } else {
        places[message] = all.count
        all.append((message, isPinned))
      }
    }
    for one in all {
      _ = try tx.annotationTable.pin(
        one.message.id, in: one.message.cid, isPinned: one.isPinned, issued: tx.lsn)
    }
  }
}

extension Effect {
  /// Whether both are of one kind of those that are taken together.
  func isBeside(_ other: Effect) -> Bool {
    switch (self, other) {
    case (.receipts, .receipts), (.reactions, .reactions), (.pin, .pin): true
    default: false
    }
  }
}
