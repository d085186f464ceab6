/// Each verb of the protocol that a user has, done offline first: one call takes it up, one
/// request does it, and what went wrong on the way shows in no doubled and no lost one.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing
import Wire

@Suite struct OutboxVerbs {
  /// The members of a request of each verb that is an operation. `M` stands for a message of
  /// this user.
  private static let all: [(Verb, String)] = [
    (.markLastRead, #","conversation_id":"room","message_id":"M""#),
    (.getReceipts, #","conversation_id":"room","message_id":"M""#),
    (.sendMessage, #","conversation_id":"room","payload":"new","metadata":{"a":1}"#),
    (.editMessage, #","conversation_id":"room","message_id":"M","payload":"edited""#),
    (.deleteMessage, #","conversation_id":"room","message_id":"M""#),
    (.reactMessage, #","conversation_id":"room","message_id":"M","reaction":"+""#),
    (.unreactMessage, #","conversation_id":"room","message_id":"M","reaction":"+""#),
    (.pinMessage, #","conversation_id":"room","message_id":"M""#),
    (.unpinMessage, #","conversation_id":"room","message_id":"M""#),
    (.getConversations, #","limit":10,"offset":0,"include_last_message":true"#),
    (.getConversation, #","conversation_id":"room","include_last_message":true"#),
    (.createConversation, #","participant_ids":["you"],"title":"T","admin_ids":["me"]"#),
    (.saveConversation, #","conversation_id":"room","title":"T","metadata":{"a":1}"#),
    (.deleteConversation, #","conversation_id":"room""#),
    (.leaveConversation, #","conversation_id":"room""#),
    (.addParticipants, #","conversation_id":"room","user_ids":["ada"]"#),
    (.removeParticipants, #","conversation_id":"room","user_ids":["you"]"#),
    (.addAdmins, #","conversation_id":"room","user_ids":["me","you"]"#),
    (.removeAdmins, #","conversation_id":"room","user_ids":["you"]"#),
    (.getUnreadCount, #","conversation_id":"room""#),
    (.getTotalUnreadCount, ""),
    (.subscribe, #","conversation_id":"room""#),
    (.unsubscribe, #","conversation_id":"room""#),
    (.getUserChannel, ""), (.deleteUserChannels, ""),
  ]

  private static func object(_ json: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
  }

  enum Trouble: CaseIterable { case none, lost, unavailable, refused }

  /// None is left out: the others are syncs, marks and typing, which are no operations.
  @Test func allAreThere() {
    let others: [Verb] = [
      .getMessages, .getDeletedSince, .getChangedSince, .getEntries, .markRead, .markDelivered,
      .markListened, .typing,
    ]
    #expect(Self.all.map(\.0) == Verb.allCases.filter { !others.contains($0) })
  }

  @Test(arguments: all.indices, Trouble.allCases)
  func eachIsDoneOnceWhateverHappens(_ index: Int, _ trouble: Trouble) throws {
    let (verb, template) = Self.all[index]
    let name = "\(verb.name)"
    let world = try World.idempotent()
    world.post(110)
    try world.connect()
    try world.sync()
    try world.say("mine")
    try world.run()
    let mine = try #require(world.truth().last)
    try world.disconnect()
    world.reset()
    let members = template.replacingOccurrences(of: "\"M\"", with: "\"\(mine)\"")
    let operation = try world.perform(#"{"type":"\#(name)"\#(members)}"#).operation
    #expect(operation != 0)
    #expect(try world.standing(operation) == .queued)
    #expect(try world.said(operation, \.verb) == name)
    switch trouble {
    case .none: break
    case .lost:
      world.alter = { [unowned world] request, answer in
        let isFirst = world.asked(name).count == 1
        return isFirst && request.contains("\"type\":\"\(name)\"") ? nil : answer
      }
    case .unavailable: world.server.failNext("unavailable", verb: name)
    case .refused: world.server.failNext("forbidden", verb: name)
    }
    try world.connect()
    try world.wait(ms: 100_000)
    let standing = try world.standing(operation)
    #expect(standing == (trouble == .refused ? .refused : .done))
    let asked = world.asked(name)
    #expect(asked.count == (trouble == .lost || trouble == .unavailable ? 2 : 1))
    // It is told in the words in which the host asked for it, again and again.
    let wanted = try Self.object("{\(members.dropFirst())}")
    for request in asked {
      var told = try Self.object(request)
      for name in ["type", "request_id", "client_id"] { told[name] = nil }
      #expect(NSDictionary(dictionary: told) == NSDictionary(dictionary: wanted))
    }
    if trouble == .refused { #expect(try world.said(operation, \.errorCode) == "forbidden") }
    if verb == .sendMessage {
      #expect(world.served() == (trouble == .refused ? ["mine"] : ["mine", "new"]))
    }
    if verb == .createConversation {
      #expect(world.server.conversationIDs.count == (trouble == .refused ? 1 : 2))
    }
  }
}
