import Base
import Engine
import ReferenceServer
import Store
import Testing
import Timeline

/// One live message costs the same in a short window and a long one, in a short
/// conversation and a long one: counted in keys read from the store, which is asked by
/// key only, and in work of the list.
@Suite struct WindowCost {
  private struct Cost {
    var ops: [DiffOp]
    var work: Int
  }

  private let room = Array("room".utf8)

  /// A file with `count` messages in one trusted range.
  private func fill(_ folder: TrapsRestart.Folder, _ count: Int) throws {
    let (path, key) = folder.storePath
    let store = try MessageStore.open(
      StoreConfig(
        kind: .file(path: path, key: key, create: true, strict: false, baseVFS: nil),
        account: Array("personal".utf8), user: Array("me".utf8)))
    defer { store.close() }
    for start in stride(from: 0, to: count, by: 10_000) {
      try store.write { tx throws(StoreFailure) in
        var record = try tx.conversation(creating: room)
        for index in start..<min(start + 10_000, count) {
          let message = IncomingMessage(
            id: Array("m\(index)".utf8), sender: Array("you".utf8),
            timeUs: World.epochUs + Int64(index) * 1_000, stamp: Array("t".utf8),
            payload: Array("1".utf8))
          _ = try tx.apply(message, record.cid, issued: tx.lsn)
        }
        let top = World.epochUs + Int64(count) * 1_000
        record.fetch = ContentMark(
          newest: .before(timestampGroup: top), text: Array("2026-02-15T22:20:00".utf8))
        try tx.save(record)
        var all = SpanSet()
        all.insert(.min, .after(timestampGroup: top))
        try tx.save(spans: all, replacing: try tx.spans(record.cid), in: record.cid)
      }
    }
  }

  /// What one more message at the end costs a window of `loaded` rows: one that follows the
  /// present, where nothing that is pushed is lost, so that the push proves its place.
  private func cost(rows: Int, loaded: Int) throws -> Cost {
    let folder = try TrapsRestart.Folder()
    try fill(folder, rows)
    var knobs = ServerKnobs()
    knobs.pushIsLossless = true
    // The server knows only what comes from now on.
    knobs.sendsTotalCount = false
    knobs.sendsServerTime = true
    var profile = Profile()
    profile.pushIsLossless = true
    let world = try World(knobs: knobs, profile: profile, file: folder.file())
    world.server.createConversation("room", participants: ["me", "you"])
    world.advance(ms: 400_000)
    try world.connect()
    let window = try world.client.openWindow(
      WindowConfig(conversation: room, count: 1_000, rowsMax: 200_000))
    _ = try window.poll()
    try world.run()
    _ = try window.poll()
    while try window.state().rowCount < loaded {
      #expect(try window.load(Load(.before(0), count: 1_000)))
      _ = try window.poll()
    }
    #expect(try window.state().rowCount == loaded && window.state().isAtEnd)
    let message =
      #"{"type":"message_new","conversation_id":"room","message":{"message_id":"new","#
      + #""sender_id":"you","created_at":"2026-02-15T22:22:00","payload":"x"}}"#
    _ = try world.client.receive(Array(message.utf8))
    let before = window.work
    let diff = try #require(try window.poll())
    let work = window.work - before
    #expect(try window.poll() == nil)
    let row = try #require(try window.rows(first: loaded, count: 1)?.rows.first)
    #expect(row.flags & (1 << 7 | 1 << 8) == 0, "its place is proven")
    world.client.close()
    return Cost(ops: diff.ops, work: work)
  }

  @Test func oneLiveMessageCostsTheSameEverywhere() throws {
    let small = try cost(rows: 1_000, loaded: 1_000)
    let inLongConversation = try cost(rows: 100_000, loaded: 1_000)
    let inLongWindow = try cost(rows: 100_000, loaded: 100_000)
    #expect(small.ops == [DiffOp(.insert, row: 1_000)])
    #expect(inLongConversation.ops == small.ops)
    #expect(inLongWindow.ops == [DiffOp(.insert, row: 100_000)])
    #expect(inLongConversation.work == small.work)
    #expect(small.work > 0)
    // Each binary search is seven comparisons longer, and nothing else is.
    #expect(inLongWindow.work <= small.work + 5 * 7)
    #expect(small.work < 80)
  }
}
