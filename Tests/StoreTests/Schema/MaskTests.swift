/// The masks that SQL lays over flags: a text of SQL has numbers, and each is a named set.
import Foundation
import Testing

@testable import Store

@Suite struct MaskTests {
  /// What comments of queries name.
  private let named: [String: Int64] = [
    "RowFlags.sealed": RowFlags.sealed.rawValue,
    "RowFlags.hidden": RowFlags.hidden.rawValue,
    "RowFlags.history": RowFlags.history.rawValue,
    "RowFlags.uncounted": RowFlags.hidden.union(.ownOrRead).rawValue,
    "RowFlags.pinnedOrQueued": RowFlags([.pinned, .pinQueued]).rawValue,
    "RowFlags.readOrListened": RowFlags([.readByMe, .listenedByMe]).rawValue,
    "SearchableRow.notFound": SearchableRow.notFound.rawValue,
    "LogRanges.isUnverified": LogRanges.isUnverified,
    "LogRows.deleted": LogRows.deleted,
    "LogRows.unclaimed": LogRows.unclaimed,
    "LogRows.anyEdit": LogRows.anyEdit,
    "LogRows.changedInPlace": LogRows.changedInPlace,
  ]

  /// What is part of a file has no comments: its indexes and triggers, by table.
  private let stored: [String: [String: Set<Int64>]] = [
    "message": [
      "message_pinned": [RowFlags.pinnedOrQueued.rawValue],
      "message_sealed": [RowFlags.sealed.rawValue],
      "search_inserted": [SearchableRow.notFound.rawValue],
      "search_updated": [SearchableRow.indexed.rawValue],
    ],
    "entry": [
      "entry_marked": [LogRows.changedInPlace],
      "entry_doubted": [LogRows.unclaimed],
      "entry_edited": [LogRows.anyEdit],
      "entry_blurred": [LogRows.unclaimed, LogRows.deleted],
    ],
  ]

  /// Protects: the sets of flags that Swift and SQL both know are the same ones.
  @Test func setsThatQueriesNameAreMadeOfTheirFlags() {
    #expect(RowFlags.hidden == [.control, .forgotten, .deleting])
    #expect(RowFlags.ownOrRead == [.mine, .readByMe, .deleted, .event, .readQueued])
    #expect(RowFlags.uncounted.rawValue == named["RowFlags.uncounted"])
    #expect(RowFlags.pinnedOrQueued.rawValue == named["RowFlags.pinnedOrQueued"])
    #expect(RowFlags.readOrListened.rawValue == named["RowFlags.readOrListened"])
  }

  /// Protects: a number in a query is the set that its comment names.
  @Test func eachMaskOfAQueryNamesItsSet() throws {
    let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../../Sources/Store").standardizedFileURL
    // Their texts are the file's: the test below reads them there.
    let schema: Set = ["SchemaTables.swift", "LogTables.swift", "SearchIndex.swift"]
    let mask = /(\w*)flags [&|] (\d+)(?: \/\* ([\w.]+) \*\/)?/
    var seen: Set<String> = []
    let files = try #require(
      FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    for case let file as URL in files where file.pathExtension == "swift" {
      if schema.contains(file.lastPathComponent) { continue }
      let text = try String(contentsOf: file, encoding: .utf8)
      for found in text.matches(of: mask) {
        // A column of old files, of one bit.
        if found.1 == "counted_" { continue }
        let name = found.3.map { String($0) } ?? "no name"
        #expect(
          named[name] == Int64(found.2), "\(file.lastPathComponent): \(found.0) is not \(name)")
        seen.insert(name)
      }
    }
    #expect(seen == Set(named.keys), "a set that no query names")
  }

  /// Protects: the indexes and triggers of a new file have the sets that queries ask by.
  @Test func eachMaskOfTheSchemaIsASet() throws {
    let fixture = try Fixture(.memory, positionKind: LogTables.positionKind)
    try fixture.switchOn()
    let found = try fixture.read { rx throws(StoreFailure) in
      let row = try rx.connection.statement(
        "SELECT tbl_name, name, sql FROM sqlite_schema WHERE type IN ('index', 'trigger')")
      var found: [(table: String, name: String, sql: String)] = []
      while try row.step() {
        let texts = [row.bytes(0), row.bytes(1), row.bytes(2)].map {
          String(decoding: $0, as: UTF8.self)
        }
        found.append((texts[0], texts[1], texts[2]))
      }
      return found
    }
    var masks: [String: [String: Set<Int64>]] = [:]
    for (table, name, sql) in found {
      for mask in sql.matches(of: /flags & (\d+)/) {
        masks[table, default: [:]][name, default: []].insert(try #require(Int64(mask.1)))
      }
    }
    #expect(masks == stored)
  }
}
