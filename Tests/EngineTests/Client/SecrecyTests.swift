/// Nothing readable is on disk: ids, times, names and text of a session, searched for
/// in every form and in every file, after commits, after a kill, after a checkpoint.
import CSQLite
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct SecrecyTests {
  /// What must not be found: text as UTF-8 and UTF-16, times as print and as integers.
  private func needles(_ world: World) -> [(name: String, bytes: [UInt8])] {
    var found: [(String, [UInt8])] = [
      ("account", Array("personal".utf8)), ("conversation", Array("conversation-xyzzy".utf8)),
      ("payload", Array("přísně tajné".utf8)),
    ]
    for message in world.server.truth(world.room).suffix(120) {
      found.append(("id", Array(message.id.utf8)))
      found.append(("stamp", Array(ServerTime.text(message.stampUs, world.server.knobs).utf8)))
      let time = UInt64(bitPattern: message.stampUs)
      found.append(("time", withUnsafeBytes(of: time.littleEndian) { Array($0) }))
      found.append(("time", withUnsafeBytes(of: time.bigEndian) { Array($0) }))
    }
    for (name, bytes) in found where name != "time" {
      let text = String(decoding: bytes, as: UTF8.self)
      found.append((name + " in UTF-16", text.utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }))
      found.append((name + " in UTF-16", text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }))
    }
    return found
  }

  private func hits(_ needles: [(name: String, bytes: [UInt8])], in folder: String) throws
    -> [String]
  {
    var found: [String] = []
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      let data = try #require(FileManager.default.contents(atPath: folder + "/" + name))
      for needle in needles where data.range(of: Data(needle.bytes)) != nil {
        found.append("\(needle.name) in \(name)")
      }
    }
    return found
  }

  @Test func nothingReadableIsOnDisk() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World(room: "conversation-xyzzy", file: folder.file())
    for _ in 0..<130 {
      world.advance(ms: 1_000)
      world.server.post(
        conversation: world.room, sender: "you", payload: "{\"text\":\"přísně tajné\"}", id: nil,
        stampUs: nil, lateUs: nil)
    }
    try world.connect()
    try world.sync()
    try world.sync(.older, want: 1_000)
    #expect(try world.cached() == world.truth())
    let needles = needles(world)
    #expect(try hits(needles, in: folder.path) == [])

    try folder.kill(world)
    #expect(try world.cached() == world.truth())
    #expect(try hits(needles, in: folder.path) == [])
    world.client.close()
    #expect(try hits(needles, in: folder.path) == [])
    try hitsInPlainSQLite(world, needles)
  }

  /// The same search finds all of it in a plain file, so it can find.
  private func hitsInPlainSQLite(
    _ world: World, _ needles: [(name: String, bytes: [UInt8])]
  ) throws {
    let folder = FileManager.default.temporaryDirectory.path + "/plain-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var text = "CREATE TABLE m (a, b, c, d, e); BEGIN;"
    for row in world.server.truth(world.room) {
      let stamp = ServerTime.text(row.stampUs, world.server.knobs)
      text +=
        "INSERT INTO m VALUES ('\(row.id)', '\(stamp)', \(row.stampUs), 'přísně tajné',"
        + " 'personal conversation-xyzzy');"
    }
    var database: OpaquePointer?
    #expect(sqlite3_open(folder + "/plain", &database) == SQLITE_OK)
    #expect(sqlite3_exec(database, text + "COMMIT;", nil, nil, nil) == SQLITE_OK)
    sqlite3_close(database)
    let found = Set(try hits(needles, in: folder).map { $0.split(separator: " ")[0] })
    #expect(found.isSuperset(of: ["account", "conversation", "payload", "id", "stamp", "time"]))
  }
}
