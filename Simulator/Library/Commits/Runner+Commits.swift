/// Runs worlds in which a commit fails, and compares the engine that goes on with one that is
/// opened from the file.
internal import Base

extension Runner {
  /// Runs a seed's world with one drawn commit that fails.
  package static func judgeCommit(of seed: UInt64) -> Verdict {
    let counted = countCommits(of: seed)
    guard counted.violation == nil, counted.findings.commits > 0 else { return counted }
    var dice = Random(seed: seed ^ 0x636F_6D6D_6974_0000)
    var number = 1 + dice.below(counted.findings.commits)
    var verdict = judge(seed, failing: number)
    // The last ones may have nothing to write: an earlier one then.
    while verdict.violation == nil, verdict.findings.commitsFailed == 0, number > 1 {
      number /= 2
      verdict = judge(seed, failing: number)
    }
    return verdict
  }

  /// Runs it once for each commit of its world, each of which fails in a run of its own.
  package static func judgeEachCommit(of seed: UInt64) -> Verdict {
    var sum = countCommits(of: seed)
    if sum.violation != nil { return sum }
    for number in 0..<sum.findings.commits {
      let verdict = judge(seed, failing: 1 + number)
      if verdict.violation != nil { return verdict }
      sum.findings.commitsFailed += verdict.findings.commitsFailed
    }
    return sum
  }

  /// Runs its chaos only, and counts the transactions.
  private static func countCommits(of seed: UInt64) -> Verdict {
    var knobs = knobs(of: seed)
    knobs.commits = CommitPlan(failing: nil)
    return run(knobs, recording: .off)
  }

  private static func judge(_ seed: UInt64, failing number: Int) -> Verdict {
    var knobs = knobs(of: seed)
    knobs.commits = CommitPlan(failing: number)
    knobs.afterFailure = .reopened
    let reopened = told(run(knobs, recording: .last(linesKept)), "opened anew", number)
    if reopened.violation != nil || reopened.findings.commitsFailed == 0 { return reopened }
    knobs.commits = CommitPlan(failing: number)
    knobs.afterFailure = .live
    var live = told(run(knobs, recording: .last(linesKept)), "going on", number)
    let (before, after) = comparable(reopened.picture, live.picture)
    if live.violation == nil, before != after {
      let (old, new) = (Set(before), Set(after))
      let lines =
        before.filter { !new.contains($0) }.map { "- \($0)" }
        + after.filter { !old.contains($0) }.map { "+ \($0)" }
      live.violation =
        "after commit \(number) failed, the engine that goes on shows something else: "
        + lines.prefix(12).joined(separator: "\n    ")
    }
    return live
  }

  /// Two pictures without the lines of exactness that only one of them has.
  private static func comparable(_ a: [String], _ b: [String]) -> ([String], [String]) {
    func conversation(_ line: String) -> Substring? {
      line.hasPrefix(World.exactness) ? line.prefix { $0 != ":" } : nil
    }
    let both = Set(a.compactMap(conversation)).intersection(b.compactMap(conversation))
    func kept(_ line: String) -> Bool { conversation(line).map(both.contains) ?? true }
    return (a.filter(kept), b.filter(kept))
  }

  private static func told(_ verdict: Verdict, _ how: String, _ number: Int) -> Verdict {
    var verdict = verdict
    verdict.violation = verdict.violation.map { "commit \(number) failed, \(how): \($0)" }
    return verdict
  }

  /// All of them have a file, which another process can open.
  private static func knobs(of seed: UInt64) -> Knobs {
    var knobs = Knobs(seed: seed)
    knobs.usesFile = true
    // One thing is looked at.
    knobs.kills = false
    knobs.powerCuts = false
    knobs.diskFailures = false
    knobs.readFailures = false
    return knobs
  }

  private static func run(_ knobs: Knobs, recording: Trace.Recording) -> Verdict {
    var verdict = Verdict(seed: knobs.seed, knobs: knobs.line, usesFile: true)
    DrawnKeys.during(seed: knobs.seed) { run(knobs, .tideline, recording, &verdict) }
    return verdict
  }
}
