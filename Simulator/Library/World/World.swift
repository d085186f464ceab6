/// One device and one server in virtual time, driven from a seed.
///
/// Everything that happens is an event of the queue or a deadline of the client; nothing reads a
/// clock and nothing waits. Chaos comes first, then quiet, then the checks.
package import Base
internal import ReferenceServer

/// A rule that did not hold. It ends the world.
package struct Violation: Error {
  package let text: String

  package init(_ text: String) {
    self.text = text
  }
}

/// The virtual time that the client's clock shows. Used by one thread at a time.
package final class VirtualClock: @unchecked Sendable {
  package fileprivate(set) var nowUs: Int64 = 0
  private let skewUs: Int64?

  package init(skewUs: Int64?) {
    self.skewUs = skewUs
  }

  func move(to timeUs: Int64) { nowUs = max(nowUs, timeUs) }

  package func instant() -> Instant {
    Instant(
      monotonicMs: 1_000 + nowUs / 1_000,
      wallUs: skewUs.map { World.epochUs + nowUs + $0 })
  }
}

/// What is found out about a client while its world runs.
package struct Findings: Codable, Sendable {
  package var requests = 0
  package var quietRequests = 0
  package var reopenRequests = 0
  package var kills = 0
  package var restores = 0
  package var powerCuts = 0
  package var diskFailures = 0
  package var screens = 0
  /// Years that were missed with something on the screen.
  package var years = 0
  package var replies = 0
  /// Transactions of the chaos, and those that failed on purpose.
  package var commits = 0
  package var commitsFailed = 0
  /// Messages that the server has and the client lacks at the end. The control only.
  package var lost = 0
  /// Messages that the client shows and the server has not. The control only.
  package var zombies = 0
}

