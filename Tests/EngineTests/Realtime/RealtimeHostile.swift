/// Updates from servers without manners, and hosts that report late or never.
///
/// Rule protected: nothing traps, nothing is handed out for ever, what is pending goes out
/// in the end, and none of it can be read on disk.
import Base
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct RealtimeHostile {
  private func typing(_ ref: String) -> String {
    Frames.update(ref, "typing", ["{\"conversation_id\":\"room\",\"user_id\":\"you\"}"])
  }

  /// A host that writes everything first and reports afterwards gets all replies out on
  /// one connection, and one that never reports is not handed the same for ever.
  @Test func moreRepliesThanAreRemembered() throws {
    let world = try World()
    try world.connect()
    let count = Limits.repliesHanded + 900
    for number in 0..<count { try world.hand(typing("r\(number)")) }
    var seen: Set<String> = []
    for _ in 0..<4 {
      var frames: [OutgoingFrame] = []
      while let frame = try world.client.nextFrame() {
        frames.append(frame)
        try #require(frames.count <= 2 * count)
      }
      for frame in frames {
        seen.insert(try #require(Frames.ref(ofReply: frame.bytes)))
        _ = try world.client.frameSent(frame.id)
      }
    }
    #expect(seen.count == count)
    #expect(try world.client.state().repliesOwed == 0)
    #expect(try world.client.nextFrame() == nil)
  }

  @Test func aHostThatNeverReportsIsNotHandedTheSameForEver() throws {
    let world = try World()
    try world.connect()
    for number in 0..<700 { try world.hand(typing("r\(number)")) }
    #expect(try world.replies(report: false).count == 700)
    for number in 0..<700 { try world.hand(typing("s\(number)")) }
    #expect(try world.replies(report: false).count == 700)
    #expect(try world.replies(report: false) == [])
  }

  /// As many items as a frame may have, and shapes that are none.
  @Test func largeAndCrookedUpdates() throws {
    let world = try World()
    try world.connect()
    let start = World.epochUs
    let items = (0..<Limits.pageItemsMax).map { Frames.message("m\($0)", atUs: start + Int64($0)) }
    #expect(try world.hand(Frames.update("big", "message", items)) == .applied)
    #expect(try world.cached().count == Limits.pageItemsMax)
    #expect(try world.replies() == ["big"])
    var answered = 0
    for (number, items) in [[], ["1"], ["null", "{}"], ["[[]]"], ["\"x\"", "{\"message_id\":7}"]]
      .enumerated()
    {
      for entity in ["message", "receipt", "reaction", "pin", "member", "profile", "typing", "x"] {
        for action in ["new", "update", "delete", "", "x"] {
          let ref = "c\(number)-\(entity)-\(action)"
          _ = try? world.hand(Frames.update(ref, entity, action, items))
          answered += try world.replies() == [ref] ? 1 : 0
        }
      }
    }
    // Whatever it was, a ref that can be read is replied to.
    #expect(answered == 5 * 8 * 5)
    _ = try? world.hand(Frames.update("", "message", [Frames.message("e", atUs: start)]))
    _ = try? world.hand(
      Frames.update(
        String(repeating: "r", count: Limits.idBytesMax + 1), "message",
        [Frames.message("f", atUs: start)]))
    #expect(try world.client.state().repliesOwed <= 2)
    #expect(try world.cached().count <= Limits.pageItemsMax + 2)
  }

  /// Refs, events, entities, waiting marks and listened marks are as secret as messages.
  @Test func nothingOfRealtimeIsReadableOnDisk() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World(room: "room", file: folder.file())
    try world.connect()
    let needles = [
      "ref-of-an-update", "reply-still-owed", "event-of-a-later-version", "who-types-here",
      "name-of-a-profile", "name-of-a-member", "title-of-a-room", "message-not-yet-known",
      "reader-of-the-unknown", "reaction-in-waiting", "voice-message-id", "poison-body",
    ]
    for number in 0..<60 {
      let own = "ref-of-an-update-\(number)"
      let unknown =
        "\"conversation_id\":\"room\",\"message_id\":\"message-not-yet-known-\(number)\""
      for frame in [
        Frames.update("\(own)-a", "event-of-a-later-version", ["{\"x\":\"who-types-here\"}"]),
        Frames.update(
          "\(own)-b", "typing", ["{\"conversation_id\":\"room\",\"user_id\":\"who-types-here\"}"]),
        Frames.update(
          "\(own)-c", "profile", ["{\"user_id\":\"u\(number)\",\"n\":\"name-of-a-profile\"}"]),
        Frames.update(
          "\(own)-d", "member",
          ["{\"conversation_id\":\"room\",\"user_id\":\"u\(number)\",\"n\":\"name-of-a-member\"}"]),
        Frames.update(
          "\(own)-e", "conversation", ["{\"conversation_id\":\"room\",\"t\":\"title-of-a-room\"}"]),
        Frames.update(
          "\(own)-f", "receipt", ["{\(unknown),\"user_id\":\"reader-of-the-unknown\"}"]),
        Frames.update(
          "\(own)-g", "reaction", ["{\(unknown),\"reactions\":{\"reaction-in-waiting\":[]}}"]),
        Frames.update("\(own)-h", "message", ["{\"poison-body\":1}"]),
        Frames.update(
          "\(own)-i", "message",
          [Frames.message("voice-message-id-\(number)", atUs: World.epochUs + Int64(number))]),
      ] {
        _ = try world.hand(frame)
      }
    }
    try world.hand(typing("reply-still-owed"))
    try world.client.markListened(
      conversation: Array("room".utf8),
      ids: (0..<60).map { Array("voice-message-id-\($0)".utf8) })
    #expect(try world.client.stats().waiting > 0)
    #expect(try world.client.state().readsPending == 60)
    func hits() throws -> [String] {
      var found: [String] = []
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
        let data = try #require(FileManager.default.contents(atPath: folder.path + "/" + name))
        for needle in needles {
          let wide = needle.utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
          for bytes in [Array(needle.utf8), wide] where data.range(of: Data(bytes)) != nil {
            found.append("\(needle) in \(name)")
          }
        }
      }
      return found
    }
    #expect(try hits() == [])
    try folder.kill(world)
    #expect(try world.client.state().repliesOwed == 60 * 9 + 1)
    #expect(try hits() == [])
    world.client.close()
    #expect(try hits() == [])
  }

  /// A flood in one conversation is no step of a window on another.
  @Test func aFloodElsewhereIsNoStepHere() throws {
    let world = try World()
    world.post(60)
    try world.connect()
    let screen = try world.window()
    let before = try screen.ids()
    for number in 0..<Limits.windowChangesMax + 10 {
      try world.hand(
        Frames.push(
          Frames.message("m\(number)", atUs: World.epochUs + Int64(number))
            .replacingOccurrences(of: "\"room\"", with: "\"elsewhere\"")
        )
        .replacingOccurrences(of: "\"room\"", with: "\"elsewhere\""))
    }
    #expect(try screen.poll() == nil)
    #expect(try screen.ids() == before)
  }

  /// What is left of a window when its client closes says so, and nothing else.
  @Test func aWindowOutlivesItsClientQuietly() throws {
    let world = try World()
    world.post(60)
    try world.connect()
    let screen = try world.window()
    world.client.close()
    #expect(throws: Failure.closed) { try screen.window.poll() }
    #expect(throws: Failure.closed) { try screen.window.load(Load(.last)) }
    #expect(throws: Failure.closed) { try screen.window.rows(first: 0, count: 1) }
    #expect(throws: Failure.closed) { try screen.window.state() }
    screen.window.close()
    screen.window.close()
    #expect(throws: Failure.closed) {
      try world.client.openWindow(WindowConfig(conversation: Array("room".utf8)))
    }
  }
}

