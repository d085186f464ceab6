/// A descriptor that is readable when there is news: an eventfd.
///
/// It only signals; the host pulls. Works with poll, epoll, libuv, GLib and
/// asyncio. Setting it twice is the same as once. It is made when it is first
/// asked for: a host with thousands of clients may do without.
internal import BaseC
internal import Glibc

package final class EventSignal: Sendable {
  private struct State {
    /// -1 until it is asked for.
    var descriptor: Int32 = -1
    var isSet = false
    var sets: UInt64 = 0
    var seen: UInt64 = 0
  }
  private let state = Lock(State())

  package init() {}

  deinit {
    let descriptor = state.withLock { $0.descriptor }
    if descriptor >= 0 { close(descriptor) }
  }

  /// The descriptor; nil where the system has none left.
  package var descriptor: Int32? {
    state.withLock { state in
      if state.descriptor < 0 {
        state.descriptor = tideline_eventfd()
        if state.isSet { Self.raise(state.descriptor) }
      }
      return state.descriptor < 0 ? nil : state.descriptor
    }
  }

  /// Makes the descriptor readable.
  package func set() {
    state.withLock { state in
      state.sets &+= 1
      state.isSet = true
      Self.raise(state.descriptor)
    }
  }

  /// Makes it unreadable where nothing was set since the last call: whoever woke has had a whole
  /// turn to look.
  package func rest() {
    state.withLock { state in
      if state.seen == state.sets { Self.drain(&state) }
      state.seen = state.sets
    }
  }

  /// Makes it unreadable until the next `set`.
  package func clear() {
    state.withLock { Self.drain(&$0) }
  }

  private static func raise(_ descriptor: Int32) {
    guard descriptor >= 0 else { return }
    var one: UInt64 = 1
    _ = unsafe write(descriptor, &one, 8)
  }

  private static func drain(_ state: inout State) {
    state.isSet = false
    guard state.descriptor >= 0 else { return }
    var count: UInt64 = 0
    _ = unsafe read(state.descriptor, &count, 8)
  }
}
