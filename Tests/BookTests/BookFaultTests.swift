/// A fault is planted for each rule of the book and of its pagers, and worlds have to find it.
import Book
import BookSupport
import Foundation
import Testing

@Suite struct BookFaultTests {
  /// A fault, the worlds in which it is looked for, and the seed that finds it.
  struct Planted: Sendable, CustomStringConvertible {
    var rule: String
    var worlds: PagingWorlds
    var book: BookFaults = []
    var pagers: PagerFaults = []
    var seeds: Range<UInt64>

    var description: String { rule }
  }

  /// Protects: each rule is needed, and the worlds are hard enough to show it.
  @Test(arguments: BookFaultTests.planted) func isFound(_ fault: Planted) {
    let found = BookCounts.run(
      fault.seeds, fault.worlds, book: fault.book, pagers: fault.pagers, stopsAtFirst: true)
    #expect(found.failures == 1, "\(fault.rule): \(found.line)")
    let right = BookCounts.run(
      (fault.seeds.lowerBound + UInt64(found.worlds) - 1)..<fault.seeds.lowerBound
        + UInt64(found.worlds), fault.worlds)
    #expect(right.failures == 0, "without \(fault.rule): \(right.line)")
  }

  struct PlantedInLog: Sendable, CustomStringConvertible {
    var rule: String
    var book: BookFaults = []
    var faults: LogClientFaults = []
    var seeds: Range<UInt64>

    var description: String { rule }
  }

  @Test(arguments: BookFaultTests.plantedInLog) func isFoundInALog(_ fault: PlantedInLog) {
    let found = BookCounts.runLogs(
      fault.seeds, book: fault.book, faults: fault.faults, stopsAtFirst: true)
    #expect(found.failures == 1, "\(fault.rule): \(found.line)")
  }
}
