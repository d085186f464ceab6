/// One screen's view of a conversation, as the host holds it.
///
/// A poll takes the core's news from the board, reads one committed state, makes one
/// step of the list, and tells the core what to ask. The core's lock is taken only for
/// that last part, and only when there is something to ask, or where it meets a purge.
///
/// It asks the host's hooks before and after; all that is locked is done by `LockedWindow`.
internal import Base
internal import Store
package import Timeline

package final class Window: Sendable {
  package let client: Client
  let locked: LockedWindow
  private let number: UInt64

  fileprivate init(_ client: Client, number: UInt64, config: WindowConfig) {
    self.client = client
    self.number = number
    locked = LockedWindow(client.core, number: number, config: config)
  }

  deinit {
    close()
  }

  /// Idempotent. What it asked for is dropped, later calls fail.
  package func close() {
    if locked.shut() { client.closeWindow(number) }
  }

  /// Moves to the newest committed state; nil where nothing changed.
  package func poll() throws(Failure) -> WindowDiff? {
    let now = client.now()
    var choice: PolicyChoice?
    if let conversation = try locked.asked() {
      choice = try PolicyChoice(.host).made(
        by: client.config, for: conversation, .live, isWindow: true)
    }
    var lines = LogLines()
    defer { client.log(lines) }
    return try locked.poll(at: now, choice, logging: &lines)
  }

  /// False where nothing lies there.
  package func load(_ load: Load) throws(Failure) -> Bool {
    guard (1...Limits.windowLoadMax).contains(load.count) else {
      throw .invalid("count is not between 1 and 1,000")
    }
    return try locked.load(load)
  }

  /// False where no gap lies before the row.
  package func fill(row: Int) throws(Failure) -> Bool { try locked.fill(row: row) }

  package func show(first: Int, count: Int) throws(Failure) {
    var lines = LogLines()
    defer { client.log(lines) }
    try locked.show(first: first, count: count, at: client.now(), logging: &lines)
  }

  package func trim(first: Int, count: Int) throws(Failure) {
    try locked.trim(first: first, count: count)
  }

  /// Rows as of the last poll with content as it is now; nil where no row is there.
  package func rows(first: Int, count: Int) throws(Failure) -> MessagePage? {
    try locked.rows(first: first, count: count)
  }

  package func find(_ id: [UInt8]) throws(Failure) -> Int? { try locked.find(id) }

  package func state() throws(Failure) -> WindowStatus { try locked.state() }

  /// What was read and touched so far: the cost that tests hold to the change.
  package var work: Int { locked.work }

  /// What is loaded, as of the last poll.
  package var loaded: SpanSet { locked.loaded }
}

extension Client {
  package func openWindow(_ config: WindowConfig) throws(Failure) -> Window {
    try check(config.conversation)
    guard (1...Limits.windowLoadMax).contains(config.count) else {
      throw .invalid("count is not between 1 and 1,000")
    }
    guard (Limits.windowRowsMin...Limits.windowRowsMax).contains(config.rowsMax) else {
      throw .invalid("rows_max is not between 100 and 200,000")
    }
    var config = config
    config.asksHost = config.choice.policy == .host
    config.choice = try config.choice.made(
      by: self.config, for: config.conversation, .live, isWindow: true)
    if case .message(let id) = config.at { try core.mustFind(id, config) }
    let number = try input { engine, now throws(Failure) in
      let number = try engine.openWindow(config)
      do throws(Failure) {
        _ = try engine.askLive(number, at: now)
      } catch {
        engine.closeWindow(number, at: now)
        throw error
      }
      return number
    }
    accessTimes.withLock { $0.note(config.conversation) }
    signalNews()
    return Window(self, number: number, config: config)
  }

  /// A window or a list of conversations is closed; what it asked for is dropped.
  func closeWindow(_ number: UInt64) {
    do {
      try input { engine, now throws(Failure) in engine.closeWindow(number, at: now) }
    } catch .released {
      core.closeLater(number)
    } catch {
      // The client is closed, and all its handles with it.
    }
  }

  /// What open windows of a conversation have loaded: a retention drops nothing of it.
  package func pinned(_ conversation: [UInt8]) -> SpanSet {
    snapshot.withLock { snapshot in
      var pinned = SpanSet()
      for (_, entry) in snapshot.loaded where entry.conversation == conversation {
        pinned = pinned.union(entry.ranges)
      }
      return pinned
    }
  }
}

/// The checksum of a list of row numbers, as the header defines it.
package func checksum(_ numbers: [UInt64]) -> UInt64 {
  windowChecksum(numbers)
}
