/// What one seed draws: the server, the network, the device, and which faults exist at all.
///
/// Each seed leaves most faults out (swarm testing): a world with everything at once hides what a
/// world with two faults shows.
internal import Base

package struct Knobs: Sendable {
  package enum Declared: Sendable { case unknown, truth }

  package var seed: UInt64

  // The server.
  package var pageCap = 1_000
  package var keepsOldest = false
  package var pageSizesVary = false
  package var resolutionUs: Int64 = 1_000_000
  package var stampStyle = 0
  package var afterIsInclusive = false
  package var tiesByID = true
  package var echoesRequestIDs = true
  package var sendsServerTime = true
  package var sendsTotalCount = true
  package var orderedIDs = false
  package var latenessUs: Int64 = 0
  package var arrayDescending = false
  package var pushes = false
  package var deletionPageCap = 0
  package var deletionLatenessUs: Int64 = 0

  // What the device is told of the server: always true, at times less than all.
  package var declaresTruncates = true
  package var declaresTies = true
  package var declaresVarying = false
  package var declaresResolution = false
  package var absenceIsDeletion = false
  package var pageLimit = 50
  package var timeoutMs: Int64 = 10_000
  package var requestsMax = 4
  package var autoMarkRead = true

  // What happens on the server.
  package var conversations = 1
  package var backlog = 100
  package var burstShare = 0.0
  package var futureStamp = false
  package var deletions = false
  package var deletionRuns = false
  package var edits = false
  package var restores = false
  package var otherDeviceReads = false
  package var serverPauseUs: Int64 = 4_000_000

  // The network.
  package var latencyMinUs: Int64 = 5_000
  package var latencyMaxUs: Int64 = 200_000
  package var dropShare = 0.0
  package var duplicateShare = 0.0
  package var reorders = false
  package var cutShare = 0.0
  package var longOutages = false
  package var errorShare = 0.0
  package var hangShare = 0.0

  // The device.
  /// How far the device's wall clock is off; nil where it is not to be asked.
  package var wallSkewUs: Int64?
  package var usesFile = false
  package var kills = false
  package var forgets = false
  package var hostTurns = 25
  package var hostPauseUs: Int64 = 6_000_000

  // What the server can do beyond paging by offset; the profile says the same.
  package var before = false
  package var around = false
  package var changedSince = false
  package var sequence = false
  package var envelope = false
  package var previousIDs = false
  /// While connected no push is lost, doubled or out of order, and the profile says so.
  package var lossless = false
  /// How many messages are pushed at each connect.
  package var reconnectBatch = 0
  /// How long deletions are remembered; 0 for ever.
  package var horizonUs: Int64 = 0

  // What others do to messages.
  package var reactions = false
  package var pins = false
  package var otherReceipts = false
  /// Messages that no client can read.
  package var poison = false
  /// Updates with more items than a list may have, in worlds with an envelope.
  package var longLists = false
  /// Empty pages that say that there is more.
  package var contradictions = false
  /// Events, profiles and typing, in worlds with an envelope.
  package var entities = false
  /// Frames for another account.
  package var foreignFrames = false

  // Who looks on the way.
  /// Windows are polled after each input.
  package var looksAlways = false
  /// The counts of unread messages are looked at after each input.
  package var looksAtBadges = false
  package var looksAtOffers = false

  // Windows and the disk.
  /// The most windows open at once; 0 for none.
  package var screens = 0
  package var screenPauseUs: Int64 = 3_000_000
  /// At the end windows alone fetch everything, not a plain sync.
  package var screensFillFirst = false
  package var powerCuts = false
  package var diskFailures = false
  /// At times the disk cannot read either.
  package var readFailures = false
  /// A fault planted on purpose; no seed draws one.
  package var fault: PlantedFault?
  /// Which transaction fails at its COMMIT, and what comes then; no seed draws one.
  var commits: CommitPlan?
  package var afterFailure = AfterFailure.live
  package var updates = UpdateKnobs()
  package var operations = OperationKnobs()
  package var retention = RetentionKnobs()
  package var strangers = StrangerKnobs()
  /// The server keeps a log, with the fault that is planted: of the worlds of `LogKnobs` alone.
  var log: LogRoomKind?
  var logFault: String?
  var logRangesMax: Int?

  package init(seed: UInt64) {
    self.seed = seed
    var random = Random(seed: seed ^ 0x7469_6465_6C69_6E65)
    drawServer(&random)
    drawScene(&random)
    drawNetwork(&random)
    drawDevice(&random)
    // The seed says by its high bits what may be drawn, so that it replays by itself.
    let worlds = Worlds(rawValue: seed)
    var more = Random(seed: seed ^ 0x7769_6E64_6F77_7300)
    if worlds.contains(.abilities) { drawAbilities(&more) }
    // Who is told no time and has no clock cannot know how long it was away.
    if wallSkewUs == nil, !sendsServerTime { horizonUs = 0 }
    if worlds.contains(.marks) { drawMarks(&more) }
    if worlds.contains(.screens) { drawScreens(&more) }
    if worlds.contains(.updates) { drawUpdates() }
    if worlds.contains(.operations) { drawOperations() }
    var lists = Random(seed: seed ^ 0x6C6F_6E67_206C_6973)
    longLists = envelope && !updates.isOn && !operations.isOn && lists.chance(0.6)
    var harm = Random(seed: seed ^ 0x6861_726D)
    contradictions = harm.chance(0.25)
    readFailures = diskFailures && harm.chance(0.5)
    var eyes = Random(seed: seed ^ 0x6579_6573)
    looksAlways = screens > 0 && eyes.chance(0.3)
    looksAtBadges = eyes.chance(0.35)
    looksAtOffers = eyes.chance(0.35)
    // Where each message's stamp is past that of the one before, stamps may run faster than the
    // clock, and a deletion that lands a second late is stamped more than any overlap ago.
    if previousIDs {
      deletionLatenessUs = 0
      // Nor does a client know the clock then where no answer tells it.
      if !sendsServerTime { burstShare = 0 }
    }
    if worlds.contains(.retention) { drawRetention() }
    drawStrangers(worlds)
  }

  /// What seeds with these bits may draw beyond servers that page by offset.
  package struct Worlds: OptionSet, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
      self.rawValue = rawValue
    }

    /// Capabilities, envelopes, lossless push.
    package static let abilities = Worlds(rawValue: 1 << 40)
    /// Reactions, pins, receipts, entities, quarantined items.
    package static let marks = Worlds(rawValue: 1 << 41)
    /// Windows, power cuts, failing disks.
    package static let screens = Worlds(rawValue: 1 << 42)
    package static let all: Worlds = [.abilities, .marks, .screens]
    /// Much is told unasked, little is asked for; see `UpdateKnobs`.
    package static let updates = Worlds(rawValue: 1 << 43)
    /// A user who acts, also offline; see `OperationKnobs`.
    package static let operations = Worlds(rawValue: 1 << 44)

    /// A host that keeps a part only; see `RetentionKnobs`.
    package static let retention = Worlds(rawValue: 1 << 45)

    /// A server that keeps a log: worlds of their own, which `LogKnobs` draws.
    package static let log = Worlds(rawValue: 1 << 46)

    /// Deleted messages come back, and no message has a version. Not in the mix: some seeds fail.
    package static let returns = Worlds(rawValue: 1 << 47)

    /// Deletions and changes are asked for by cursors that pages name.
    package static let cursors = Worlds(rawValue: 1 << 48)

    /// The seed of a number among the worlds of the log.
    package static func logged(_ number: UInt64) -> UInt64 {
      number & (1 << 40 - 1) | Worlds.log.rawValue
    }

    /// The seed of a number among the worlds of retention.
    package static func kept(_ number: UInt64) -> UInt64 {
      let worlds: Worlds =
        switch number % 8 {
        case 0: []
        case 1: [.abilities, .marks]
        case 2, 3: .screens
        case 4: .operations
        default: .all
        }
      return number & (1 << 40 - 1) | worlds.union(.retention).rawValue
    }

    /// The seed of a number in the mix that is tested: which worlds it is of goes by the number,
    /// and the seed has the bits, so that it replays by itself.
    package static func mixed(_ number: UInt64) -> UInt64 {
      let worlds: Worlds =
        switch number % 20 {
        case 0..<4: []
        case 4..<6: .operations
        case 6..<8: .abilities
        case 8: .marks
        case 9..<12: [.abilities, .marks]
        case 12..<15: .screens
        case 15..<17: .updates
        default: .all
        }
      return number & (1 << 40 - 1) | worlds.rawValue
    }
  }

  private mutating func drawServer(_ random: inout Random) {
    pageLimit = [50, 50, 50, 20, 100][random.below(5)]
    pageCap = random.chance(0.6) ? 3 + random.below(Swift.min(48, pageLimit - 2)) : 1_000
    keepsOldest = random.chance(0.5)
    pageSizesVary = random.chance(0.2)
    resolutionUs = [1_000_000, 1_000_000, 1_000, 1][random.below(4)]
    stampStyle = random.below(4)
    afterIsInclusive = random.chance(0.3)
    tiesByID = random.chance(0.55)
    echoesRequestIDs = random.chance(0.7)
    sendsServerTime = random.chance(0.5)
    sendsTotalCount = random.chance(0.8)
    orderedIDs = random.chance(0.4)
    latenessUs = random.chance(0.5) ? Int64(random.below(4_000_001)) : 0
    arrayDescending = random.chance(0.3)
    pushes = random.chance(0.4)
    deletionPageCap = random.chance(0.2) ? 1 + random.below(20) : 0
    deletionLatenessUs = random.chance(0.3) ? Int64(random.below(4_000_001)) : 0
    declaresTruncates = random.chance(0.65)
    declaresTies = random.chance(0.5)
    declaresVarying = pageSizesVary || random.chance(0.05)
    declaresResolution = random.chance(0.2)
    absenceIsDeletion = random.chance(0.2)
  }

  private mutating func drawScene(_ random: inout Random) {
    conversations = [1, 1, 2, 3][random.below(4)]
    // Longer than two pages, but for some: a longer one only repeats what these show.
    let page = Swift.min(pageCap, pageLimit)
    backlog = random.chance(0.15) ? random.below(4) : 2 * page + 1 + random.below(2 * page + 40)
    burstShare = random.chance(0.5) ? 0.02 + 0.1 * Double(random.below(10)) / 10 : 0
    futureStamp = random.chance(0.15)
    deletions = random.chance(0.5)
    deletionRuns = random.chance(0.3)
    edits = random.chance(0.35)
    // Where absence is deletion, what a restore lost is only deleted: no client can tell.
    restores = !futureStamp && !absenceIsDeletion && random.chance(0.12)
    otherDeviceReads = random.chance(0.25)
    serverPauseUs = Int64([500_000, 2_000_000, 6_000_000, 30_000_000][random.below(4)])
  }

  private mutating func drawNetwork(_ random: inout Random) {
    latencyMaxUs = [20_000, 200_000, 1_500_000][random.below(3)]
    dropShare = random.chance(0.3) ? 0.01 + 0.12 * Double(random.below(10)) / 10 : 0
    duplicateShare = echoesRequestIDs && random.chance(0.3) ? 0.1 : 0
    reorders = echoesRequestIDs && random.chance(0.3)
    cutShare = random.chance(0.5) ? 0.01 + 0.04 * Double(random.below(10)) / 10 : 0
    longOutages = random.chance(0.4)
    errorShare = random.chance(0.3) ? 0.08 : 0
    hangShare = random.chance(0.2) ? 0.04 : 0
  }

  private mutating func drawDevice(_ random: inout Random) {
    timeoutMs = Int64([5_000, 10_000, 30_000][random.below(3)])
    requestsMax = [1, 2, 4, 4][random.below(4)]
    autoMarkRead = random.chance(0.5)
    let year: Int64 = 31_557_600_000_000
    wallSkewUs = [nil, 0, 3 * year, -3 * year][random.below(4)]
    usesFile = random.chance(0.13)
    kills = usesFile && random.chance(0.8)
    forgets = random.chance(0.25)
    hostTurns = 8 + random.below(20)
    // Where much happens the host does not sleep through most of it.
    let pause = Int64([1_000_000, 5_000_000, 20_000_000][random.below(3)])
    hostPauseUs = Swift.min(pause, serverPauseUs * 12)
  }
}
