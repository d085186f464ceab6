/// One or two devices of a user and a server that keeps a log, in virtual time, driven from a seed.
///
/// As `World`: everything is an event of the queue or a deadline of a client, nothing reads a clock
/// and nothing waits. Chaos comes first, then quiet, then the checks.
internal import Base

/// What a page tells of the server when it answered.
struct LogTold {
  var isPresent: Bool
  var serial: Int
  var epoch: Int
}

enum LogEvent {
  case toServer(device: Int, connection: Int, bytes: [UInt8])
  case toDevice(device: Int, connection: Int, bytes: [UInt8], told: LogTold?)
  case cut(device: Int, connection: Int, outageUs: Int64)
  case reconnect(device: Int)
  case hostTurn(device: Int)
  case serverTurn
  /// Nothing happens; time passes to here.
  case moment
}

final class LogDevice {
  let number: Int
  let client: any SimulatedClient
  let clock: VirtualClock
  var dice: Random
  var connection = 0
  var isUp = false
  var isReconnectPlanned = false
  var lastUpUs: Int64 = 0
  var lastDownUs: Int64 = 0
  var deadlineUs: Int64 = .max
  var killIsArmed = false
  var inputsUntilKill = 0
  var syncs: [UInt64] = []
  var screens: [LogScreen] = []
  var screensOpened = 0
  /// What it was told: all entries up to this one, in this epoch of the server.
  var presentSerial = 0
  var epoch = 0
  /// All that had ever come when the first page was made that reached the present.
  var firstSerial: Int?
  /// Which message a number stands for.
  var ids: [UInt64: [UInt8]] = [:]
  /// What it sent, by client id.
  var sends: [String: LogSend] = [:]
  /// Messages that it has changed itself.
  var touched: Set<String> = []
  /// The client ids that are shown as pending.
  var pending: Set<String> = []
  /// It hears that the server has an entry no more: where none of a range answers, none stays.
  var mayDrop = false
  /// How many pages it has asked for.
  var requests = 0
  /// How many of them the server knew no place for.
  var refusals = 0
  /// A book beside the engine; nil in all runs but those that compare the two.
  var shadow: LogShadow?

  init(_ number: Int, _ client: any SimulatedClient, _ clock: VirtualClock, seed: UInt64) {
    self.number = number
    self.client = client
    self.clock = clock
    dice = Random(seed: seed ^ 0x6465_7600 ^ UInt64(number) << 40)
  }

  var tideline: TidelineClient? { client as? TidelineClient }
}

/// A message that a device was to send.
struct LogSend {
  var seq: UInt64
  var number: UInt64
  var payload: String
  /// How often the user has asked for it.
  var tries = 1
  var isTakenBack = false
  /// It was here no more once: what comes again has another number.
  var hasGone = false
}

final class LogWorld {
  static let room = Array("c0".utf8)

  let knobs: LogKnobs
  let room: LogRoom
  var devices: [LogDevice] = []
  var trace: Trace
  var findings = Findings()
  var queue = EventQueue<LogEvent>()
  var serverDice: Random
  var networkDice: Random
  var isQuiet = false
  var turnsLeft: Int
  var nowUs: Int64 = 0
  /// By how much the server's clock was set.
  var stepUs: Int64 = 0
  private var connections = 0
  private var names = 0
  private let make: (Knobs, VirtualClock) throws -> any SimulatedClient
  /// Where each message stands among them, for one revision of the log.
  private var index: (revision: Int, ids: [[UInt8]: Int]) = (-1, [:])

  init(
    knobs: LogKnobs, recording: Trace.Recording,
    client make: @escaping (Knobs, VirtualClock) throws -> any SimulatedClient
  ) throws {
    self.knobs = knobs
    self.make = make
    trace = Trace(recording)
    room = LogRoom(kind: knobs.room, seed: knobs.seed ^ 0x726F_6F6D)
    serverDice = Random(seed: knobs.seed ^ 0x7365_7276_6572_6C00)
    networkDice = Random(seed: knobs.seed ^ 0x6E65_7477_6C6F_6700)
    turnsLeft = knobs.turns * knobs.devices
    for _ in 0..<knobs.devices { try addDevice() }
    for _ in 0..<knobs.backlog { append() }
  }

