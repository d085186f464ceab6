/// How many entries each list of a frame may have, to the entry.
import Base
import Testing

@testable import Wire

@Suite struct ListLimits {
  private func list(_ count: Int, _ one: (Int) -> String = { "\"i\($0)\"" }) -> String {
    (0..<count).map(one).joined(separator: ",")
  }

  /// The sizes around the limit, and whether each is taken.
  private let sizes = [
    (Limits.listItemsMax - 1, true), (Limits.listItemsMax, true), (Limits.listItemsMax + 1, false),
  ]

  private func outcome(_ verb: String, _ data: String) throws -> Outcome {
    try response(#"{"type":"\#(verb)","status":"ok","data":{\#(data)}}"#).outcome
  }

  /// Why the one item of a page is bad; nil where it is good.
  private func reason(_ item: String) throws -> BadItem? {
    guard case .bad(_, let reason) = try #require(try page(item).items.first) else { return nil }
    return reason
  }

  private func isRead(_ effects: [Effect]) -> Bool {
    switch effects.first {
    case .messagesDeleted, .receipts, .reactions: true
    default: false
    }
  }

  @Test func answers() throws {
    for (count, isTaken) in sizes {
      for (verb, member) in [
        ("get_deleted_since", "message_ids"), ("get_receipts", "receipts"),
        ("get_conversations", "conversations"), ("get_messages", "messages"),
        ("get_changed_since", "messages"),
      ] {
        var isMalformed = false
        if case .malformed = try outcome(verb, "\"\(member)\":[\(list(count))]") {
          isMalformed = true
        }
        #expect(isMalformed != isTaken, "\(verb) \(count)")
      }
    }
  }

  @Test func pushes() throws {
    for (count, isTaken) in sizes {
      for type in ["message_deleted", "messages_read", "messages_delivered", "messages_listened"] {
        let json = """
          {"type":"\(type)","conversation_id":"c","user_id":"u","message_ids":[\(list(count))]}
          """
        guard case .push(let push) = try frame(json).body else {
          Issue.record("\(type) of \(count) is no push")
          continue
        }
        #expect(push.effects.count == 1 && isRead(push.effects) == isTaken, "\(type) \(count)")
      }
    }
  }

  @Test func readersOfAMessage() throws {
    let forms: [(Int) -> String] = [
      { "\"u\($0)\"" }, { "{\"user_id\":\"u\($0)\"}" }, { _ in "null" },
    ]
    for (count, isTaken) in sizes {
      let lists: [(String, BadItem.List)] = [
        ("read_by", .readBy), ("delivered_by", .deliveredBy), ("listened_by", .listenedBy),
      ]
      for (member, named) in lists {
        for one in forms {
          let item = message("m", #","\#(member)":[\#(list(count, one))]"#)
          #expect(try reason(item) == (isTaken ? nil : .tooMany(named)), "\(member) \(count)")
        }
      }
    }
  }

  @Test func reactionsOfAMessage() throws {
    for (count, isTaken) in sizes {
      let kinds = list(count) { "\"r\($0)\":[]" }
      // A kind counts, and each of its users.
      let users = "\"👍\":[\(list(count - 1))]"
      let halves = "\"👍\":[\(list(count / 2 - 1))],\"+\":[\(list(count - count / 2 - 1))]"
      for set in [kinds, users, halves] {
        let item = message("m", #","reactions":{\#(set)}"#)
        #expect(try reason(item) == (isTaken ? nil : .tooMany(.reactions)), "\(count)")
        let ids = #""conversation_id":"c","message_id":"m""#
        let told = try frame(#"{"type":"message_reacted",\#(ids),"reactions":{\#(set)}}"#)
        guard case .push(let push) = told.body else {
          Issue.record("no push")
          continue
        }
        #expect(push.effects.count == 1 && isRead(push.effects) == isTaken, "\(count)")
      }
    }
  }
}
