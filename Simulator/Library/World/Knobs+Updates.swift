/// What the worlds of updates draw: much is told unasked, little is asked for.
///
/// They are the seeds of `Worlds.updates`. In the other worlds pages and windows repair what
/// a lost mark has spoilt before anybody looks; here the updates themselves have to be right.
internal import Base

/// Faults planted between the library and the host, each of which the worlds of updates must find.
package enum UpdateFault: String, CaseIterable, Sendable {
  /// A reply leaves before the log was synced.
  case replyBeforeSync
  /// An update that comes again is taken for a new one.
  case forgottenRefs
  /// Marks of messages that are not stored are thrown away.
  case droppedWaiting
  /// A frame of another account is taken for one's own.
  case foreignTaken
  /// A reply is made that no update asked for.
  case inventedReply
  /// Every fifth update is replied to and has no effect.
  case lostEffect
  /// A live conversation asks for its newest page at each push.
  case needlessRefetch
}

package struct UpdateKnobs: Sendable {
  package var isOn = false
  /// Members, profiles, titles, and conversations that come and go.
  package var things = false
  /// Updates that cannot be read, as a whole or in parts.
  package var broken = false
  /// Copies of updates that name another account.
  package var foreignCopies = false
  /// Updates that were replied to long ago come once more.
  package var replays = false
  /// How often the host does not report a frame as sent.
  package var unreportedShare = 0.0
  /// How often the connection ends between taking a frame and writing it.
  package var stallShare = 0.0
  /// How often the process or the power ends right after a reply was handed out.
  package var lossShare = 0.0
  package var fault: UpdateFault?
}

extension Knobs {
  mutating func drawUpdates() {
    var random = Random(seed: seed ^ 0x7570_6461_7465_7300)
    updates.isOn = true
    restores = false
    pushes = true
    horizonUs = 0
    poison = random.chance(0.1)
    envelope = random.chance(0.75)
    lossless = random.chance(0.45)
    sequence = random.chance(0.35)
    previousIDs = random.chance(0.35)
    changedSince = random.chance(0.3)
    reconnectBatch = random.chance(0.35) ? 10 : 0
    foreignFrames = envelope && random.chance(0.3)
    entities = envelope && random.chance(0.5)
    drawUpdateScene(&random)
    drawUpdateFaults(&random)
  }

  private mutating func drawUpdateScene(_ random: inout Random) {
    backlog = [3, 60, 150][random.below(3)]
    burstShare = random.chance(0.25) ? 0.02 : 0
    deletions = random.chance(0.6)
    deletionRuns = random.chance(0.15)
    edits = random.chance(0.6)
    reactions = random.chance(0.75)
    pins = random.chance(0.6)
    otherReceipts = random.chance(0.7)
    otherDeviceReads = random.chance(0.3)
    futureStamp = random.chance(0.05)
    latenessUs = random.chance(0.3) ? latenessUs : 0
    serverPauseUs = [400_000, 1_500_000, 4_000_000][random.below(3)]
    hostTurns = 8 + random.below(16)
    hostPauseUs = min([1_000_000, 4_000_000, 10_000_000][random.below(3)], serverPauseUs * 8)
    if random.chance(0.6) { screens = 0 }
    screensFillFirst = screensFillFirst && screens > 0
  }

  private mutating func drawUpdateFaults(_ random: inout Random) {
    echoesRequestIDs = random.chance(0.85)
    dropShare = random.chance(0.5) ? 0.02 + 0.2 * Double(random.below(10)) / 10 : 0
    duplicateShare = echoesRequestIDs && random.chance(0.4) ? 0.15 : 0
    reorders = echoesRequestIDs && !lossless && random.chance(0.6)
    usesFile = random.chance(0.3)
    kills = usesFile && random.chance(0.6)
    powerCuts = usesFile && random.chance(0.6)
    diskFailures = usesFile && random.chance(0.2)
    updates.things = random.chance(0.5)
    updates.broken = envelope && random.chance(0.5)
    updates.foreignCopies = envelope && random.chance(0.4)
    updates.replays = envelope && random.chance(0.5)
    updates.unreportedShare = random.chance(0.4) ? 0.05 + 0.3 * random.share() : 0
    updates.stallShare = random.chance(0.3) ? 0.02 : 0
    updates.lossShare = usesFile && random.chance(0.7) ? 0.03 : 0
    // Whether a message is still forgotten after a loss of power cannot be seen.
    if powerCuts || updates.lossShare > 0 { forgets = false }
  }

  /// What a line of such a world says more.
  var updateFlags: [(Bool, String)] {
    [
      (updates.isOn, "UPDATES"), (updates.things, "things"), (updates.broken, "broken"),
      (updates.foreignCopies, "foreign-copies"), (updates.replays, "replays"),
      (updates.unreportedShare > 0, "unreported"), (updates.stallShare > 0, "stalls"),
      (updates.lossShare > 0, "losses"),
    ]
  }
}

extension Random {
  /// A number from 0 to below 1.
  fileprivate mutating func share() -> Double { Double(below(1_000)) / 1_000 }
}
