/// Operations case by case: settling, what lies over a row, what waits, what outlives.
import Base
import Testing
import Timeline

@testable import Store

@Suite struct OperationTests {
  private func send(_ name: String, _ cid: Int64, _ text: String) -> OperationRecord {
    OperationRecord(.sendMessage, cid: cid, clientID: bytes(name), plain: bytes(text))
  }

  private func mine(_ id: String, at time: Int64, _ name: String?, _ text: String = "x")
    -> IncomingMessage
  {
    var copy = message(id, at: time, text, flags: [.mine, .readByMe])
    copy.clientID = name.map(bytes)
    copy.sentPayload = bytes(text)
    return copy
  }

  private func kinds(
    _ fixture: Fixture, after: UInt64
  ) throws -> [(kind: ChangeKind, first: UInt64)] {
    let page = try fixture.read { rx throws(StoreFailure) in
      try rx.feedReader.changes(after: after, limit: 100)
    }
    guard case .entries(let entries) = page else { return [] }
    return entries.map { ($0.kind, $0.first) }
  }

  @Test(arguments: Kind.allCases)
  func aSendIsOneRowWithOneNumber(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.apply([message("a", at: 10)], cid)
    let added = try fixture.write { tx throws(StoreFailure) in
      try tx.operationTable.addOperation(send("c1", cid, "hello"))
    }
    try fixture.reopen()
    #expect(try fixture.texts(cid, .latest) == ["a", "hello"])
    let before = fixture.store.lastChange
    try fixture.apply([mine("s1", at: 20, "c1", "hello")], cid)
    let changes = try kinds(fixture, after: before)
    #expect(changes.contains { $0 == (.updated, added.number) })
    #expect(changes.contains { $0 == (.operations, added.seq) })
    #expect(!changes.contains { $0.kind == .inserted || $0.kind == .removed })
    try fixture.read { rx throws(StoreFailure) in
      #expect(try rx.position(ofNumber: added.number, in: cid) == position(20, "s1"))
      // Its client id still names it.
      #expect(try rx.message(bytes("c1"), cid).rows.map(\.number) == [added.number])
      let done = try rx.operation(clientID: bytes("c1"))
      #expect(done?.state == .done && done?.target == bytes("s1"))
    }
    // Once more, and from another device: nothing, and an ordinary message.
    try fixture.apply([mine("s1", at: 20, "c1", "hello"), mine("s2", at: 21, "else")], cid)
    #expect(try fixture.texts(cid, .latest) == ["a", "hello", "x"])
  }

  /// Protects: what a user takes off this device is not left in the operation that sent it.
  @Test(arguments: Kind.allCases)
  func aForgottenMessageIsErasedFromItsOperations(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    for name in ["1", "2"] {
      try fixture.write { tx throws(StoreFailure) in
        _ = try tx.operationTable.addOperation(send("c\(name)", cid, "secret"))
      }
      try fixture.apply([mine("s\(name)", at: 20, "c\(name)", "secret")], cid)
    }
    try fixture.write { tx throws(StoreFailure) in _ = try tx.forget(bytes("s1"), in: cid) }
    try fixture.reopen()
    try fixture.read { rx throws(StoreFailure) in
      let (erased, kept) = (
        try rx.operation(clientID: bytes("c1")), try rx.operation(clientID: bytes("c2"))
      )
      #expect(erased?.state == .done && erased?.plain == nil && erased?.result == nil)
      #expect(erased?.body == [] && kept?.plain == bytes("secret"))
    }
  }

