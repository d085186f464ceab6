/// The rules of the viewport over random lists, heights, edits, loads and scrolls, each step looked
/// at beside a reference that is slow and obvious.
import Base
import Foundation
import Testing

@testable import Viewport

@Suite struct PropertyTests {
  /// Steps of one list before another one begins.
  static let stepsOfOne = 100

  /// Runs seeds; gives what was broken first.
  static func run(_ seeds: Range<UInt64>, planted: PlantedFault? = nil) -> String? {
    for seed in seeds {
      var step = 0
      var screen: Screen?
      do {
        screen = try Screen(seed: seed, planted: planted)
        while step < stepsOfOne {
          step += 1
          try screen?.step()
        }
      } catch {
        return "seed \(seed), step \(step) (\(screen?.last ?? "")): \(error)"
      }
    }
    return nil
  }

  /// 10,000 steps here; `make screens` does 1,000,000 and names how many in TL_SCREEN_STEPS.
  @Test(arguments: 0..<2) func nothingMovesThatWasNotMoved(_ part: Int) {
    let steps =
      ProcessInfo.processInfo.environment["TL_SCREEN_STEPS"].flatMap(UInt64.init) ?? 10_000
    let seeds = steps / UInt64(Self.stepsOfOne) / 2
    let first = UInt64(part) * seeds
    #expect(Self.run(first..<first + seeds) == nil)
  }

  #if DEBUG
    @Test(arguments: PlantedFault.allCases) func aPlantedFaultIsFound(_ fault: PlantedFault) {
      #expect(Self.run(0..<200, planted: fault) != nil)
    }
  #endif
}
