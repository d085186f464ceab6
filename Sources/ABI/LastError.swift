/// The text of the last failure of each thread, or why it was last told that a frame or a part of
/// it was not taken.
///
/// The text lives in a small block of its own per thread, so that what
/// `tl_last_error` gives stays valid until the next failing call on that thread
/// and no other thread can change it. A pthread key frees it with its thread.
internal import Base
internal import CTideline
internal import Engine
internal import Glibc

enum LastError {
  /// Room for the longest text with its terminator; longer ones are cut.
  private static let capacity = 256

  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    let result = unsafe pthread_key_create(&key) { unsafe free($0) }
    return result == 0 ? key : nil
  }()

  /// Keeps the text of `failure` for the calling thread.
  static func record(_ failure: Failure) {
    let (reason, code) = failure.reason
    record(code.map { "\(reason) (code \($0))" } ?? reason.description)
  }

  /// Keeps why something was not taken as it came.
  static func record(_ reason: StaticText) {
    record(reason.description)
  }

  private static func record(_ text: String) {
    guard let block = unsafe block() else { return }
    let text = text.utf8.prefix(capacity - 1)
    var end = unsafe block
    for byte in text {
      unsafe end.pointee = CChar(bitPattern: byte)
      unsafe end += 1
    }
    unsafe end.pointee = 0
  }

  /// The kept text, or an empty one.
  static var text: UnsafePointer<CChar> {
    if let key, let kept = unsafe pthread_getspecific(key) {
      return unsafe UnsafePointer(kept.assumingMemoryBound(to: CChar.self))
    }
    return unsafe constant("")
  }

  /// The calling thread's block, made at its first failure.
  private static func block() -> UnsafeMutablePointer<CChar>? {
    guard let key else { return nil }
    if let kept = unsafe pthread_getspecific(key) {
      return unsafe kept.assumingMemoryBound(to: CChar.self)
    }
    guard let fresh = unsafe calloc(capacity, 1) else { return nil }
    guard unsafe pthread_setspecific(key, fresh) == 0 else {
      unsafe free(fresh)
      return nil
    }
    return unsafe fresh.assumingMemoryBound(to: CChar.self)
  }
}

/// A constant text as C sees it: it has a terminator and lives for ever.
func constant(_ text: StaticString) -> UnsafePointer<CChar> {
  unsafe UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}
