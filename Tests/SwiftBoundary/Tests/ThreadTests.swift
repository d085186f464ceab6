import CTidelineShared
/// One client from many threads.
import Glibc
import Testing
import Tideline

@Suite struct ThreadTests {
  @Test func anyThreadMayCall() async throws {
    let client = try Client()
    try client.connected()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for thread in 0..<8 {
        group.addTask {
          let window = try Window(client, "c")
          for number in 0..<25 {
            try client.receive(push(message(number, id: "t\(thread)-\(number)")))
            _ = try client.messages("c")
            _ = try client.changes()
            _ = try window.poll()
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try client.stats().messages == 200)
  }

  /// The reason of a failure is that of the thread it happened on.
  @Test func eachThreadHasItsOwnReason() async throws {
    let client = try Client()
    try await withThrowingTaskGroup(of: Set<String>.self) { group in
      let calls: [(String, @Sendable () throws -> Void)] = [
        ("the frame is not JSON", { try client.receive("{") }),
        ("conversation is empty", { _ = try client.messages("") }),
        (
          "there is no such sync", { _ = try client.cancel(sync: 9) }
        ),
      ]
      for (reason, call) in calls {
        group.addTask {
          var reasons: Set<String> = []
          for _ in 0..<200 {
            do { try call() } catch let error as TidelineError { reasons.insert(error.reason) }
          }
          #expect(reasons == [reason])
          return reasons
        }
      }
      for try await reasons in group { #expect(reasons.count == 1) }
    }
  }

  @Test func aClientIsClosedWhileOthersUseIt() async throws {
    let client = try Client()
    try client.connected()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          do {
            while true {
              _ = try client.state()
              await Task.yield()
            }
          } catch let error as TidelineError {
            #expect(error.status == Status(TL_E_CLOSED))
          }
        }
      }
      group.addTask { client.close() }
      try await group.waitForAll()
    }
  }
}
