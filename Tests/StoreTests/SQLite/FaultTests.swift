import TestSupport
/// An input is stored whole or not at all, whatever the disk does: each write
/// fails once, and the process dies at each write once.
import Testing
import Timeline

@testable import Store

@Suite struct FaultTests {
  /// One input as the engine makes it: rows, a deletion, a span, a watermark.
  private static func input(_ tx: WriteTransaction, _ step: Int) throws(StoreFailure) {
    var record = try tx.conversation(creating: bytes("c"))
    for part in 0..<30 {
      let id = "\(step)-\(part)"
      let text = String(repeating: "payload \(id) ", count: 12)
      _ = try tx.apply(message(id, at: Int64(step), text), record.cid, issued: tx.lsn)
    }
    if step > 0 { _ = try tx.tombstone(bytes("\(step - 1)-0"), in: record.cid, version: nil) }
    let old = try tx.spans(record.cid)
    var spans = old
    spans.insert(.before(timestampGroup: Int64(step)), .after(timestampGroup: Int64(step)))
    try tx.save(spans: spans, replacing: old, in: record.cid)
    let ref = bytes("ref \(step)")
    try tx.feedTable.markPending(ref, wallUs: 0)
    try tx.feedTable.addEvent(kind: 1, action: 0, isSilent: false, cid: nil, entity: ref, body: [])
    let next = bytes("\(step + 1)-1")
    _ = try tx.annotationTable.receipts(
      .read, user: bytes("me"), ids: [next], in: record.cid, isMe: true)
    record.fetch = ContentMark(newest: .before(timestampGroup: Int64(step)), text: bytes("\(step)"))
    try tx.save(record)
  }

  /// How many inputs the store holds; every part of it has to say the same.
  private static func inputs(_ fixture: Fixture) throws -> Int {
    try fixture.read { tx throws(StoreFailure) in
      guard let record = try tx.conversation(bytes("c")) else {
        #expect(try tx.counts().messages == 0)
        return 0
      }
      let inputs = Int(record.fetch?.newest.time ?? -1) + 1
      let rows = try tx.rows(record.cid, from: .min, to: .max, limit: 10_000, newestFirst: false)
      #expect(rows.count == inputs * 30 - max(0, inputs - 1))
      #expect(try tx.count(record.cid, from: .min, to: .max) == rows.count)
      #expect(try tx.counts().tombstones == UInt64(max(0, inputs - 1)))
      #expect(try tx.spans(record.cid).newest?.high == .after(timestampGroup: Int64(inputs - 1)))
      #expect(try tx.feedReader.lastChange() == UInt64(inputs == 0 ? 0 : 4 * inputs - 1))
      #expect(try tx.feedReader.pendingReplyCount() == inputs)
      #expect(try tx.feedReader.lastEvent() == UInt64(inputs))
      // Only the receipt of the input to come waits; the others were laid over their row.
      #expect(try tx.counts().waiting == UInt64(min(inputs, 1)))
      #expect(rows.count { $0.flags.contains(.readByMe) } == max(0, inputs - 1))
      return inputs
    }
  }

  @Test func aFailedWriteLeavesTheStoreAsItWasAndUsable() throws {
    let fault = FaultVFS()
    let fixture = try Fixture(.file, baseVFS: fault.name)
    var done = 0
    var failures = 0
    for write in 1...40 {
      let kind: WriteFault = write % 2 == 0 ? .fail(13) : .short(bytes: write * 700, 778)
      fault.failWrite(write % 3 + 1, kind)
      do {
        try fixture.write { tx throws(StoreFailure) in try Self.input(tx, done) }
        done += 1
      } catch let failure as StoreFailure {
        failures += 1
        #expect(failure == .full || failure == .vault(.io(778)))
      }
      fault.reset()
      #expect(try Self.inputs(fixture) == done)
    }
    #expect(failures > 10 && done > 10)
    try fixture.reopen()
    #expect(try Self.inputs(fixture) == done)
  }

  @Test func aKillAtAnyWriteLeavesWholeInputs() throws {
    let fault = FaultVFS()
    let fixture = try Fixture(.file, baseVFS: fault.name)
    var acknowledged = 0
    for write in 1...40 {
      fault.die(atWrite: write, afterBytes: write * 1_297 % 40_000)
      while !fault.isDead {
        let step = acknowledged
        do {
          try fixture.write { tx throws(StoreFailure) in try Self.input(tx, step) }
          acknowledged += 1
        } catch is StoreFailure {
          #expect(fault.isDead)
        }
      }
      fixture.store.close()
      fault.revive()
      try fixture.reopen()
      let found = try Self.inputs(fixture)
      // The input that was under way may have arrived just before the end.
      #expect(found == acknowledged || found == acknowledged + 1)
      acknowledged = found
    }
    #expect(acknowledged > 10)
  }

  @Test func whatWasSyncedIsReportedOnlyWhenItWas() throws {
    let fault = FaultVFS()
    let fixture = try Fixture(.file, baseVFS: fault.name)
    try fixture.write { tx throws(StoreFailure) in try Self.input(tx, 0) }
    fault.failSyncs(true)
    #expect(throws: StoreFailure.self) { try fixture.store.syncDurable() }
    fault.reset()
    try fixture.reopen()
    try fixture.write { tx throws(StoreFailure) in try Self.input(tx, 1) }
    try fixture.store.syncDurable()
    #expect(fault.counts.syncs > 0)
    fixture.store.close()
    #expect(throws: StoreFailure.closed) { try fixture.store.syncDurable() }
  }
}
