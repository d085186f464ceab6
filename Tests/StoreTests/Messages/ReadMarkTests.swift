/// Read marks that are pending for the server.
import Testing
import Timeline

@testable import Store

@Suite struct ReadMarkTests {
  @Test(arguments: Kind.allCases)
  func aMarkIsOwedUntilConfirmedAndNeverAfter(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    let other = try fixture.conversation("other")
    try fixture.apply(
      [
        message("a", at: 1), message("b", at: 2), message("mine", at: 3, flags: .mine),
        message("read", at: 4, flags: .readByMe), message("husk", at: 5),
      ], cid)
    try fixture.apply([message("x", at: 1)], other)
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.forget(bytes("husk"), in: cid)
      #expect(try tx.annotationTable.enqueueMark(.read, id: bytes("b"), in: cid))
      #expect(try tx.annotationTable.enqueueMark(.read, id: bytes("x"), in: other))
      #expect(try tx.annotationTable.enqueueMark(.read, id: bytes("a"), in: cid))
      for id in ["a", "mine", "read", "husk", "unknown"] {
        #expect(try tx.annotationTable.enqueueMark(.read, id: bytes(id), in: cid) == false, "\(id)")
      }
    }
    try fixture.reopen()
    try fixture.read { tx throws(StoreFailure) in
      #expect(try tx.pendingMarkCount() == 3)
    }
    try fixture.write { tx throws(StoreFailure) in
      #expect(
        try tx.pendingMarks(limit: 10) == [
          PendingMarks(
            kind: .read, cid: cid, conversation: bytes("c"), ids: ["b", "a"].map(bytes)),
          PendingMarks(kind: .read, cid: other, conversation: bytes("other"), ids: [bytes("x")]),
        ])
      #expect(try tx.pendingMarks(limit: 1).map(\.ids) == [[bytes("b")]])
      #expect(try tx.pendingMarks(limit: -1).isEmpty)
      #expect(
        try tx.annotationTable.confirmMarks(.read, ids: ["b", "unknown"].map(bytes), in: cid) == [2]
      )
      try tx.annotationTable.dropMarks(.read, ids: [bytes("x")], in: other)
      #expect(try tx.pendingMarks(limit: 10).map(\.ids) == [[bytes("a")]])
      #expect(try tx.annotationTable.enqueueMark(.read, id: bytes("b"), in: cid) == false)
      #expect(try tx.annotationTable.enqueueMark(.read, id: bytes("x"), in: other))
    }
    let stored = try #require(try fixture.message("b", cid))
    #expect(stored.flags.contains(.readByMe))
    #expect(text(stored.readBy) == #"["me"]"#)
  }

  @Test func whatTheServerSaysOrDeletesIsNoLongerOwed() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply(["a", "b", "c", "d"].map { message($0, at: 1) }, cid)
    try fixture.write { tx throws(StoreFailure) in
      for id in ["a", "b", "c", "d"] {
        #expect(try tx.annotationTable.enqueueMark(.read, id: bytes(id), in: cid))
      }
      _ = try tx.tombstone(bytes("a"), in: cid, version: nil)
      _ = try tx.apply(message("b", at: 1, flags: .readByMe), cid, issued: 0)
      let changed = try tx.annotationTable.receipts(
        .read, user: bytes("me"), ids: [bytes("c")], in: cid, isMe: true)
      #expect(changed == [3])
      #expect(try tx.pendingMarks(limit: 9).map(\.ids) == [[bytes("d")]])
    }
  }

  @Test(arguments: Kind.allCases)
  func listenedMarksAreOwedBesideReadOnes(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.apply(
      ["a", "b"].map { message($0, at: 1, flags: .readByMe) } + [message("c", at: 2)], cid)
    try fixture.write { tx throws(StoreFailure) in
      for id in ["c", "a", "b"] {
        #expect(try tx.annotationTable.enqueueMark(.listened, id: bytes(id), in: cid))
        #expect(try tx.annotationTable.enqueueMark(.listened, id: bytes(id), in: cid) == false)
      }
      #expect(try tx.annotationTable.enqueueMark(.read, id: bytes("c"), in: cid))
    }
    try fixture.reopen()
    try fixture.write { tx throws(StoreFailure) in
      let pending = try tx.pendingMarks(limit: 10)
      #expect(pending.map(\.kind) == [.read, .listened])
      #expect(pending.map(\.ids) == [[bytes("c")], ["c", "a", "b"].map(bytes)])
      #expect(try tx.pendingMarks(limit: 2).map(\.ids.count) == [1, 1])
      let rows = try tx.rows(cid, from: .min, to: .max, limit: 100, newestFirst: false)
      #expect(rows.count { $0.flags.contains(.listenQueued) } == 3)
      #expect(rows.filter { $0.flags.contains(.readQueued) }.map(\.position.id) == [bytes("c")])
      #expect(try tx.annotationTable.confirmMarks(.listened, ids: [bytes("c")], in: cid) == [3])
      // The server says of one that it is so; the other it refuses.
      _ = try tx.apply(
        message("a", at: 1, flags: [.readByMe, .listenedByMe]), cid, issued: tx.lsn)
      try tx.annotationTable.dropMarks(.listened, ids: [bytes("b")], in: cid)
      #expect(try tx.pendingMarks(limit: 9).map(\.kind) == [.read])
      #expect(try tx.annotationTable.enqueueMark(.listened, id: bytes("b"), in: cid))
      _ = try tx.tombstone(bytes("b"), in: cid, version: nil)
      #expect(try tx.pendingMarkCount() == 1)
    }
    let row = try #require(try fixture.message("c", cid))
    #expect(row.flags == [.listenedByMe, .readQueued] && text(row.listenedBy) == #"["me"]"#)
    #expect(row.readBy == nil)
  }

  /// A delivery shows nothing on the row, so it is told by the list and the queue.
  @Test(arguments: Kind.allCases)
  func deliveredMarksAreOwedUntilTheServerSaysSo(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.apply(["a", "b", "c", "d"].map { message($0, at: 1) }, cid)
    try fixture.apply([message("mine", at: 2, flags: .mine)], cid)
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.annotationTable.enqueueMark(.delivered, id: bytes("mine"), in: cid) == false)
      for id in ["a", "b", "c"] {
        #expect(try tx.annotationTable.enqueueMark(.delivered, id: bytes(id), in: cid))
        #expect(try tx.annotationTable.enqueueMark(.delivered, id: bytes(id), in: cid) == false)
      }
    }
    try fixture.reopen()
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.pendingMarks(limit: 10).map(\.ids) == [["a", "b", "c"].map(bytes)])
      #expect(try tx.annotationTable.confirmMarks(.delivered, ids: [bytes("a")], in: cid) == [1])
      #expect(try tx.annotationTable.enqueueMark(.delivered, id: bytes("a"), in: cid) == false)
      var told = message("b", at: 1)
      told.deliveredBy = bytes(#"["eva","me"]"#)
      _ = try tx.apply(told, cid, issued: tx.lsn)
      #expect(try tx.annotationTable.enqueueMark(.delivered, id: bytes("b"), in: cid) == false)
      _ = try tx.tombstone(bytes("c"), in: cid, version: nil)
      #expect(try tx.pendingMarkCount() == 0)
    }
  }

  @Test func receiptsOfOthersGrowOnce() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1)], cid)
    for expected in [[1], []] as [[UInt64]] {
      let changed = try fixture.write { tx throws(StoreFailure) in
        try tx.annotationTable.receipts(
          .read, user: bytes("e\"va"), ids: [bytes("a"), bytes("?")], in: cid, isMe: false)
      }
      #expect(changed == expected)
    }
    #expect(text(try fixture.message("a", cid)?.readBy) == #"["e\"va"]"#)
    #expect(try fixture.message("a", cid)?.flags.contains(.readByMe) == false)
  }
}
