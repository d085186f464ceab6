// A commit that fails, in small. The program `tideline-sim` does it in thousands of worlds.
import Testing

@testable import Simulator

@Suite struct CommitTests {
  @Test(arguments: 0..<3 as Range<UInt64>) func aFailedCommitLeavesMemoryAsItWas(number: UInt64) {
    let verdict = Runner.judgeCommit(of: Knobs.Worlds.mixed(number))
    #expect(verdict.violation == nil, "\(verdict.story)")
    #expect(verdict.findings.commitsFailed == 1)
  }

  /// Without this the green worlds would show nothing.
  @Test func whatChangesIsSeen() {
    struct Inner {
      var ids: Set<[UInt8]> = [[1], [2]]
      var order: [Int: [String]] = [1: ["a"], 2: ["b"]]
      var last: Int?
    }
    final class Engine {
      var inner = Inner()
      var store = 1
    }
    func changed(_ change: (Engine) -> Void) -> Bool {
      let engine = Engine()
      let before = MemoryText(of: engine)
      change(engine)
      return !MemoryText.differences(before, MemoryText(of: engine)).isEmpty
    }
    #expect(changed { $0.inner.ids.insert([3]) })
    #expect(changed { $0.inner.order[2] = ["c"] })
    #expect(changed { $0.inner.last = 0 })
    #expect(!changed { $0.store = 2 })
    #expect(
      !changed {
        $0.inner.ids.insert([3])
        $0.inner.ids.remove([3])
      })
  }
}
