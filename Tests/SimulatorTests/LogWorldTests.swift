// The worlds of a server that keeps a log, in small: they hold, replay, and are hard enough. The
// program `tideline-sim` runs hundreds of them, with `--worlds log`.
import Testing

@testable import Simulator

@Suite struct LogWorldTests {
  private static func judge(
    _ numbers: ClosedRange<UInt64>, _ kind: ClientKind = .tideline, logFault: String? = nil
  ) -> [Verdict] {
    numbers.map { Runner.runLog(Knobs.Worlds.logged($0), kind, .off, logFault: logFault) }
  }

  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func nothingIsLostAndASeedReplaysExactly(number: UInt64) {
    let seed = Knobs.Worlds.logged(number)
    let first = Runner.run(seed, recording: .last(Runner.linesKept))
    #expect(first.violation == nil, "\(first.story)")
    let second = Runner.run(seed, recording: .last(Runner.linesKept))
    #expect(first.hash == second.hash)
    #expect(first.lines == second.lines && !first.lines.isEmpty)
    #expect(first.findings.requests == second.findings.requests && first.findings.requests > 10)
  }

  @Test func aTraceTellsSeedsApart() {
    #expect(Set(Self.judge(1...4).map(\.hash)).count == 4)
  }

  /// Without this the green seeds would show nothing.
  @Test func aClientThatAppendsWhatItHearsFails() {
    let verdicts = Self.judge(1...40, .control)
    #expect(verdicts.count { $0.violation != nil } >= 36)
    #expect(
      verdicts.allSatisfy { ($0.violation != nil) == ($0.findings.lost + $0.findings.zombies > 0) })
  }

  /// Of the rules of a log one is broken: a page that is shorter than was asked is the present.
  @Test func aPlantedFaultIsFound() {
    let verdicts = Self.judge(1...6, logFault: "shortIsPresent")
    #expect(verdicts.contains { $0.violation != nil })
  }
}
