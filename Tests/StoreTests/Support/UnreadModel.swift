/// Random lives of one conversation: the counter agrees with a slow count after every
/// transaction, across restarts, and what is exact is what the server would count.
import Base
import Testing
import Timeline

@testable import Store

@Suite struct UnreadModel {
  /// The server's side: what is there, and what of it was read on any device.
  private struct Server {
    var times: [String: Int64] = [:]
    var mine: Set<String> = []
    var read: Set<String> = []
    /// Marked on this device, which the server has not heard of.
    var pending: Set<String> = []
    var next = 1
    /// The user's marker, as the server or this device has it: it holds at once.
    var marker: Int64 = 0

    /// What the server would say, and what is so.
    var told: Int {
      times.count { !mine.contains($0.key) && !read.contains($0.key) && $0.value > marker }
    }
    var unread: Int { unreadIDs.count }

    var unreadIDs: Set<String> {
      Set(
        times.filter { id, time in
          !mine.contains(id) && !read.contains(id) && !pending.contains(id) && time > marker
        }.keys)
    }

    var newest: (id: String, time: Int64)? {
      times.max { $0.value < $1.value }.map { ($0.key, $0.value) }
    }

    mutating func post(_ random: inout Random) -> String {
      let id = "m\(next)"
      times[id] = Int64(next) * 10
      if random.below(5) == 0 { mine.insert(id) }
      next += 1
      return id
    }
  }

  private func incoming(_ server: Server, _ id: String) -> IncomingMessage {
    var flags: RowFlags = []
    if server.mine.contains(id) { flags.insert(.mine) }
    if server.read.contains(id) { flags.insert(.readByMe) }
    return message(id, at: server.times[id] ?? 0, flags: flags)
  }

  /// One thing that happens. `heard` is the commit since which nothing was lost.
  private func step(
    _ tx: WriteTransaction, _ cid: Int64, _ server: inout Server, _ random: inout Random,
    heard: UInt64, purges: Bool
  ) throws(StoreFailure) {
    let ids = server.times.keys.sorted()
    let one = ids.isEmpty ? nil : ids[random.below(ids.count)]
    switch random.below(purges ? 12 : 10) {
    case 0, 1:
      let id = server.post(&random)
      tx.receivedSince = heard
      for _ in 0...random.below(2) {
        _ = try tx.apply(incoming(server, id), cid, issued: tx.lsn)
      }
    case 2:
      guard let one else { return }
      server.read.insert(one)
      server.pending.remove(one)
      tx.receivedSince = heard
      _ = try tx.annotationTable.receipts(
        .read, user: bytes("me"), ids: [bytes(one)], in: cid, isMe: true)
    case 3:
      guard let one, server.times.count > 5 else { return }
      server.times[one] = nil
      server.pending.remove(one)
      tx.receivedSince = heard
      _ = try tx.tombstone(bytes(one), in: cid, version: nil)
    case 4:
      guard let one else { return }
      if try tx.annotationTable.enqueueMark(.read, id: bytes(one), in: cid) {
        server.pending.insert(one)
      }
    case 5:
      // A mark is confirmed.
      guard let one = server.pending.sorted().first else { return }
      server.pending.remove(one)
      guard server.times[one] != nil else { return }
      server.read.insert(one)
      _ = try tx.annotationTable.confirmMarks(.read, ids: [bytes(one)], in: cid)
    case 6:
      guard let one, let row = try tx.row(bytes(one), cid) else { return }
      try tx.unreadTable.moveReadMarker(cid, to: row.position)
      server.marker = max(server.marker, row.position.time)
    case 7:
      try page(tx, cid, server, &random)
    case 10, 11:
      try purge(tx, cid, &random)
    default:
      guard let newest = server.newest else { return }
      try tx.unreadTable.noteServer(
        cid, unread: Int64(server.told), lastRead: nil,
        newest: random.below(3) == 0 ? nil : position(newest.time, newest.id),
        issued: tx.lsn - 1)
    }
  }

