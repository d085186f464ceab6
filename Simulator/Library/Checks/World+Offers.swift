/// What a host may notify of: each message once, none that was told in silence, and all that was
/// told as new.
///
/// Built from the frames that the device took and from the change feed. It shares no code with the
/// client.
internal import Engine
internal import ReferenceServer

/// What was offered for a notification, and what has to be.
struct Offers {
  /// The last entry of the feed that was looked at.
  var seq: UInt64 = 0
  /// Local numbers that were offered.
  var offered: Set<UInt64> = []
  /// Ids that any update told in silence.
  var silenced: Set<String> = []
  /// Told as new by the frame that was taken last.
  var told: [(conversation: Int, id: String)] = []
  /// Ids that any frame has told, or answered.
  var seen: Set<String> = []
  /// How often each was offered, by its id.
  var ids: [String: Int] = [:]
  /// What the server had when the first fetch of a conversation was over.
  var there: [Int: Set<String>] = [:]
  /// What may have been taken back with what it offered.
  var losses = 0

  static let silent = Array("\"silent\":true".utf8)
  static let fetched: Int32 = 1
  static let inserted: Int32 = 1
  static let updated: Int32 = 2
}

extension World {
  /// Notes what a frame that the device took says of offers.
  func noteOffers(_ bytes: [UInt8]) {
    guard knobs.looksAtOffers else { return }
    let isSilent = Frames.find(Offers.silent, in: bytes, from: 0) != nil
    guard let told = Told(bytes), !Frames.hasLongList(bytes) else {
      for mark in Ledger.marks(bytes) where mark.serial < ledger.posted.count {
        offers.seen.insert(ledger.posted[mark.serial].id)
      }
      return
    }
    let isNew =
      told.isUpdate
      ? Frames.string("action", bytes) == "new" : Frames.type(bytes) == "message_new"
    for mark in told.contents where mark.serial < ledger.posted.count {
      let posted = ledger.posted[mark.serial]
      if isSilent { offers.silenced.insert(posted.id) }
      if isNew, !isSilent, !offers.seen.contains(posted.id) {
        offers.told.append((posted.conversation, posted.id))
      }
      offers.seen.insert(posted.id)
    }
  }

  /// Looks at the feed after an input.
  func lookAtOffers() throws {
    // Who asks says that all before was read: a mirror is the one that follows.
    guard knobs.looksAtOffers, !knobs.retention.mirrors, let probe else { return }
    defer { offers.told = [] }
    let losses = findings.powerCuts + findings.diskFailures + findings.restores
    let isLoss = losses != offers.losses
    if isLoss {
      // What was not on the disk is offered again, and the feed begins where it was.
      offers = Offers(seen: offers.seen, losses: losses)
    }
    while let changes = try probe.offers(after: offers.seq), let last = changes.last {
      offers.seq = last.seq
      if isLoss { continue }
      for change in changes where change.notifies { try judgeOffer(change) }
    }
    guard offers.losses == 0, findings.kills == 0 else { return }
    for (conversation, id) in offers.told where !conversations[conversation].isGone {
      guard let row = try probe.row(conversations[conversation].bytes, Array(id.utf8)),
        row.unread, !offers.silenced.contains(id), !offers.offered.contains(row.number)
      else { continue }
      throw Violation("\(id) was told as new, and is not offered")
    }
  }

  private func judgeOffer(_ change: ChangeView) throws {
    if knobs.envelope, change.origin == Offers.fetched {
      throw Violation("what a page showed is offered, and its update is still to come")
    }
    for number in change.first...change.last {
      if !offers.offered.insert(number).inserted { throw Violation("\(number) is offered twice") }
    }
    let page = try client.page(change.conversation, limit: 10_000)
    for row in page.rows where (change.first...change.last).contains(row.number) {
      offers.ids[Self.text(row.id), default: 0] += 1
      if offers.silenced.contains(Self.text(row.id)) {
        throw Violation("\(Self.text(row.id)) was told in silence, and is offered")
      }
    }
  }
}

extension TidelineClient {
  /// The entries of the change feed after `seq`; nil where they are no longer kept.
  func offers(after seq: UInt64) throws -> [ChangeView]? {
    guard case .changes(var changes) = try client.changes(after: seq, limit: 1_000) else {
      return nil
    }
    for (index, change) in changes.enumerated() {
      switch fault {
      case .offeredTwice where change.kind == Offers.updated: changes[index].notifies = true
      case .silentOffered where change.kind == Offers.inserted && change.isSilent,
        .fetchedOffered where change.kind == Offers.inserted && change.origin == Offers.fetched:
        changes[index].notifies = true
      case .lostOffer where change.seq % 3 == 0: changes[index].notifies = false
      default: break
      }
    }
    return changes
  }

  /// What a push brings counts as read.
  func markPushed(_ frame: [UInt8]) {
    guard let told = Told(frame), !told.contents.isEmpty,
      let name = Frames.string("conversation_id", frame),
      let id = Frames.string("message_id", frame)
    else { return }
    try? client.markRead(conversation: Array(name.utf8), ids: [Array(id.utf8)])
  }
}
