/// Counts of unread messages at their bound and beyond it: no number that a server told, or that a
/// file of an earlier commit holds, ends the process.
import Base
import Engine
import Foundation
import Store
import Testing

@Suite struct ListCounts {
  private static let rooms = 1_025

  private func pushCount(_ count: String, to world: World) throws {
    for index in 0..<Self.rooms {
      try world.hand(
        """
        {"type":"conversation_updated","conversation_id":"n\(index)","conversation":\
        {"conversation_id":"n\(index)","unread_count":\(count)}}
        """)
    }
  }

  private func path() -> String {
    FileManager.default.temporaryDirectory.path + "/counts-" + UUID().uuidString
  }

  /// A count that is no count is none, so that the sum of as many as there may be is a number.
  @Test(arguments: [
    ("9007199254740991", 0), ("1099511627777", 0), ("1099511627776", 1_025 << 40),
    ("1099511627775", 1_025 * (1 << 40 - 1)), ("-1", 0),
  ])
  func theSumOfTheGreatestCountsIsANumber(_ count: String, _ sum: Int) throws {
    let path = path()
    defer { for end in ["", "-wal"] { try? FileManager.default.removeItem(atPath: path + end) } }
    let world = try World(
      file: .path(path, key: HostKey([UInt8](repeating: 7, count: 32)), create: true, strict: false)
    )
    defer { world.client.close() }
    try world.connect()
    let list = try TestList(world.client, ListConfig(rowsMax: 2_000))
    try pushCount(count, to: world)
    _ = try list.poll()
    #expect(try list.list.state().conversationCount == Self.rooms)
    #expect(try list.list.state().unread == sum)
    try pushCount("7", to: world)
    _ = try list.poll()
    #expect(try list.list.state().unread == 7 * Self.rooms)
    try pushCount(count, to: world)
    try world.reopen()
    let again = try TestList(world.client, ListConfig(rowsMax: 2_000))
    _ = try again.poll()
    #expect(try again.list.state().unread == (sum == 0 ? 7 * Self.rooms : sum))
  }

  /// An earlier commit took what a double holds exactly, and wrote it down.
  @Test func aFileThatHoldsGreaterOnesIsRead() throws {
    let path = path()
    defer { for end in ["", "-wal"] { try? FileManager.default.removeItem(atPath: path + end) } }
    let key = [UInt8](repeating: 7, count: 32)
    let store = try MessageStore.open(
      StoreConfig(
        kind: .file(path: path, key: HostKey(key), create: true, strict: false, baseVFS: nil),
        account: Array("personal".utf8), user: Array("me".utf8)))
    try store.write { tx throws(StoreFailure) in
      for index in 0..<Self.rooms {
        let id = Array("n\(index)".utf8)
        var record = try tx.conversation(creating: id)
        try tx.putConversation(
          record.cid, id: id, body: Array("{}".utf8), madeUs: nil, issued: nil)
        try tx.unreadTable.noteServer(
          record.cid, unread: 1 << 53 - 1, lastRead: nil, newest: nil, issued: tx.lsn)
        record.totalCount = .max
        record.auditedTotal = .max
        record.auditedCount = .min
        try tx.save(record)
      }
    }
    store.close()
    let world = try World(file: .path(path, key: HostKey(key), create: true, strict: false))
    defer { world.client.close() }
    let list = try TestList(world.client, ListConfig(rowsMax: 2_000))
    _ = try list.poll()
    let state = try list.list.state()
    #expect(state.conversationCount == Self.rooms)
    #expect(state.unread == 0 && !state.isUnreadExact)
    #expect(try world.page(in: "n0").coverage.totalCount == -1)
  }
}