  /// A range as it is, which is trusted from now on; half of the time up to the present.
  private func page(
    _ tx: WriteTransaction, _ cid: Int64, _ server: Server, _ random: inout Random
  ) throws(StoreFailure) {
    let top = Int64(server.next) * 10
    let low = random.below(3) == 0 ? 0 : Int64(random.below(server.next)) * 10
    let high = random.below(2) == 0 ? top : min(top, low + 50)
    for (id, time) in server.times.sorted(by: { $0.value < $1.value })
    where time >= low && time < high {
      _ = try tx.apply(incoming(server, id), cid, issued: tx.lsn)
    }
    guard var record = try tx.conversation(cid: cid) else { return }
    record.fetch = ContentMark(newest: .before(timestampGroup: top), text: bytes("t"))
    try tx.save(record)
    let old = try tx.spans(cid)
    let from = low == 0 ? Position.min : .before(timestampGroup: low)
    try tx.save(
      spans: old.inserting(from, high: .before(timestampGroup: high)), replacing: old, in: cid)
  }

  /// Some rows of the far end go, or of anywhere: no count that is exact changes by that and stays
  /// exact, and none becomes exact.
  private func purge(
    _ tx: WriteTransaction, _ cid: Int64, _ random: inout Random
  ) throws(StoreFailure) {
    guard let record = try tx.conversation(cid: cid) else { return }
    _ = try RetentionControl(tx).switchOn()
    let before = try tx.unreadReader.unread(record)
    var protection = try Protection(cid, loaded: SpanSet(), youngUs: nil, untold: [], in: tx)
    if random.below(3) == 0 {
      let low = Int64(random.below(30)) * 10
      protection.keep(from: position(low, ""), to: position(low + 60, ""))
    }
    let most = 1 + random.below(12)
    _ = try Purge(tx).slice(record, from: .min, besides: protection, limit: 256) {
      $0.rows >= most
    }
    guard let after = try tx.conversation(cid: cid) else { return }
    let unread = try tx.unreadReader.unread(after)
    #expect(!unread.isExact || before.isExact && unread.count == before.count)
  }

  @Test(arguments: 1...120)
  func exactIsTrueWhereMessagesArePurged(_ seed: Int) throws {
    try live(1_000 + seed, purges: true)
  }

  @Test(arguments: 1...60)
  func exactIsTrue(_ seed: Int) throws { try live(seed, purges: false) }

  private func live(_ seed: Int, purges: Bool) throws {
    let fixture = try Fixture(seed % 6 == 0 ? .file : .memory)
    let cid = try fixture.conversation()
    var server = Server()
    var random = Random(seed: UInt64(seed))
    for _ in 0..<20 { _ = server.post(&random) }
    var exact = 0
    // Read or deleted and never seen, since a count was exact: nobody knows whether it was counted.
    var unseen = 0
    for round in 0..<120 {
      if seed % 6 == 0, round % 20 == 19 { try fixture.reopen() }
      var now = server
      let stored = try fixture.read { tx throws(StoreFailure) in
        Set(
          try tx.rows(cid, from: .min, to: .max, limit: 10_000, newestFirst: false)
            .map { String(decoding: $0.position.id, as: UTF8.self) })
      }
      try fixture.write { tx throws(StoreFailure) in
        try step(tx, cid, &now, &random, heard: 0, purges: purges)
      }
      let left = server.unreadIDs.subtracting(now.unreadIDs)
      server = now
      unseen += left.subtracting(stored).count
      let unread = try fixture.read { tx throws(StoreFailure) -> Unread in
        let (kept, slow) = (try tx.tally(cid).here, try UnreadTests.slow(tx, cid))
        #expect(kept == Int64(slow))
        guard let record = try tx.conversation(cid: cid) else { throw .damaged }
        return try tx.unreadReader.unread(record)
      }
      if unread.isExact {
        exact += 1
        unseen = 0
        #expect(unread.count == server.unread, "round \(round)")
      } else {
        #expect(unread.count <= server.unread + unseen, "round \(round)")
      }
    }
    #expect(exact > (purges ? 0 : 10))
  }
}
