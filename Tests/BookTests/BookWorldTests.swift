/// A book among random servers: what it claims equals the server's list.
import BookSupport
import Foundation
import Testing

@Suite struct BookWorldTests {
  static let count =
    ProcessInfo.processInfo.environment["BOOK_WORLDS"].flatMap(UInt64.init) ?? 0

  /// Protects: each linked range is whole and in the server's order at each step, and all of the
  /// server's list is there at the end.
  @Test(arguments: PagingWorlds.allCases) func claimsAreTrue(_ worlds: PagingWorlds) {
    let counts = BookCounts.run(0..<8, worlds)
    #expect(counts.failures == 0, "\(counts.line)")
  }

  @Test func claimsOfLogsAreTrue() {
    let counts = BookCounts.runLogs(0..<20)
    #expect(counts.failures == 0, "\(counts.line)")
  }

  /// Prints how many worlds fail, by what was wrong.
  @Test(.enabled(if: count > 0)) func worldsAreCounted() {
    for worlds in PagingWorlds.allCases {
      print(worlds, BookCounts.run(1_000..<(1_000 + Self.count), worlds).line)
    }
    print("log", BookCounts.runLogs(1_000..<(1_000 + Self.count)).line)
  }
}
