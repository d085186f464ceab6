/// Runs seeds and says what came of them.
///
/// A seed runs without keeping lines; only a failing one is run again to tell its story.
internal import Foundation

package enum ClientKind: Sendable { case tideline, control }

package struct Verdict: Sendable {
  package var seed: UInt64
  /// Nil where every rule held.
  package var violation: String?
  package var knobs: String
  package var hash: UInt64
  package var findings: Findings
  package var usesFile: Bool
  package var lines: [String] = []

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
    fault: PlantedFault? = nil
  ) -> Verdict {
    var knobs = Knobs(seed: seed)
    knobs.fault = fault
    // A disk that lies is only found out when the power goes.
    if fault == .lyingDisk { knobs.powerCuts = knobs.usesFile && !knobs.forgets }
    var verdict = Verdict(
      seed: seed, knobs: knobs.line, hash: 0, findings: Findings(), usesFile: knobs.usesFile)
    do {
      let world = try World(knobs: knobs, recording: recording) { knobs, clock in
        try makeClient(kind, knobs, clock)
      }
      defer { world.client.discard() }
      do {
        try world.run()
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
    return verdict
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

  /// The first of some seeds in which a planted fault is found, and how; nil where none finds it.
  package static func find(_ fault: PlantedFault, seeds: ClosedRange<UInt64>) -> Verdict? {
    for seed in seeds {
      let verdict = run(seed, fault: fault)
      // What fails without the fault shows nothing.
      if verdict.violation != nil, run(seed).violation == nil { return verdict }
    }
    return nil
  }

  private static func makeClient(
    _ kind: ClientKind, _ knobs: Knobs, _ clock: VirtualClock
  ) throws -> any SimulatedClient {
    switch kind {
    case .control: return SeedPseudocodeClient(knobs: knobs, clock: clock)
    case .tideline: return try TidelineClient(knobs: knobs, clock: clock)
    }
  }

  /// Runs `count` seeds on `jobs` threads; `each` hears of every verdict, one at a time.
  package static func run(
    from first: UInt64, count: Int, jobs: Int, _ kind: ClientKind,
    each: @escaping @Sendable (Verdict) -> Void
  ) {
    let turn = NSLock()
    let next = Counter()
    let group = DispatchGroup()
    for _ in 0..<max(1, jobs) {
      group.enter()
      let thread = Thread {
        while true {
          turn.lock()
          let index = next.value
          next.value += 1
          turn.unlock()
          if index >= count { break }
          let verdict = judge(first + UInt64(index), kind)
          turn.lock()
          each(verdict)
          turn.unlock()
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
