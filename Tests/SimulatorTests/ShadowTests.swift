/// The books beside the engine: what they claim is true, and the comparison would tell if not.
import Simulator
import Testing

@Suite struct ShadowTests {
  private static let seeds: [UInt64] = [1, 3, 5, 7].map { Knobs.Worlds.mixed($0) }

  private func wrong(_ figures: ShadowFigures) -> [String] {
    figures.classes.keys.filter { $0.contains("book wrong") || $0.contains("broken") }.sorted()
  }

  @Test(arguments: ShadowTests.seeds + [Knobs.Worlds.logged(2_001)])
  func booksClaimWhatIsTrue(_ seed: UInt64) {
    let figures = Runner.shadow(seed)
    #expect(figures.isBroken == nil)
    #expect(figures.looks > 20)
    #expect(wrong(figures).isEmpty)
  }

  /// Protects: the comparison finds a book that links pages which are no neighbours.
  @Test func aWrongBookIsFound() {
    let found = Self.seeds.contains { !wrong(Runner.shadow($0, breaksBooks: true)).isEmpty }
    #expect(found)
  }
}
