/// The command: reads the options, opens the world, listens, waits for a signal.

import ArgumentParser
import Glibc
import NIOCore
import NIOPosix
import ReferenceServer

@main
struct TidelineServer: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tideline-server",
    abstract: "A reference server of the Tideline protocol, on this machine only.",
    discussion: """
      Speaks WebSocket (one frame an object) and newline-delimited JSON over TCP. Fills itself \
      from a seed unless the file already holds a world. See README.md for the first frame and \
      for the admin requests.
      """)

  @OptionGroup(title: "Ports and world") var world: WorldOptions
  @OptionGroup(title: "What kind of server to be") var knobs: KnobOptions

  func run() throws {
    // Blocked before any thread exists, so that only `sigwait` below gets them.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGINT)
    sigaddset(&signals, SIGTERM)
    pthread_sigmask(SIG_BLOCK, &signals, nil)

    // One thread: the world is confined to it and needs no lock.
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    defer { try? group.syncShutdownGracefully() }
    let loop = group.any()
    let options = world
    let serverKnobs = try knobs.make()
    let world = try loop.submit {
      NIOLoopBound(try World(options: options, knobs: serverKnobs, loop: loop), eventLoop: loop)
    }.wait()

    let lines = try bind(listenForLines(group, world), "--tcp-port", options.tcpPort)
    let webSockets = try bind(listenForWebSockets(group, world), "--ws-port", options.wsPort)
    let tcp = lines.localAddress?.port ?? 0
    let ws = webSockets.localAddress?.port ?? 0
    try loop.submit { world.value.start() }.wait()
    print("tideline-server ready tcp=\(tcp) ws=\(ws)")
    fflush(nil)

    var received: Int32 = 0
    sigwait(&signals, &received)
    try lines.close().wait()
    try webSockets.close().wait()
    try loop.submit { try world.value.stop() }.wait()
  }

  /// Listens on a port of this machine. A failure names the option, the port and the reason.
  private func bind(
    _ bootstrap: ServerBootstrap, _ option: String, _ port: Int
  ) throws -> any Channel {
    do {
      return try bootstrap.bind(host: "127.0.0.1", port: port).wait()
    } catch let error as IOError {
      throw PortFailure(
        description: "\(option) \(port): \(String(cString: strerror(error.errnoCode)))")
    }
  }
}

/// A port on which the server cannot listen.
private struct PortFailure: Error, CustomStringConvertible {
  let description: String
}

/// Where to listen and what world to serve.
struct WorldOptions: ParsableArguments, Sendable {
  @Option(help: "The WebSocket port; 0 chooses one and prints it.")
  var wsPort = 0

  @Option(help: "The port of newline-delimited JSON over TCP; 0 chooses one and prints it.")
  var tcpPort = 0

  @Option(name: .customLong("db"), help: "The SQLite file; without it the world is forgotten.")
  var file: String?

  @Option(help: "The seed of the data set and of every chance.")
  var seed: UInt64 = 1

  @Option(help: "How many messages a new world holds; 0 for an empty one.")
  var messages = 20_000

  @Option(help: "How many conversations a new world holds.")
  var conversations = 50

  @Option(help: "The ISO 8601 time at which a new world ends; the default is now.")
  var until: String?

  @Option(help: "New messages per second, by other users.")
  var live = 0.0

  func validate() throws {
    guard (0...65_535).contains(wsPort), (0...65_535).contains(tcpPort) else {
      throw ValidationError("A port lies between 0 and 65535.")
    }
    guard (0...2_000_000).contains(messages), (1...10_000).contains(conversations) else {
      throw ValidationError("Up to 2,000,000 messages in 1 to 10,000 conversations.")
    }
    guard (0...10_000).contains(live) else {
      throw ValidationError("Up to 10,000 live messages per second.")
    }
    if let until, ServerTime.parse(until) == nil {
      throw ValidationError("--until is not an ISO 8601 time.")
    }
  }
}

