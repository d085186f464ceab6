/// Statuses as Swift errors.
import CTidelineShared

/// What a call gave.
public struct Status: Hashable, Sendable, CustomStringConvertible {
  public let code: tl_status

  public init(code: tl_status) {
    self.code = code
  }

  /// A constant of the header, such as `TL_E_KEY`.
  public init(_ constant: Int) {
    code = tl_status(constant)
  }

  public static let ok = Status(TL_OK)
  public static let none = Status(TL_NONE)

  /// The name of the constant. It lives for ever, so it needs no copy to be safe.
  public var description: String { String(cString: tl_status_name(code)) }

  /// Whether the same call may succeed later without a change.
  public var isTransient: Bool { tl_status_is_transient(code) != 0 }
}

/// Why the last call on this thread failed, or gave `TL_IGNORED` or `TL_QUARANTINED`.
public func lastReason() -> String {
  String(cString: tl_last_error())
}

/// A call that failed.
public struct TidelineError: Error, CustomStringConvertible {
  public let status: Status
  /// One sentence for a log. It holds no key, path, id or message text.
  public let reason: String

  public var description: String { "\(status): \(reason)" }
}

/// Gives a status that is a success, and throws one that is not. The reason is that of the calling
/// thread, so it is read before anything else is called.
@discardableResult
func check(_ code: tl_status) throws(TidelineError) -> Status {
  guard code < TL_OK else { return Status(code: code) }
  throw TidelineError(status: Status(code: code), reason: lastReason())
}
