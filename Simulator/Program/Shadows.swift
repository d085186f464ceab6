/// The books beside the engine, as a table.
import Foundation
import Simulator

/// Runs seeds with a shadow in several processes, and prints what differs.
func compareShadows(_ seed: @escaping @Sendable (UInt64) -> UInt64) throws -> Never {
  let first = UInt64(option("--from", 1))
  let count = option("--seeds", 100)
  let sums = ShadowSums()
  let tellsAll = CommandLine.arguments.contains("--story")
  Runner.parallel(count, jobs: tellsAll ? 1 : option("--jobs", 2)) { index in
    let number = seed(first + UInt64(index))
    if tellsAll { print(Runner.line(of: number).text) }
    sums.add(Runner.shadow(number, story: tellsAll ? { print($0) } : nil))
  }
  sums.print()
  exit(0)
}

/// Touched under its lock.
private final class ShadowSums: @unchecked Sendable {
  private let turn = NSLock()
  private var all = ShadowFigures()
  private var broken: [String] = []

  func add(_ one: ShadowFigures) {
    turn.withLock {
      all.add(one)
      if let text = one.isBroken { broken.append(text) }
    }
  }

  func print() {
    let all = all
    Swift.print("kind of difference: looks, worlds, first seeds")
    for (name, one) in all.classes.sorted(by: { $0.key < $1.key }) {
      let seeds = one.seeds.map(String.init).joined(separator: " ")
      Swift.print("\(name): \(one.looks), \(one.worlds), \(seeds)")
    }
    Swift.print(
      "\(all.worlds) worlds, \(all.looks) looks, \(all.requests) requests, \(all.pages) pages, "
        + "\(all.pushes) pushes, \(all.deletions) deletions, \(all.purges) purges")
    Swift.print(
      "neighbours known to both \(all.both), the engine alone \(all.engineAlone), "
        + "the book alone \(all.bookAlone)")
    Swift.print(
      "the same at rest \(all.restBoth), \(all.restEngineAlone), \(all.restBookAlone)")
    if all.syncs > 0 {
      Swift.print(
        "\(all.syncs) syncs, \(all.syncRequests) requests of the engine, "
          + "\(all.pagerRequests) of the pagers")
    }
    let pages = Int64(max(1, all.pages))
    Swift.print(
      "a page: take \(all.takeNs / pages / 1_000) us, the engine's input "
        + "\(all.engineNs / pages / 1_000) us")
    for text in broken.prefix(10) { Swift.print("world ended: \(text.prefix(200))") }
  }
}