/// What a server can do beyond the protocol's first form.
enum Capability: String, ExpressibleByArgument, CaseIterable {
  case before, around
  case changedSince = "changed_since"
  case sequence
  case prevID = "prev_id"
  case envelope
  case idempotentSend = "idempotent_send"

  func turnOn(_ knobs: inout ServerKnobs) {
    switch self {
    case .before: knobs.takesBefore = true
    case .around: knobs.takesAround = true
    case .changedSince: knobs.tellsChanges = true
    case .sequence: knobs.numbersMessages = true
    case .prevID: knobs.sendsPreviousIDs = true
    case .envelope: knobs.envelope = true
    case .idempotentSend: knobs.idempotentSends = true
    }
  }
}

enum PushKind: String, ExpressibleByArgument, CaseIterable {
  case bestEffort = "best-effort"
  case lossless
}

extension ServerKnobs.Truncation: ExpressibleByArgument {}
extension ServerKnobs.StampStyle: ExpressibleByArgument {}
extension ServerKnobs.Ties: ExpressibleByArgument {}
extension ServerKnobs.ArrayOrder: ExpressibleByArgument {}
extension ServerKnobs.IDStyle: ExpressibleByArgument {}

/// Each knob of the model as an option.
struct KnobOptions: ParsableArguments, Sendable {
  @Option(help: "A capability to have; give it once for each.")
  var capability: [Capability] = []

  @Option(help: "Whether --drop-rate takes pushes and updates too.")
  var push = PushKind.bestEffort

  @Option(help: "How many of the newest messages are pushed to a new connection.")
  var pushesAtConnect = 0

  @Flag(inversion: .prefixedNo, help: "Send answers to commands in envelopes.")
  var envelopedAnswers = true

  @Flag(inversion: .prefixedNo, help: "Send client_id with what was sent or made with one.")
  var clientIds = true

  @Flag(inversion: .prefixedNo, help: "Tell the connection that asked what it has done.")
  var tellSender = true

  @Flag(inversion: .prefixedNo, help: "Answer a change with the message or conversation as it is.")
  var answerResults = true

  @Flag(inversion: .prefixedNo, help: "Send version and edited_at with messages.")
  var versions = true

  @Flag(help: "Push only what a connection has subscribed to.")
  var needSubscribe = false

  @Option(help: "The largest payload in bytes; 0 for any.")
  var payloadMax = 0

  @Flag(inversion: .prefixedNo, help: "Send has_more with pages.")
  var hasMore = false

  @Option(help: "The largest answer of changes; 0 for no cap.")
  var changeCap = 0

  @Flag(help: "Keep each conversation as a log, which is read by get_entries.")
  var log = false

  @Option(help: "How long tokens of a log are known, in seconds; 0 for ever.")
  var logTokenS = 0

  @Option(help: "Answer with the newest page, behind a gap, where more entries are missing.")
  var logGap = 0

  @Flag(inversion: .prefixedNo, help: "Let pushes of a log name the entry before.")
  var logPrev = true

  @Option(help: "Which end of a full after_ts page is kept.")
  var truncates = ServerKnobs.Truncation.newest

  @Option(help: "The largest page, whatever is asked; 0 for no cap.")
  var pageCap = 0

  @Flag(help: "Cut each page at a size of the server's choosing.")
  var pagesVary = false

  @Option(help: "Resolution of printed and compared times: s, ms, us or microseconds.")
  var resolution = "s"

  @Option(help: "How times are written.")
  var stamps = ServerKnobs.StampStyle.bare

  @Option(help: "The zone of times in minutes east of UTC.")
  var zone = 0

  @Flag(help: "Let after_ts and since include their own tick.")
  var inclusive = false

  @Option(help: "The order of messages with the same printed time.")
  var ties = ServerKnobs.Ties.id

  @Option(help: "How the array of a page is laid out.")
  var order = ServerKnobs.ArrayOrder.ascending