  /// One more, which knows nothing.
  @discardableResult
  func addDevice(usesFile: Bool? = nil) throws -> LogDevice {
    let clock = VirtualClock(skewUs: knobs.wallSkewUs)
    clock.move(to: nowUs)
    var device = knobs.device(devices.count)
    device.usesFile = usesFile ?? knobs.usesFile
    devices.append(
      LogDevice(devices.count, try make(device, clock), clock, seed: knobs.seed))
    return devices[devices.count - 1]
  }

  func discard() { for device in devices { device.client.discard() } }

  var serverUs: Int64 { World.epochUs + nowUs + stepUs }

  /// An id that was never given.
  func newID() -> String {
    names += 1
    return "\(serverDice.below(90) + 10)m\(names)"
  }

  /// Where each message of the log stands among its messages.
  var places: [[UInt8]: Int] {
    if index.revision != room.revision {
      var ids: [[UInt8]: Int] = [:]
      for (place, entry) in room.messages.enumerated() { ids[Array(entry.id.utf8)] = place }
      index = (room.revision, ids)
    }
    return index.ids
  }

  // MARK: Running

  func run() throws {
    for device in devices {
      plan(at: Int64(device.number) * 3_000, .reconnect(device: device.number))
      device.isReconnectPlanned = true
      plan(at: 10_000 + Int64(device.number) * 70_000, .hostTurn(device: device.number))
    }
    plan(at: 20_000, .serverTurn)
    var events = 0
    while turnsLeft > 0 {
      guard try step() else { throw Violation("nothing left to happen in chaos") }
      events += 1
      if events > 100_000 { throw Violation("chaos does not end") }
    }
    try finish()
  }

  func plan(at timeUs: Int64, _ event: LogEvent) { queue.plan(at: timeUs, event) }

  private func moveTime(to timeUs: Int64) {
    nowUs = max(nowUs, timeUs)
    for device in devices { device.clock.move(to: nowUs) }
  }

  /// Lets the next thing happen; false where nothing is planned.
  func step() throws -> Bool {
    let eventUs = queue.nextTimeUs ?? .max
    if let device = devices.min(by: { $0.deadlineUs < $1.deadlineUs }), device.deadlineUs < eventUs
    {
      moveTime(to: device.deadlineUs)
      trace.note(nowUs, "d\(device.number) deadline")
      try pump(device)
      try look(device)
      try lookAtShadows()
      return true
    }
    guard let (timeUs, event) = queue.pop() else { return false }
    moveTime(to: timeUs)
    try take(event)
    try lookAtShadows()
    return true
  }

  private func take(_ event: LogEvent) throws {
    switch event {
    case .toServer(let number, let connection, let bytes):
      let device = devices[number]
      if device.isUp, device.connection == connection { serve(device, bytes) }
    case .toDevice(let number, let connection, let bytes, let told):
      let device = devices[number]
      if device.isUp, device.connection == connection { try deliver(device, bytes, told) }
    case .cut(let number, let connection, let outageUs):
      let device = devices[number]
      if device.isUp, device.connection == connection { try cut(device, outageUs) }
    case .reconnect(let number): try reconnect(devices[number])
    case .hostTurn(let number): if !isQuiet { try hostTurn(devices[number]) }
    case .serverTurn: if !isQuiet { try serverTurn() }
    case .moment: break
    }
  }

