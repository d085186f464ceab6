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

  /// A fault that is planted on purpose, and by how many of the log's worlds it was found, of those
  /// that pass without it.
  package struct LogSearch: Sendable {
    package var fault: String
    package var found = 0
    package var tried = 0
    package var first: Verdict?
  }

  /// Faults between the library and the host that the log's worlds look for.
  private static let shownFaults: [PlantedFault] = [
    .lostStep, .shiftedStep, .wrongChecksum, .hiddenSplit, .falseWhole, .oldContent, .flickeringRow,
  ]

  /// Looks for the faults that this build can plant in a log: one that is built for it has those of
  /// `LogFault`, each has those between the library and the host.
  ///
  /// - Parameter counts: every seed is tried with every fault; else a fault is done with when the
  ///   first seed has found it.
  package static func findLogFaults(
    from first: UInt64, count: Int, jobs: Int, only: String? = nil, counts: Bool = false,
    each: @escaping @Sendable (LogSearch) -> Void
  ) {
    let names = shownFaults.map(\.rawValue) + LogFaults.sought
    let wanted = names.filter { only == nil || only == $0 }
    parallel(wanted.count, jobs: jobs) { index in
      let name = wanted[index]
      let fault = PlantedFault(rawValue: name)
      var search = LogSearch(fault: name)
      for number in 0..<UInt64(count) {
        let seed = Knobs.Worlds.logged(first + number)
        search.tried += 1
        let verdict = runLog(
          seed, .tideline, .off, fault: fault, logFault: fault == nil ? name : nil)
        // What fails without the fault shows nothing.
        guard verdict.violation != nil, runLog(seed, .tideline, .off).violation == nil else {
          continue
        }
        search.found += 1
        if search.first == nil { search.first = verdict }
        if !counts { break }
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
