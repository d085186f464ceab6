/// Budgets: what is beyond goes in steps.
import CTidelineShared
import Testing
import Tideline

@Suite struct KeepTests {
  @Test func whatIsBeyondGoes() throws {
    let client = try caughtUp((1...9).map { message($0) })
    #expect(throws: TidelineError.self) { _ = try client.purge() }
    try client.retain(messages: 4)
    let work = try client.purge()
    while try work.step(ms: 0).is_done == 0 {}
    let room = try client.room("c")
    #expect(room.messages == 4 && room.purged_messages == 5)
    #expect(try client.room().bytes == room.bytes)
    try client.retain(messages: nil)
    #expect(try client.room().messages == 0)
  }

  @Test func whatGoesOutComesInAgain() throws {
    let client = try caughtUp((1...9).map { message($0) })
    var text = ""
    let out = try client.export("c") { text += $0 }
    while try out.step(ms: 0).is_done == 0 {}
    let other = try Client()
    let work = try other.importMessages("nothing\n" + text, name: "old")
    while try work.step(ms: 0).is_done == 0 {}
    let done = try other.imported("old")
    #expect(done.inserted == 9 && done.bad == 1 && done.flags == UInt32(TL_IMPORTED_DONE))
    #expect(try other.badLines("old").map(\.number) == [1])
    #expect(try other.messages("c").map(\.id) == client.messages("c").map(\.id))
  }

  @Test func whatIsLeftIsSaved() throws {
    try withFile { path in
      let client = try caughtUp((1...9).map { message($0) }, Client.Options(path: path, key: key))
      let ids = try client.messages("c").map(\.id)
      #expect(throws: TidelineError.self) {
        _ = try Client.salvage(path, key: key, to: path + "-saved")
      }
      client.close()
      let work = try Client.salvage(path, key: key, to: path + "-saved")
      while try work.step(ms: 0).is_done == 0 {}
      let other = try Client(Client.Options(path: path + "-saved", key: key))
      #expect(try other.messages("c").map(\.id) == ids)
    }
  }

  @Test func aCopyOpensWithTheSameKey() throws {
    try withFile { path in
      let client = try caughtUp((1...9).map { message($0) }, Client.Options(path: path, key: key))
      let copy = path + "-copy"
      let work = try client.backUp(to: copy)
      while try work.step(ms: 0).is_done == 0 {}
      let other = try Client(Client.Options(path: copy, key: key))
      #expect(try other.messages("c").map(\.id) == client.messages("c").map(\.id))
      #expect(throws: TidelineError.self) { _ = try client.backUp(to: copy) }
    }
  }

  @Test func anErasedConversationIsGone() throws {
    try withFile { path in
      let client = try caughtUp((1...9).map { message($0) }, Client.Options(path: path, key: key))
      let work = try client.rekey(erasing: "c")
      while try work.step(ms: 0).is_done == 0 {}
      #expect(try work.receipt().messages == 9)
      #expect(try client.messages("c").isEmpty)
    }
  }

  @Test func aSoundFileIsCalledSound() throws {
    try withFile { path in
      let client = try caughtUp((1...9).map { message($0) }, Client.Options(path: path, key: key))
      let work = try client.checkPages(heal: true)
      while try work.step(ms: 0).is_done == 0 {}
      let found = try work.checked()
      #expect(found.pages > 0)
      #expect(found.damaged == 0)
      #expect(found.is_healed == 0)
    }
  }
}
