/// A store of either kind for a test, and short ways to make what goes in.
import Base
import Foundation
import Testing
import Timeline

@testable import Store

enum Kind: String, CaseIterable, CustomTestStringConvertible {
  case memory, file

  var testDescription: String { rawValue }
}

/// One store, in a folder of its own that goes with it.
final class Fixture {
  let kind: Kind
  private let folder: URL
  private let baseVFS: String?
  private let positionKind: Int64
  private(set) var store: MessageStore
  private lazy var changed = config

  init(_ kind: Kind, baseVFS: String? = nil, positionKind: Int64 = 0) throws {
    self.kind = kind
    self.baseVFS = baseVFS
    self.positionKind = positionKind
    folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("store-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    store = try MessageStore.open(Fixture.config(kind, folder, baseVFS, positionKind))
  }

  deinit {
    store.close()
    try? FileManager.default.removeItem(at: folder)
  }

  var path: String { folder.appendingPathComponent("chat.tideline").path }

  private static func config(
    _ kind: Kind, _ folder: URL, _ baseVFS: String?, _ positionKind: Int64
  ) -> StoreConfig {
    let path = folder.appendingPathComponent("chat.tideline").path
    return StoreConfig(
      kind: kind == .memory
        ? .memory
        : .file(
          path: path, key: HostKey([UInt8](repeating: 7, count: 32)), create: true, strict: false,
          baseVFS: baseVFS),
      account: bytes("work"), user: bytes("me"), positionKind: positionKind)
  }

  var config: StoreConfig { Fixture.config(kind, folder, baseVFS, positionKind) }

  /// Closes the file and opens it again; a memory store stays as it is.
  func reopen(_ change: (inout StoreConfig) -> Void = { _ in }) throws {
    guard kind == .file else { return }
    store.close()
    // What was changed once stays so.
    change(&changed)
    var config = config
    config.searchMembers = changed.searchMembers
    config.indexesLater = changed.indexesLater
    store = try MessageStore.open(config)
  }

  @discardableResult
  func write<R>(_ body: (WriteTransaction) throws(StoreFailure) -> R) throws -> R {
    try store.write(body)
  }

  /// The same for a body with errors of its own.
  func attempt<R>(_ body: (WriteTransaction) throws -> R) throws -> R {
    var stopped: (any Error)?
    do {
      return try store.write { tx throws(StoreFailure) in
        do {
          return try body(tx)
        } catch {
          stopped = error
          throw .broken("the test ends it")
        }
      }
    } catch {
      throw stopped ?? error
    }
  }

  @discardableResult
  func read<R>(_ body: (ReadTransaction) throws(StoreFailure) -> R) throws -> R {
    try store.readBeside(failure: { $0 }, body)
  }

  /// Makes the file one of an earlier form, in a transaction that ends with `change`. That is no
  /// commit of the store, which finds columns of its own gone; the file has conversation `d` then.
  func goBack(_ change: StaticString) throws {
    try alter(change) { tx throws(StoreFailure) in
      _ = try tx.conversation(creating: bytes("d"))
      try tx.settleConversations()
      try tx.connection.execute(
        """
        ALTER TABLE conversation DROP COLUMN top_time;
        ALTER TABLE conversation DROP COLUMN top_id;
        ALTER TABLE meta DROP COLUMN kept_state;
        ALTER TABLE meta DROP COLUMN owes_list;
        DROP INDEX message_id;
        ALTER TABLE message DROP COLUMN id;
        ALTER TABLE message RENAME COLUMN key TO id;
        CREATE UNIQUE INDEX message_id ON message (cid, id);
        """)
      try tx.connection.execute(Self.toNinthForm)
    }
    try reopen()
    // All that was to be done to the file was done.
    try read { rx throws(StoreFailure) in #expect(try rx.conversation(bytes("d")) != nil) }
  }

  /// What takes a file of the twelfth form back to the tenth, but for its number.
  static let toTenthForm: StaticString = """
    ALTER TABLE conversation ADD COLUMN counted_flags INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE conversation ADD COLUMN counted_arrived INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE operation DROP COLUMN told_us;
    ALTER TABLE operation DROP COLUMN told_by;
    DROP TABLE offered;
    DROP INDEX event_typing;
    ALTER TABLE meta DROP COLUMN event_count;
    ALTER TABLE meta DROP COLUMN trimmed_event;
    """

  /// What takes a file of the twelfth form back to the ninth, but for its number.
  static let toNinthForm: StaticString = """
    ALTER TABLE conversation ADD COLUMN counted_flags INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE conversation ADD COLUMN counted_arrived INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE operation DROP COLUMN told_us;
    ALTER TABLE operation DROP COLUMN told_by;
    DROP TABLE offered;
    DROP INDEX event_typing;
    ALTER TABLE meta DROP COLUMN event_count;
    ALTER TABLE meta DROP COLUMN trimmed_event;
    ALTER TABLE event DROP COLUMN id;
    DROP INDEX alias_cid;
    """

  /// Does something to the file behind the store's back; `change` has to commit it.
  func alter(
    _ change: StaticString, after first: (WriteTransaction) throws(StoreFailure) -> Void = { _ in }
  ) throws {
    #expect(throws: StoreFailure.self) {
      try write { tx throws(StoreFailure) in
        try first(tx)
        try tx.connection.execute(change)
      }
    }
  }

  /// Trusts two ranges of a conversation, from 1 to 5 and from 10 to 20.
  func twoRanges(_ cid: Int64) throws -> SpanSet {
    var spans = SpanSet()
    spans.insert(position(1, ""), position(5, "a"))
    spans.insert(position(10, ""), position(20, "b"))
    try write { tx throws(StoreFailure) in
      try tx.save(spans: spans, replacing: SpanSet(), in: cid)
    }
    return spans
  }

  /// The cid of a conversation, created where it is new.
  func conversation(_ id: String = "c") throws -> Int64 {
    try write { tx throws(StoreFailure) in try tx.conversation(creating: bytes(id)).cid }
  }

  @discardableResult
  func apply(
    _ messages: [IncomingMessage], _ cid: Int64, issued: UInt64? = nil
  ) throws -> [Applied] {
    try write { tx throws(StoreFailure) in
      var all: [Applied] = []
      for m in messages { all.append(try tx.apply(m, cid, issued: issued ?? tx.lsn)) }
      return all
    }
  }

  /// Payloads of a read, as text.
  func texts(_ cid: Int64, _ from: RowQuery.From, _ limit: Int = 100) throws -> [String] {
    let page = try read { tx throws(StoreFailure) in
      try tx.messages(RowQuery(cid: cid, from: from, limit: limit))
    }
    return page.rows.map { String(decoding: page[$0.payload], as: UTF8.self) }
  }

  /// One visible message as it is stored.
  func message(_ id: String, _ cid: Int64) throws -> IncomingMessage? {
    try write { tx throws(StoreFailure) in try tx.storedMessage(bytes(id), in: cid)?.message }
  }
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

/// A message whose payload is its own text.
func message(
  _ id: String, at time: Int64, _ payload: String? = nil, flags: RowFlags = [],
  version: Int64? = nil, edited: Int64? = nil, reactions: String? = nil, readBy: String? = nil
) -> IncomingMessage {
  IncomingMessage(
    id: bytes(id), sender: bytes("eva"), timeUs: time, stamp: bytes("stamp \(time)"),
    payload: bytes(payload ?? id), flags: flags, version: version, editedUs: edited,
    reactions: reactions.map(bytes), readBy: readBy.map(bytes))
}

func position(_ time: Int64, _ id: String) -> Position { Position(time: time, id: bytes(id)) }
