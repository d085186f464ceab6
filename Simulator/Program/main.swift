/// The simulator's program: many seeds, one seed, or the control that must lose.
import Foundation
import Simulator

func usage() -> Never {
  print(
    """
    tideline-sim run --seeds N [--from S] [--jobs J] [--worlds W] [--traces] [--twice [K]]
                                                       run N seeds; exit 1 where one fails;
                                                       each, or each Kth, in two processes
    tideline-sim seed S [--trace|--frames]             replay one seed; frames as they are
    tideline-sim known FILE [--jobs J]                 the seeds that begin the file's lines
    tideline-sim draw --seeds N [--from S] [--worlds W] what N seeds draw; nothing runs
    tideline-sim faults --seeds N [--from S] [--jobs J] [--only NAME | --tenth] [--count]
                                                       looks for planted faults; exit 1 where
                                                       one is not found
    tideline-sim faults --recorded FILE [--jobs J]     each planted fault on its recorded seed
    tideline-sim control --seeds N [--from S] [--worlds W]
                                                       the negative control; exit 1 where it passes
    tideline-sim commits --seeds N [--from S] [--jobs J] [--worlds W] [--each]
                                                       a commit fails, or each in a run of its own
    tideline-sim badges --seeds N [--from S] [--story] how often unread numbers are wrong; exit 1
                                                       where an exact one is; or all that happens
    tideline-sim shadow --seeds N [--from S] [--jobs J] [--worlds W] [--story]
                                                       one order for all beside the engine
    tideline-sim hostile --seeds N [--frames M] [--from S] [--jobs J]
                                                       servers that mean harm; exit 1 after a trap
    W is plain (as it is), abilities, marks, screens, all (of these), updates,
    operations, retention (some of each, purged), mix (some of each),
    returns (all, and deleted messages come back; a few fail),
    cursors (all, and a time is no cursor of deletions and changes),
    or log (servers that keep a log)
    """)
  exit(2)
}

/// The number behind `name`, or `standard` where it is not given.
func option(_ name: String, _ standard: Int) -> Int {
  guard let index = CommandLine.arguments.firstIndex(of: name) else { return standard }
  guard index + 1 < CommandLine.arguments.count,
    let value = Int(CommandLine.arguments[index + 1]), value >= 0
  else { usage() }
  return value
}

/// The word behind `name`; nil where it is not given.
func text(_ name: String) -> String? {
  CommandLine.arguments.firstIndex(of: name).flatMap { CommandLine.arguments[($0 + 1)...].first }
}

/// Which seeds are run twice, by their number: each whose number K divides; 0 for none.
func twice() -> UInt64 {
  guard let index = CommandLine.arguments.firstIndex(of: "--twice") else { return 0 }
  guard index + 1 < CommandLine.arguments.count, let step = UInt64(CommandLine.arguments[index + 1])
  else { return 1 }
  return step
}

/// The seed of a number, as `--worlds` says.
func worlds() -> @Sendable (UInt64) -> UInt64 {
  guard let index = CommandLine.arguments.firstIndex(of: "--worlds") else { return { $0 } }
  guard index + 1 < CommandLine.arguments.count else { usage() }
  switch CommandLine.arguments[index + 1] {
  case "plain": return { $0 }
  case "abilities": return { $0 | Knobs.Worlds.abilities.rawValue }
  case "marks": return { $0 | Knobs.Worlds.marks.rawValue }
  case "screens": return { $0 | Knobs.Worlds.screens.rawValue }
  case "updates": return { $0 | Knobs.Worlds.updates.rawValue }
  case "operations": return { $0 | Knobs.Worlds.operations.rawValue }
  case "all": return { $0 | Knobs.Worlds.all.rawValue }
  case "mix": return Knobs.Worlds.mixed
  case "retention": return Knobs.Worlds.kept
  case "log": return Knobs.Worlds.logged
  case "returns": return { $0 | Knobs.Worlds.all.union(.returns).rawValue }
  case "cursors": return { $0 | Knobs.Worlds.all.union(.cursors).rawValue }
  default: usage()
  }
}

/// Whether they are the worlds of a server that keeps a log.
func isLog() -> Bool { Knobs.Worlds(rawValue: worlds()(0)).contains(.log) }

/// What is counted over a run. Touched by one verdict at a time.
final class Tally: @unchecked Sendable {
  var passed = 0
  var failed = 0
  var files = 0
  var kills = 0
  var restores = 0
  var powerCuts = 0
  var diskFailures = 0
  var screens = 0
  var years = 0
  var replies = 0
  var requests = 0
  var lost = 0
  var zombies = 0
  /// Stands for the traces of all seeds: two runs of the same worlds have the same.
  var digest: UInt64 = 0

  func add(_ verdict: Verdict) {
    if verdict.violation == nil { passed += 1 } else { failed += 1 }
    var trace = Trace(.off)
    trace.mix(verdict.seed)
    trace.mix(verdict.hash)
    digest ^= trace.hash
    files += verdict.usesFile ? 1 : 0
    kills += verdict.findings.kills
    restores += verdict.findings.restores
    powerCuts += verdict.findings.powerCuts
    diskFailures += verdict.findings.diskFailures
    screens += verdict.findings.screens
    years += verdict.findings.years
    replies += verdict.findings.replies
    requests += verdict.findings.requests
    lost += verdict.findings.lost
    zombies += verdict.findings.zombies
  }
}

