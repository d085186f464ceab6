/// The rules of a log in random worlds.
import Base
import Foundation
import LogSupport
import Testing
import Timeline

@Suite struct LogModelTests {
  @Test func nothingIsLostOrClaimedFalsely() throws {
    for seed in 0..<12 {
      var world = LogWorld(seed: UInt64(seed), in: MemoryLogTable())
      do { try world.run() } catch { Issue.record("seed \(seed): \(error)") }
    }
  }

  /// Protects: the worlds are hard. A client that appends what it hears comes through few of them.
  @Test func aClientThatAppendsWhatItHearsFails() {
    #expect(LogCount.failuresOfControl(seeds: 0..<100) >= 95)
  }

  private static let worlds =
    ProcessInfo.processInfo.environment["LOG_WORLDS"].flatMap(UInt64.init) ?? 0

  /// Prints in how many worlds each fault is found; in a release, with `-Xswiftc -DDEBUG`.
  @Test(.enabled(if: worlds > 0)) func faultsAreCounted() {
    let seeds = 0..<Self.worlds
    #expect(LogCount.failures(nil, seeds: seeds) == 0)
    print("control \(LogCount.failuresOfControl(seeds: seeds))")
    for fault in LogFault.allCases {
      print("\(fault) \(LogCount.failures(fault, seeds: seeds))")
    }
  }
}
