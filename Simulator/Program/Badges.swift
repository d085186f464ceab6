/// How often numbers of unread messages are wrong, as a table.
import Foundation
import Simulator

func countBadges() throws -> Never {
  let first = option("--from", 1)
  let tellsAll = CommandLine.arguments.contains("--story")
  var all: [BadgeKind.Group: BadgeFigures] = [:]
  var failed: [Int] = []
  let numbers = first..<first + option("--seeds", 3_000)
  for number in numbers {
    let world = try BadgeWorld(seed: UInt64(number))
    if tellsAll { world.story = { print($0) } }
    let figures = try world.run()
    if world.kind.group != .lags, figures.exactWrong > 0 { failed.append(number) }
    all[world.kind.group, default: BadgeFigures()].add(figures)
  }
  func column(_ text: String) -> String {
    String(repeating: " ", count: max(0, 9 - text.count)) + text
  }
  func share(_ part: Int, _ whole: Int) -> String {
    String(format: "%.2f", 100 * Double(part) / Double(max(1, whole)))
  }
  print("numbers at rest, in %: wrong, exact; looks at exact ones, and how many of them were wrong")
  print("changes without a cause, and all; requests for counts for each 100 inputs")
  let head = ["worlds", "wrong", "exact", "looks", "wrong", "no cause", "changes", "asked"]
  print(head.map(column).joined(), " server and host")
  for group in BadgeKind.Group.allCases {
    let one = all[group] ?? BadgeFigures()
    let row = [
      "\(one.worlds)", share(one.restsWrong, one.rests), share(one.restsExact, one.rests),
      "\(one.looksExact)", "\(one.exactWrong)", "\(one.causeless)", "\(one.changes)",
      share(one.asked, one.inputs),
    ]
    print(row.map(column).joined(), " \(group.rawValue)")
  }
  if !failed.isEmpty { print("an exact number was wrong in the worlds \(failed)") }
  print("\(numbers.count - failed.count) passed, \(failed.count) failed")
  exit(failed.isEmpty ? 0 : 1)
}
