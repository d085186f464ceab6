/// Plants faults on purpose and looks for the seeds that find them.
///
/// A seed finds a fault when it fails with the fault and passes without it.
internal import Base
internal import Foundation

/// One fault in one kind of world.
package struct SoughtFault: Sendable {
  package enum Kind: Sendable {
    case shown(PlantedFault)
    case update(UpdateFault)
    case operation(OperationFault)
    /// Faults inside the library, by name; only debug builds can plant them.
    case log(String)
    case engine(String)
  }

  package var name: String
  var kind: Kind
  /// Gives the seed of a number, in the worlds that must find the fault.
  var seed: @Sendable (UInt64) -> UInt64

  init(_ name: String, _ kind: Kind, seed: @escaping @Sendable (UInt64) -> UInt64) {
    (self.name, self.kind, self.seed) = (name, kind, seed)
  }

  /// The faults of the worlds of times and numbers.
  package static let plain: [SoughtFault] = shown + updates + operations + engine

  private static let shown = PlantedFault.allCases.map { fault in
    SoughtFault(fault.rawValue, .shown(fault)) { $0 | fault.worlds.rawValue }
  }
  private static let updates = UpdateFault.allCases.map { fault in
    SoughtFault(fault.rawValue, .update(fault)) { $0 | Knobs.Worlds.updates.rawValue }
  }
  private static let operations = OperationFault.allCases.map { fault in
    SoughtFault(fault.rawValue, .operation(fault)) { $0 | Knobs.Worlds.operations.rawValue }
  }
  private static let engine = EngineFaults.sought.map { fault in
    SoughtFault(fault.name, .engine(fault.name)) { $0 | fault.worlds.rawValue }
  }

  /// The faults of the log's worlds. Their names begin with `log.`, since some are planted in the
  /// other worlds too.
  package static let log: [SoughtFault] =
    [
      PlantedFault.lostStep, .shiftedStep, .wrongChecksum, .hiddenSplit, .falseWhole, .oldContent,
      .flickeringRow,
    ].map { fault in
      SoughtFault("log.\(fault.rawValue)", .shown(fault), seed: Knobs.Worlds.logged)
    }
    + LogFaults.sought.map { name in
      SoughtFault("log.\(name)", .log(name), seed: Knobs.Worlds.logged)
    }
}

extension Runner {
  /// What came of looking for a fault.
  package struct Search: Sendable {
    package var fault: String
    /// How many seeds were tried, and how many of these found it.
    package var tried = 0
    package var found = 0
    /// The verdict of the first seed that found it.
    package var first: Verdict?
  }

  /// Looks for each fault in `count` seeds from number `first` on, until a seed has found it.
  ///
  /// - Parameter counts: every seed is tried with every fault.
  package static func findFaults(
    _ faults: [SoughtFault], from first: UInt64, count: Int, jobs: Int, counts: Bool = false,
    each: @escaping @Sendable (Search) -> Void
  ) {
    let turn = NSLock()
    parallel(faults.count, jobs: jobs) { index in
      let fault = faults[index]
      var search = Search(fault: fault.name)
      for number in 0..<UInt64(count) {
        search.tried += 1
        guard let verdict = find(fault, in: fault.seed(first + number)) else { continue }
        search.found += 1
        if search.first == nil { search.first = verdict }
        if !counts { break }
      }
      turn.withLock { each(search) }
    }
  }

  /// Tries each fault on the seed that is recorded for it; `seeds` are by fault name.
  package static func findFaults(
    _ faults: [SoughtFault], recorded seeds: [String: UInt64], jobs: Int,
    each: @escaping @Sendable (Search) -> Void
  ) {
    let turn = NSLock()
    parallel(faults.count, jobs: jobs) { index in
      let fault = faults[index]
      var search = Search(fault: fault.name)
      if let seed = seeds[fault.name] {
        search.tried = 1
        search.first = find(fault, in: seed)
        search.found = search.first == nil ? 0 : 1
      }
      turn.withLock { each(search) }
    }
  }

  /// The verdict of a seed with the fault; nil where it does not find it.
  private static func find(_ fault: SoughtFault, in seed: UInt64) -> Verdict? {
    let verdict =
      switch fault.kind {
      case .shown(let planted): run(seed, fault: planted)
      case .update(let planted): run(seed, updateFault: planted)
      case .operation(let planted): run(seed, operationFault: planted)
      case .log(let name): runLog(seed, .tideline, .off, logFault: name)
      case .engine(let name): run(seed, engineFault: name)
      }
    guard verdict.violation != nil, run(seed).violation == nil else { return nil }
    return verdict
  }
}
