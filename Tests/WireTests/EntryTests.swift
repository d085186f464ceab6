/// Entries of a log: answers to `get_entries`, pushes, and all that makes one of no use.
import Base
import Foundation
import Testing
@testable import Wire

/// The data of a `get_entries` answer.
private func entryPage(
  of document: Document, at data: Document.Node, zoneOffsetMinutes: Int
) throws -> EntryPage {
  try EntryReader(
    messages: MessageReader(document: document, zoneOffsetMinutes: zoneOffsetMinutes)
  ).page(data)
}

/// A frame of type `entries_new`.
private func entryPush(of document: Document, zoneOffsetMinutes: Int) throws -> EntryPush {
  try EntryReader(
    messages: MessageReader(document: document, zoneOffsetMinutes: zoneOffsetMinutes)
  ).push(document.root)
}

@Suite struct EntryTests {
  private func page(_ data: String) throws -> EntryPage {
    let document = try Document(bytes(data))
    return try entryPage(of: document, at: document.root, zoneOffsetMinutes: 0)
  }

  private func refusal(_ data: String) throws -> String? {
    do {
      _ = try page(data)
      return nil
    } catch let error as Unread {
      return "\(error.reason)"
    }
  }

  private func kind(_ item: EntryItem) -> String {
    switch item {
    case .message(let message): "message \(text(message.id))"
    case .change(let change):
      "\(change.kind) of \(text(change.target ?? [])) by \(text(change.sender ?? []))"
        + (change.isDeleted ? ", deleted" : "")
    case .unreadable(let id, _, let reason): "unreadable \(text(id)): \(reason)"
    case .hole(_, let reason): "hole: \(reason)"
    }
  }

