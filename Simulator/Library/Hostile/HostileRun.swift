/// One seed of a hostile server: so many frames, calls of the host between them, and what it cost.
///
/// A trap ends the process, which is how it is found. All else that is judged is bounded here.
internal import Base
internal import Engine
internal import Foundation
internal import Glibc

/// What a seed came to.
public struct HostileReport: Codable, Sendable {
  /// What the order of a server's messages is by.
  public enum Scheme: String, Codable, Sendable, CaseIterable {
    case time, number, log
  }

  public var seed: UInt64
  public var scheme = Scheme.time
  public var frames = 0
  public var requests = 0
  /// Of the sync of the host that made most.
  public var requestsOfASync = 0
  public var residentGrowth = 0
  public var fileBytes = 0
  /// CPU time of the longest call, in microseconds: a figure, which nothing is judged by.
  public var longestCallUs = 0
  public var reopenings = 0
  public var failures: [String: Int] = [:]
  /// What was not as it must be.
  public var trouble: String?

  public init(seed: UInt64) {
    self.seed = seed
  }
}

public enum Hostile {
  /// What no sync may ask more often, however long the run.
  static let requestsOfASyncMax = 2_200
  /// No frames of one seed may make the file or the process grow beyond these.
  static let fileBytesMax = 256 << 20
  static let growthMax = 1 << 30

  public static func run(_ seed: UInt64, frames: Int) -> HostileReport {
    var report = HostileReport(seed: seed)
    let before = residentBytes()
    do {
      try HostileRun(seed).play(frames, &report)
    } catch {
      report.trouble = (error as? HostileTrouble)?.text ?? "\(error)"
    }
    report.residentGrowth = max(0, residentBytes() - before)
    if report.trouble == nil { report.trouble = excess(report) }
    return report
  }

  private static func excess(_ report: HostileReport) -> String? {
    if report.fileBytes > fileBytesMax { return "the file has \(report.fileBytes) bytes" }
    if report.residentGrowth > growthMax { return "\(report.residentGrowth) bytes are held" }
    if report.requestsOfASync > requestsOfASyncMax {
      return "a sync made \(report.requestsOfASync) requests"
    }
    return nil
  }

  /// What the process has in memory.
  private static func residentBytes() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }
}

private final class HostileRun {
  private let seed: UInt64
  private var dice: Random
  private var server: HostileServer
  private var config: ClientConfig
  private let folder: URL?
  private let clock = Lock(Instant(monotonicMs: 1_000, wallUs: 1_771_193_745_000_000))

