/// Planted faults, and the seeds that the repository lists: `Simulator/seeds.txt` and
/// `Simulator/faults.txt`.
import Foundation
import Simulator

/// Counts what was found. Guarded by its lock.
final class Searches: @unchecked Sendable {
  private let turn = NSLock()
  private var found = 0
  private var hidden = 0

  func add(_ search: Runner.Search, counts: Bool = false) {
    turn.withLock {
      if let first = search.first {
        found += 1
        let line = (first.violation ?? "").split(separator: "\n").first ?? ""
        let by = counts ? "\(search.found) of \(search.tried) seeds" : "seed \(first.seed)"
        print("\(search.fault): found by \(by), \(line)")
      } else {
        hidden += 1
        let why = search.tried == 0 ? "no seed is recorded" : "\(search.tried) seeds tried"
        print("\(search.fault): NOT FOUND, \(why)")
      }
      fflush(nil)
    }
  }

  func end() -> Never {
    turn.lock()
    print("\(found) passed, \(hidden) failed")
    exit(hidden == 0 && found > 0 ? 0 : 1)
  }
}

/// Looks for planted faults in seeds from `--from` on: all of them, the one that `--only` names, or
/// with `--tenth` every tenth, beginning where the last digit of `--from` says.
func lookForFaults() -> Never {
  let first = option("--from", 1)
  let counts = CommandLine.arguments.contains("--count")
  var faults = SoughtFault.plain + SoughtFault.log
  if let only = text("--only") { faults.removeAll { $0.name != only } }
  if CommandLine.arguments.contains("--tenth") {
    faults = stride(from: first % 10, to: faults.count, by: 10).map { faults[$0] }
  }
  let searches = Searches()
  Runner.findFaults(
    faults, from: UInt64(first), count: option("--seeds", 300), jobs: option("--jobs", 2),
    counts: counts
  ) { searches.add($0, counts: counts) }
  searches.end()
}

/// Each planted fault on the seed that a line `NAME SEED` records for it.
func checkRecordedFaults(_ path: String) throws -> Never {
  var seeds: [String: UInt64] = [:]
  for words in try lines(of: path) {
    guard words.count >= 2, let seed = UInt64(words[1]) else { usage() }
    seeds[words[0]] = seed
  }
  let searches = Searches()
  Runner.findFaults(
    SoughtFault.plain + SoughtFault.log, recorded: seeds, jobs: option("--jobs", 2)
  ) { searches.add($0) }
  searches.end()
}

/// The words of each line of a file that is no comment and not empty.
private func lines(of path: String) throws -> [[String]] {
  try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    .map { $0.split(separator: " ").map(String.init) }.filter { !$0.isEmpty && $0[0] != "#" }
}

/// Runs the seeds that begin the lines of a file, and tells the story of each that fails.
///
/// `SEED commits …` runs the world of a failing commit. `SEED open …` is a failure that waits to be
/// mended: it is run and counted apart, and fails nothing. Both may stand in a line.
func runKnown(_ path: String, jobs: Int) throws -> Never {
  struct Sums { var (passed, failed, open, mended) = (0, 0, 0, 0) }
  let known = try lines(of: path)
  guard known.allSatisfy({ UInt64($0[0]) != nil }) else { usage() }
  let turn = NSLock()
  nonisolated(unsafe) var sums = Sums()
  Runner.parallel(known.count, jobs: jobs) { index in
    let words = known[index]
    let seed = UInt64(words[0]) ?? 0
    let kinds = words.dropFirst().prefix { $0 == "open" || $0 == "commits" }
    let verdict =
      kinds.contains("commits")
      ? Runner.judgeCommit(of: seed)
      : Runner.run(seed, .tideline, recording: .last(Runner.linesKept))
    turn.withLock {
      let isOpen = kinds.contains("open")
      switch (isOpen, verdict.violation == nil) {
      case (false, true): sums.passed += 1
      case (false, false):
        sums.failed += 1
        print("\(words.joined(separator: " "))\n\(verdict.story)")
      case (true, false): sums.open += 1
      case (true, true):
        sums.mended += 1
        print("\(seed) passes: take `open` out of its line")
      }
    }
  }
  print("\(sums.open) open seeds still fail, \(sums.mended) open seeds pass")
  print("\(sums.passed) passed, \(sums.failed) failed")
  exit(sums.failed == 0 && sums.passed > 0 ? 0 : 1)
}