  /// Hands one input to a client. Nil where a kill fell into it: then it has happened or not.
  func input<Result>(_ device: LogDevice, _ body: () throws -> Result) throws -> Result? {
    guard device.killIsArmed else { return try body() }
    let before = try image(device)
    let result = try body()
    device.inputsUntilKill -= 1
    guard device.client.imageTaken || device.inputsUntilKill <= 0 else { return result }
    let after = try image(device)
    device.killIsArmed = false
    try kill(device, expecting: device.client.imageTaken ? [before, after] : [after])
    return nil
  }

  func image(_ device: LogDevice) throws -> SimPage {
    try device.client.page(Self.room, limit: 10_000)
  }

  /// Lets a client act on the time and sends what it has to send.
  func pump(_ device: LogDevice) throws {
    var rounds = 0
    while true {
      guard let wait = try input(device, { try device.client.advance() }) else { return }
      var taken = 0
      while let frame = try device.client.nextFrame() {
        taken += 1
        try send(device, frame)
        guard try input(device, { try device.client.frameSent(frame.id) }) != nil else { return }
      }
      if taken == 0, wait != 0 {
        device.deadlineUs = wait < 0 ? .max : nowUs + wait * 1_000
        break
      }
      rounds += 1
      if rounds > 300 { throw Violation("advance does not settle") }
    }
    if device.isUp, try device.client.state().reconnectWanted {
      trace.note(nowUs, "d\(device.number) wants a new connection")
      try cut(device, 50_000)
    }
  }

  // MARK: Connections

  func planReconnect(_ device: LogDevice, afterUs: Int64) {
    if device.isReconnectPlanned { return }
    device.isReconnectPlanned = true
    plan(at: nowUs + afterUs, .reconnect(device: device.number))
  }

  private func reconnect(_ device: LogDevice) throws {
    device.isReconnectPlanned = false
    if device.isUp { return }
    connections += 1
    device.connection = connections
    device.isUp = true
    (device.lastUpUs, device.lastDownUs) = (nowUs, nowUs)
    trace.note(nowUs, "d\(device.number) connected")
    device.shadow?.connected()
    guard try input(device, { try device.client.connected() }) != nil else { return }
    try pump(device)
  }

  /// The connection breaks; what is under way in either direction is lost.
  func cut(_ device: LogDevice, _ outageUs: Int64) throws {
    guard device.isUp else { return }
    trace.note(nowUs, "d\(device.number) cut for \(outageUs / 1_000) ms")
    device.isUp = false
    planReconnect(device, afterUs: isQuiet ? 10_000 : outageUs)
    guard try input(device, { try device.client.disconnected() }) != nil else { return }
    try pump(device)
    try look(device)
  }

  // MARK: Kills

  /// Kills a client and opens its files again. What it shows then is one of `expected`.
  func kill(_ device: LogDevice, expecting expected: [SimPage]) throws {
    trace.note(nowUs, "d\(device.number) killed")
    findings.kills += 1
    lose(device)
    try device.client.killAndReopen()
    let found = try image(device)
    if device.client.claimsCoverage, !expected.contains(found) {
      throw Violation(
        "after a kill the client shows neither what it showed before nor after: "
          + World.difference([expected[0]], [found]))
    }
    try check(device)
    planReconnect(device, afterUs: isQuiet ? 10_000 : Int64(device.dice.below(3_000_000)))
    try pump(device)
  }

  /// What ends with a process.
  func lose(_ device: LogDevice) {
    device.isUp = false
    device.screens = []
    device.syncs = []
    device.deadlineUs = .max
  }

  func cutPower(_ device: LogDevice) throws {
    if device.killIsArmed { return }
    trace.note(nowUs, "d\(device.number) loses power")
    lose(device)
    guard try device.client.cutPowerAndReopen(&device.dice) else { return }
    findings.powerCuts += 1
    // An older state may be back.
    (device.presentSerial, device.epoch, device.ids) = (0, -1, [:])
    try check(device)
    planReconnect(device, afterUs: Int64(device.dice.below(3_000_000)))
    try pump(device)
  }
}
