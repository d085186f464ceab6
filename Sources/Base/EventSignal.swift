/// A descriptor that is readable when there is news: an eventfd.
///
/// It only signals; the host pulls. Works with poll, epoll, libuv, GLib and
/// asyncio. Setting it twice is the same as once.
internal import BaseC
internal import Glibc

package final class EventSignal: Sendable {
  /// The descriptor.
  package let descriptor: Int32

  private struct Counts {
    var sets: UInt64 = 0
    var seen: UInt64 = 0
  }
  private let counts = Lock(Counts())

  /// Nil where the system has no descriptor left.
  package init?() {
    descriptor = tideline_eventfd()
    if descriptor < 0 { return nil }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Makes the descriptor readable.
  package func set() {
    counts.withLock { counts in
      counts.sets &+= 1
      var one: UInt64 = 1
      _ = unsafe write(descriptor, &one, 8)
    }
  }

  /// Makes it unreadable where nothing was set since the last call: whoever woke has had a whole
  /// turn to look.
  package func rest() {
    counts.withLock { counts in
      if counts.seen == counts.sets { drain() }
      counts.seen = counts.sets
    }
  }

  /// Makes it unreadable until the next `set`.
  package func clear() {
    counts.withLock { _ in drain() }
  }

  private func drain() {
    var count: UInt64 = 0
    _ = unsafe read(descriptor, &count, 8)
  }
}
