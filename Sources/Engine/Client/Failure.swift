/// What can go wrong, as the host will see it: one case a status of the header.
///
/// The modules below throw their own errors; they are translated here, once. Texts
/// are constants, so no message, id, key or path can leak into a log.
package import Base

package enum Failure: Error, Equatable, Sendable {
  case invalid(StaticText)
  case closed
  /// The file was let go of, and is to be taken again first.
  case released
  case storage(Int32)
  /// Another name leads to the file.
  case linked
  /// The file was removed, replaced or changed while the client rested.
  case moved
  /// What is no file has a name that the file needs.
  case inTheWay
  /// The system has no descriptor left.
  case noDescriptor
  case full(StaticText)
  case key
  /// No key slot is of this kind.
  case noSlot
  /// A recovery code has a typing error.
  case code
  case tooNew(StaticText)
  case damaged
  /// The file lacks commits that it had.
  case lost
  case locked
  case notOurs
  case frame(StaticText)
  case tooLarge(StaticText)
  case notFound(StaticText)
  case mismatch(StaticText)
  case unsupported(StaticText)
  case offline
  case timeout
  case refused
  case unavailable
  case cancelled
  case incomplete
  /// A source is over too early; more of it may come.
  case cut(StaticText)
  /// What the host reads or writes for the library failed.
  case host(StaticText)
  case `internal`(StaticText)
}

extension Failure {
  package static let noMessage = Failure.notFound("there is no such message")
  package static let noConversation = Failure.notFound("there is no such conversation")
  package static let noOperation = Failure.notFound("there is no such operation")
  package static let noSync = Failure.notFound("there is no such sync")
  package static let forked = Failure.invalid(
    "it was made before a fork, by the parent: only the parent may use it")
  package static let noRoomOnDisk = Failure.full("the disk is full; nothing changed")

  /// One sentence for the host's log, and the result code that belongs to it.
  package var reason: (text: StaticText, code: Int32?) {
    guard case .storage(let code) = self else { return (words, nil) }
    // The first byte is the result code, the others say more.
    switch code & 0xFF {
    case 8: return ("this user may not write the file, or not in its folder", code)
    case 14:
      return ("the file cannot be opened; no folder, no permission or no possible name", code)
    default: return ("SQLite or the file system refused", code)
    }
  }

  private var words: StaticText {
    switch self {
    case .invalid(let text), .frame(let text), .tooLarge(let text), .mismatch(let text),
      .unsupported(let text), .notFound(let text), .full(let text), .tooNew(let text):
      text
    case .closed: "the client, window or list is closed"
    case .released: "the file was let go of; call tl_client_reacquire first"
    case .storage: "SQLite or the file system refused"
    case .linked: "more than one name leads to the file (a hard link)"
    case .moved:
      "the file was removed, replaced or changed while the client rested; put it back"
    case .inTheWay: "a folder, pipe or device has a name that the file needs; move it away"
    case .noDescriptor: "no file descriptor is left; too many files are open"
    case .key: "this key does not open this file; use one that it was made with or given since"
    case .noSlot: "the file has no key slot of this kind; tl_keys_read names its kinds"
    case .code: "the recovery code has a typing error; compare it with the printed one"
    case .damaged: "stored bytes were changed or lost"
    case .lost: "the file lacks commits that it had; it is an older one, or its log is"
    case .locked: "the file is open elsewhere"
    case .notOurs: "the file is not a Tideline file"
    case .offline: "there is no connection to the server"
    case .timeout: "the server did not answer in time"
    case .refused: "the seal hook failed; nothing was kept"
    case .unavailable: "the server refused for now"
    case .cancelled: "cancelled by the host"
    case .incomplete: "ended with a recorded gap"
    case .cut(let text), .host(let text): text
    case .internal(let text): text
    }
  }
}
