/// A descriptor that is readable when there is news: an eventfd.
///
/// It only signals; the host pulls. Works with poll, epoll, libuv, GLib and
/// asyncio. Setting it twice is the same as once.
internal import BaseC
internal import Glibc

package final class EventSignal: Sendable {
  /// The descriptor, or -1 where the system had none left.
  package let descriptor: Int32

  private struct Counts {
    var sets: UInt64 = 0
    var seen: UInt64 = 0
  }
  private let counts = Lock(Counts())

  package init() {
    descriptor = tideline_eventfd()
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Makes the descriptor readable.
  package func set() {
    counts.withLock { $0.sets &+= 1 }
    var one: UInt64 = 1
    _ = unsafe write(descriptor, &one, 8)
  }

  /// Makes it unreadable where nothing was set since the last call: whoever woke has had a whole
  /// turn to look.
  package func rest() {
    let isOld = counts.withLock { counts in
      defer { counts.seen = counts.sets }
      return counts.seen == counts.sets
    }
    if isOld { clear() }
  }

  /// Makes it unreadable until the next `set`.
  package func clear() {
    var count: UInt64 = 0
    _ = unsafe read(descriptor, &count, 8)
  }
}
