/// A descriptor that is readable when there is news: an eventfd.
///
/// It only signals; the host pulls. Works with poll, epoll, libuv, GLib and
/// asyncio. Setting it twice is the same as once.
internal import BaseC
internal import Glibc

package final class EventSignal: Sendable {
  /// The descriptor, or -1 where the system had none left.
  package let descriptor: Int32

  package init() {
    descriptor = tideline_eventfd()
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Makes the descriptor readable.
  package func set() {
    var one: UInt64 = 1
    _ = unsafe write(descriptor, &one, 8)
  }

  /// Makes it unreadable until the next `set`.
  package func clear() {
    var count: UInt64 = 0
    _ = unsafe read(descriptor, &count, 8)
  }
}
