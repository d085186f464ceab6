/// The server's file and the data set: what is saved is what comes back.

import Foundation
import Testing

@testable import ReferenceServer

@Suite struct FileTests {
  /// A path of its own for one test, removed afterwards.
  private func withPath(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "tideline-server-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.appendingPathComponent("server.db").path)
  }

  /// Everything that a client can see of a world.
  private func view(_ server: ReferenceServer) -> [[UInt8]] {
    server.conversationIDs.flatMap { id in
      [
        server.ask("get_messages", ["conversation_id": id, "limit": 100_000]).frame,
        server.ask("get_deleted_since", ["conversation_id": id, "since": "1970-01-01T00:00:00Z"])
          .frame,
      ]
    }
  }

  @Test func whatUsersDidComesBack() throws {
    try withPath { path in
      var knobs = ServerKnobs()
      knobs.idempotentSends = true
      func views(_ server: ReferenceServer) -> [[UInt8]] {
        [
          server.ask("get_conversations", ["include_last_message": true]).frame,
          server.ask("get_receipts", ["message_id": "1003"]).frame,
          server.ask("send_message", ["client_id": "k", "payload": "late"]).frame,
          server.ask("send_message", ["client_id": "gone", "payload": "late"]).frame,
          server.ask("create_conversation", ["client_id": "k", "participant_ids": []]).frame,
          server.ask("mark_last_read", ["message_id": "1009"]).frame,
          server.ask("get_user_channel").frame, server.ask("get_user_channel", user: "jan").frame,
        ]
      }
      func act(_ server: ReferenceServer, _ file: ServerFile, restores: Bool) throws {
        server.fill(40)
        let members: [String: Any] = [
          "client_id": "k", "participant_ids": ["jan"], "direct": true, "metadata": ["a": 1],
        ]
        _ = server.ask("create_conversation", members)
        let more: [String: Any] = [
          "client_id": "k", "payload": "one", "attachment": ["u"], "metadata": 1,
        ]
        _ = server.ask("send_message", more)
        let sent = server.ask("send_message", ["client_id": "gone", "payload": "two"])
        let message = sent.data["message"] as? [String: Any]
        let id = try #require(message?["message_id"] as? String)
        server.delete(conversation: "c", ids: [id])
        _ = server.ask("mark_read", ["message_ids": ["1003"]])
        _ = server.ask("mark_last_read", ["message_id": "1020"])
        _ = server.ask("save_conversation", ["title": "T"])
        _ = server.ask("get_user_channel")
        _ = server.ask("get_user_channel", user: "jan")
        _ = server.ask("delete_user_channels", user: "jan")
        if restores { server.restore(server.backup()) }
        try file.save()
      }
      for restores in [false, true] {
        let path = path + "\(restores)"
        let first = ReferenceServer(knobs: knobs, seed: 7)
        try act(first, try ServerFile(path: path, server: first), restores: restores)
        let again = ReferenceServer(knobs: knobs, seed: 7)
        let file = try ServerFile(path: path, server: again)
        #expect(views(again).dropLast() == views(first).dropLast())
        #expect(again.ask("send_message", ["client_id": "gone", "payload": 1]).code == "exists")
        #expect(again.visibleCount("c") == 41)
        // A distinct or direct one is still the one of its kind.
        let direct = again.ask(
          "create_conversation", user: "jan", ["participant_ids": ["eva"], "direct": true])
        let made = again.ask("create_conversation", ["client_id": "k", "participant_ids": []])
        #expect(direct.data["conversation"] != nil && made.code == "exists")
        #expect(again.conversationIDs.count == 2)
        withExtendedLifetime(file) {}
      }
    }
  }

  @Test func aWorldComesBackAsItWasAndGoesOn() throws {
    try withPath { path in
      let server = ReferenceServer(seed: 7)
      var seen: [[UInt8]] = []
      do {
        let file = try ServerFile(path: path, server: server)
        #expect(file.isEmpty)
        server.fill(40)
        server.post(
          conversation: "c", sender: "jan", payload: "{\"a\":[\"č\\u0000\"]}", replyTo: "1000")
        server.edit(conversation: "c", id: "1001", payload: "\"🙂\"")
        server.react(conversation: "c", id: "1001", user: "e\"va", reaction: "👍")
        server.markRead(conversation: "c", ids: ["1001", "1002"], user: "eva")
        server.delete(conversation: "c", ids: ["1003", "1004"])
        try file.save()
        server.post(conversation: "c", sender: "jan", payload: "\"again\"", id: "1004")
        let backup = server.backup()
        server.post(conversation: "c", sender: "jan", payload: "\"lost\"")
        server.restore(backup)
        try file.save()
        server.nowUs += 9
        server.delete(conversation: "c", ids: ["1006"])
        try file.save()
        server.post(conversation: "c", sender: "jan", payload: "\"again\"", id: "1006")
        server.delete(conversation: "c", ids: ["1005"])
        try file.save()
        seen = view(server)
        server.post(conversation: "c", sender: "jan", payload: "\"not saved\"")
      }
      let again = ReferenceServer(seed: 8)
      let file = try ServerFile(path: path, server: again)
      #expect(!file.isEmpty)
      #expect(view(again) == seen)
      #expect(again.epoch == 2)
      #expect(again.deletions("c").map(\.id) == ["1003", "1005"])
      #expect(again.message("c", "1004")?.version == 3)
      #expect(again.nowUs == start + 40_000_009)
      again.post(conversation: "c", sender: "jan", payload: "\"next\"", id: "next")
      let arrivals = again.truth("c").map(\.arrival)
      #expect(again.message("c", "next")?.arrival == arrivals.max())
      #expect(Set(arrivals).count == arrivals.count)
    }
  }

