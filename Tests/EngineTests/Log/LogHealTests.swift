/// A file of a log that has lost pages: what is left of it stays where it is, and what is lost is a
/// gap that a sync fills.
import Base
import Foundation
import LogSupport
import TestSupport
import Testing

@testable import Engine

@Suite struct LogHealTests {
  private func host(_ folder: TrapsRestart.Folder, _ count: Int) throws -> LogHost {
    var kind = LogServerKind()
    kind.hasStream = true
    kind.refusesUnknown = true
    let host = try LogHost(kind, pageLimit: 100, file: folder.file())
    for number in 0..<count {
      let id = host.post("text \(number) " + String(repeating: "word ", count: 40))
      if number % 9 == 8 { host.change(.edit, of: id, says: "edited \(number)") }
    }
    try host.client.connected()
    try host.readAll()
    return host
  }

  private func heal(_ client: Client) throws -> FileCheck {
    let work = try Checking.start(client, heals: true)
    while try !work.step(milliseconds: 0).isDone {}
    return try #require(work.checked)
  }

  /// False where it does not open.
  private func reopen(_ host: LogHost, _ path: String, _ bytes: [UInt8]) throws -> Bool {
    host.client.close()
    var image = DiskImage()
    image.files[path] = bytes
    image.write(replacing: "", with: "")
    do throws(Failure) { host.client = try Client.open(host.config) } catch {
      #expect(error == .damaged)
      return false
    }
    return true
  }

  /// Protects: whichever page is lost, rows on sound pages stay, the rest is a gap, and a sync
  /// brings all back as it was. A file that has lost nothing stays verified.
  @Test func whicheverPageIsLostTheRestStays() throws {
    let folder = try TrapsRestart.Folder()
    let host = try host(folder, 400)
    let (before, all) = (try host.shown(), 400)
    #expect(before.count == all)
    #expect(try host.page().coverage.whole)
    guard case .path(let path, _, _, _) = host.config.file else { return }
    host.client.close()
    let whole = try #require(DiskImage(paths: [path]).files[path])
    let pages = (whole.count - 8192) / 4096
    host.client = try Client.open(host.config)
    var (healed, kept) = (0, 0)
    // Without the schema the file does not open.
    for page in stride(from: 2, to: pages, by: 3) {
      var bytes = whole
      bytes[8192 + page * 4096 + 99] ^= 1
      guard try reopen(host, path, bytes), try heal(host.client).isHealed else { continue }
      healed += 1
      let left = try host.shown()
      if left.count > all - 60 { kept += 1 }
      // What is shown is as it was, and in its order.
      let texts = Set(left)
      #expect(left == before.filter { texts.contains($0) }, "page \(page)")
      let coverage = try host.page().coverage
      // It says that rows are missing, also where they were the newest ones.
      let isAll = coverage.whole && coverage.stop == .start
      #expect(left.count == all || !isAll, "page \(page): \(left.count) rows, \(coverage)")
      try host.client.connected()
      try host.readAll()
      #expect(try host.shown() == before, "page \(page)")
      #expect(try host.page().coverage.whole, "page \(page)")
    }
    #expect(healed > 5)
    #expect(kept > healed * 3 / 4)
  }
}
