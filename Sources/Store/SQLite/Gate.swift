/// Lets many reads through at once, and closing only when none is inside.
///
/// Closing a connection that another thread reads from would be a use after
/// free; with the gate, `close` waits for the reads that have begun.
internal import Glibc

// The lock is the only state, and it is made for several threads.
@safe final class Gate: @unchecked Sendable {
  private let lock: UnsafeMutablePointer<pthread_rwlock_t>

  init() {
    unsafe lock = .allocate(capacity: 1)
    unsafe lock.initialize(to: .init())
    unsafe pthread_rwlock_init(lock, nil)
  }

  deinit {
    unsafe pthread_rwlock_destroy(lock)
    unsafe lock.deallocate()
  }

  /// Runs `body` beside others that came in the same way.
  func enter<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_rwlock_rdlock(lock)
    defer { unsafe pthread_rwlock_unlock(lock) }
    return try body()
  }

  /// Runs `body` when nobody else is inside.
  func drain<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_rwlock_wrlock(lock)
    defer { unsafe pthread_rwlock_unlock(lock) }
    return try body()
  }

  /// The same where nobody is inside; nil, at once, where somebody is.
  func drainIfEmpty<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard unsafe pthread_rwlock_trywrlock(lock) == 0 else { return nil }
    defer { unsafe pthread_rwlock_unlock(lock) }
    return try body()
  }
}
