/// Updates and the replies to them: each effect is there before its reply, and there once.
internal import Base
internal import ReferenceServer

/// What was handed to the device under which ref, and what it replied.
struct Updates {
  /// The frames that the device took, by ref.
  var taken: [String: [UInt8]] = [:]
  var replied: [String] = []
  /// The number of the newest of them, and the frames that came after one that is newer.
  private var newest = 0
  private var late: [[UInt8]] = []
  /// How many events the server has announced.
  var announced = 0
  var profilesMade = 0

  mutating func take(_ bytes: [UInt8], _ ref: String) {
    taken[ref] = bytes
    let number = Int(ref.dropFirst()) ?? 0
    if number < newest { late.append(bytes) }
    newest = max(newest, number)
  }

  /// Whether an update that names this id came after a newer one.
  func cameLate(_ id: String) -> Bool {
    late.contains { Frames.find(Array("\"\(id)\"".utf8), in: $0, from: 0) != nil }
  }
}

extension World {
  static let account = "simulated"

  /// Things of the server that are not messages.
  func announceSomething() {
    guard knobs.entities, server.pendingRefs(user: Self.me, account: Self.account).count < 500
    else { return }
    let conversation = conversations[serverDice.below(conversations.count)].name
    switch serverDice.below(4) {
    case 0:
      updates.profilesMade += 1
      let user = "user\(serverDice.below(5))"
      server.setProfile(user: user, name: "name \(updates.profilesMade)")
    case 1:
      server.deleteProfiles((0..<2).map { _ in "user\(serverDice.below(5))" })
    case 2:
      server.typing(conversation: conversation, user: "anna")
    default:
      guard link.subscription != nil || updates.announced > 0 else { return }
      updates.announced += 1
      server.announce(
        entity: "poll", action: "new", items: "[{\"token\":\"E~\(updates.announced)~1\"}]",
        isSilent: serverDice.chance(0.5),
        conversation: serverDice.chance(0.5) ? conversation : nil)
    }
  }

  func noteUpdate(_ bytes: [UInt8]) {
    guard Frames.type(bytes) == "update", let ref = Frames.string("ref", bytes) else { return }
    updates.take(bytes, ref)
  }

  /// A reply leaves the device: its update must have been taken. At times the power goes now.
  func judgeReply(_ bytes: [UInt8]) throws {
    guard let ref = Frames.string("ref", bytes) else { throw Violation("a reply without a ref") }
    guard updates.taken[ref] != nil else {
      throw Violation("a reply to \(ref), which was never taken")
    }
    findings.replies += 1
    try noteReply(ref)
    updates.replied.append(ref)
    if knobs.powerCuts, !isQuiet, screenDice.chance(0.02) { powerCutIsDue = true }
    if !isQuiet, screenDice.chance(0.02) { try checkEffects(of: [ref]) }
  }

  /// The power goes: only what was synced is sure to be there.
  func cutPower() throws {
    trace.note(nowUs, "the power goes")
    findings.powerCuts += 1
    eyes.forgetPages()
    loseConnection()
    forgetOpened()
    let marked = ledger.marked
    guard try client.cutPowerAndReopen(&deviceDice) else { return }
    let counts = try images().map(\.rows.count)
    trace.note(nowUs, "after the power: \(counts) rows")
    try lookAfterPowerCut(marked)
    try recallAfterPowerCut()
    try draftsAfterPowerCut()
    try checkActs("after a loss of power")
    planReconnect(afterUs: isQuiet ? 10_000 : Int64(deviceDice.below(3_000_000)))
    try pump()
  }

  func loseConnection() {
    strangers.endProcess()
    closeScreens()
    acts.typing = []
    acts.endProcess()
    link.isUp = false
    if let token = link.subscription { server.unsubscribe(token) }
    link.subscription = nil
    shadow?.connectionEnded()
    syncs = []
    deadlineUs = .max
    killIsArmed = false
    diskFailureIsArmed = false
  }

  /// What was lost was never promised; what was promised is there.
  private func lookAfterPowerCut(_ marked: Set<String>) throws {
    identities = [:]
    changeSeq = 0
    ledger.confirmed = []
    ledger.forgotten = []
    var shown: [Int: SimRow] = [:]
    for (index, page) in try images().enumerated() {
      try checkShape(index, page)
      for row in page.rows {
        guard let mark = Ledger.mark(row.payload) else { continue }
        shown[mark.serial] = row
        if row.unread, marked.contains(Self.text(row.id)) {
          throw Violation("marked read, then lost with the power: \(Self.text(row.id))")
        }
      }
    }
    for serial in ledger.posted.indices {
      let row = shown[serial]
      ledger.noteDelivered(
        serial, atMost: row.flatMap { Ledger.mark($0.payload) },
        reaction: row.flatMap { Self.newestReaction($0) })
    }
    try checkEffects(of: updates.replied)
  }

  static func newestReaction(_ row: SimRow) -> Ledger.Mark? {
    row.reaction
  }

