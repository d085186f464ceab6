/// What becomes of a rule that does not hold: it ends who looks for defects, and is a failure in
/// a host.
import Base
import Glibc
import Testing

@Suite struct EnsureTests {
  private enum Trouble: Error, Equatable {
    case broken(String)

    static func rule(_ text: StaticString) -> Trouble { .broken(text.description) }
  }

  /// Protects: a rule that holds costs its check and nothing else.
  @Test func aRuleThatHoldsIsSilent() throws {
    try ensure(1 < 2, "numbers are in order", or: Trouble.rule)
  }

  /// Protects: a debug build finds a defect where it happens.
  @Test func aBrokenRuleEndsADebugBuild() async {
    await #expect(processExitsWith: .exitCode(70)) {
      try ensure(2 < 1, "numbers are in order", or: Trouble.rule)
    }
  }

  /// Protects: a release build that looks for defects finds it as well.
  @Test func aBrokenRuleEndsWhoAsksForIt() async {
    await #expect(processExitsWith: .exitCode(70)) {
      Invariants.endProcess(false)
      Invariants.endProcess()
      try ensure(2 < 1, "numbers are in order", or: Trouble.rule)
    }
  }

  /// Protects: a host's process is not ended by a defect: it is told of it.
  @Test func aBrokenRuleIsAFailureInAHost() async {
    await #expect(processExitsWith: .exitCode(3)) {
      Invariants.endProcess(false)
      do throws(Trouble) {
        try ensure(2 < 1, "numbers are in order", or: Trouble.rule)
      } catch {
        exit(error == .broken("numbers are in order") ? 3 : 4)
      }
    }
  }
}
