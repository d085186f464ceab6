/// What a window and a list of conversations have in common behind their lock.
///
/// Rules protected: what was closed asks for nothing more. The lock of what is seen is held
/// while it is closed, so no call on another thread is half done then. Locks are taken in
/// one order: handle, core, board. Whoever has one of these has no client beside it, so that
/// nothing can run a hook of the host's under the lock.
internal import Base
internal import Timeline

/// What lies behind a handle.
protocol LiveQueryState: Sendable {
  var list: WindowList { get }
  var isClosed: Bool { get set }
  /// Entries and keys read so far.
  var read: Int { get }
}

final class LiveQuery<State: LiveQueryState>: Sendable {
  let core: Core
  let number: UInt64
  private let seen: Lock<State>

  init(_ core: Core, number: UInt64, seen: State) {
    self.core = core
    self.number = number
    self.seen = Lock(seen)
  }

  /// False where it was shut.
  func shut() -> Bool {
    seen.withLock { seen in
      defer { seen.isClosed = true }
      return !seen.isClosed
    }
  }

  /// Gives nothing back: each kind of answer would be one more copy of it.
  func inside(_ body: (inout State) throws(Failure) -> Void) throws(Failure) {
    try core.ensureOpen()
    try seen.withLock { seen throws(Failure) in
      if seen.isClosed { throw .closed }
      try body(&seen)
    }
  }

  var work: Int { seen.withLock { $0.list.work + $0.read } }

  var loaded: SpanSet { seen.withLock { $0.list.loaded } }
}
