/// The text of the last failure of each thread.
///
/// The text lives in a small block of its own per thread, so that what
/// `tl_last_error` gives stays valid until the next failing call on that thread
/// and no other thread can change it. A pthread key frees it with its thread.
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
    guard let block = unsafe block() else { return }
    let text = failure.text.utf8.prefix(capacity - 1)
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

extension Failure {
  /// One sentence for the host's log, made of constants and result codes.
  fileprivate var text: String {
    switch self {
    case .invalid(let text): text.text.description
    case .closed: "the client, window or list is closed"
    case .storage(let code): "SQLite or the file system refused (code \(code))"
    case .linked: "more than one name leads to the file (a hard link)"
    case .full: "there is no room left; nothing changed"
    case .key: "no key slot opens with this key"
    case .tooNew: "this comes from a later version"
    case .damaged: "stored bytes were changed or lost"
    case .locked: "the file is open elsewhere"
    case .notOurs: "the file is not a Tideline file"
    case .frame: "the frame is not a valid frame"
    case .tooLarge(let text): text.text.description
    case .notFound: "there is no such message, conversation, sync or file"
    case .mismatch: "the file or frame is of another account, user or kind of position"
    case .unsupported(let text): text.text.description
    case .offline: "there is no connection to the server"
    case .timeout: "the server did not answer in time"
    case .refused: "the seal hook failed; nothing was kept"
    case .unavailable: "the server refused for now"
    case .cancelled: "cancelled by the host"
    case .incomplete: "ended with a recorded gap"
    case .internal(let text): "broken invariant: \(text.text.description)"
    }
  }
}
