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

  /// How many of the log's worlds find a fault, of those that pass without it.
  package struct LogSearch: Sendable {
    package var fault: String
    package var found = 0
    package var tried = 0
    package var first: Verdict?
  }

  /// Looks for the faults that this build can plant in a log: one that is built for it has those of
  /// `LogFault`, each has those between the library and the host.
  package static func findLogFaults(
    from first: UInt64, count: Int, jobs: Int, only: String? = nil,
    each: @escaping @Sendable (LogSearch) -> Void
  ) {
    let seeds = (0..<UInt64(count)).map { Knobs.Worlds.logged(first + $0) }
    let shown: [PlantedFault] = [
      .lostStep, .shiftedStep, .wrongChecksum, .hiddenSplit, .falseWhole, .oldContent,
      .flickeringRow,
    ]
    let names = LogFaults.names
    parallel(shown.count + names.count, jobs: jobs) { index in
      let fault = index < shown.count ? shown[index] : nil
      let name = fault == nil ? names[index - shown.count] : nil
      var search = LogSearch(fault: fault?.rawValue ?? name ?? "")
      if let only, only != search.fault { return }
      for seed in seeds {
        search.tried += 1
        let verdict = runLog(seed, .tideline, .off, fault: fault, logFault: name)
        guard verdict.violation != nil, run(seed).violation == nil else { continue }
        search.found += 1
        if search.first == nil { search.first = verdict }
      }
      each(search)
    }
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