  /// Protects: the same of what is done later.
  @Test(arguments: Kind.allCases)
  func whatIsDoneOnAForgottenMessageIsErased(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.apply([mine("s", at: 20, nil, "old")], cid)
    let seq = try fixture.write { tx throws(StoreFailure) in
      try tx.operationTable.addOperation(
        OperationRecord(.editMessage, cid: cid, target: bytes("s"), plain: bytes("secret"))
      ).seq
    }
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.forget(bytes("s"), in: cid)
      guard var edit = try tx.operation(seq) else { throw .closed }
      // It is still to be sent.
      #expect(edit.plain == bytes("secret"))
      edit.state = .done
      edit.result = bytes("secret")
      try tx.operationTable.saveOperation(edit)
    }
    try fixture.reopen()
    let edit = try fixture.read { rx throws(StoreFailure) in try rx.operation(seq) }
    #expect(edit?.state == .done && edit?.plain == nil && edit?.result == nil)
  }

  /// Protects: what was answered is found however much else waits before it.
  @Test func whatWasAnsweredIsFoundBehindAllElse() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    let answered = try fixture.write { tx throws(StoreFailure) -> UInt64 in
      var last: OperationRecord?
      for index in 0...Limits.readRowsMax {
        last = try tx.operationTable.addOperation(send("c\(index)", cid, "x"))
      }
      guard var record = last else { return 0 }
      record.state = .answered
      try tx.operationTable.saveOperation(record)
      return record.seq
    }
    let found = try fixture.read { rx throws(StoreFailure) in
      try rx.answeredOperations(cid).map(\.seq)
    }
    #expect(found == [answered])
  }

  @Test func whatWasStoredWithoutAClientIDKeepsItsNumber() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    let added = try fixture.write { tx throws(StoreFailure) in
      try tx.operationTable.addOperation(send("c1", cid, "hello"))
    }
    var echo = mine("s1", at: 20, nil, "hello")
    echo.sentPayload = nil
    try fixture.apply([echo], cid)
    #expect(try fixture.texts(cid, .latest) == ["hello", "hello"])
    let before = fixture.store.lastChange
    try fixture.apply([mine("s1", at: 20, "c1", "hello")], cid)
    #expect(try fixture.texts(cid, .latest) == ["hello"])
    #expect(try kinds(fixture, after: before).contains { $0 == (.removed, added.number) })
  }

  @Test func byPayloadOneMessageSettlesOneSendThatMayHaveArrived() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    let seqs = try fixture.write { tx throws(StoreFailure) -> [UInt64] in
      var seqs: [UInt64] = []
      for (index, state) in [OperationState.queued, .unknown, .inFlight].enumerated() {
        var record = try tx.operationTable.addOperation(send("c\(index)", cid, "same"))
        record.state = state
        try tx.operationTable.saveOperation(record)
        seqs.append(record.seq)
      }
      return seqs
    }
    func open() throws -> [UInt64] {
      try fixture.read { rx throws(StoreFailure) in
        try rx.openOperations(limit: 9).map(\.seq)
      }
    }
    try fixture.apply([mine("s1", at: 1, nil, "same")], cid)
    #expect(try open() == [seqs[0], seqs[2]])
    // The same message again settles no other one.
    try fixture.apply([mine("s1", at: 1, nil, "same")], cid)
    #expect(try open() == [seqs[0], seqs[2]])
    try fixture.apply(
      [mine("s2", at: 2, nil, "another"), mine("s3", at: 3, nil, "same")], cid)
    #expect(try open() == [seqs[0]])
    try fixture.apply([mine("s4", at: 4, nil, "same")], cid)
    #expect(try open() == [seqs[0]])
  }

  @Test func aSendThatWasDeletedBeforeItWasSeenDisappears() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.operationTable.addOperation(send("c1", cid, "hello"))
      _ = try tx.tombstone(bytes("s1"), in: cid, version: nil)
    }
    #expect(try fixture.apply([mine("s1", at: 5, "c1")], cid) == [.tombstoned])
    #expect(try fixture.texts(cid, .latest) == [])
    let left = try fixture.read { rx throws(StoreFailure) in
      try rx.openOperations(limit: 9)
    }
    #expect(left.isEmpty)
  }

  @Test func aSealedCopyOfAnOwnSendShowsWhatWasWritten() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    try fixture.write { tx throws(StoreFailure) in
      _ = try tx.operationTable.addOperation(send("c1", cid, "plain"))
      _ = try tx.operationTable.addOperation(send("c2", cid, "old"))
    }
    var sealed = mine("s1", at: 5, "c1", "")
    sealed.flags.insert(.sealed)
    sealed.raw = bytes("cipher")
    var edited = mine("s2", at: 6, "c2", "")
    edited.flags.formUnion([.sealed, .edited])
    edited.raw = bytes("cipher 2")
    try fixture.apply([sealed, edited], cid)
    #expect(try fixture.texts(cid, .latest) == ["plain", ""])
    try fixture.write { tx throws(StoreFailure) in
      let rows = try tx.sealed(after: 0, position: .min, limit: 9)
      #expect(rows.map(\.position.id) == [bytes("s2")] && rows[0].raw == bytes("cipher 2"))
      var stale = rows[0]
      stale.lsn -= 1
      #expect(try tx.takeOpened(stale, payload: bytes("no"), flags: []) == false)
      #expect(try tx.takeOpened(rows[0], payload: bytes("new"), flags: []))
      #expect(try tx.sealed(after: 0, position: .min, limit: 9).isEmpty)
    }
    #expect(try fixture.texts(cid, .latest) == ["plain", "new"])
  }

  @Test func whatWaitsTakesTheRealIDAndGoesWithWhatIsDropped() throws {
    let fixture = try Fixture(.memory)
    let cid = try fixture.conversation()
    func state() throws -> [(target: String?, depends: UInt64)] {
      try fixture.read { rx throws(StoreFailure) in
        try rx.operations(OperationFilter(openOnly: true, limit: 9))
          .map { (text($0.target), $0.depends) }
      }
    }
    let sends = try fixture.write { tx throws(StoreFailure) -> [UInt64] in
      var seqs: [UInt64] = []
      for name in ["c1", "c2"] {
        let added = try tx.operationTable.addOperation(send(name, cid, name))
        var edit = OperationRecord(
          .editMessage, cid: cid, target: bytes(name), plain: bytes("\(name) edited"))
        edit.depends = added.seq
        _ = try tx.operationTable.addOperation(edit)
        seqs.append(added.seq)
      }
      return seqs
    }
    #expect(try fixture.texts(cid, .latest) == ["c1 edited", "c2 edited"])
    try fixture.apply([mine("s1", at: 5, "c1", "c1")], cid)
    #expect(try fixture.texts(cid, .latest) == ["c1 edited", "c2 edited"])
    #expect(try state().contains { $0 == ("s1", 0) })
    try fixture.write { tx throws(StoreFailure) in try tx.operationTable.removeOperation(sends[1]) }
    #expect(try fixture.texts(cid, .latest) == ["c1 edited"])
    #expect(try state().count == 1)
  }

  @Test func reactionsOfAnyShapeAreLaidOver() {
    func add(_ json: String) -> String? {
      text(ReactionSet.adding(bytes("+\""), by: bytes("me"), to: bytes(json)))
    }
    #expect(add("") == #"{"+\"":["me"]}"#)
    #expect(add("{}") == #"{"+\"":["me"]}"#)
    #expect(add(#"{ "a" : [ "x" ] , "+\"":["eva"]}"#) == #"{"a":["x"],"+\"":["eva","me"]}"#)
    #expect(add(#"{"+\"":["me"]}"#) == #"{"+\"":["me"]}"#)
    for odd in [#"{"a":3}"#, "[", "{", #"{"a":["#, #"{"a":[]}x"#, "null", #"{"a":["x"],}"#] {
      #expect(add(odd) == odd)
      #expect(text(ReactionSet.removing(bytes("a"), by: bytes("x"), from: bytes(odd))) == odd)
    }
    let both = bytes(#"{"a":["x","me"],"b":["me"]}"#)
    #expect(
      text(ReactionSet.removing(bytes("a"), by: bytes("me"), from: both))
        == #"{"a":["x"],"b":["me"]}"#)
    #expect(
      text(ReactionSet.removing(bytes("b"), by: bytes("me"), from: both))
        == #"{"a":["x","me"]}"#)
    #expect(ReactionSet.removing(bytes("b"), by: bytes("me"), from: bytes(#"{"b":["me"]}"#)) == [])
  }

  @Test(arguments: Kind.allCases)
  func numbersOfOperationsAreNeverGivenAgain(_ kind: Kind) throws {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    let first = try fixture.write { tx throws(StoreFailure) in
      try tx.operationTable.addOperation(send("c1", cid, "a")).seq
    }
    try fixture.write { tx throws(StoreFailure) in try tx.operationTable.removeOperation(first) }
    try fixture.reopen()
    let second = try fixture.write { tx throws(StoreFailure) in
      try tx.operationTable.addOperation(send("c1", cid, "a")).seq
    }
    #expect(second == first + 1)
  }

  @Test func doneOnesAreKeptUpToANumber() throws {
    let fixture = try Fixture(.memory)
    let kept = Limits.operationsKept
    try fixture.write { tx throws(StoreFailure) in
      var open = try tx.operationTable.addOperation(OperationRecord(.getConversations, cid: 0))
      for _ in 0..<kept + 7 {
        var record = try tx.operationTable.addOperation(OperationRecord(.getConversations, cid: 0))
        record.state = .done
        try tx.operationTable.saveOperation(record)
      }
      try tx.operationTable.trimOperations()
      let all = try tx.operations(OperationFilter(limit: 5_000))
      #expect(all.count == kept + 1 && all.first?.seq == open.seq)
      #expect(all[1].seq == open.seq + 8)
      open.state = .done
      try tx.operationTable.saveOperation(open)
      try tx.operationTable.trimOperations()
      #expect(
        try tx.operations(OperationFilter(limit: 5_000)).map(\.seq) == all.dropFirst().map(\.seq))
    }
  }
}

