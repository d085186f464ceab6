/// The rules of a log in random worlds.
import Base
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
}
