/// One live message costs a list the same among a hundred conversations and among ten
/// thousand: counted in entries and keys read from the store, which is asked by key
/// only, and in work of the list.
import Base
import Store
import Testing

@testable import Engine

@Suite struct ListCost {
  private func fill(_ folder: TrapsRestart.Folder, _ count: Int) throws {
    let (path, key) = folder.storePath
    let store = try MessageStore.open(
      StoreConfig(
        kind: .file(path: path, key: key, create: true, strict: false, baseVFS: nil),
        account: Array("personal".utf8), user: Array("me".utf8)))
    defer { store.close() }
    try store.write { tx throws(StoreFailure) in
      for index in 0..<count {
        let id = Array("r\(index)".utf8)
        let cid = try tx.conversation(creating: id).cid
        let message = IncomingMessage(
          id: Array("m\(index)".utf8), sender: Array("you".utf8),
          timeUs: World.epochUs + Int64(index) * 1_000, stamp: Array("t".utf8),
          payload: Array("1".utf8))
        _ = try tx.apply(message, cid, issued: tx.lsn)
      }
    }
  }

  private func cost(_ count: Int) throws -> (ops: [DiffOp], work: Int) {
    let folder = try TrapsRestart.Folder()
    try fill(folder, count)
    let world = try World(file: folder.file())
    var config = ListConfig()
    config.isCacheOnly = true
    let list = try TestList(world.client, config)
    _ = try list.poll()
    #expect(list.numbers.count == count)
    try world.connect()
    let message =
      #"{"type":"message_new","conversation_id":"r50","message":{"message_id":"new","#
      + #""sender_id":"you","created_at":"2026-03-15T22:15:45","payload":"x"}}"#
    _ = try world.client.receive(Array(message.utf8))
    let before = list.list.work
    let diff = try #require(try list.poll())
    let work = list.list.work - before
    #expect(try list.list.state().unread == count + 1)
    world.client.close()
    return (diff.ops, work)
  }

  /// Who reads all conversations page by page reads each of them once.
  @Test func pagesOfTheCacheReadEachConversationOnce() throws {
    let folder = try TrapsRestart.Folder()
    try fill(folder, 2_000)
    let world = try World(file: folder.file())
    var found: [String] = []
    for offset in stride(from: 0, to: 2_200, by: 50) {
      let page = try world.client.conversations(offset: offset, limit: 50)
      found += page.rows.map { String(decoding: page.bytes[$0.id], as: UTF8.self) }
    }
    #expect(found == (0..<2_000).reversed().map { "r\($0)" })
    #expect(world.client.core.listed.withLock { $0.read } == 2_000)
    // What happens between two pages is seen by the next one.
    try world.connect()
    let message =
      #"{"type":"message_new","conversation_id":"r50","message":{"message_id":"new","#
      + #""sender_id":"you","created_at":"2026-03-15T22:15:45","payload":"x"}}"#
    _ = try world.client.receive(Array(message.utf8))
    let page = try world.client.conversations(offset: 0, limit: 1)
    #expect(page.rows.map { String(decoding: page.bytes[$0.id], as: UTF8.self) } == ["r50"])
    #expect(world.client.core.listed.withLock { $0.read } < 2_010)
    world.client.close()
    #expect(throws: Failure.closed) { try world.client.conversations(offset: 0, limit: 1) }
  }

  @Test func oneLiveMessageCostsTheSameEverywhere() throws {
    let few = try cost(100)
    let many = try cost(10_000)
    #expect(few.ops == [DiffOp(.move, row: 0, from: 49), DiffOp(.update, row: 0)])
    #expect(many.ops == [DiffOp(.move, row: 0, from: 9_949), DiffOp(.update, row: 0)])
    // Each search is seven comparisons longer each way, and nothing else is.
    #expect(many.work <= few.work + 6 * 14)
    #expect(few.work < 120)
  }
}
