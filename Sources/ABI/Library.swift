// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Library" of the header: what is loaded, and what went wrong.
public import CTideline

@implementation @_cdecl("tl_abi")
public func tl_abi() -> UInt32 {
  UInt32(TL_ABI)
}

@implementation @_cdecl("tl_version")
public func tl_version() -> UInt32 {
  UInt32(TL_VERSION_MAJOR << 16 | TL_VERSION_MINOR << 8 | TL_VERSION_PATCH)
}

@implementation @_cdecl("tl_key_bytes")
public func tl_key_bytes() -> Int {
  Int(TL_KEY_BYTES)
}

@implementation @_cdecl("tl_last_error")
public func tl_last_error() -> UnsafePointer<CChar>? {
  unsafe LastError.text
}

@implementation @_cdecl("tl_status_name")
public func tl_status_name(_ status: tl_status) -> UnsafePointer<CChar>? {
  unsafe constant(name(Int(status)))
}

@implementation @_cdecl("tl_status_is_transient")
public func tl_status_is_transient(_ status: tl_status) -> Int32 {
  switch Int(status) {
  case TL_E_LOCKED, TL_E_OFFLINE, TL_E_TIMEOUT, TL_E_UNAVAILABLE, TL_E_INCOMPLETE, TL_E_FULL: 1
  default: 0
  }
}

private func name(_ status: Int) -> StaticString {
  switch status {
  case TL_OK: "TL_OK"
  case TL_NONE: "TL_NONE"
  case TL_IGNORED: "TL_IGNORED"
  case TL_RESYNC: "TL_RESYNC"
  case TL_QUARANTINED: "TL_QUARANTINED"
  case TL_E_INVALID: "TL_E_INVALID"
  case TL_E_CLOSED: "TL_E_CLOSED"
  case TL_E_STORAGE: "TL_E_STORAGE"
  case TL_E_KEY: "TL_E_KEY"
  case TL_E_TOO_NEW: "TL_E_TOO_NEW"
  case TL_E_DAMAGED: "TL_E_DAMAGED"
  case TL_E_LOCKED: "TL_E_LOCKED"
  case TL_E_NOT_OURS: "TL_E_NOT_OURS"
  case TL_E_FRAME: "TL_E_FRAME"
  case TL_E_TOO_LARGE: "TL_E_TOO_LARGE"
  case TL_E_NOT_FOUND: "TL_E_NOT_FOUND"
  case TL_E_MISMATCH: "TL_E_MISMATCH"
  case TL_E_UNSUPPORTED: "TL_E_UNSUPPORTED"
  case TL_E_OFFLINE: "TL_E_OFFLINE"
  case TL_E_TIMEOUT: "TL_E_TIMEOUT"
  case TL_E_REFUSED: "TL_E_REFUSED"
  case TL_E_UNAVAILABLE: "TL_E_UNAVAILABLE"
  case TL_E_CANCELLED: "TL_E_CANCELLED"
  case TL_E_INCOMPLETE: "TL_E_INCOMPLETE"
  case TL_E_FULL: "TL_E_FULL"
  case TL_E_NO_SLOT: "TL_E_NO_SLOT"
  case TL_E_CODE: "TL_E_CODE"
  case TL_E_RELEASED: "TL_E_RELEASED"
  case TL_E_INTERNAL: "TL_E_INTERNAL"
  default: "TL_E_UNKNOWN"
  }
}
