/// What a seed of the log's worlds draws: the server, what happens on it, the network, the devices.
///
/// As everywhere each seed leaves most faults out.
internal import Base

package struct LogKnobs: Sendable {
  let seed: UInt64
  var room = LogRoomKind()
  var devices = 1
  var pageLimit = 20
  var backlog = 40
  var turns = 20
  var serverPauseUs: Int64 = 4_000_000
  var hostPauseUs: Int64 = 4_000_000

  // What happens on the server.
  var changes = false
  var takesBack = false
  var backDates = false
  var clockSteps = false
  var purges = false
  var restores = false
  /// Of what came last some is lost, as where a machine takes over from another.
  var losesTail = false
  /// Almost all may be purged.
  var purgesMost = false
  var expires = false
  var pushes = true
  /// Many entries at once, as after a burst.
  var bursts = false

  // The network.
  var latencyMaxUs: Int64 = 200_000
  var dropShare = 0.0
  var duplicateShare = 0.0
  var reorders = false
  var cutShare = 0.0
  var longOutages = false
  var errorShare = 0.0
  var hangShare = 0.0

  // The devices.
  var timeoutMs: Int64 = 10_000
  var requestsMax = 4
  var wallSkewUs: Int64?
  var usesFile = false
  var kills = false
  var powerCuts = false
  var acts = false
  var screens = 0
  var autoMarkRead = false
  /// How many ranges a device tells apart, where these are fewer than anywhere else.
  var rangesMax: Int?

  /// Faults planted on purpose; no seed draws one.
  package var fault: PlantedFault?
  /// By its name, since only builds for it have any.
  package var logFault: String?

  package init(seed: UInt64) {
    self.seed = seed
    var random = Random(seed: seed ^ 0x6C6F_6773_0000_0000)
    drawRoom(&random)
    drawScene(&random)
    drawNetwork(&random)
    drawDevices(&random)
    var more = Random(seed: seed ^ 0x6D6F_7265_6C6F_6773)
    drawMore(&more)
    var ranges = Random(seed: seed ^ 0x7261_6E67_6573_0000)
    if ranges.chance(0.15) { rangesMax = 3 + ranges.below(6) }
  }

  private mutating func drawRoom(_ random: inout Random) {
    room.hasStream = random.chance(0.5)
    room.refusesUnknown = random.chance(0.6)
    room.namesEpoch = random.chance(0.5)
    room.marksInPlace = random.chance(0.35)
    room.leaves = !room.marksInPlace && random.chance(0.2)
    // An id that left names no place any more.
    if room.leaves { room.hasStream = true }
    room.filters = random.chance(0.25)
    room.hasGaps = random.chance(0.35)
    room.namesPrevious = random.chance(0.8)
    let findsNone = random.chance(0.3)
    pageLimit = [4, 7, 12, 20, 50][random.below(5)]
    room.cap = random.chance(0.4) ? 2 + random.below(12) : 100
    room.tokens = [.plain, .plain, .plain, .long, .fresh, .bound][random.below(6)]
    // Where nothing is refused a token must count where the profile says that it does.
    if room.tokens == .bound, !room.refusesUnknown { room.tokens = .fresh }
    room.takesAround = !(findsNone && room.refusesUnknown && room.tokens != .bound)
    room.idempotent = random.chance(0.5)
    room.echoesClientIDs = random.chance(0.75)
    room.tellsSender = random.chance(0.6)
  }

  private mutating func drawScene(_ random: inout Random) {
    backlog = random.chance(0.15) ? random.below(3) : 5 + random.below(90)
    turns = 10 + random.below(22)
    serverPauseUs = [500_000, 2_000_000, 6_000_000, 20_000_000][random.below(4)]
    changes = random.chance(0.75)
    takesBack = changes && random.chance(0.4)
    backDates = random.chance(0.5)
    clockSteps = random.chance(0.3)
    purges = random.chance(0.25)
    restores = random.chance(0.25)
    expires = random.chance(0.35)
    pushes = random.chance(0.75)
    bursts = random.chance(0.4)
    // What expired leads nowhere then, and its gap stays.
    if purges || restores || expires || room.leaves || room.marksInPlace { room.takesAround = true }
  }

  /// With dice of its own, so that it is drawn for a seed that has the rest as it was.
  private mutating func drawMore(_ random: inout Random) {
    losesTail = restores && !room.leaves && random.chance(0.5)
    purgesMost = purges && random.chance(0.4)
    room.isHollow = room.filters && room.tokens == .fresh && random.chance(0.4)
    // Where neither is said no token may outlive its connection.
    if !room.refusesUnknown, !room.namesEpoch, random.chance(0.2) { room.tokens = .bound }
  }

  private mutating func drawNetwork(_ random: inout Random) {
    latencyMaxUs = [20_000, 200_000, 1_500_000][random.below(3)]
    dropShare = random.chance(0.35) ? 0.01 + 0.012 * Double(random.below(10)) : 0
    duplicateShare = random.chance(0.3) ? 0.1 : 0
    reorders = random.chance(0.3)
    cutShare = random.chance(0.5) ? 0.01 + 0.005 * Double(random.below(10)) : 0
    longOutages = random.chance(0.4)
    errorShare = random.chance(0.3) ? 0.08 : 0
    hangShare = random.chance(0.2) ? 0.04 : 0
  }

  private mutating func drawDevices(_ random: inout Random) {
    devices = random.chance(0.35) ? 2 : 1
    timeoutMs = [5_000, 10_000, 30_000][random.below(3)]
    requestsMax = [1, 2, 4, 4][random.below(4)]
    let year: Int64 = 31_557_600_000_000
    wallSkewUs = [nil, 0, 3 * year, -3 * year][random.below(4)]
    usesFile = random.chance(0.3)
    kills = usesFile && random.chance(0.85)
    powerCuts = usesFile && random.chance(0.3)
    acts = random.chance(0.6)
    screens = random.chance(0.65) ? 1 + random.below(2) : 0
    autoMarkRead = random.chance(0.2)
    hostPauseUs = min([1_000_000, 5_000_000, 20_000_000][random.below(3)], serverPauseUs * 6)
  }

  /// What a device is made of, in the words of the other worlds.
  func device(_ number: Int) -> Knobs {
    var knobs = Knobs(seed: seed & (1 << 40 - 1) ^ UInt64(number) << 32)
    knobs.pageLimit = pageLimit
    (knobs.timeoutMs, knobs.requestsMax) = (timeoutMs, requestsMax)
    (knobs.usesFile, knobs.autoMarkRead) = (usesFile, autoMarkRead)
    (knobs.absenceIsDeletion, knobs.declaresResolution) = (false, false)
    knobs.operations.idempotent = room.idempotent
    knobs.log = room
    (knobs.fault, knobs.logFault, knobs.logRangesMax) = (fault, logFault, rangesMax)
    return knobs
  }

  package var line: String {
    var words = [
      "seed \(seed)", "log", room.hasStream ? "stream" : "ids", "tokens \(room.tokens.rawValue)",
      "page \(pageLimit) cap \(room.cap)", "backlog \(backlog)", "turns \(turns)",
      "devices \(devices)", "latency \(latencyMaxUs / 1_000)",
    ]
    let flags: [(String, Bool)] = [
      ("refuses", room.refusesUnknown), ("epoch", room.namesEpoch), ("marks", room.marksInPlace),
      ("leaves", room.leaves), ("filters", room.filters), ("gaps", room.hasGaps),
      ("prev", room.namesPrevious), ("around", room.takesAround), ("once", room.idempotent),
      ("names", room.echoesClientIDs), ("tellsSender", room.tellsSender), ("changes", changes),
      ("takesBack", takesBack), ("backDates", backDates), ("steps", clockSteps),
      ("purges", purges), ("restores", restores), ("tail", losesTail),
      ("most", purgesMost), ("hollow", room.isHollow), ("expires", expires), ("pushes", pushes),
      ("bursts", bursts), ("reorders", reorders), ("outages", longOutages), ("file", usesFile),
      ("kills", kills), ("power", powerCuts), ("acts", acts), ("reads", autoMarkRead),
    ]
    words += flags.filter(\.1).map(\.0)
    let shares: [(String, Double)] = [
      ("drop", dropShare), ("double", duplicateShare), ("cut", cutShare), ("error", errorShare),
      ("hang", hangShare),
    ]
    words += shares.filter { $0.1 > 0 }.map { "\($0.0) \(Int($0.1 * 1_000))" }
    if screens > 0 { words.append("screens \(screens)") }
    return words.joined(separator: " ")
  }
}