  private func entry(_ json: String) throws -> String {
    let page = try page(#"{"entries":[\#(json)],"after":"t"}"#)
    #expect(page.items.count == 1)
    return kind(page.items[0])
  }

  @Test func aPageSaysWhereItStands() throws {
    let page = try page(
      #"{"entries":[],"before":"s\u0031","after":"s2","present":true,"gap":true,"epoch":"e"}"#)
    #expect(page.before == .token(bytes("s1")) && page.after == bytes("s2"))
    #expect(page.isPresent && page.isGap && page.epoch == bytes("e"))
    let plain = try self.page(#"{"entries":[],"before":null,"after":"s2"}"#)
    #expect(plain.before == .start && !plain.isPresent && !plain.isGap && plain.epoch == nil)
  }

  @Test func whatIsNoTokenIsNoStart() throws {
    let long = String(repeating: "x", count: Limits.tokenBytesMax + 1)
    for odd in ["7", "\"\"", "\"\(long)\"", "\"\\ud83d\"", "{}"] {
      #expect(try page(#"{"entries":[],"before":\#(odd),"after":"t"}"#).before == .unknown)
      #expect(
        try refusal(#"{"entries":[],"after":\#(odd)}"#)
          == "after is missing, empty, no string, or over 2,048 bytes")
    }
    let most = String(long.dropLast())
    #expect(try page(#"{"entries":[],"after":"\#(most)"}"#).after.count == Limits.tokenBytesMax)
  }

  @Test(arguments: [
    ("{}", "entries is missing or not a list"),
    (#"{"entries":7,"after":"t"}"#, "entries is missing or not a list"),
    (#"{"entries":[]}"#, "after is missing, empty, no string, or over 2,048 bytes"),
    (
      #"{"entries":[],"after":null,"present":true}"#,
      "after is missing, empty, no string, or over 2,048 bytes"
    ),
  ]) func anAnswerThatIsNoneSaysWhy(data: String, reason: String) throws {
    #expect(try refusal(data) == reason)
  }

  @Test func aListThatIsTooLongIsMalformed() throws {
    let list = [String](repeating: "0", count: Limits.pageItemsMax + 1).joined(separator: ",")
    #expect(
      try refusal(#"{"entries":[\#(list)],"after":"t"}"#) == "entries has over 10,000 entries")
  }

  @Test(arguments: [
    ("edit", #","payload":null"#, "edit(payload:"), ("delete", "", "delete of m1 by u1"),
    ("react", #","reaction":"+""#, "react([43]) of m1 by u1"),
    ("unreact", #","reaction":"+""#, "unreact([43]) of m1 by u1"),
    ("reactions", #","reactions":["+",7,"-"]"#, "reactions([[43], [45]]) of m1 by u1"),
    ("reactions", #","reactions":[]"#, "reactions([]) of m1 by u1"),
    ("read", "", "read of m1 by u1"), ("pin", "", "pin of m1 by u1"),
    ("moderate", #","deleted":true"#, "moderate of m1 by u1, deleted"),
    ("topic", "", "none of m1 by u1"),
  ]) func aChangeIsRead(change: String, more: String, reads: String) throws {
    let json = #"{"entry_id":"x","change":"\#(change)","target_id":"m1","sender_id":"u1"\#(more)}"#
    #expect(try entry(json).hasPrefix(reads))
  }

  @Test(arguments: [
    ("7", "hole: an item is not a JSON object"),
    ("{}", "hole: message_id is missing, empty or not a string"),
    (#"{"message_id":"m"}"#, "unreadable m: sender_id is missing, empty or not a string"),
    (
      #"{"change":"edit"}"#, "hole: entry_id is missing or not an id of 1 to 512 bytes"
    ),
    (#"{"entry_id":"x","change":7}"#, "unreadable x: change is not a string"),
    (#"{"entry_id":"x","change":"edit"}"#, "unreadable x: payload is missing"),
    (
      #"{"entry_id":"x","change":"delete","sender_id":"u"}"#,
      "unreadable x: target_id is missing or not an id of 1 to 512 bytes"
    ),
    (
      #"{"entry_id":"x","change":"delete","target_id":"m"}"#,
      "unreadable x: sender_id is missing, empty or not a string"
    ),
    (
      #"{"entry_id":"x","change":"react","target_id":"m","sender_id":"u","reaction":""}"#,
      "unreadable x: reaction is missing or not a string of 1 to 512 bytes"
    ),
    (
      #"{"entry_id":"x","change":"reactions","target_id":"m","sender_id":"u","reactions":{}}"#,
      "unreadable x: reactions is missing or not a list"
    ),
    (#"{"entry_id":"x","change":"none"}"#, "none of  by "),
  ]) func anEntryThatIsNoneKeepsItsPlaceOrIsAHole(json: String, reads: String) throws {
    #expect(try entry(json) == reads)
  }

  @Test func aPushSaysWhatItFollows() throws {
    func push(_ json: String) throws -> EntryPush {
      try entryPush(of: try Document(bytes(json)), zoneOffsetMinutes: 0)
    }
    let message = #"{"entry_id":"x","change":"none"}"#
    let full = try push(
      #"{"type":"entries_new","conversation_id":"c","prev":"p","before":"b","after":"a","#
        + #""entries":[\#(message)]}"#)
    #expect(full.conversation == bytes("c") && full.items.count == 1)
    #expect(full.previous == bytes("p") && full.before == bytes("b") && full.after == bytes("a"))
    let bare = try push(#"{"conversation_id":"c","prev":7,"entries":[\#(message)]}"#)
    #expect(bare.previous == nil && bare.before == nil && bare.after == nil)
    for (json, reason) in [
      (#"{"entries":[]}"#, "conversation_id is missing, empty or not a string"),
      (#"{"conversation_id":"c","entries":[]}"#, "entries is empty"),
      (#"{"conversation_id":"c"}"#, "entries is missing or not a list"),
    ] {
      do {
        _ = try push(json)
        Issue.record("it is taken: \(json)")
      } catch let error as Unread {
        #expect("\(error.reason)" == reason)
      }
    }
  }

  /// The page of the protocol is what adapters are written from, so its answers are read too.
  @Test func thePageOfTheProtocolIsRead() throws {
    let docs = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../docs/reference/protocol-log.md")
    let page = try String(contentsOf: docs, encoding: .utf8)
    var answers = 0
    var pushes = 0
    for (index, part) in page.components(separatedBy: "```").enumerated() where index % 2 == 1 {
      for frame in part.dropFirst(5).components(separatedBy: "\n{") {
        let json = frame.hasPrefix("{") ? frame : "{" + frame
        let document = try Document(bytes(json))
        if let data = document.member(bytes("data"), of: document.root) {
          let read = try entryPage(of: document, at: data, zoneOffsetMinutes: 0)
          #expect(read.items.count == 3 && read.isPresent)
          answers += 1
        } else if json.contains("entries_new") {
          #expect(try entryPush(of: document, zoneOffsetMinutes: 0).items.count == 1)
          pushes += 1
        }
      }
    }
    #expect(answers == 1 && pushes == 2)
  }
}
