// The simulator in small: a few seeds hold, the control fails on the same ones, a seed replays.
//
// The thousands of seeds run in the program `tideline-sim`.
import Simulator
import TestSupport
import Testing

@Suite struct SimulationTests {
  static let seeds: ClosedRange<UInt64> = 1...30

  @Test(arguments: seeds) func tidelineLosesNothing(seed: UInt64) {
    let verdict = Runner.judge(seed)
    #expect(verdict.violation == nil, "\(verdict.story)")
  }

  /// Each of these found a fault once, of a kind that few seeds find.
  @Test(arguments: [
    4643, 3_298_535_184_168, 3_298_535_184_394, 4_398_046_621_937, 7_696_581_398_671,
    7_696_581_404_211,
    7_696_581_695_375, 8_796_093_222_615, 17_592_186_044_881, 17_592_186_445_371,
    17_592_186_745_673,
  ])
  func whatFoundAFaultFindsNoneNow(seed: UInt64) {
    let verdict = Runner.judge(seed)
    #expect(verdict.violation == nil, "\(verdict.story)")
  }

  @Test func someSeedsRunOnTheFileAndAreKilled() {
    let verdicts = (1...40 as ClosedRange<UInt64>).filter { Knobs(seed: $0).usesFile }
      .map { Runner.run($0) }
    #expect(verdicts.count >= 3)
    #expect(verdicts.contains { $0.findings.kills > 1 })
  }

  /// Without this the green seeds would show nothing.
  @Test func theControlLosesMessagesOnTheSameSeeds() {
    let verdicts = Self.seeds.map { Runner.run($0, .control) }
    #expect(verdicts.filter { $0.findings.lost > 0 }.count >= 10)
    #expect(verdicts.contains { $0.findings.zombies > 0 })
    #expect(
      verdicts.allSatisfy { ($0.violation != nil) == ($0.findings.lost + $0.findings.zombies > 0) })
  }

  @Test(arguments: [1, 7, 10, 12, 26]) func aSeedReplaysExactly(seed: UInt64) {
    let first = Runner.run(seed)
    let second = Runner.run(seed, recording: .last(Runner.linesKept))
    #expect(first.hash == second.hash)
    #expect(!second.lines.isEmpty)
  }

  /// Where the power goes depends on how many pages a commit writes, so on the keys of the file.
  @Test func theKeysOfAFileReplay() {
    let verdicts = (0..<rounds(8, least: 2)).map { _ in Runner.run(7_696_581_395_491) }
    #expect(verdicts.allSatisfy { $0.usesFile })
    #expect(Set(verdicts.map(\.hash)).count == 1)
  }

  /// Also with windows, updates, power cuts and all at once, and on the file.
  @Test(arguments: 0..<20 as Range<UInt64>) func aSeedOfTheMixReplaysExactly(number: UInt64) {
    let seed = Knobs.Worlds.mixed(number)
    let first = Runner.run(seed)
    let second = Runner.run(seed, recording: .last(Runner.linesKept))
    #expect(first.hash == second.hash)
    #expect(first.violation == second.violation)
    #expect(first.findings.requests == second.findings.requests)
  }

  /// What `run --worlds mix` draws: each kind of world has a share, and the seed says which.
  @Test func theMixHasAllWorlds() {
    let seeds = (0..<1_000 as Range<UInt64>).map(Knobs.Worlds.mixed)
    let drawn = seeds.map(Knobs.init(seed:))
    #expect(Set(seeds).count == seeds.count)
    #expect(seeds.count { $0 >> 40 == 0 } == 200)
    #expect(drawn.count { $0.operations.isOn } == 100)
    #expect(drawn.count { $0.before || $0.envelope || $0.sequence } > 150)
    #expect(drawn.count { $0.reactions || $0.pins || $0.otherReceipts } > 100)
    #expect(drawn.count { $0.screens > 0 } > 150)
    #expect(drawn.count { $0.updates.isOn } == 100)
    #expect((80...200).contains(drawn.count { $0.usesFile }))
    let long = drawn.filter { !$0.updates.isOn && $0.backlog > 2 * min($0.pageCap, $0.pageLimit) }
    #expect(long.count > 600)
  }

  @Test func theTraceTellsSeedsApart() {
    let hashes = Set((1...10 as ClosedRange<UInt64>).map { Runner.run($0).hash })
    #expect(hashes.count == 10)
  }
}

/// A part of `make hostile`: a trap would end the process of the tests.
@Suite struct HostileServers {
  @Test(arguments: 1...9 as ClosedRange<UInt64>)
  func endNoProcess(seed: UInt64) {
    let report = Hostile.run(seed, frames: 220)
    #expect(report.trouble == nil)
    #expect(report.frames >= 220 && report.requests > 0)
  }

  /// `hostile` counts the frames of each, and fails where one was not drawn.
  @Test func areOfAllSchemes() {
    let drawn = Set((1...9 as ClosedRange<UInt64>).map { Hostile.run($0, frames: 1).scheme })
    #expect(drawn == Set(HostileReport.Scheme.allCases))
  }

  @Test func areReplayedBySeed() {
    let (first, second) = (Hostile.run(4, frames: 150), Hostile.run(4, frames: 150))
    #expect(first.requests == second.requests && first.failures == second.failures)
  }
}
