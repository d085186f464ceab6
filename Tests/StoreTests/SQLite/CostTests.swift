import TestSupport
/// What one live update costs in pages written, in a conversation of many pages.
import Testing

@testable import Store

@Suite struct CostTests {
  /// Pages that one commit writes to the log.
  private func pages(
    _ fixture: Fixture, _ disk: FaultVFS, _ body: (WriteTransaction) throws(StoreFailure) -> Void
  ) throws -> Int {
    let before = disk.counts.bytesWritten
    try fixture.write(body)
    // A frame of the log holds one page.
    return (disk.counts.bytesWritten - before) / 4_144
  }

  @Test func aLiveUpdateWritesFewPagesHoweverLongTheConversation() throws {
    let disk = FaultVFS()
    let fixture = try Fixture(.file, baseVFS: disk.name)
    let cid = try fixture.conversation()
    for size in [300, 3_000] {
      var all: [[Int]] = [[], [], [], []]
      let known = size == 300 ? 0 : 300
      try fixture.apply((known..<size).map { message("m\($0)", at: Int64($0)) }, cid)
      for step in 0..<20 {
        let id = "live \(size) \(step)"
        let costs = [
          try pages(fixture, disk) { tx throws(StoreFailure) in
            _ = try tx.apply(message(id, at: Int64(size)), cid, issued: tx.lsn)
          },
          try pages(fixture, disk) { tx throws(StoreFailure) in
            let json = bytes("{\(size + step)}")
            _ = try tx.annotationTable.reactions(
              bytes("m\(known + step * 9)"), in: cid, json: json, version: nil, issued: tx.lsn)
          },
          try pages(fixture, disk) { tx throws(StoreFailure) in
            _ = try tx.annotationTable.receipts(
              .read, user: bytes("eva"), ids: [bytes("m\(known + step * 9)")], in: cid, isMe: false)
          },
          try pages(fixture, disk) { tx throws(StoreFailure) in
            _ = try tx.apply(message(id, at: Int64(size), "edited"), cid, issued: tx.lsn)
            try tx.feedTable.markPending(bytes("ref \(id)"), wallUs: 1)
          },
        ]
        for index in costs.indices { all[index].append(costs[index]) }
      }
      // Now and then a page of the table splits, so the middle one counts.
      let typical = all.map { $0.sorted()[$0.count / 2] }
      // Row, two indexes, meta with the count; row, meta, with feed and ref in the latter.
      #expect(typical == [4, 2, 2, 2])
    }
  }
}
