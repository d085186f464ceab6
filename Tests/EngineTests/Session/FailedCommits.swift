/// A transaction that fails leaves memory as it was, whatever it had changed there.
import Base
import Store
import Testing
import Timeline

@testable import Engine

@Suite struct FailedCommits {
  private func text(_ value: some Any) -> String {
    var text = ""
    dump(value, to: &text)
    return text
  }

  private func fields(_ value: some Any) -> [String: String] {
    Dictionary(
      uniqueKeysWithValues: Swift.Mirror(reflecting: value).children.map { child in
        (child.label ?? "", text(child.value))
      })
  }

  /// One change of each field that a transaction may change while it goes on.
  private func change(_ memory: SyncMemory) {
    let room = bytes("room")
    var budget = Budget()
    budget.messages = 5
    memory.server.noteLateness(9_000_000)
    memory.ties.learn([3, 2, 1], of: .afterTime)
    memory.left.leave(
      LeftCursor.Walk(conversation: room, areChanges: false),
      at: LeftCursor(from: bytes("a"), next: bytes("b")))
    memory.offsets.remember([Position(time: 5, id: bytes("m"))], at: 3, in: 1)
    memory.restores.connect(nowMs: 7)
    memory.retention.set(budget)
    memory.effects.pending.append(room)
  }

  @Test func eachFieldIsTakenBack() throws {
    let world = try World()
    try world.run()
    try world.client.input { engine, _ throws(Failure) in
      let memory = engine.memory
      let before = fields(memory.learned)
      do {
        try engine.storing { () throws(StoreFailure) in
          try engine.commit { _ throws(StoreFailure) in
            change(memory)
            let changed = fields(memory.learned)
            for (name, was) in before { #expect(changed[name] != was, "nothing changes \(name)") }
            throw .closed
          }
        }
        Issue.record("it did not fail")
      } catch {}
      #expect(fields(memory.learned) == before)
      #expect(memory.effects.isEmpty)
    }
  }
}