/// What the options say, in as many parts as `--parts` or else `--jobs` names.
func plan(_ kind: ClientKind) -> Plan {
  let step = kind == .tideline ? twice() : 0
  let jobs = max(1, option("--parts", option("--jobs", 2)))
  // A second run is another process's.
  return Plan(
    first: UInt64(option("--from", 1)), count: option("--seeds", 100),
    parts: step > 0 ? max(2, jobs) : jobs, step: step)
}

/// Whether the worlds are hard enough: those of a log must be so, nearly each.
func controlLoses(_ tally: Tally) -> Bool {
  isLog() ? tally.failed * 10 >= (tally.failed + tally.passed) * 9 : tally.failed > 0
}

func run(_ kind: ClientKind) {
  let tally = Tally()
  let options = [kind == .control ? "control" : "run"] + CommandLine.arguments.dropFirst(2)
  Parts(plan(kind), options, worlds()) { verdict in
    tally.add(verdict)
    if CommandLine.arguments.contains("--traces") {
      print("\(verdict.seed) \(String(verdict.hash, radix: 16))")
    }
    if kind == .tideline, verdict.violation != nil {
      print(verdict.story)
      fflush(nil)
    }
  }.run()
  print(
    "\(tally.requests) requests, \(tally.files) seeds on the encrypted file, "
      + "\(tally.kills) kills, \(tally.powerCuts) losses of power, "
      + "\(tally.diskFailures) failures of the disk, \(tally.restores) restores, "
      + "\(tally.screens) windows, \(tally.years) missed years, \(tally.replies) replies, "
      + "traces \(String(tally.digest, radix: 16))")
  if kind == .control {
    print(
      "the control lost \(tally.lost) messages and shows \(tally.zombies) deleted ones "
        + "in \(tally.failed) of \(tally.failed + tally.passed) seeds")
  }
  print("\(tally.passed) passed, \(tally.failed) failed")
  exit(kind == .control ? (controlLoses(tally) ? 0 : 1) : tally.failed == 0 ? 0 : 1)
}

/// Has one drawn commit of each seed's world fail, or each of them in a run of its own.
func failCommits() -> Never {
  var sums = (passed: 0, failed: 0, commits: 0)
  let options = ["commits"] + CommandLine.arguments.dropFirst(2)
  Parts(plan(.control), options, worlds()) { verdict in
    if verdict.violation == nil { sums.passed += 1 } else { sums.failed += 1 }
    sums.commits += verdict.findings.commitsFailed
    if verdict.violation != nil {
      print(verdict.story)
      let number = verdict.seed & (1 << 40 - 1)
      print("  with its commit: tideline-sim commits --seeds 1 --from \(number) --worlds mix")
      fflush(nil)
    }
  }.run()
  print("\(sums.commits) commits failed on purpose")
  print("\(sums.passed) passed, \(sums.failed) failed")
  exit(sums.failed == 0 && sums.commits > 0 ? 0 : 1)
}

let arguments = CommandLine.arguments
switch arguments.count > 1 ? arguments[1] : "" {
case "run":
  run(.tideline)
case "control":
  run(.control)
case "faults":
  if let path = text("--recorded") { try checkRecordedFaults(path) }
  lookForFaults()
case "commits":
  failCommits()
case "shadow":
  try compareShadows(worlds())
case "badges":
  try countBadges()
case "hostile":
  runHostile()
case "hostile-part":
  guard arguments.count > 2, let part = Int(arguments[2]) else { usage() }
  try runHostilePart(part)
case "part":
  guard arguments.count > 2, let part = Int(arguments[2]) else { usage() }
  if arguments.contains("commits") {
    let isEach = arguments.contains("--each")
    try runPart(part, of: plan(.control), worlds()) {
      isEach ? Runner.judgeEachCommit(of: $0) : Runner.judgeCommit(of: $0)
    }
  } else {
    let kind: ClientKind = arguments.contains("control") ? .control : .tideline
    try runPart(part, of: plan(kind), worlds()) { Runner.judge($0, kind) }
  }
case "known":
  guard arguments.count > 2 else { usage() }
  try runKnown(arguments[2], jobs: option("--jobs", 2))
case "draw":
  let seed = worlds()
  let first = UInt64(option("--from", 1))
  for number in 0..<UInt64(option("--seeds", 100)) {
    print(Runner.line(of: seed(first + number)).text)
  }
case "seed":
  guard arguments.count > 2, let seed = UInt64(arguments[2]) else { usage() }
  Runner.prepare()
  let kind: ClientKind = arguments.contains("--control") ? .control : .tideline
  let verdict = Runner.run(
    seed, kind,
    recording: arguments.contains("--frames")
      ? .printWhole : arguments.contains("--trace") ? .print : .last(Runner.linesKept))
  if verdict.violation == nil {
    print("\(verdict.knobs)\n\(verdict.findings)\ntrace \(String(verdict.hash, radix: 16))")
  } else {
    print(verdict.story)
  }
  print(verdict.violation == nil ? "1 passed, 0 failed" : "0 passed, 1 failed")
  exit(verdict.violation == nil ? 0 : 1)
default:
  usage()
}
