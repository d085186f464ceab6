/// The one place where a failure becomes a status and an error text.
///
/// Nothing else in this room maps errors, so a case that is added to `Failure`
/// does not compile until it has its status here. Texts are constants and
/// numbers: no key, path, id or message text can reach the host's log.
internal import Base
package import CTideline
package import Engine
internal import Glibc

/// Runs `body`, turning a thrown failure into its status and error text.
package func boundary(_ body: () throws(Failure) -> tl_status) -> tl_status {
  do throws(Failure) {
    return try body()
  } catch {
    LastError.record(error)
    return error.status
  }
}

/// Runs `body` with the client behind `handle`.
///
/// A broken invariant closes the client: what it holds in memory is not to be
/// trusted any more, and its file is only ever changed by whole transactions.
package func boundary(
  _ handle: OpaquePointer?, _ body: (Client) throws(Failure) -> tl_status
) -> tl_status {
  boundary { () throws(Failure) in
    let client = unsafe try Handle.client(handle)
    do throws(Failure) {
      return try body(client)
    } catch {
      client.note(error)
      if case .internal = error { client.close() }
      throw error
    }
  }
}

/// The same for a body that makes an object for `out`, or has none to give.
package func boundary(
  _ handle: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
  _ body: (Client) throws(Failure) -> OpaquePointer?
) -> tl_status {
  unsafe out?.pointee = nil
  return unsafe boundary(handle) { client throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    guard let object = unsafe try body(client) else { return status(TL_NONE) }
    unsafe out.pointee = object
    return status(TL_OK)
  }
}

/// A constant of the header as a status.
package func status(_ constant: Int) -> tl_status {
  tl_status(truncatingIfNeeded: constant)
}

extension Failure {
  /// The status that the host sees.
  package var status: tl_status {
    switch self {
    case .invalid: ABI.status(TL_E_INVALID)
    case .closed: ABI.status(TL_E_CLOSED)
    case .released: ABI.status(TL_E_RELEASED)
    case .storage, .linked, .moved, .inTheWay, .noDescriptor, .host: ABI.status(TL_E_STORAGE)
    case .full: ABI.status(TL_E_FULL)
    case .key: ABI.status(TL_E_KEY)
    case .noSlot: ABI.status(TL_E_NO_SLOT)
    case .code: ABI.status(TL_E_CODE)
    case .tooNew: ABI.status(TL_E_TOO_NEW)
    case .damaged, .lost: ABI.status(TL_E_DAMAGED)
    case .locked: ABI.status(TL_E_LOCKED)
    case .notOurs: ABI.status(TL_E_NOT_OURS)
    case .frame: ABI.status(TL_E_FRAME)
    case .tooLarge: ABI.status(TL_E_TOO_LARGE)
    case .notFound: ABI.status(TL_E_NOT_FOUND)
    case .mismatch: ABI.status(TL_E_MISMATCH)
    case .unsupported: ABI.status(TL_E_UNSUPPORTED)
    case .offline: ABI.status(TL_E_OFFLINE)
    case .timeout: ABI.status(TL_E_TIMEOUT)
    case .refused: ABI.status(TL_E_REFUSED)
    case .unavailable: ABI.status(TL_E_UNAVAILABLE)
    case .cancelled: ABI.status(TL_E_CANCELLED)
    case .incomplete, .cut: ABI.status(TL_E_INCOMPLETE)
    case .internal: ABI.status(TL_E_INTERNAL)
    }
  }
}
