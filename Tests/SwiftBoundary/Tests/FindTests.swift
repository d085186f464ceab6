/// Search: what was stored before is built in steps, and what is found is marked.
import CTidelineShared
import Testing
import Tideline

@Suite struct FindTests {
  @Test func whatIsStoredIsFoundOnceItIsBuilt() throws {
    let client = try caughtUp((1...3).map { message($0) })
    #expect(throws: TidelineError.self) { _ = try client.search("ahoj") }
    #expect(try client.switchSearch(true))
    #expect(try !client.switchSearch(true))
    let before = try client.search("ahoj")
    #expect(try before.hits.isEmpty && before.searched().unbuilt > 0)
    let work = try client.buildSearch()
    while try work.step(ms: 5).is_done == 0 {}
    let found = try client.search("AHO", in: "c")
    #expect(found.hits.map(\.message.id) == ["m3", "m2", "m1"])
    #expect(found.hits[0].marks.map(\.utf16) == [0..<4] && found.hits[0].marks[0].member == "")
    #expect(try found.searched().unbuilt == 0 && found.searched().has_more == 0)
    #expect(found.messages.isEmpty)
    try client.receive(push(message(4)))
    #expect(try client.search("ahoj").hits.count == 4)
    #expect(try client.unsearched(in: "c").allSatisfy { $0.conversation == "c" })
    #expect(try Int(found.searched().partial) == client.unsearched(in: "c").count)
    let look = try client.checkSearch()
    while try look.step(ms: 5).is_done == 0 {}
    #expect(try client.switchSearch(false))
  }
}
