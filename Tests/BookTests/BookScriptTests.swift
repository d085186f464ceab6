/// Rules of the pagers that no world of random servers shows, each with its fault.
import Book
import BookSupport
import Testing

@Suite struct BookScriptTests {
  /// Answers in their order; then none that says anything.
  private final class Script {
    var pages: [(messages: [BookMessage], more: Bool)] = []
    var since: [Int64] = []
  }

  private func client(
    _ script: Script, numbered: Bool = false, faults: PagerFaults = []
  ) -> PagingClient {
    var kind = PageServerKind()
    kind.isNumbered = numbered
    return PagingClient(
      kind, PagingDisk(), faults: faults,
      fetch: { _ in script.pages.isEmpty ? ([], true) : script.pages.removeFirst() },
      fetchDeleted: { since in
        script.since.append(since)
        return []
      })
  }

  private func rows(_ times: Int64...) -> [BookMessage] {
    times.map { BookMessage(name: Int($0), time: $0, number: $0) }
  }

  /// N1: a pushed number touches the one below it.
  @Test(arguments: [false, true]) func numbersTouch(isBroken: Bool) throws {
    let script = Script()
    script.pages = [(rows(1, 2, 3), false)]
    let client = client(script, numbered: true, faults: isBroken ? .numbersDoNotTouch : [])
    try client.sync()
    client.pushed(BookMessage(name: 4, time: 4, number: 4))
    client.pushed(BookMessage(name: 5, time: 5, number: 5))
    client.pushed(BookMessage(name: 7, time: 7, number: 7))
    let picture = client.disk.book.picture()
    #expect((picture == "^ 1 2 3 4 5 <6> | <7> 7 <8>") == !isBroken, "\(picture)")
  }

  /// N2, N3: a selection by time leaves out what was committed late. The numbers show it, and the
  /// newest page is asked for.
  @Test(arguments: [PagerFaults(), .selectionsProveAll, .holesAreIgnored])
  func holesInNumbersAreSeen(faults: PagerFaults) throws {
    let script = Script()
    let late = BookMessage(name: 21, time: 2, number: 21)
    script.pages = [(rows(18, 19, 20), false), (rows(20, 22), false)]
    script.pages.append((rows(18, 19, 20) + [late] + rows(22), false))
    let client = client(script, numbered: true, faults: faults)
    try client.sync()
    try client.sync()
    #expect(client.disk.book.contains(21) == !faults.contains(.holesAreIgnored))
    // Without the newest page the hole is a gap.
    script.pages = []
    let other = self.client(script, numbered: true, faults: faults)
    script.pages = [(rows(18, 19, 20), false), (rows(20, 22), false)]
    try other.sync()
    try? other.sync()
    let picture = other.disk.book.picture()
    #expect(picture.contains("20 22") == (faults == .selectionsProveAll), "\(picture)")
  }

  /// A1: a row that one answer lacks is shown on, and nothing is claimed of it.
  @Test(arguments: [false, true]) func oneLackIsNoProof(isBroken: Bool) throws {
    let script = Script()
    script.pages = [(rows(1, 8, 9, 10), false), (rows(8, 10), false)]
    let client = client(script, faults: isBroken ? .oneLackIsEnough : [])
    try client.sync()
    try client.sync()
    #expect(client.disk.book.contains(9) == !isBroken)
  }

  /// A4: the server shows a deleted row on two connections: it was restored, and what was known of
  /// deletions is of another history.
  @Test(arguments: [false, true]) func deletedRowsShownTwiceAreARestore(isBroken: Bool) throws {
    let script = Script()
    script.pages = [(rows(1, 8, 9, 10), false)]
    let client = client(script, faults: isBroken ? .buriedStayBuried : [])
    try client.sync()
    client.bury([9])
    script.pages = [(rows(8, 9, 10), false)]
    try client.sync()
    #expect(!client.disk.book.contains(9))
    script.pages = [(rows(8, 9, 10), false), (rows(1, 8, 9, 10), false)]
    try client.sync()
    #expect(client.disk.book.contains(9) == !isBroken)
  }

  /// D2: a deleted row leaves a tombstone: neither a page that was requested before the deletion
  /// nor a repeated push brings it back.
  @Test(arguments: [false, true]) func deletedRowsStayDeleted(isBroken: Bool) throws {
    let script = Script()
    script.pages = [(rows(1, 8, 9, 10), false)]
    let client = client(script, faults: isBroken ? .noTombstones : [])
    try client.sync()
    let asked = client.tick()
    client.bury([8, 9])
    client.learn(rows(1, 8, 10), .other, asked: asked, low: .start, high: .present)
    #expect(client.disk.book.contains(8) == isBroken)
    client.pushed(BookMessage(name: 9, time: 9))
    #expect(client.disk.book.contains(9) == isBroken)
  }

  /// D3: a push older than all that deletions were asked for lowers their watermark.
  @Test(arguments: [false, true]) func olderPushesLowerTheWatermark(isBroken: Bool) throws {
    let script = Script()
    script.pages = [(rows(100, 101), true)]
    let client = client(script, faults: isBroken ? .olderPushesIgnored : [])
    try client.sync()
    client.pushed(BookMessage(name: 3, time: 3))
    try client.sync()
    #expect(((script.since.last ?? 0) < 3) == !isBroken, "\(script.since)")
  }
}