  @Test func whatIsOwedAndNumbersAndMarksComeBackToo() throws {
    try withPath { path in
      var knobs = ServerKnobs()
      knobs.envelope = true
      knobs.numbersMessages = true
      knobs.sendsPreviousIDs = true
      knobs.tellsChanges = true
      var frames: [[UInt8]] = []
      var seen: [[UInt8]] = []
      let since = ["since": "1970-01-01T00:00:00Z"]
      do {
        let server = ReferenceServer(knobs: knobs, seed: 7)
        let file = try ServerFile(path: path, server: server)
        let token = server.subscribe(user: "eva")
        server.fill(120)
        server.pin(conversation: "c", id: "1001")
        server.pin(conversation: "c", id: "1002")
        server.pin(conversation: "c", id: "1002", isPinned: false)
        server.mark(.listened, conversation: "c", ids: ["1003"], user: "eva")
        server.mark(.delivered, conversation: "c", ids: ["1003"], user: "eva")
        server.setProfile(user: "petr", name: "Petr")
        server.setProfile(user: "jan", name: "Jan")
        server.deleteProfiles(["jan"])
        server.rename(conversation: "c", title: "New")
        server.createConversation("gone")
        server.post(conversation: "gone", sender: "jan", payload: "1")
        try file.save()
        server.deleteConversation("gone")
        server.delete(conversation: "c", ids: ["1119"])
        try file.save()
        let refs = server.pendingRefs(user: "eva")
        for ref in refs.prefix(100) { server.settle(ref: ref, user: "eva", account: "personal") }
        try file.save()
        frames = Array(server.drain(token).dropFirst(100))
        seen = view(server) + [server.ask("get_changed_since", since).frame]
      }
      let again = ReferenceServer(knobs: knobs, seed: 8)
      let file = try ServerFile(path: path, server: again)
      #expect(view(again) + [again.ask("get_changed_since", since).frame] == seen)
      let token = again.subscribe(user: "eva")
      #expect(again.drain(token) == frames)
      #expect(again.profiles == ["petr": "Petr"])
      #expect(again.title(of: "c") == "New")
      #expect(again.conversationIDs == ["c"])
      again.post(conversation: "c", sender: "jan", payload: "1", id: "next")
      try file.save()
      // The number of the deleted newest message is not given again, nor is a ref.
      #expect(again.message("c", "next")?.number == 121)
      let refs = again.pendingRefs(user: "eva")
      #expect(Set(refs).count == refs.count)
    }
  }

  /// Ids are drawn, so a server that began its chance anew with each start would give them again.
  @Test func noIDIsGivenTwiceAcrossStarts() throws {
    try withPath { path in
      var given: [String] = []
      for _ in 0..<3 {
        let server = ReferenceServer(seed: 7)
        let file = try ServerFile(path: path, server: server)
        for _ in 0..<110 {
          given.append(server.post(conversation: "c", sender: "jan", payload: "1"))
        }
        try file.save()
        #expect(server.truth("c").count == given.count)
      }
      #expect(Set(given).count == given.count)
    }
  }

  @Test func anotherProgramsFileIsRefusedUnchangedAndOneInUseToo() throws {
    try withPath { path in
      do {
        let database = try Database(path)
        try database.run("CREATE TABLE theirs (a); PRAGMA user_version = 1")
      }
      let before = try Data(contentsOf: URL(fileURLWithPath: path))
      #expect(throws: ServerFileFailure.self) {
        _ = try ServerFile(path: path, server: ReferenceServer(seed: 7))
      }
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }
    try withPath { path in
      let server = ReferenceServer(seed: 7)
      let file = try ServerFile(path: path, server: server)
      #expect(throws: ServerFileFailure.self) {
        _ = try ServerFile(path: path, server: ReferenceServer(seed: 1))
      }
      server.fill(1)
      try file.save()
    }
  }

  @Test func theDataSetIsRealisticAndTheSameForTheSameSeed() throws {
    func make(_ seed: UInt64) -> ReferenceServer {
      var knobs = ServerKnobs()
      knobs.timeResolutionUs = 1000
      let made = ReferenceServer(knobs: knobs, seed: 7)
      var set = DataSet(seed: seed)
      set.messages = 2_000
      set.fill(made, untilUs: start)
      return made
    }
    let server = make(1)
    let rows = server.conversationIDs.flatMap(server.truth)
    #expect(rows.count == 2_000)
    #expect(server.conversationIDs.count == 50)
    #expect(server.conversationIDs.flatMap(server.deletions).count == 40)
    #expect(server.pendingCount == 0)
    #expect(rows.allSatisfy { $0.stampUs <= start && $0.stampUs >= start - 731 * 24 * hour })
    #expect(Set(rows.map(\.sender)).count > 10)
    let messages = server.conversationIDs.flatMap { id in
      server.truth(id).compactMap { server.message(id, $0.id) }
    }
    #expect(messages.count { $0.replyTo != nil } > 50)
    #expect(messages.count { !$0.reactions.isEmpty } > 100)
    #expect(messages.count { $0.editedUs != nil } > 10)
    #expect(messages.contains { $0.payload.contains("ž") })
    #expect(messages.contains { $0.payload.contains("的") })
    #expect(messages.contains { $0.payload.utf8.count > 1_000 })
    let unread = messages.count { $0.sender != "eva" && !$0.readBy.contains("eva") }
    #expect((1..<1_000).contains(unread))
    for frame in view(server) { #expect(!Answer(frame).data.isEmpty) }
    #expect(view(make(1)) == view(server))
    #expect(view(make(2)) != view(server))
  }
}