package final class World {
  /// The server's time when the world begins.
  static let epochUs: Int64 = 1_771_192_800_000_000
  static let me = "me"

  struct Link {
    var number = 0
    var isUp = false
    var reconnectPlanned = false
    var lastUpUs: Int64 = 0
    var lastDownUs: Int64 = 0
    var subscription: Int?
  }

  struct RunningSync {
    var number: UInt64
    var conversation: Int
    var isLatest: Bool
    /// The newest ordinary stamp that the server had when the sync was asked for.
    var serverTopUs: Int64
    /// The restores before the sync was asked for.
    var restores: Int
  }

  /// What a restore needs to know to be one that a client can notice.
  struct ConversationState {
    var name: String
    var changedSinceBackup = false
    /// Stamps above this are clearly newer than the backup.
    var noticeableUs: Int64 = .max
    /// Syncs that ended well have seen stamps up to here.
    var seenThroughUs: Int64 = .min
    /// How many of them had seen stamps above `noticeableUs`.
    var goodSyncs = 0
    /// After a restore nothing is posted until the client has synced once.
    var frozen = false
    /// This user has no part in it, or it is no more.
    var isGone = false
    /// This user has left it once; what was known of it went with that.
    var wasLeft = false

    var bytes: [UInt8] { Array(name.utf8) }
  }

  let knobs: Knobs
  let client: any SimulatedClient
  let clock: VirtualClock
  let server: ReferenceServer
  var trace: Trace
  var findings = Findings()
  var queue = EventQueue<WorldEvent>()
  var ledger = Ledger()
  var link = Link()
  var conversations: [ConversationState] = []
  var syncs: [RunningSync] = []
  var networkDice: Random
  var serverDice: Random
  var deviceDice: Random
  var listDice: Random
  var harmDice: Random
  /// Updates that were told in too long a list, once at least.
  var longRefs: Set<String> = []
  var screenDice: Random
  var screens: [Screen] = []
  var screensOpened = 0
  var screenTurnsLeft = 90
  var updates = Updates()
  var pushLog = PushLog()
  var eyes = Eyes()
  var offers = Offers()
  var waits = Waits()
  var acts = Acts()
  var mirror = Mirror()
  var year = MissedYear()
  /// A budget was set, and was taken back for the end.
  var isKept = false
  /// What was purged may have come again by an update from before: that row claims nothing.
  func mayBeOlder(_ row: SimRow) -> Bool { isKept && row.unverified }
  /// How many messages had been purged when the eyes last forgot those.
  var purgedSeen = 0
  var keepsAll = false
  var retentionDice: Random
  var strangers: Strangers
  /// Books beside the engine; nil in all runs but those that compare the two.
  var shadow: Shadow?
  var actDice: Random
  /// What the server has beside messages, with a word that stands in it.
  var thingsOfServer: [String: String] = [:]
  /// The server's messages, kept while nothing happens to them.
  var truths: [Int: KnownTruth] = [:]
  var powerCutIsDue = false
  /// Conversations with messages that nobody can read.
  var poisoned: Set<Int> = []
  var diskFailureIsArmed = false
  var isQuiet = false
  var hostTurnsLeft: Int
  var deadlineUs: Int64 = .max
  var backup: ReferenceServer.Snapshot?
  var futurePosted = false
  var killIsArmed = false
  var inputsUntilKill = 0
  var changeSeq: UInt64 = 0
  /// Which message a local number stands for, for ever, and what it was last seen with.
  var identities: [UInt64: KnownRow] = [:]

  package init(
    knobs: Knobs, recording: Trace.Recording,
    client make: (Knobs, VirtualClock) throws -> any SimulatedClient
  ) throws {
    self.knobs = knobs
    trace = Trace(recording)
    clock = VirtualClock(skewUs: knobs.wallSkewUs)
    server = ReferenceServer(knobs: knobs.serverKnobs, seed: knobs.seed ^ 0x5E)
    networkDice = Random(seed: knobs.seed ^ 0x6E65_7477_6F72_6B00)
    serverDice = Random(seed: knobs.seed ^ 0x7365_7276_6572_0000)
    deviceDice = Random(seed: knobs.seed ^ 0x6465_7669_6365_0000)
    listDice = Random(seed: knobs.seed ^ 0x6C69_7374_0000_0000)
    harmDice = Random(seed: knobs.seed ^ 0x6861_726D_0000_0000)
    screenDice = Random(seed: knobs.seed ^ 0x7363_7265_656E_7300)
    actDice = Random(seed: knobs.seed ^ 0x6163_7473_0000_0000)
    retentionDice = Random(seed: knobs.seed ^ 0x6B65_6570_0000_0000)
    strangers = Strangers(dice: Random(seed: knobs.seed ^ 0x7374_7261_6E67_0000))
    hostTurnsLeft = knobs.hostTurns
    client = try make(knobs, clock)
    conversations = (0..<knobs.conversations).map { ConversationState(name: "c\($0)") }
    fillBacklog()
  }

  var nowUs: Int64 { clock.nowUs }

  /// The conversations that this user may see.
  var present: [Int] { conversations.indices.filter { !conversations[$0].isGone } }

  /// Runs the world to its end.
  package func run() throws {
    queue.plan(at: 0, .reconnect)
    link.reconnectPlanned = true
    queue.plan(at: 10_000, .hostTurn)
    queue.plan(at: 20_000, .serverTurn)
    if knobs.screens > 0, client.claimsCoverage { queue.plan(at: 15_000, .screenTurn) }
    var events = 0
    while hostTurnsLeft > 0 {
      guard try step() else { throw Violation("nothing left to happen in chaos") }
      events += 1
      // What was on its way when a connection ended counts as well.
      if events > 250_000 { throw Violation("chaos does not end") }
    }
    if let commits = knobs.commits {
      commits.isOver = true
      findings.commits = commits.begun
      // They were counted only, or the one that was to fail had nothing to write.
      if !commits.hasFailed { return }
    }
    try finish()
  }

  /// Moves time; the server commits what falls due and pushes it.
  func moveTime(to timeUs: Int64) {
    clock.nowUs = max(clock.nowUs, timeUs)
    server.nowUs = Self.epochUs + clock.nowUs
  }

  /// Lets the next thing happen; false where nothing is planned.
  func step() throws -> Bool {
    let eventUs = queue.nextTimeUs ?? .max
    if deadlineUs < eventUs {
      moveTime(to: deadlineUs)
      sendPushes()
      trace.note(nowUs, "deadline")
      try noteWake()
      try pump()
      try lookAtBadges()
      try lookAtOffers()
      try lookAtScreens()
      try lookAtShadow()
      return true
    }
    guard let (timeUs, event) = queue.pop() else { return false }
    moveTime(to: timeUs)
    noteInput()
    try take(event)
    sendPushes()
    try lookAtBadges()
    try lookAtOffers()
    try lookAtScreens()
    try lookAtShadow()
    return true
  }

  private func take(_ event: WorldEvent) throws {
    switch event {
    case .toServer(let connection, let bytes):
      if connection == link.number, link.isUp { try serve(bytes) }
    case .toDevice(let connection, let bytes, let marks):
      if connection == link.number, link.isUp { try deliver(bytes, marks) }
    case .cut(let connection, let outageUs):
      if connection == link.number, link.isUp { try cut(outageUs: outageUs) }
    case .reconnect:
      try reconnect()
    case .serverTurn:
      if !isQuiet { serverTurn() }
    case .post(let conversation):
      if !isQuiet { post(conversation) }
    case .hostTurn:
      eyes.free()
      if !isQuiet { try hostTurn() }
    case .screenTurn:
      if !isQuiet { try screenTurn() }
    case .clockTick:
      break
    }
  }

  /// Hands one input to the client. Nil where a kill fell into it: then it has happened or not.
  func input<Result>(_ body: () throws -> Result) throws -> Result? {
    if let commits = knobs.commits, commits.isArmed { return try inputBeside(commits, body) }
    if diskFailureIsArmed {
      var result: Result?
      try riskyInput { result = try body() }
      return result
    }
    guard killIsArmed else { return try body() }
    let before = try images()
    let result = try body()
    inputsUntilKill -= 1
    guard client.imageTaken || inputsUntilKill <= 0 else { return result }
    let after = try images()
    killIsArmed = false
    try kill(expecting: client.imageTaken ? [before, after] : [after])
    return nil
  }

  /// That an operation leaves is written first, which may fail.
  private func nextFrame() throws -> SimFrame? {
    guard diskFailureIsArmed || knobs.commits?.isArmed ?? false else {
      return try client.nextFrame()
    }
    return try input { try client.nextFrame() } ?? nil
  }

  /// Lets the client act on the time and sends what it has to send.
  func pump() throws {
    var rounds = 0
    while true {
      guard let wait = try input({ try client.advance() }) else { return }
      var taken = 0
      while let frame = try nextFrame() {
        taken += 1
        if stalls() {
          try cut(outageUs: 500_000)
          return
        }
        if !client.isKeptBack(frame.bytes) { try send(frame) }
        if powerCutIsDue {
          powerCutIsDue = false
          try endSuddenly()
          return
        }
        if forgetsReport() { continue }
        guard try input({ try client.frameSent(frame.id) }) != nil else { return }
      }
      if taken == 0, wait != 0 {
        deadlineUs = wait < 0 ? .max : nowUs + wait * 1_000
        break
      }
      rounds += 1
      if rounds > 300 { throw Violation("advance does not settle") }
    }
    if link.isUp, try client.state().reconnectWanted {
      trace.note(nowUs, "client wants a new connection")
      try cut(outageUs: 50_000)
    }
  }
}

