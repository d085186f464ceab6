/// Taking in copies of a message: which side wins, and what only grows.
import Testing

@testable import Store

@Suite struct MergeTests {
  @Test(arguments: Kind.allCases)
  func numbersOfOneCommitFollowEachOtherAndAreNeverReused(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    let first = try fixture.apply([message("a", at: 1), message("b", at: 2)], cid)
    #expect(first == [.inserted(1), .inserted(2)])
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.remove(position(2, "b"), cid) == 2)
    }
    try fixture.reopen()
    #expect(try fixture.apply([message("b", at: 2)], cid) == [.inserted(3)])
  }

  @Test(arguments: Kind.allCases)
  func anIdenticalCopyWritesNothing(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    let copy = message("a", at: 1, readBy: #"["eva"]"#)
    try fixture.apply([copy], cid)
    let before = fixture.store.lsn
    #expect(try fixture.apply([copy], cid) == [.unchanged(1)])
    #expect(fixture.store.lsn == before)
  }

  @Test func aCopyAskedForBeforeTheStoredOneKeepsItsContentOut() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1, "new", reactions: #"{"x":["u"]}"#)], cid, issued: 9)
    let stale = try fixture.apply([message("a", at: 1, "old")], cid, issued: 8)
    #expect(stale == [.unchanged(1)])
    #expect(text(try fixture.message("a", cid)?.payload) == "new")
    #expect(text(try fixture.message("a", cid)?.reactions) == #"{"x":["u"]}"#)
    // Of two with one stamp, the later received wins.
    #expect(try fixture.apply([message("a", at: 1, "last")], cid, issued: 9) == [.updated(1)])
    #expect(text(try fixture.message("a", cid)?.payload) == "last")
    #expect(try fixture.message("a", cid)?.reactions == nil)
  }

  @Test func versionOutranksEditTimeOutranksStamp() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    func payload() throws -> String? { text(try fixture.message("a", cid)?.payload) }
    try fixture.apply([message("a", at: 1, "v2", version: 2, edited: 10)], cid, issued: 5)
    try fixture.apply([message("a", at: 1, "v1", version: 1, edited: 99)], cid, issued: 9)
    #expect(try payload() == "v2")
    try fixture.apply([message("a", at: 1, "v3", version: 3, edited: 1)], cid, issued: 1)
    #expect(try payload() == "v3")
    try fixture.apply([message("a", at: 1, "e0", version: 3, edited: 0)], cid, issued: 9)
    #expect(try payload() == "v3")
    try fixture.apply([message("a", at: 1, "e2", version: 3, edited: 2)], cid, issued: 1)
    #expect(try payload() == "e2")
    // Without a version on one side the edit time says.
    try fixture.apply([message("a", at: 1, "e3", edited: 3)], cid, issued: 1)
    #expect(try payload() == "e3")
    // The version that is known stays known.
    try fixture.apply([message("a", at: 1, "v2", version: 2, edited: 4)], cid, issued: 9)
    #expect(try payload() == "e3")
  }

  @Test func reactionsGoByTheVersionThenTheStampAndPinsByTheStamp() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1, "1", version: 1, reactions: "{1}")], cid, issued: 5)
    // A newer copy, asked for before the stored one: what it shows was so later.
    try fixture.apply(
      [message("a", at: 1, "2", flags: .pinned, version: 2, reactions: "{2}")], cid, issued: 4)
    var stored = try fixture.message("a", cid)
    #expect(text(stored?.payload) == "2")
    #expect(text(stored?.reactions) == "{2}")
    #expect(stored?.flags.contains(.pinned) == false)
    // An older copy, asked for later.
    try fixture.apply(
      [message("a", at: 1, "1", flags: .pinned, version: 1, reactions: "{0}")], cid, issued: 6)
    stored = try fixture.message("a", cid)
    #expect(text(stored?.payload) == "2")
    #expect(text(stored?.reactions) == "{2}")
    #expect(stored?.flags.contains(.pinned) == true)
    // Without a version the stamp says.
    try fixture.apply([message("a", at: 1, "2", reactions: "{3}")], cid, issued: 3)
    #expect(text(try fixture.message("a", cid)?.reactions) == "{2}")
    try fixture.apply([message("a", at: 1, "2", reactions: "{4}")], cid, issued: 7)
    #expect(text(try fixture.message("a", cid)?.reactions) == "{4}")
  }

  @Test func readersOnlyGrow() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply(
      [message("a", at: 1, flags: .readByMe, readBy: #"["me","eva"]"#)], cid, issued: 5)
    try fixture.apply([message("a", at: 1, "x", readBy: #"["jan"]"#)], cid, issued: 6)
    try fixture.apply([message("a", at: 1, "x")], cid, issued: 7)
    try fixture.apply([message("a", at: 1, "old", readBy: #"["ota"]"#)], cid, issued: 1)
    let stored = try fixture.message("a", cid)
    #expect(text(stored?.readBy) == #"["me","eva","jan","ota"]"#)
    #expect(stored?.flags.contains(.readByMe) == true)
    #expect(text(stored?.payload) == "x")
  }

  @Test(arguments: Kind.allCases)
  func aChangedServerTimeMovesTheRowAndKeepsItsNumber(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 1), message("b", at: 2)], cid)
    #expect(try fixture.apply([message("a", at: 3)], cid) == [.updated(1)])
    #expect(try fixture.texts(cid, .oldest) == ["b", "a"])
    try fixture.read { tx throws(StoreFailure) in
      #expect(try tx.position(ofNumber: 1, in: cid) == position(3, "a"))
      #expect(try tx.count(cid, from: .min, to: .max) == 2)
    }
  }

  @Test func aRowOfALostEpochYieldsAndIsMarkedAsSeen() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.apply(
      [message("a", at: 1, "lost", version: 9), message("b", at: 2), message("gone", at: 3)], cid,
      issued: 50)
    let restored = try fixture.write { tx throws(StoreFailure) in
      var record = try tx.conversation(creating: bytes("c"))
      record.restoredLSN = tx.lsn
      try tx.save(record)
      return tx.lsn
    }
    let again = try fixture.apply(
      [message("a", at: 1, "kept", version: 3), message("b", at: 2)], cid, issued: 1)
    #expect(again == [.updated(1), .unchanged(2)])
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.annotationTable.receipts(
        .read, user: bytes("eva"), ids: [bytes("gone")], in: cid, isMe: false)
    }
    let unseen = try fixture.read { tx throws(StoreFailure) in
      try tx.rows(cid, from: .min, to: .max, limit: 10, newestFirst: false)
        .filter { $0.lsn < restored }
    }
    #expect(unseen.map(\.position) == [position(3, "gone")])
    #expect(try fixture.message("a", cid)?.version == 3)
  }

  /// Marks that were told since the server was found restored are of its new epoch: a page
  /// that was asked for before them takes them away no more than in any other row.
  @Test func marksToldSinceARestoreOutliveAnOlderPage() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    var lost = message("a", at: 1, "lost", version: 9)
    lost.reactions = bytes(#"{"lost":["eva"]}"#)
    try fixture.apply([lost, message("b", at: 2, "lost", version: 9)], cid)
    let asked = try fixture.write { tx throws(StoreFailure) in
      var record = try tx.conversation(creating: bytes("c"))
      record.restoredLSN = tx.lsn
      try tx.save(record)
      return tx.lsn
    }
    try fixture.write { tx throws(StoreFailure) in
      // Also one of an earlier version than the server had before.
      let told = bytes(#"{"+":["eva"]}"#)
      let first = try tx.annotationTable.reactions(
        bytes("a"), in: cid, json: told, version: 4, issued: tx.lsn)
      #expect(first == 1)
      // One that was told in the wrong order.
      #expect(
        try tx.annotationTable.reactions(bytes("a"), in: cid, json: nil, version: 3, issued: tx.lsn)
          == nil)
      #expect(try tx.annotationTable.pin(bytes("a"), in: cid, isPinned: true, issued: tx.lsn) == 1)
    }
    let page = [message("a", at: 1, "kept", version: 2), message("b", at: 2, "kept", version: 2)]
    try fixture.apply(page, cid, issued: asked)
    let known = try fixture.message("a", cid)
    #expect(text(known?.payload) == "kept")
    #expect(text(known?.reactions) == #"{"+":["eva"]}"#)
    #expect(known?.flags.contains(.pinned) == true)
    #expect(try fixture.message("b", cid)?.version == 2)
  }

  /// A pushed copy that says nothing of marks leaves them as they are, also those of a lost
  /// epoch; the next page still takes their place, whatever its version.
  @Test func aCopyWithoutMarksKeepsThoseOfALostEpoch() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    var known = message("a", at: 1, "text", version: 9)
    known.reactions = bytes(#"{"+":["eva"]}"#)
    known.flags = .pinned
    try fixture.apply([known], cid)
    try fixture.write { tx throws(StoreFailure) in
      var record = try tx.conversation(creating: bytes("c"))
      record.restoredLSN = tx.lsn
      try tx.save(record)
    }
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.apply(
        message("a", at: 1, "text", version: 1), cid, issued: tx.lsn, saysMarks: false)
    }
    var stored = try fixture.message("a", cid)
    #expect(text(stored?.reactions) == #"{"+":["eva"]}"#)
    #expect(stored?.flags.contains(.pinned) == true)
    let asked = try fixture.write { tx throws(StoreFailure) in tx.lsn }
    try fixture.apply([message("a", at: 1, "text", version: 2)], cid, issued: asked)
    stored = try fixture.message("a", cid)
    #expect(stored?.reactions == nil)
    #expect(stored?.flags.contains(.pinned) == false)
  }

  @Test func aSealedPayloadIsReplacedWhenItCouldBeOpened() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    var sealed = message("a", at: 1, "sealed", flags: .sealed)
    sealed.raw = bytes("sealed")
    try fixture.apply([sealed], cid)
    #expect(try fixture.message("a", cid) == sealed)
    #expect(try fixture.apply([message("a", at: 1, "open")], cid) == [.updated(1)])
    #expect(try fixture.message("a", cid) == message("a", at: 1, "open"))
  }
}

@Suite struct ReaderListTests {
  @Test(
    arguments: [
      (nil, #"["a"]"#, #"["a"]"#), (#"["a"]"#, nil, #"["a"]"#), (#"["a"]"#, #"[]"#, #"["a"]"#),
      (#"["a"]"#, #"["b","a"]"#, #"["a","b"]"#), (#"["\u00e9"]"#, #"["é"]"#, #"["\u00e9"]"#),
      (#"["a"]"#, "nonsense", #"["a"]"#), ("nonsense", #"["a"]"#, #"["a"]"#), (nil, "[1]", nil),
      (#"[ "\ud83d\ude00" ]"#, #"["b\"\\"]"#, #"["😀","b\"\\"]"#), (nil, #"["\ud83d"]"#, nil),
      (nil, #"["a"#, nil), (nil, #"["a"] x"#, nil), (#"["a"]"#, #"["\u0001"]"#, #"["a","\u0001"]"#),
    ] as [(String?, String?, String?)])
  func union(stored: String?, added: String?, result: String?) {
    #expect(text(ReaderList.union(stored.map(bytes), added: added.map(bytes))) == result)
  }
}