  @Option(help: "What new ids look like.")
  var ids = ServerKnobs.IDStyle.random

  @Flag(inversion: .prefixedNo, help: "Echo request ids.")
  var echo = true

  @Flag(inversion: .prefixedNo, help: "Send server_time with answers.")
  var serverTime = false

  @Flag(inversion: .prefixedNo, help: "Send total_count with pages.")
  var totalCount = true

  @Option(help: "Messages become visible up to this much after their stamp.")
  var lateMs = 0

  @Option(help: "Deletions become visible up to this much after their stamp.")
  var lateDeletionsMs = 0

  @Option(help: "The largest answer of deletions; 0 for no cap.")
  var deletionCap = 0

  @Option(help: "How long deletions are remembered, in seconds; 0 for ever.")
  var deletionHorizonS = 0

  @Option(help: "Delay of each answer and push.")
  var latencyMs = 0

  @Option(help: "The share of answers and pushes that never leave, from 0 to 1.")
  var dropRate = 0.0

  func make() throws -> ServerKnobs {
    let bounds = [
      pageCap, deletionCap, lateMs, lateDeletionsMs, latencyMs, deletionHorizonS, changeCap,
      pushesAtConnect, payloadMax, logTokenS, logGap,
    ]
    guard bounds.allSatisfy({ (0...1_000_000_000).contains($0) }), (0...1).contains(dropRate),
      (-1_439...1_439).contains(zone)
    else { throw ValidationError("A knob is out of its range.") }
    var knobs = ServerKnobs()
    for each in capability { each.turnOn(&knobs) }
    let places: [Capability] = [.before, .around, .changedSince, .sequence, .prevID, .envelope]
    guard !log || capability.allSatisfy({ !places.contains($0) }) && pushesAtConnect == 0 else {
      throw ValidationError("A log has places and pushes of its own.")
    }
    knobs.keepsLog = log
    knobs.tokenLifeUs = Int64(logTokenS) * 1_000_000
    knobs.logGapMin = logGap
    knobs.sendsPreviousEntries = logPrev
    knobs.pushIsLossless = push == .lossless
    knobs.pushesAtConnect = pushesAtConnect
    knobs.answersInEnvelope = envelopedAnswers
    knobs.echoesClientIDs = clientIds
    knobs.tellsSender = tellSender
    knobs.answersWithResult = answerResults
    knobs.tellsVersions = versions
    knobs.needsSubscribing = needSubscribe
    knobs.payloadBytesMax = payloadMax
    knobs.sendsHasMore = hasMore
    knobs.changePageCap = changeCap
    knobs.truncates = truncates
    knobs.pageCap = pageCap
    knobs.pageSizesVary = pagesVary
    knobs.timeResolutionUs = try resolutionUs()
    knobs.stampStyle = stamps
    knobs.zoneMinutes = zone
    knobs.afterInclusive = inclusive
    knobs.ties = ties
    knobs.arrayOrder = order
    knobs.idStyle = ids
    knobs.echoesRequestIDs = echo
    knobs.sendsServerTime = serverTime
    knobs.sendsTotalCount = totalCount
    knobs.commitLatenessMaxUs = Int64(lateMs) * 1_000
    knobs.deletionLatenessMaxUs = Int64(lateDeletionsMs) * 1_000
    knobs.deletionPageCap = deletionCap
    knobs.deletionHorizonUs = Int64(deletionHorizonS) * 1_000_000
    knobs.latencyMs = latencyMs
    knobs.dropRate = dropRate
    return knobs
  }

  private func resolutionUs() throws -> Int64 {
    switch resolution {
    case "s": return 1_000_000
    case "ms": return 1_000
    case "us": return 1
    default:
      guard let us = Int64(resolution), (1...1_000_000).contains(us), 1_000_000 % us == 0 else {
        throw ValidationError("--resolution is s, ms, us or a part of a second in microseconds.")
      }
      return us
    }
  }
}