@Suite struct OwnWorkTests {
  /// A store with all that is the user's own, and all that is not.
  private func filled(_ kind: Kind) throws -> (Fixture, Int64) {
    let fixture = try Fixture(kind)
    let cid = try fixture.conversation()
    try fixture.apply((0..<120).map { message("m\($0)", at: Int64($0)) }, cid)
    try fixture.write { tx throws(StoreFailure) in
      var record = try tx.conversation(creating: bytes("c"))
      record.fetch = ContentMark(newest: .before(timestampGroup: 5), text: bytes("5"))
      try tx.save(record)
      try tx.save(spans: SpanSet().inserting(.min, high: .max), replacing: SpanSet(), in: cid)
      _ = try tx.tombstone(bytes("gone"), in: cid, version: nil)
      _ = try tx.forget(bytes("m7"), in: cid)
      _ = try tx.operationTable.addOperation(
        OperationRecord(.sendMessage, cid: cid, clientID: bytes("c1"), plain: bytes("mine")))
      _ = try tx.operationTable.addOperation(
        OperationRecord(.editMessage, cid: cid, target: bytes("m3"), plain: bytes("edited")))
      #expect(try tx.annotationTable.enqueueMark(.read, id: bytes("m5"), in: cid))
      try tx.feedTable.addEvent(
        kind: 1, action: 1, isSilent: false, cid: cid, entity: bytes("e"), body: bytes("{}"))
      try tx.feedTable.putEntity(kind: 1, cid: cid, id: bytes("c"), body: bytes("{}"))
      try tx.feedTable.markPending(bytes("ref"), wallUs: 1)
      let pending = try tx.operationTable.conversation(pending: bytes("made here"))
      #expect(pending.isPending)
      #expect(
        try tx.operationTable.confirm(conversation: pending.cid, as: bytes("real")) == pending.cid)
    }
    return (fixture, cid)
  }

  private func expectOwn(_ fixture: Fixture, _ cid: Int64) throws {
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.count(cid, from: .min, to: .max) == 0)
      #expect(try tx.spans(cid).isEmpty)
      #expect(try tx.conversation(cid: cid)?.fetch == nil)
      #expect(try tx.counts().messages == 0)
      #expect(try tx.counts().tombstones == 0)
      #expect(try tx.feedReader.entities(kind: 1, after: (0, []), limit: 9).isEmpty)
      #expect(try tx.operations(OperationFilter(limit: 9)).count == 2)
      #expect(try tx.pendingMarkCount() == 1)
      #expect(try tx.feedReader.seen(bytes("ref")))
      #expect(try tx.conversation(bytes("made here"))?.id == bytes("real"))
      // Events go on where they were, so nobody takes a new one for an old one.
      #expect(try tx.feedReader.lastEvent() == 1)
      // The messages come again, and what the user did lies over them again.
      for index in 0..<120 {
        _ = try tx.apply(message("m\(index)", at: Int64(index)), cid, issued: tx.lsn)
      }
      let page = try tx.messages(RowQuery(cid: cid, from: .oldest, limit: 500))
      #expect(page.rows.count == 120)
      #expect(text(Array(page[page.rows[3].payload])) == "edited")
      #expect(page.rows[5].rowFlags.contains(.readQueued))
      #expect(text(Array(page[page.rows[119].payload])) == "mine")
    }
  }

  @Test(arguments: Kind.allCases)
  func clearingTheCacheKeepsWhatIsTheUsersOwn(_ kind: Kind) throws {
    let (fixture, cid) = try filled(kind)
    let last = fixture.store.lastChange
    try fixture.write { tx throws(StoreFailure) in try tx.clearCache() }
    try fixture.reopen()
    let told = try fixture.read { rx throws(StoreFailure) in
      try rx.feedReader.changes(after: last, limit: 9)
    }
    #expect(told == .resync(from: last + 1))
    try expectOwn(fixture, cid)
  }

  /// A file whose cache has an older form: only the cache is made anew.
  @Test func aCacheOfAnotherFormIsRebuiltAroundTheUsersOwnWork() throws {
    let (fixture, cid) = try filled(.memory)
    try fixture.write { tx throws(StoreFailure) in
      let connection = try tx.connection
      try connection.execute("INSERT INTO draft (cid, body, lsn) VALUES (1, x'61', 1)")
      try connection.execute("DROP TABLE message; CREATE TABLE message (old BLOB);")
      try connection.execute("DROP TABLE entity; DROP TABLE waiting;")
      try Schema.rebuildCache(connection)
    }
    try expectOwn(fixture, cid)
    let drafts = try fixture.write { tx throws(StoreFailure) in
      try tx.connection.number("SELECT count(*) FROM draft")
    }
    #expect(drafts == 1)
  }

  @Test(arguments: Kind.allCases)
  func aConversationThatGoesComesBackAsUnknown(_ kind: Kind) throws {
    let (fixture, cid) = try filled(kind)
    let before = fixture.store.lastChange
    let other = try fixture.conversation("other")
    try fixture.apply([message("x", at: 1)], other)
    try fixture.write { tx throws(StoreFailure) in try tx.removeConversation(cid) }
    try fixture.reopen()
    try fixture.read { rx throws(StoreFailure) in
      let record = try rx.conversation(bytes("c"))
      #expect(record?.cid == cid && record?.fetch == nil)
      #expect(record?.deletedLSN == rx.lsn)
      #expect(try rx.count(cid, from: .min, to: .max) == 0)
      #expect(try rx.oldest(cid) == nil)
      #expect(try rx.spans(cid).isEmpty)
      #expect(try rx.count(other, from: .min, to: .max) == 1)
      #expect(try rx.pendingMarkCount() == 0)
      // What the user did stays until the user or the engine drops it.
      #expect(try rx.operations(OperationFilter(cid: cid, limit: 9)).count == 2)
      guard case .entries(let entries) = try rx.feedReader.changes(after: before, limit: 100) else {
        Issue.record("nothing was trimmed")
        return
      }
      let removed = entries.filter { $0.kind == .removed }
      #expect(removed.reduce(0) { $0 + $1.last - $1.first + 1 } == 119)
    }
    #expect(try fixture.texts(cid, .latest) == ["mine"])
    try fixture.apply([message("gone", at: 3)], cid)
    #expect(try fixture.texts(cid, .latest) == ["gone", "mine"])
  }

  @Test func aPendingConversationTakesItsRealName() throws {
    let fixture = try Fixture(.memory)
    let (made, other) = try fixture.write { tx throws(StoreFailure) in
      let made = try tx.operationTable.conversation(pending: bytes("n1"))
      let other = try tx.operationTable.conversation(pending: bytes("n2"))
      for (cid, name) in [(made.cid, "c1"), (other.cid, "c2")] {
        _ = try tx.operationTable.addOperation(
          OperationRecord(.sendMessage, cid: cid, clientID: bytes(name), plain: bytes(name)))
      }
      return (made.cid, other.cid)
    }
    #expect(try fixture.texts(made, .latest) == ["c1"])
    // The server told of the second one before it answered.
    let known = try fixture.conversation("real 2")
    try fixture.apply([message("hello", at: 1)], known)
    try fixture.write { tx throws(StoreFailure) in
      #expect(try tx.operationTable.confirm(conversation: made, as: bytes("real 1")) == made)
      #expect(try tx.operationTable.confirm(conversation: other, as: bytes("real 2")) == known)
      for name in ["n1", "real 1"] {
        let record = try tx.conversation(bytes(name))
        #expect(record?.cid == made && record?.isPending == false)
      }
      #expect(try tx.conversation(bytes("n2"))?.id == bytes("real 2"))
      #expect(try tx.conversation(cid: other) == nil)
    }
    #expect(try fixture.texts(made, .latest) == ["c1"])
    #expect(try fixture.texts(known, .latest) == ["hello", "c2"])
    // One that the user gives up leaves nothing.
    let third = try fixture.write { tx throws(StoreFailure) in
      try tx.operationTable.conversation(pending: bytes("n3")).cid
    }
    try fixture.write { tx throws(StoreFailure) in try tx.removeConversation(third) }
    let left = try fixture.read { rx throws(StoreFailure) in try rx.conversation(bytes("n3")) }
    #expect(left == nil)
  }
}
