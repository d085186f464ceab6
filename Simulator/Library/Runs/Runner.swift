/// Runs seeds and says what came of them.
///
/// A seed runs without keeping lines; only a failing one is run again to tell its story.
internal import Base
internal import CSQLite
internal import Foundation
internal import Support

package enum ClientKind: Sendable { case tideline, control }

package struct Verdict: Codable, Sendable {
  package var seed: UInt64
  /// Nil where every rule held.
  package var violation: String?
  package var knobs: String
  package var hash: UInt64 = 0
  package var findings = Findings()
  package var usesFile: Bool
  package var lines: [String] = []
  /// What was shown at rest, where that is compared.
  package var picture: [String] = []

  package init(seed: UInt64, knobs: String, usesFile: Bool) {
    self.seed = seed
    self.knobs = knobs
    self.usesFile = usesFile
  }

  package var story: String {
    var text = "FAILED \(knobs)\n  \(violation ?? "")\n  trace \(String(hash, radix: 16))"
    for line in lines.suffix(Runner.linesKept) { text += "\n    \(line)" }
    return text + "\n  replay: tideline-sim seed \(seed) --trace"
  }
}

package enum Runner {
  package static let linesKept = 40

  /// Runs one seed.
  package static func run(
    _ seed: UInt64, _ kind: ClientKind = .tideline, recording: Trace.Recording = .off,
    fault: PlantedFault? = nil, updateFault: UpdateFault? = nil,
    operationFault: OperationFault? = nil, engineFault: String? = nil
  ) -> Verdict {
    if Knobs.Worlds(rawValue: seed).contains(.log) {
      return runLog(seed, kind, recording, fault: fault)
    }
    var knobs = Knobs(seed: seed)
    knobs.fault = fault
    knobs.updates.fault = updateFault
    knobs.operations.fault = operationFault
    knobs.strangers.fault = engineFault
    // A disk that lies is only found out when the power goes.
    if fault == .lyingDisk { knobs.powerCuts = knobs.usesFile && !knobs.forgets }
    var verdict = Verdict(seed: seed, knobs: knobs.line, usesFile: knobs.usesFile)
    DrawnKeys.during(seed: seed) { run(knobs, kind, recording, &verdict) }
    return verdict
  }

  static func run(
    _ knobs: Knobs, _ kind: ClientKind, _ recording: Trace.Recording, _ verdict: inout Verdict
  ) {
    do {
      let world = try World(knobs: knobs, recording: recording) { knobs, clock in
        try makeClient(kind, knobs, clock)
      }
      defer { world.client.discard() }
      do {
        try world.run()
        if knobs.commits != nil { verdict.picture = try world.picture() }
      } catch let violation as Violation {
        verdict.violation = violation.text
      } catch {
        verdict.violation = "an error where none may be: \(error)"
      }
      verdict.hash = world.trace.hash
      verdict.findings = world.findings
      verdict.lines = world.trace.lines
    } catch {
      verdict.violation = "the world could not be made: \(error)"
    }
  }

  /// Runs one seed, and once more with its last lines where it fails.
  package static func judge(_ seed: UInt64, _ kind: ClientKind = .tideline) -> Verdict {
    let verdict = run(seed, kind)
    if verdict.violation == nil || kind == .control { return verdict }
    var again = run(seed, kind, recording: .last(linesKept))
    if again.hash != verdict.hash {
      again.violation =
        "\(again.violation ?? "passed the second time"); THE REPLAY DIFFERS, "
        + "first: \(verdict.violation ?? "")"
    }
    return again
  }

  private static func makeClient(
    _ kind: ClientKind, _ knobs: Knobs, _ clock: VirtualClock
  ) throws -> any SimulatedClient {
    switch kind {
    case .control: return SeedPseudocodeClient(knobs: knobs, clock: clock)
    case .tideline: return try TidelineClient(knobs: knobs, clock: clock)
    }
  }

  /// SQLite counts what it allocates under a lock, and here nobody asks for the count.
  private static let countsNoMemory = tideline_config_flag(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK

  /// Before the first of many seeds.
  package static func prepare() {
    _ = countsNoMemory
    // It looks for defects: a broken rule ends it, whatever it was built for.
    Invariants.endProcess()
  }

  /// Calls `body` once for each number below `count`, on `jobs` threads.
  package static func parallel(
    _ count: Int, jobs: Int, _ body: @escaping @Sendable (Int) -> Void
  ) {
    prepare()
    let turn = NSLock()
    let next = Counter()
    let group = DispatchGroup()
    for _ in 0..<max(1, jobs) {
      group.enter()
      let thread = Thread {
        while true {
          let index = turn.withLock {
            next.value += 1
            return next.value - 1
          }
          if index >= count { break }
          body(index)
        }
        group.leave()
      }
      thread.stackSize = 8 << 20
      thread.start()
    }
    group.wait()
  }

  /// Only touched under the lock of a run.
  private final class Counter: @unchecked Sendable {
    var value = 0
  }
}
