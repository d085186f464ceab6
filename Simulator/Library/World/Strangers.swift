/// Servers as they are met outside: they say little, forget what they were told, print in a way of
/// their own what they were given, take deletions back, stamp ahead of their clock, and end
/// connections.
internal import Base

package struct StrangerKnobs: Sendable {
  /// What an operation has changed is not told in its answer.
  var saysOnlyOK = false
  /// A send that is told again is known on the connection that it was told on, and not later; or
  /// for so long, where that is not 0.
  var forgetsSends = false
  var knowsSendsUs: Int64 = 0
  /// Payloads are printed anew, with other spaces.
  var printsAnew = false
  /// Another user's copies of messages are pushed as edits.
  var othersEdit = false
  /// Messages that were deleted come back, and no message has a version.
  var returns = false
  /// Messages are stamped some seconds to an hour ahead of the server's clock.
  var stampsAhead = false
  /// At times each connection ends with its first request.
  var endsConnections = false
  /// No time is a cursor: pages name cursors of the server's own.
  var namesCursors = false
  /// A fault inside the library's engine, by name; only debug builds can plant it.
  package var fault: String?
}

extension Knobs {
  /// With dice of their own: what else a seed draws stays as it was.
  mutating func drawStrangers(_ worlds: Worlds) {
    var random = Random(seed: seed ^ 0x7374_7261_6E67_6572)
    let says = random.chance(0.3)
    let forgets = random.chance(0.4)
    let prints = random.chance(0.3)
    if operations.isOn {
      strangers.saysOnlyOK = says
      // What was done and is said to be refused is sent again under its id, on purpose.
      strangers.forgetsSends = operations.idempotent && !operations.denies && forgets
      if strangers.forgetsSends, random.chance(0.5) { strangers.knowsSendsUs = 20_000_000 }
      // What is known by its payload is where it matters.
      strangers.printsAnew = (prints || matchesPayloads) && !says && !operations.seals
    }
    let isPlain = !operations.isOn && !retention.isOn && !restores && !updates.isOn && !lossless
    strangers.returns =
      random.chance(0.4) && worlds.contains(.returns) && isPlain && (deletions || deletionRuns)
      && !edits && !envelope
      // An answer that is overtaken may tell the deletion after the return.
      && deletionLatenessUs == 0 && horizonUs == 0 && !absenceIsDeletion && !reorders
    // Changes tell of them, too.
    if strangers.returns { changedSince = true }
    strangers.stampsAhead =
      random.chance(0.4) && isPlain && sendsServerTime && !sequence && !previousIDs
    // Counts would tell what such a stamp hides.
    if strangers.stampsAhead { sendsTotalCount = false }
    // Which edits make a client ask for a count anew is not foretold here.
    strangers.othersEdit =
      random.chance(0.3) && pushes && !envelope && !updates.isOn && !looksAtBadges
    strangers.endsConnections = random.chance(0.2)
    // What is told long after it happened may have been deleted before the first cursor was made,
    // and so may what stands in a gap when a cursor is refused. A cursor leaves out no deletion
    // that is on its way.
    strangers.namesCursors =
      worlds.contains(.cursors) && horizonUs == 0 && deletionLatenessUs == 0 && !envelope
      && reconnectBatch == 0 && !restores && errorShare == 0
  }

  /// A send is known by its payload where the server tells no client ids and knows no repeated one.
  var matchesPayloads: Bool {
    !operations.echoesClientIDs && !operations.idempotent && !operations.seals
  }

  var strangerFlags: [(Bool, String)] {
    [
      (strangers.saysOnlyOK, "says-only-ok"), (strangers.forgetsSends, "forgets-sends"),
      (strangers.knowsSendsUs > 0, "for-a-while"), (strangers.printsAnew, "prints-anew"),
      (strangers.othersEdit, "others-edit"), (strangers.returns, "returns"),
      (strangers.stampsAhead, "stamps-ahead"), (strangers.endsConnections, "ends-connections"),
      (strangers.namesCursors, "names-cursors"),
    ]
  }
}

/// What the worlds remember of a strange server.
struct Strangers {
  var dice: Random
  /// Messages that were deleted and are back.
  var returned: Set<String> = []
  /// Until when each connection ends with its first request.
  var endsUntilUs: Int64 = 0
  /// The connection that ends next, and when those before ended, in this process.
  var ending = -1
  var endedUs: [Int64] = []
  /// How many of them since an answer came, and the syncs that ran at the first of these.
  var inVain = 0
  var syncs: Set<UInt64> = []
  /// The sends that the server knows for a while, and since when.
  var sends: [(us: Int64, conversation: String, clientID: String)] = []

