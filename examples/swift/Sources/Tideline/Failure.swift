/// What can go wrong: every function of this module throws this type and no other.
import CTideline

/// A call failed: `status` is a `TL_E_` status, `reason` says what was wrong.
public struct Failure: Error, Equatable, CustomStringConvertible {
  public let status: Int32
  public let reason: String

  /// Whether the same call may succeed later without a change.
  public var isTransient: Bool { tl_status_is_transient(status) != 0 }

  public var description: String { "\(reason) (\(String(cString: tl_status_name(status))))" }
}

/// Gives a status that is no failure.
@discardableResult
func check(_ status: Int32) throws(Failure) -> Int32 {
  guard status < 0 else { return status }
  throw Failure(status: status, reason: String(cString: tl_last_error()))
}

extension String {
  /// The text of a view.
  init(_ view: tl_view) {
    self.init(decoding: UnsafeRawBufferPointer(start: view.data, count: view.size), as: UTF8.self)
  }

  /// Lends a view of the text to `body`.
  func lent<T>(_ body: (tl_view) throws(Failure) -> T) throws(Failure) -> T {
    let bytes = Array(utf8)
    var result: Result<T, Failure>?
    bytes.withUnsafeBufferPointer { buffer in
      do throws(Failure) {
        result = .success(try body(tl_view(data: buffer.baseAddress, size: buffer.count)))
      } catch {
        result = .failure(error)
      }
    }
    guard let result else { throw Failure(status: Int32(TL_E_INTERNAL), reason: "no result") }
    return try result.get()
  }
}