  /// What updates that were replied to have done is in the store.
  func checkEffects(of refs: [String]) throws {
    guard client.claimsCoverage, !refs.isEmpty else { return }
    // A server that did a send twice has two messages of one text.
    var rows: [Int: [SimRow]] = [:]
    for page in try images() {
      for row in page.rows {
        if let mark = Ledger.mark(row.payload) { rows[mark.serial, default: []].append(row) }
      }
    }
    let tokens = try eventTokens()
    // What was told in too long a list is there later than its reply.
    for ref in refs where !longRefs.contains(ref) {
      guard let frame = updates.taken[ref] else { continue }
      for mark in Ledger.marks(frame, 0x45) where !tokens.contains(mark.serial) {
        throw Violation("\(ref) was replied to, and its event \(mark.serial) is not there")
      }
      for mark in Ledger.marks(frame) {
        let posted = ledger.posted[mark.serial]
        if posted.control || posted.isQuarantined || posted.isOperated { continue }
        if ledger.deleted.contains(posted.id) { continue }
        if ledger.everForgotten.contains(posted.id) { continue }
        guard let copies = rows[mark.serial] else {
          // It was there, and went from here since.
          if isKept, !keepsAll { continue }
          throw Violation("\(ref) was replied to, and \(posted.id) is not there")
        }
        if copies.allSatisfy(mayBeOlder) { continue }
        if copies.allSatisfy({ Ledger.mark($0.payload)?.version ?? 0 < mark.version }) {
          throw Violation("\(ref) was replied to, and \(posted.id) is older than it")
        }
      }
      for mark in Ledger.marks(frame, 0x52) {
        guard let copies = rows[mark.serial] else { continue }
        if copies.allSatisfy(mayBeOlder) { continue }
        if copies.allSatisfy({ Self.newestReaction($0)?.version ?? 0 < mark.version }) {
          throw Violation(
            "\(ref) was replied to, and the reactions of \(Self.text(copies[0].id)) are older")
        }
      }
    }
  }

  /// The events that the device has, each of which came once.
  @discardableResult
  func eventTokens() throws -> Set<Int> {
    guard let events = try client.events(after: 0) else { return [] }
    var found: Set<Int> = []
    for event in events {
      for mark in Ledger.marks(event.body, 0x45) where !found.insert(mark.serial).inserted {
        throw Violation("event \(mark.serial) took effect twice")
      }
    }
    return found
  }

  /// On a quiet network every update has come, and nothing is pending.
  func checkUpdates() throws {
    guard knobs.envelope else { return }
    try until("replies are pending") {
      try client.state().repliesOwed == 0
        && server.pendingRefs(user: Self.me, account: Self.account).isEmpty
    }
    try checkEffects(of: updates.replied)
    let tokens = try eventTokens()
    for token in 1..<(updates.announced + 1) where !tokens.contains(token) {
      throw Violation("event \(token) never came")
    }
    let owed = server.pendingRefs(user: Self.me, account: Self.account)
    if let ref = owed.first { throw Violation("quiet, and \(ref) was never replied to") }
    guard knobs.lossless, knobs.entities else { return }
    let have = Set(try client.profiles().keys.filter { $0.hasPrefix("user") })
    let expected = Set(server.profiles.keys.filter { $0.hasPrefix("user") })
    if have != expected {
      throw Violation("profiles \(have.sorted()), the server has \(expected.sorted())")
    }
  }

  // MARK: The disk

  /// An input during which the disk fails. A failure changes nothing, and the host reconnects.
  @inline(never)
  func riskyInput(_ body: () throws -> Void) throws {
    let before = try images()
    if knobs.readFailures, harmDice.chance(0.3) {
      client.armReadFailure(afterReads: 1 + harmDice.below(8))
    }
    let trouble: (any Error)?
    do {
      try body()
      trouble = nil
    } catch {
      trouble = error
    }
    client.armReadFailure(afterReads: 0)
    if let trouble { try afterFailure(trouble, before) }
  }

  private func afterFailure(_ trouble: any Error, _ before: [SimPage]) throws {
    guard client.isDiskTrouble(trouble) else { throw trouble }
    trace.note(nowUs, "the disk failed: \(trouble)")
    findings.diskFailures += 1
    diskFailureIsArmed = false
    client.mendDisk()
    // What was written before it failed may be found whole when the file is opened anew.
    if let frame = pushLog.inHand {
      pushLog.doubt(frame)
      pushLog.isVague = true
    }
    let after = try images()
    if before != after { throw Violation("a call failed, yet something changed") }
    try cut(outageUs: 1_000_000)
  }

  func planDiskFailure() {
    guard knobs.diskFailures, !diskFailureIsArmed, !killIsArmed else { return }
    diskFailureIsArmed = true
    trace.note(nowUs, "the disk will fail")
    client.armDiskFailure(afterWrites: 1 + deviceDice.below(30))
  }
}