  init(_ seed: UInt64) throws {
    self.seed = seed
    dice = Random(seed: seed &* 0x9E37_79B9_7F4A_7C15)
    var file = ClientConfig.File.memory
    if seed.isMultiple(of: 4) {
      let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("hostile-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      self.folder = folder
      file = .path(
        folder.path + "/chat", key: HostKey([UInt8](repeating: 9, count: 32)), create: true,
        strict: false)
    } else {
      folder = nil
    }
    config = ClientConfig(file: file, account: Array("a".utf8), user: Array("me".utf8))
    config.seed = seed | 1
    config.autoMarkRead = dice.chance(0.3)
    config.autoMarkDelivered = dice.chance(0.3)
    config.requestsMax = dice.below(2) == 0 ? 4 : 64
    config.profile = Self.profile(&dice)
    // Drawn apart: the other seeds keep their servers.
    if seed % 3 == 2 { config.profile = Self.log(config.profile, Random(seed: seed &+ 1)) }
    server = HostileServer(seed: seed, config.profile)
    let clock = clock
    config.clock = { clock.withLock { $0 } }
  }

  deinit {
    if let folder { try? FileManager.default.removeItem(at: folder) }
  }

  private static func profile(_ dice: inout Random) -> Profile {
    var profile = Profile()
    profile.pageLimit = [1, 7, 50, 1_000][dice.below(4)]
    profile.truncates = [.unknown, .oldest, .newest][dice.below(3)]
    profile.ties = [.unknown, .id, .arrival][dice.below(3)]
    profile.pageSizeVaries = dice.chance(0.3)
    profile.absenceIsDeletion = dice.chance(0.3)
    profile.timeResolutionUs = [0, 1, 1_000_000, 86_400_000_000][dice.below(4)]
    profile.overlapUs = [1_000, 5_000_000, Int64(UInt32.max) * 1_000][dice.below(3)]
    profile.deletionHorizonUs = [0, 1_000_000, Int64(UInt32.max) * 1_000_000][dice.below(3)]
    profile.zoneOffsetMinutes = [0, -1_439, 1_439][dice.below(3)]
    profile.pushIsLossless = dice.chance(0.5)
    profile.refsMax = [1, 50, 100_000][dice.below(3)]
    profile.pagesMax = [1, 20, 1_000][dice.below(3)]
    profile.countsHidden = dice.chance(0.3)
    for bit in 0..<6 as Range<UInt32> where dice.chance(0.4) {
      profile.capabilities.insert(Profile.Capabilities(rawValue: 1 << bit))
    }
    return profile
  }

  /// The profile of a server that keeps a log: what is declared of the others is not of it.
  private static func log(_ other: Profile, _ dice: Random) -> Profile {
    var (profile, dice) = (Profile(), dice)
    profile.pageLimit = other.pageLimit
    profile.pageSizeVaries = other.pageSizeVaries
    profile.timeResolutionUs = other.timeResolutionUs
    profile.zoneOffsetMinutes = other.zoneOffsetMinutes
    profile.pushIsLossless = other.pushIsLossless
    profile.refsMax = other.refsMax
    profile.pagesMax = other.pagesMax
    profile.capabilities = other.capabilities.intersection(.idempotentSend)
    profile.othersEdit = dice.chance(0.3)
    profile.keepsLog(refusesUnknown: dice.chance(0.5), namesEpoch: dice.chance(0.5))
    return profile
  }

  private var scheme: HostileReport.Scheme {
    if config.profile.log != nil { return .log }
    return config.profile.capabilities.contains(.sequence) ? .number : .time
  }

  func play(_ frames: Int, _ report: inout HostileReport) throws {
    report.scheme = scheme
    var client = try Client.open(config)
    defer { client.close() }
    var host = HostileHost(client, seed: seed)
    try host.attempt { () throws(Failure) in try client.connected() }
    // Where nobody asks for anything, pushes and calls come all the same.
    while report.frames < frames {
      switch dice.below(100) {
      case 0..<55: try carry(client, host, &report)
      case 55..<72: try receive(server.push(), client, host, &report)
      case 72..<96: try host.act()
      case 96, 97:
        try host.attempt { () throws(Failure) in
          move()
          _ = try client.advance()
        }
      case 98: try reconnect(client, host)
      default:
        guard folder != nil, dice.chance(0.5) else { continue }
        host = try reopen(&client, host, &report)
      }
    }
    try host.noteSyncs()
    try note(client, host, &report)
    host.closeAll()
  }

  /// Takes a frame of the client and answers it.
  private func carry(
    _ client: Client, _ host: HostileHost, _ report: inout HostileReport
  ) throws {
    let frame = try host.attempt { () throws(Failure) in try client.nextFrame() }
    guard let frame = frame ?? nil else {
      return try receive(server.push(), client, host, &report)
    }
    report.requests += 1
    if dice.chance(0.8) {
      try host.attempt { () throws(Failure) in _ = try client.frameSent(frame.id) }
    }
    for answer in server.answers(to: frame.bytes) { try receive(answer, client, host, &report) }
  }

  private func receive(
    _ frame: String, _ client: Client, _ host: HostileHost, _ report: inout HostileReport
  ) throws {
    report.frames += 1
    try host.attempt { () throws(Failure) in _ = try client.receive(Array(frame.utf8)) }
  }

  private func reconnect(_ client: Client, _ host: HostileHost) throws {
    if dice.chance(0.7) { try host.attempt { () throws(Failure) in try client.disconnected() } }
    move()
    try host.attempt { () throws(Failure) in try client.connected() }
  }

  private func reopen(
    _ client: inout Client, _ host: HostileHost, _ report: inout HostileReport
  ) throws -> HostileHost {
    try host.noteSyncs()
    try note(client, host, &report)
    host.closeAll()
    client.close()
    report.reopenings += 1
    client = try Client.open(config)
    let next = HostileHost(client, seed: dice.next())
    let reopened = client
    try next.attempt { () throws(Failure) in try reopened.connected() }
    return next
  }

  /// Both clocks go on, mostly a little, and at times as no clock does.
  private func move() {
    let step = [10, 1_000, 40_000, 900_000, 86_400_000 * 200][dice.below(5)]
    let odd: [Int64] = [
      .min, .min / 4, -1, 0, 9_223_372_036_854_775, 9_220_000_000_000_000, .max / 4, .max,
    ]
    let isOdd = dice.chance(0.1)
    let (mono, wall) = (odd[dice.below(8)], odd[dice.below(8)])
    clock.withLock { now in
      if isOdd {
        now = Instant(monotonicMs: mono, wallUs: dice.chance(0.5) ? wall : nil)
      } else {
        now.monotonicMs = now.monotonicMs &+ Int64(step)
        now.wallUs = now.wallUs.map { $0 &+ Int64(step) &* 1_000 }
      }
    }
  }

  private func note(
    _ client: Client, _ host: HostileHost, _ report: inout HostileReport
  ) throws {
    report.requestsOfASync = max(report.requestsOfASync, host.requestsOfASync)
    report.longestCallUs = max(report.longestCallUs, host.longestCallUs)
    for (name, count) in host.failures { report.failures[name, default: 0] += count }
    if let stats = try host.attempt({ () throws(Failure) in try client.stats() }) {
      report.fileBytes = max(report.fileBytes, Int(clamping: stats.fileBytes))
    }
  }
}