  /// A server that ends connections is asked on so many in a minute, and one at each end of it.
  static let endsMax = 14
  /// So many without an answer have ended each sync.
  static let inVainMax = 8

  mutating func endProcess() {
    (endedUs, inVain, syncs) = ([], 0, [])
  }
}

extension World {
  /// Something that a good server does not do.
  func actStrangely(in conversation: Int) {
    if knobs.strangers.stampsAhead, strangers.dice.chance(0.08) {
      let aheadUs = Int64([15, 40, 600, 3_600][strangers.dice.below(4)]) * 1_000_000
      post(conversation, stampUs: server.nowUs + aheadUs)
    }
    if knobs.strangers.returns, strangers.dice.chance(0.1) { returnSome(in: conversation) }
    if knobs.strangers.endsConnections, strangers.dice.chance(0.05), !isQuiet {
      strangers.endsUntilUs = nowUs + 40_000_000 + Int64(strangers.dice.below(150_000_000))
      trace.note(nowUs, "server: ends each connection with its first request")
    }
  }

  private func returnSome(in conversation: Int) {
    let name = conversations[conversation].name
    let gone = ledger.deleted.filter { id in
      guard let serial = ledger.serial(ofID: id) else { return false }
      return ledger.posted[serial].conversation == conversation
    }.sorted()
    guard let id = gone.randomElement(using: &strangers.dice),
      server.bringBack(conversation: name, id: id)
    else { return }
    trace.note(nowUs, "server: brings \(id) back")
    ledger.deleted.remove(id)
    strangers.returned.insert(id)
    conversations[conversation].changedSinceBackup = true
  }

  /// A request of a connection that ends with it: nothing of it arrives. Gives whether it is one.
  func endsConnection(_ type: String) throws -> Bool {
    guard !isQuiet, nowUs < strangers.endsUntilUs, type != "reply" else { return false }
    trace.note(nowUs, "the server ends the connection")
    if strangers.ending == link.number { return true }
    strangers.ending = link.number
    strangers.endedUs = strangers.endedUs.filter { $0 > nowUs - 60_000_000 } + [nowUs]
    if strangers.endedUs.count > Strangers.endsMax, client.claimsCoverage {
      throw Violation("\(strangers.endedUs.count) connections ended with a request in a minute")
    }
    // Typing has no answer, so it says nothing of the server.
    if type != "typing" {
      strangers.inVain += 1
      if strangers.inVain == 1 { strangers.syncs = Set(syncs.map(\.number)) }
    }
    if strangers.inVain >= Strangers.inVainMax, client.claimsCoverage {
      for number in strangers.syncs.sorted() where try client.progress(number).outcome == .pending {
        throw Violation("sync \(number) goes on after \(strangers.inVain) connections in vain")
      }
    }
    let outageUs = 10_000 + Int64(strangers.dice.below(500_000))
    queue.plan(at: nowUs + 5_000, .cut(connection: link.number, outageUs: outageUs))
    return true
  }

  /// A new connection to a server that knows sends of a connection.
  func forgetSends() {
    if knobs.strangers.forgetsSends, knobs.strangers.knowsSendsUs == 0 { server.forgetSends() }
  }

  /// The same of one that knows them for a while.
  func forgetOldSends() {
    guard knobs.strangers.knowsSendsUs > 0 else { return }
    let edgeUs = nowUs - knobs.strangers.knowsSendsUs
    while let first = strangers.sends.first, first.us < edgeUs {
      server.forgetSend(first.clientID, of: Self.me, in: first.conversation)
      strangers.sends.removeFirst()
    }
  }

  /// Behind a frame of the server another user's copy of a message that is shown.
  func editAsAnother() throws {
    guard knobs.strangers.othersEdit, client.claimsCoverage, !isQuiet, link.isUp,
      strangers.dice.chance(0.02),
      let conversation = present.randomElement(using: &strangers.dice)
    else { return }
    let rows = try client.page(conversations[conversation].bytes, limit: 10).rows
    let name = conversations[conversation].name
    guard let row = rows.randomElement(using: &strangers.dice),
      let frame = server.edit(of: Self.text(row.id), in: name, as: "mallory", #""forged""#)
    else { return }
    trace.note(nowUs, "server: tells an edit of \(Self.text(row.id)) by another")
    _ = try input { try client.receive(frame) }
    noteCauses(frame)
    try pump()
    try check(conversation, isOf: row)
  }

  private func check(_ conversation: Int, isOf row: SimRow) throws {
    let rows = try client.page(conversations[conversation].bytes, limit: 10_000).rows
    guard let now = rows.first(where: { $0.id == row.id }) else { return }
    if Self.text(now.payload).contains("forged") {
      throw Violation("\(Self.text(row.id)) shows what another user made of it")
    }
  }
}
