/// `hostile`: many seeds of a hostile server, shared out among processes of which each trap takes
/// one down, with the seed that it was at.
import Foundation
import Simulator

/// Runs the seeds of one part, and says each before it begins: a trap leaves it unanswered.
func runHostilePart(_ part: Int) throws {
  let parts = max(1, option("--parts", 1))
  let frames = option("--frames", 400)
  let encoder = JSONEncoder()
  let first = option("--from", 1)
  for index in stride(from: part, to: option("--seeds", 100), by: parts) {
    let seed = UInt64(first + index)
    FileHandle.standardOutput.write(Data("seed \(seed)\n".utf8))
    let report = Hostile.run(seed, frames: frames)
    FileHandle.standardOutput.write(try encoder.encode(report) + [UInt8(ascii: "\n")])
  }
}

/// What was found over all seeds. Guarded by its lock.
final class HostileTally: @unchecked Sendable {
  private let turn = NSLock()
  private var passed = 0
  private var failed = 0
  private var sum = HostileReport(seed: 0)
  private var heaviest: UInt64 = 0
  private var longest: UInt64 = 0
  private var slowest: UInt64 = 0
  private var frames: [HostileReport.Scheme: Int] = [:]

  func add(_ report: HostileReport) {
    turn.withLock {
      if let trouble = report.trouble {
        failed += 1
        print("seed \(report.seed): \(trouble)")
      } else {
        passed += 1
      }
      if (passed + failed).isMultiple(of: 100) {
        print("\(passed + failed) seeds, \(failed) failed")
        fflush(nil)
      }
      sum.frames += report.frames
      frames[report.scheme, default: 0] += report.frames
      sum.requests += report.requests
      sum.reopenings += report.reopenings
      for (name, count) in report.failures { sum.failures[name, default: 0] += count }
      if report.residentGrowth > sum.residentGrowth { heaviest = report.seed }
      if report.requestsOfASync > sum.requestsOfASync { longest = report.seed }
      if report.longestCallUs > sum.longestCallUs { slowest = report.seed }
      sum.longestCallUs = max(sum.longestCallUs, report.longestCallUs)
      sum.residentGrowth = max(sum.residentGrowth, report.residentGrowth)
      sum.requestsOfASync = max(sum.requestsOfASync, report.requestsOfASync)
      sum.fileBytes = max(sum.fileBytes, report.fileBytes)
    }
  }

  func lose(_ seed: String, _ status: Int32) {
    turn.withLock {
      failed += 1
      print("\(seed): TRAP, the process ended with \(status)")
    }
  }

  func end(after seconds: TimeInterval) -> Never {
    let told = sum.failures.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    print("failures told to the host: \(told.joined(separator: ", "))")
    print(
      "\(sum.frames) frames, \(sum.requests) requests, \(sum.reopenings) reopenings, "
        + "\(Int(Double(sum.frames) / max(seconds, 0.001))) frames a second")
    print(
      "at most: \(sum.requestsOfASync) requests of a sync (seed \(longest)), "
        + "\(sum.residentGrowth >> 10) KiB of memory (seed \(heaviest)), "
        + "\(sum.fileBytes >> 10) KiB of file")
    print("the longest call: \(sum.longestCallUs / 1_000) ms of CPU (seed \(slowest))")
    let schemes = HostileReport.Scheme.allCases
    let drawn = schemes.map { "by \($0) \(frames[$0] ?? 0)" }
    print("frames of servers whose order is \(drawn.joined(separator: ", "))")
    let missing = schemes.filter { frames[$0] == nil }
    if !missing.isEmpty { print("no seed drew: \(missing)") }
    print("\(passed) passed, \(failed) failed")
    exit(failed == 0 && missing.isEmpty ? 0 : 1)
  }
}

func runHostile() -> Never {
  let tally = HostileTally()
  let jobs = max(1, option("--jobs", 2))
  let began = Date()
  DispatchQueue.concurrentPerform(iterations: jobs) { part in
    var from = option("--from", 1)
    var left = option("--seeds", 100)
    // A part that a trap has taken down goes on behind that seed.
    while left > 0, let trapped = runHostilePart(part, jobs, from, left, tally) {
      let next = trapped + jobs - part
      left -= next - from
      from = next
    }
  }
  tally.end(after: Date().timeIntervalSince(began))
}

/// The number of the seed that took the process down; nil where it ended well.
private func runHostilePart(
  _ part: Int, _ parts: Int, _ from: Int, _ count: Int, _ tally: HostileTally
) -> Int? {
  let process = Process()
  let pipe = Pipe()
  process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
  process.arguments = [
    "hostile-part", String(part), "--parts", String(parts), "--from", String(from), "--seeds",
    String(count), "--frames", String(option("--frames", 400)),
  ]
  process.standardOutput = pipe
  var last = "the first seed"
  do {
    try process.run()
    var rest = Data()
    while case let piece = pipe.fileHandleForReading.availableData, !piece.isEmpty {
      rest += piece
      while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        let line = Data(rest[..<end])
        rest = Data(rest[(end + 1)...])
        if line.first == UInt8(ascii: "{") {
          tally.add(try JSONDecoder().decode(HostileReport.self, from: line))
        } else {
          last = String(decoding: line, as: UTF8.self)
        }
      }
    }
    process.waitUntilExit()
  } catch {
    tally.lose("part \(part): \(error)", -1)
    return nil
  }
  guard process.terminationStatus != 0 || process.terminationReason == .uncaughtSignal else {
    return nil
  }
  tally.lose(last, process.terminationStatus)
  return last.split(separator: " ").last.flatMap { Int($0) }
}