extension Knobs {
  /// What the reference server is told to be.
  var serverKnobs: ServerKnobs {
    var server = ServerKnobs()
    server.pageCap = pageCap
    server.truncates = keepsOldest ? .oldest : .newest
    server.pageSizesVary = pageSizesVary
    server.timeResolutionUs = resolutionUs
    server.stampStyle = [.bare, .zulu, .offset, .space][stampStyle]
    server.zoneMinutes = stampStyle == 2 ? 60 : 0
    server.afterInclusive = afterIsInclusive
    server.ties = tiesByID ? .id : .arrival
    server.echoesRequestIDs = echoesRequestIDs
    server.idempotentSends = operations.idempotent
    server.echoesClientIDs = operations.echoesClientIDs
    server.tellsSender = operations.tellsSender
    server.answersWithResult = !strangers.saysOnlyOK
    server.tellsVersions = !strangers.returns
    server.knowsCursorsAlone = strangers.namesCursors
    server.printsAnew = strangers.printsAnew
    server.needsSubscribing = operations.subscribes
    server.sendsServerTime = sendsServerTime
    server.sendsTotalCount = sendsTotalCount
    server.deletionPageCap = deletionPageCap
    server.arrayOrder = arrayDescending ? .descending : .ascending
    server.idStyle = orderedIDs ? .ordered : .random
    server.takesBefore = before
    server.takesAround = around
    server.tellsChanges = changedSince
    server.numbersMessages = sequence
    server.sendsPreviousIDs = previousIDs
    server.envelope = envelope
    server.pushesAtConnect = reconnectBatch
    server.deletionHorizonUs = horizonUs
    return server
  }
}
