/// Merging lists of messages without a client: the rules field by field.
///
/// Rule protected: two hosts that merge the same lists get the same list, and it is the
/// one that a client would hold.
import Base
import Engine
import Foundation
import Testing

@Suite struct MergeRules {
  private typealias Object = [String: Any]

  private static let epochUs: Int64 = 1_771_193_745_000_000

  private func message(
    _ id: String, _ second: Int64 = 1, _ text: String = "old", _ more: String = ""
  ) -> String {
    Frames.message(
      id, atUs: Self.epochUs + second * 1_000_000, payload: "\"\(text)\"",
      more: more.isEmpty ? "" : "," + more)
  }

  private func list(_ items: [String]) -> [UInt8] {
    Array("[\(items.joined(separator: ","))]".utf8)
  }

  private func merge(
    _ base: [String], _ more: [String], areDeltas: Bool = false
  ) throws -> (items: [Object], hasBadItems: Bool) {
    let merged = try merged(list(base), with: list(more), areDeltas: areDeltas)
    let json = try JSONSerialization.jsonObject(with: Data(merged.bytes))
    return (try #require(json as? [Object]), merged.left != nil)
  }

  private func one(_ base: String, _ more: String) throws -> Object {
    let items = try merge([base], [more]).items
    #expect(items.count == 1)
    return try #require(items.first)
  }

  private func ids(_ items: [Object]) -> [String] {
    items.compactMap { $0["message_id"] as? String }
  }

  private func users(_ item: Object, _ name: String) -> [String] {
    (item[name] as? [Object] ?? []).compactMap { $0["user_id"] as? String }
  }

  @Test func eachIdStandsOnceInTheOrderOfTimeAndId() throws {
    let base = (0..<130).map { message("b\($0)", Int64(2 * $0)) }
    let more = (0..<130).map { message("a\($0)", Int64(2 * $0 + 1)) } + base.reversed()
    let items = try merge(base, more).items
    #expect(ids(items) == (0..<130).flatMap { ["b\($0)", "a\($0)"] })
    let tied = try merge([message("z", 5), message("m", 5)], [message("c", 5)]).items
    #expect(ids(tied) == ["c", "m", "z"])
    let moved = try merge([message("a", 1), message("b", 2)], [message("a", 3)]).items
    #expect(ids(moved) == ["b", "a"])
  }

  /// The server's version outranks the edit time, and that outranks which list it is in.
  @Test func theNewerCopyWins() throws {
    func text(_ base: String, _ more: String) throws -> String? {
      try one(message("a", 1, "old", base), message("a", 1, "new", more))["payload"] as? String
    }
    let early = #""edited_at":"2026-02-16T08:00:00Z""#
    let late = #""edited_at":"2026-02-16T09:00:00Z""#
    #expect(try text("", "") == "new")
    #expect(try text(#""version":3"#, #""version":2"#) == "old")
    #expect(try text(#""version":2"#, #""version":3"#) == "new")
    #expect(try text(late, early) == "old")
    #expect(try text(early, late) == "new")
    #expect(try text(#""version":3,"# + early, #""version":2,"# + late) == "old")
  }

  /// Members that this version does not know are the newer copy's, verbatim.
  @Test func unknownMembersComeFromTheNewerCopy() throws {
    let item = try one(
      message("a", 1, "old", #""version":2,"colour":{"of":[1,2]}"#),
      message("a", 1, "new", #""version":1,"colour":"none""#))
    #expect((item["colour"] as? Object)?["of"] as? [Int] == [1, 2])
  }

  @Test func readersOnlyGrow() throws {
    func by(_ name: String, _ users: String...) -> String {
      let list = users.map { #"{"user_id":"\#($0)"}"# }
      return #""\#(name)":[\#(list.joined(separator: ","))]"#
    }
    for name in ["read_by", "delivered_by", "listened_by"] {
      let both = try one(
        message("a", 1, "old", by(name, "eva", "jan") + #","version":9"#),
        message("a", 1, "new", by(name, "jan", "ota")))
      #expect(Set(users(both, name)) == ["eva", "jan", "ota"])
      #expect(users(both, name).count == 3)
      let kept = try one(message("a", 1, "old", by(name, "eva")), message("a", 1, "new"))
      #expect(users(kept, name) == ["eva"])
    }
  }

  /// Reactions and the pin are sets without a history: the later copy's are the ones.
  @Test func reactionsAndThePinFollowTheLaterCopy() throws {
    let gone = try one(
      message("a", 1, "old", #""pinned":true,"reactions":{"+":["eva"]}"#),
      message("a", 1, "new", #""pinned":false,"reactions":{"-":["jan"]}"#))
    #expect(gone["pinned"] as? Bool != true)
    #expect((gone["reactions"] as? Object)?["-"] as? [String] == ["jan"])
    #expect((gone["reactions"] as? Object)?["+"] == nil)
    let set = try one(message("a"), message("a", 1, "new", #""pinned":true"#))
    #expect(set["pinned"] as? Bool == true)
  }

  @Test func changesAreAppliedInTheirOrder() throws {
    let base = (0..<130).map { message("m\($0)", Int64($0)) }
    func delta(_ type: String, _ more: String) -> String {
      #"{"type":"\#(type)","conversation_id":"room",\#(more)}"#
    }
    let deltas = [
      delta("message_pinned", #""message_id":"m1""#),
      delta("message_pinned", #""message_id":"m2""#),
      delta("message_unpinned", #""message_id":"m1""#),
      delta("messages_read", #""user_id":"eva","message_ids":["m3","m4"]"#),
      delta("message_reacted", #""message_id":"m5","reactions":{"+":["eva"]}"#),
      delta("message_reacted", #""message_id":"m5","reactions":{"-":["eva"]}"#),
      delta("message_deleted", #""message_ids":["m0","m129"]"#),
      Frames.edit(message("m6", 6, "edited", #""version":2"#)),
      Frames.push(message("m0", 0)),
      Frames.push(message("m200", 200)),
      Frames.update("r1", "pin", [#"{"conversation_id":"room","message_id":"m7","pinned":true}"#]),
      Frames.update("r1", "pin", [#"{"conversation_id":"room","message_id":"m8","pinned":true}"#]),
    ]
    let (items, hasBadItems) = try merge(base, deltas, areDeltas: true)
    #expect(!hasBadItems)
    // What was deleted does not come back with a later copy.
    #expect(ids(items) == (1..<129).map { "m\($0)" } + ["m200"])
    let byID = Dictionary(uniqueKeysWithValues: zip(ids(items), items))
    let pinned = ids(items.filter { $0["pinned"] as? Bool == true })
    #expect(pinned == ["m2", "m7"])
    #expect(users(byID["m3"] ?? [:], "read_by") == ["eva"])
    #expect((byID["m5"]?["reactions"] as? Object)?.keys.sorted() == ["-"])
    #expect(byID["m6"]?["payload"] as? String == "edited")
  }

  @Test func whatCannotBeReadIsLeftOutAndSaid() throws {
    let (items, hasBadItems) = try merge(
      [message("a"), #"{"message_id":7}"#, message("b", 2)], ["17", message("c", 3)])
    #expect(hasBadItems)
    #expect(ids(items) == ["a", "b", "c"])
    #expect(try !merge([message("a")], []).hasBadItems)
    #expect(try merge([], []).items.isEmpty)
    let refused: [(String, StaticText)] = [
      ("{}", "a list is not a JSON array"), ("[", "a list is not JSON"),
      ("", "a list is not JSON"), ("[1,]", "a list is not JSON"),
      ("17", "a list is not a JSON array"),
    ]
    for (text, reason) in refused {
      #expect(throws: Failure.frame(reason)) {
        try merged(Array(text.utf8), with: list([]), areDeltas: false)
      }
      #expect(throws: Failure.frame(reason)) {
        try merged(list([]), with: Array(text.utf8), areDeltas: true)
      }
    }
  }

  /// A page need not name its conversation in each message: the request did.
  @Test func aMessageNeedNotNameItsConversation() throws {
    let bare = { (id: String, second: Int64) in
      self.message(id, second).replacing(#""conversation_id":"room","#, with: "")
    }
    #expect(!bare("a", 1).contains("conversation_id"))
    let alone = try merge([bare("a", 1), bare("b", 2)], [bare("a", 1)])
    #expect(ids(alone.items) == ["a", "b"] && !alone.hasBadItems)
    #expect(alone.items.allSatisfy { $0["conversation_id"] == nil })
    let mixed = try merge([message("a", 1), bare("b", 2)], [bare("a", 1), message("c", 3)])
    #expect(ids(mixed.items) == ["a", "b", "c"] && !mixed.hasBadItems)
    let gone = #"{"type":"message_deleted","conversation_id":"room","message_ids":["a"]}"#
    let left = try merge([bare("a", 1), bare("b", 2)], [gone], areDeltas: true)
    #expect(ids(left.items) == ["b"])
    #expect(try merge([bare("a", 1), "7"], []).hasBadItems)
  }

  /// What is told of a conversation that goes takes its own messages along, no others.
  @Test func aDeletedConversationTakesItsMessagesAlong() throws {
    let first = #"{"type":"conversation_deleted","conversation_id":"other"}"#
    var deltas = [first]
    for index in 0..<60 {
      deltas.append(
        """
        {"type":"message_reacted","conversation_id":"room","message_id":"a",\
        "reactions":{"\(index)":["u"]}}
        """)
    }
    let other = message("x", 9).replacing(#""room""#, with: #""other""#)
    let base = (0..<120).map { message("a\($0)", Int64($0)) } + [message("a", 500), other]
    let items = try merge(base, deltas, areDeltas: true).items
    #expect(items.count == 121)
    #expect((items.last?["reactions"] as? Object)?.keys.first == "59")
  }
}
