/// Runs seeds of the log's worlds.
internal import Base

extension Runner {
  static func runLog(
    _ seed: UInt64, _ kind: ClientKind, _ recording: Trace.Recording,
    fault: PlantedFault? = nil, logFault: String? = nil
  ) -> Verdict {
    var knobs = LogKnobs(seed: seed)
    (knobs.fault, knobs.logFault) = (fault, logFault)
    if fault == .lyingDisk { knobs.powerCuts = knobs.usesFile }
    var verdict = Verdict(seed: seed, knobs: knobs.line, usesFile: knobs.usesFile)
    DrawnKeys.during(seed: seed) {
      do {
        let world = try LogWorld(knobs: knobs, recording: recording) { knobs, clock in
          if kind == .control { return LogControl() }
          return try TidelineClient(knobs: knobs, clock: clock)
        }
        defer { world.discard() }
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
    }
    return verdict
  }

  /// What a seed draws, in words.
  package static func line(of seed: UInt64) -> (text: String, usesFile: Bool) {
    if Knobs.Worlds(rawValue: seed).contains(.log) {
      let knobs = LogKnobs(seed: seed)
      return (knobs.line, knobs.usesFile)
    }
    let knobs = Knobs(seed: seed)
    return (knobs.line, knobs.usesFile)
  }
}