extension RealtimeHostile {
  /// Marks of a message that was deleted meanwhile are not pending any more.
  @Test(arguments: [false, true])
  func marksOfADeletedMessageAreNotOwed(_ isPushed: Bool) throws {
    let world = try World()
    world.post(60)
    try world.connect()
    try world.sync()
    let id = try #require(try world.cached().last)
    try world.client.disconnected()
    try world.client.markListened(conversation: Array("room".utf8), ids: [Array(id.utf8)])
    try world.client.markRead(conversation: Array("room".utf8), ids: [Array(id.utf8)])
    #expect(try world.client.state().readsPending == 2)
    world.advance(ms: 10_000)
    world.server.delete(conversation: "room", ids: [id])
    world.advance(ms: 10_000)
    // The marks' own requests are lost; the deletion is told.
    world.alter = { request, answer in request.contains("mark_") ? nil : answer }
    try world.client.connected()
    if isPushed {
      try world.hand(
        "{\"type\":\"message_deleted\",\"conversation_id\":\"room\",\"message_ids\":[\"\(id)\"]}")
    } else {
      try world.sync()
      world.advance(ms: 400_000)
      _ = try world.client.advance()
      try world.client.connected()
      try world.sync()
    }
    #expect(try !world.cached().contains(id))
    #expect(try world.client.state().readsPending == 0)
  }
}
