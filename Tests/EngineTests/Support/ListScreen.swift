/// A conversation list as a host keeps it: its own list of row numbers, kept up by
/// differences alone and checked against the list after each of them.
import Base
import Engine
import ReferenceServer
import Testing

final class TestList {
  let list: ConversationList
  private(set) var numbers: [UInt64] = []
  private(set) var diffs: [WindowDiff] = []
  private var version: UInt64 = 0
  /// What a host drew of each row when it was told to.
  private var drawn: [UInt64: Row] = [:]

  init(_ client: Client, _ config: ListConfig = ListConfig()) throws {
    list = try client.openList(config)
  }

  /// Polls once and replays what comes.
  @discardableResult
  func poll() throws -> WindowDiff? {
    guard let diff = try list.poll() else {
      try look([])
      return nil
    }
    #expect(diff.from == version)
    version = diff.to
    var told: Set<UInt64> = []
    for op in diff.ops {
      switch op.kind {
      case .insert:
        numbers.insert(contentsOf: [UInt64](repeating: 0, count: op.count), at: op.row)
      case .remove:
        numbers.removeSubrange(op.row..<op.row + op.count)
      case .update:
        try #require(op.row + op.count <= numbers.count)
        told.formUnion(numbers[op.row..<op.row + op.count])
      case .move:
        numbers.insert(numbers.remove(at: op.from), at: op.row)
      }
    }
    let page = try list.rows(first: 0, count: 10_000)
    for (row, number) in numbers.enumerated() where number == 0 {
      numbers[row] = try #require(page?.rows[row].number)
    }
    let state = try list.state()
    #expect(numbers == (page?.rows ?? []).map(\.number))
    #expect(numbers.count == diff.rowCount && state.rowCount == diff.rowCount)
    #expect(checksum(numbers) == diff.checksum && state.checksum == diff.checksum)
    #expect(state.version == version)
    diffs.append(diff)
    try look(told)
    return diff
  }

  /// What stands on a screen that redraws the rows it is told of is what the list shows.
  private func look(_ told: Set<UInt64>) throws {
    guard numbers.count <= 50 else { return }
    let now = try rows()
    drawn = drawn.filter { numbers.contains($0.key) }
    for row in now {
      if let old = drawn[row.row.number], !told.contains(row.row.number), old != row {
        Issue.record("\(row.id) was not told: \(old.drawing) is \(row.drawing)")
      }
      drawn[row.row.number] = row
    }
  }

  /// Polls and carries frames until nothing moves.
  func settle(_ world: World) throws {
    for _ in 0..<100 {
      try world.run()
      if try poll() == nil, try world.isQuiet() { return }
    }
    Issue.record("the list does not come to rest: \(try list.state())")
  }

  /// One row as texts.
  struct Row: Equatable {
    var id: String
    var title: String
    var last: String
    var unread: Int
    var isExact: Bool
    var draft: String
    var typing: String
    var lastRead: String
    var row: ConversationRow
    var message: MessageRow?
    /// The last message as it is drawn. Whether its marks are of this connection is no step.
    var lastText: String
    var lastFlags: UInt32

    /// Ranges differ from page to page.
    static func == (a: Row, b: Row) -> Bool {
      (a.id, a.title, a.last, a.unread, a.draft, a.typing)
        == (b.id, b.title, b.last, b.unread, b.draft, b.typing)
        && (a.lastRead, a.row.flags, a.row.number, a.row.activityUs, a.row.memberCount)
          == (b.lastRead, b.row.flags, b.row.number, b.row.activityUs, b.row.memberCount)
        && (a.lastText, a.lastFlags) == (b.lastText, b.lastFlags)
    }

    var drawing: String {
      "\(title) \(last) \(lastText) flags \(lastFlags) \(row.flags) unread \(unread)"
    }

    init(_ row: ConversationRow, _ page: ConversationPage) {
      func text(_ range: Range<Int>) -> String {
        String(decoding: page.bytes[range], as: UTF8.self)
      }
      message = row.last.map { page.messages[$0] }
      func text(ofMessage range: Range<Int>) -> String {
        String(decoding: page.messages[range], as: UTF8.self)
      }
      id = text(row.id)
      title = text(row.title)
      last = message.map { text(ofMessage: $0.id) } ?? ""
      unread = row.unread
      isExact = row.flags & ConversationFlags.unreadExact != 0
      draft = text(row.draft)
      typing = text(row.typing)
      lastRead = text(row.lastRead)
      lastText = message.map { text(ofMessage: $0.payload) } ?? ""
      lastFlags = (message?.flags ?? 0) & ~(1 << 9)
      self.row = row
    }
  }

  func rows() throws -> [Row] {
    guard let page = try list.rows(first: 0, count: 10_000) else { return [] }
    return page.rows.map { Row($0, page) }
  }

  func row(_ id: String) throws -> Row {
    let place = try #require(try list.find(Array(id.utf8)))
    let page = try #require(try list.rows(first: place, count: 1))
    return Row(page.rows[0], page)
  }

  func ids() throws -> [String] { try rows().map(\.id) }
}

extension World {
  /// Makes conversations, each a second after the one before, with one message in each.
  func rooms(_ count: Int, prefix: String = "r") {
    for index in 0..<count {
      advance(ms: 1_000)
      server.createConversation(
        "\(prefix)\(index)", title: "Room \(index)", participants: ["me", "you"])
      postMessage("hello", in: "\(prefix)\(index)")
    }
  }

  @discardableResult
  func postMessage(
    _ text: String, in conversation: String, by sender: String = "you", id: String? = nil
  ) -> String {
    advance(ms: 1_000)
    return server.post(
      conversation: conversation, sender: sender, payload: "\"\(text)\"", id: id, stampUs: nil,
      lateUs: nil)
  }

  static func lossless(_ change: (inout Profile) -> Void = { _ in }) throws -> World {
    var profile = Profile()
    profile.pushIsLossless = true
    change(&profile)
    return try World(profile: profile)
  }
}
