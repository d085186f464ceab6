/// What a window and a list of conversations have in common for the host that holds one.
///
/// Rule protected: what was closed asks for nothing more. The lock of what is seen is held
/// while it is closed, so no call on another thread is half done then. Locks are taken in
/// one order: handle, core, board.
internal import Base
internal import Timeline

/// What lies behind a handle.
protocol LiveQueryState: Sendable {
  var list: WindowList { get }
  var isClosed: Bool { get set }
  /// What the host is told once the lock is free.
  var logLines: LogLines { get set }
  /// Entries and keys read so far.
  var read: Int { get }
}

final class LiveQuery<State: LiveQueryState>: Sendable {
  let client: Client
  let number: UInt64
  private let seen: Lock<State>

  init(_ client: Client, number: UInt64, seen: State) {
    self.client = client
    self.number = number
    self.seen = Lock(seen)
  }

  deinit {
    close()
  }

  func close() {
    let wasClosed = seen.withLock { seen in
      defer { seen.isClosed = true }
      return seen.isClosed
    }
    if wasClosed { return }
    do {
      try client.input { engine, now throws(Failure) in engine.closeWindow(number, at: now) }
    } catch {
      // The client is closed, and all its handles with it.
    }
  }

  /// Gives nothing back: each kind of answer would be one more copy of it.
  func inside(_ body: (inout State) throws(Failure) -> Void) throws(Failure) {
    try client.ensureOpen()
    var lines = LogLines()
    defer { client.log(lines) }
    try seen.withLock { seen throws(Failure) in
      if seen.isClosed { throw .closed }
      defer {
        lines = seen.logLines
        seen.logLines = LogLines()
      }
      try body(&seen)
    }
  }

  var work: Int { seen.withLock { $0.list.work + $0.read } }

  var loaded: SpanSet { seen.withLock { $0.list.loaded } }
}
