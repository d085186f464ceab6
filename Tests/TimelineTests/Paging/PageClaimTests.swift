/// What one page proves, case by case.
///
/// A page is written as it was sent: `5a` is message `a` stamped 5, `!` one that
/// could not be read. A claim is written as its pieces, each `low..high`, where
/// `5a` is before that message, `5a+` after it, `5` before that tick.
import Testing
import Timeline

@Suite struct PageClaimTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var page: String
    var low = PageClaim.End.cut
    var high = PageClaim.End.cut
    var tiesByID = false
    var pieces: String

    var ties: Ties { tiesByID ? .byID : .unknown }
    var testDescription: String { name }
  }

  static let cases: [Case] = [
    Case(name: "a cut end claims no part of its tick", page: "5a 6b 7c", pieces: "6..7"),
    Case(
      name: "ordered ties make a cut end exact", page: "5a 6b 7c", tiesByID: true,
      pieces: "5a..7c+"),
    Case(
      name: "an open end reaches its boundary", page: "5a 6b 7c", low: .open(.min),
      high: .open(.before(timestampGroup: 9)), pieces: "min..9"),
    Case(
      name: "one open end", page: "5a 6b 7c", high: .open(.before(timestampGroup: 9)),
      pieces: "6..9"),
    Case(name: "the order sent is no matter", page: "7c 5a 6b", pieces: "6..7"),
    Case(name: "one tick cut at both ends claims nothing", page: "5a 5b 5c", pieces: ""),
    Case(name: "two neighbouring ticks cut at both ends claim nothing", page: "5a 6b", pieces: ""),
    Case(
      name: "one tick with ordered ties", page: "5a 5b 5c", tiesByID: true, pieces: "5a..5c+"),
    Case(name: "one message cut at both ends", page: "5a", tiesByID: true, pieces: "5a..5a+"),
    Case(
      name: "an empty page claims nothing by itself", page: "", low: .open(.min),
      high: .open(.max), pieces: ""),
    Case(
      name: "an unreadable item leaves a hole between its neighbours", page: "5a 6b ! 8d 9e",
      pieces: "6..6b+ 8d..9"),
    Case(
      name: "the same, sent newest first", page: "9e 8d ! 6b 5a", pieces: "6..6b+ 8d..9"),
    Case(
      name: "two in a row make one hole", page: "5a 6b ! ! 8d 9e", pieces: "6..6b+ 8d..9"),
    Case(
      name: "two apart make two", page: "5a 6b ! 7c ! 8d 9e", pieces: "6..6b+ 7c..7c+ 8d..9"),
    Case(
      name: "at the older end nothing is claimed beyond the nearest readable",
      page: "! 5a 6b 7c", low: .open(.min), high: .open(.before(timestampGroup: 9)), pieces: "5a..9"
    ),
    Case(
      name: "at the newer end nothing is claimed beyond the nearest readable",
      page: "5a 6b 7c !", low: .open(.min), high: .open(.before(timestampGroup: 9)),
      pieces: "min..7c+"),
    Case(
      name: "a cut end with an unreadable item", page: "! 5a 6b 7c", tiesByID: true,
      pieces: "5a..7c+"),
    Case(
      name: "between two of one tick the whole tick is in doubt", page: "5a 6c ! 6b 7d",
      tiesByID: true, pieces: "5a..6 7..7d+"),
    Case(
      name: "in a page without order the item may be anywhere", page: "7c 5a ! 6b",
      low: .open(.min), high: .open(.max), pieces: ""),
    Case(
      name: "with one readable time the order is not known, without order", page: "5a ! 5b",
      low: .open(.min), high: .open(.before(timestampGroup: 9)), pieces: ""),
    Case(
      name: "nothing readable claims nothing", page: "! ! !", low: .open(.min),
      high: .open(.max), pieces: ""),
  ]

  @Test(arguments: cases)
  func whatAPageProves(_ item: Case) {
    let items = item.page.split(separator: " ").map { word -> Position? in
      guard word != "!", let time = word.first?.wholeNumberValue else { return nil }
      return at(Int64(time), String(word.dropFirst()))
    }
    let claim = PageClaim(items: items, low: item.low, high: item.high, ties: item.ties)
    let pieces = claim.pieces.map { "\(Self.text($0.low))..\(Self.text($0.high))" }
    #expect(pieces.joined(separator: " ") == item.pieces)
    #expect(claim.rows == items.compactMap { $0 }.sorted())
  }

  /// Every hole is inside the page, and no readable row is in one.
  @Test(arguments: cases)
  func holesHideNoReadableRow(_ item: Case) {
    let items = item.page.split(separator: " ").map { word -> Position? in
      guard word != "!", let time = word.first?.wholeNumberValue else { return nil }
      return at(Int64(time), String(word.dropFirst()))
    }
    let claim = PageClaim(items: items, low: item.low, high: item.high, ties: item.ties)
    if !items.contains(nil) { #expect(claim.holes.isEmpty) }
    if item.page.contains(" ! "), !claim.rows.isEmpty { #expect(!claim.holes.isEmpty) }
    let isSorted = !item.name.contains("without order") && !item.name.contains("one tick")
    for hole in claim.holes where isSorted {
      #expect(!claim.rows.contains { hole.contains($0) })
    }
  }

  /// Which side of one message an item stands on is known where the server's order is.
  @Test func oneMessageIsHeldAgainstTheKnownOrder() {
    let claim = PageClaim(
      items: [nil, at(5, "a")], low: .open(.min), high: .open(.before(timestampGroup: 9)),
      ties: .unknown,
      isAscending: true)
    #expect(claim.pieces == [SpanSet.Span(low: at(5, "a"), high: .before(timestampGroup: 9))])
  }

  private static func text(_ position: Position) -> String {
    if position == .min { return "min" }
    if position == .max { return "max" }
    let id = String(decoding: position.id.filter { $0 != 0 }, as: UTF8.self)
    return "\(position.time)\(id)\(position.id.last == 0 ? "+" : "")"
  }
}
