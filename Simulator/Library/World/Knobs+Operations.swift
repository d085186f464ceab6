/// What the worlds of operations draw: a user who acts, on a server that may do things twice.
///
/// They are the seeds of `Worlds.operations`. What others do to messages is held down here, so
/// that what a row shows at rest is what this user made of it, or a fault.
internal import Base

/// Faults planted between the library and the host, each of which the worlds of operations
/// must find.
package enum OperationFault: String, CaseIterable, Sendable {
  /// A send that is repeated is told under another client id.
  case resentUnderNewID
  /// What waits is thrown away when the connection is lost.
  case droppedAtDisconnect
  /// A row gets another number when the server confirms it.
  case renumbered
  /// A row shows for ever what an edit laid over it.
  case overlayStays
  /// A payload leaves as it was given.
  case leavesUnsealed
  /// What cannot be opened is left out.
  case leftOutSealed
  /// What was opened is shut again while the key is away.
  case shutAgain
  /// What is stored sealed is not offered again.
  case neverReopened
  /// A subscription is asked for once, and on no later connection.
  case subscribedOnce
}

package struct OperationKnobs: Sendable {
  package var isOn = false
  /// A send with a client id is done once.
  package var idempotent = false
  package var echoesClientIDs = true
  package var tellsSender = true
  /// How often an operation is answered with an error.
  package var troubleShare = 0.0
  /// Some of these were done all the same.
  package var isDone = false
  /// Some of these are final.
  package var refuses = false
  /// A send that was done is said to be refused; not where a new try would make another.
  package var denies = false
  /// The other device sends what this one sends.
  package var equalTexts = false
  /// Messages are taken away before the sender hears of them.
  package var moderates = false
  package var uploads = false
  package var creates = false
  package var drafts = false
  /// Titles, people and admins are changed, and others are told of typing.
  package var governs = false
  /// Senders are told that their messages have arrived.
  package var tellsDelivery = false
  /// Conversations are left and deleted, and others bring this user back.
  package var leaves = false
  /// Payloads are sealed before they go, with keys that come and go.
  package var seals = false
  /// So is all that others send, and some of it opens only when it is offered again.
  package var opens = false
  /// The host asks what the device could know: people, receipts, counts.
  package var asks = false
  /// A connection is told only of what it has subscribed to.
  package var subscribes = false
  /// How often what is subscribed to once more is never answered; 1 also goes on in quiet.
  package var deafShare = 0.0
  package var fault: OperationFault?
}

extension Knobs {
  mutating func drawOperations() {
    var random = Random(seed: seed ^ 0x6F70_6572_6174_6500)
    operations.isOn = true
    operations.idempotent = random.chance(0.6)
    operations.echoesClientIDs = random.chance(0.7)
    operations.tellsSender = random.chance(0.6)
    operations.troubleShare = random.chance(0.6) ? 0.25 : 0
    operations.isDone = random.chance(0.5)
    operations.refuses = random.chance(0.5)
    operations.equalTexts = operations.echoesClientIDs && random.chance(0.4)
    operations.moderates = random.chance(0.4)
    operations.uploads = random.chance(0.3)
    operations.creates = random.chance(0.5)
    operations.drafts = random.chance(0.3)
    drawOperationScene(&random)
    usesFile = random.chance(0.3)
    kills = usesFile && random.chance(0.7)
    powerCuts = usesFile && random.chance(0.5)
    operations.governs = random.chance(0.5)
    operations.tellsDelivery = random.chance(0.3)
    // What was replied to is looked for, also in a conversation that went.
    operations.leaves = operations.creates && !envelope && random.chance(0.5)
    operations.seals = random.chance(0.3)
    operations.subscribes = pushes && !envelope && !lossless && random.chance(0.5)
    operations.opens = operations.seals && random.chance(0.7)
    operations.asks = random.chance(0.5)
    // What others make of the same messages.
    reactions = random.chance(0.3)
    pins = random.chance(0.2)
    otherReceipts = random.chance(0.2)
    diskFailures = usesFile && random.chance(0.3)
    operations.denies = operations.idempotent && random.chance(0.3)
    if lossless, !envelope { operations.subscribes = random.chance(0.5) }
    if operations.subscribes, random.chance(0.4) {
      operations.deafShare = random.chance(0.5) ? 1 : 0.5
    }
  }

  private mutating func drawOperationScene(_ random: inout Random) {
    // What is deleted, forgotten or lost for good by others would hide what is looked for.
    restores = false
    futureStamp = false
    poison = false
    forgets = false
    horizonUs = 0
    pushes = random.chance(0.65)
    envelope = pushes && random.chance(0.4)
    lossless = pushes && random.chance(0.3)
    // A connection that is told everything is told of its own sends.
    if lossless { operations.tellsSender = true }
    sequence = random.chance(0.25)
    before = random.chance(0.3)
    backlog = [3, 40, 110][random.below(3)]
    burstShare = 0
    serverPauseUs = [1_500_000, 4_000_000, 12_000_000][random.below(3)]
    hostTurns = 10 + random.below(25)
    hostPauseUs = [500_000, 3_000_000, 10_000_000][random.below(3)]
    dropShare = random.chance(0.5) ? 0.02 + 0.2 * Double(random.below(10)) / 10 : 0
    cutShare = random.chance(0.6) ? 0.01 + 0.06 * Double(random.below(10)) / 10 : 0
    screens = random.chance(0.45) ? 1 + random.below(2) : 0
    screensFillFirst = screens > 0 && random.chance(0.3)
  }

  /// What a line of such a world says more.
  var operationFlags: [(Bool, String)] {
    guard operations.isOn else { return [] }
    return [
      (true, "OPERATIONS"), (operations.idempotent, "idempotent"),
      (operations.echoesClientIDs, "client-ids"), (operations.tellsSender, "tells-sender"),
      (operations.troubleShare > 0, "trouble"), (operations.isDone, "done-all-the-same"),
      (operations.refuses, "refuses"), (operations.denies, "denies"),
      (operations.equalTexts, "equal-texts"),
      (operations.moderates, "moderates"), (operations.uploads, "uploads"),
      (operations.creates, "creates"), (operations.drafts, "drafts"),
      (operations.governs, "governs"), (operations.tellsDelivery, "tells-delivery"),
      (operations.leaves, "leaves"), (operations.seals, "seals"),
      (operations.subscribes, "subscribes"), (operations.deafShare > 0, "deaf"),
      (operations.deafShare == 1, "deaf-for-good"), (operations.opens, "opens"),
      (operations.asks, "asks"),
    ]
  }
}
