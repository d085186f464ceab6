// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Turn" of the header: what happened, and what is to be sent.
internal import Base
public import CTideline
internal import Engine

@implementation @_cdecl("tl_client_connected")
public func tl_client_connected(_ client: OpaquePointer?) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try client.connected()
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_disconnected")
public func tl_client_disconnected(_ client: OpaquePointer?) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try client.disconnected()
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_connection_dead")
public func tl_client_connection_dead(_ client: OpaquePointer?) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try client.formerConnectionIsDead()
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_receive")
public func tl_client_receive(_ client: OpaquePointer?, _ frame: tl_view) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    // Of one that is too long no byte is read.
    if unsafe frame.size < 0 || frame.size > Limits.frameBytesMax, unsafe frame.data != nil {
      throw try client.refuse(tooLarge: unsafe frame.size)
    }
    guard let bytes = unsafe frame.copied() else {
      throw .invalid("the frame is NULL but not empty")
    }
    let (receipt, reason) = try client.take(bytes)
    if let reason { LastError.record(reason) }
    return switch receipt {
    case .applied: status(TL_OK)
    case .ignored: status(TL_IGNORED)
    case .quarantined: status(TL_QUARANTINED)
    }
  }
}

@implementation @_cdecl("tl_client_next_frame")
public func tl_client_next_frame(
  _ client: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<tl_frame>?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return unsafe boundary(client) { client throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    guard let frame = try client.nextFrame() else { return status(TL_NONE) }
    unsafe out.pointee = Block<tl_frame>.new(frame)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_frame_sent")
public func tl_client_frame_sent(_ client: OpaquePointer?, _ id: UInt64) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try client.frameSent(id) ? status(TL_OK) : status(TL_NONE)
  }
}

@implementation @_cdecl("tl_frame_free")
public func tl_frame_free(_ frame: UnsafeMutablePointer<tl_frame>?) {
  unsafe Block<tl_frame>.free(frame)
}

@implementation @_cdecl("tl_client_advance")
public func tl_client_advance(
  _ client: OpaquePointer?, _ wait_ms: UnsafeMutablePointer<Int64>?
) -> tl_status {
  unsafe wait_ms?.pointee = 0
  return unsafe boundary(client) { client throws(Failure) in
    do throws(Failure) {
      let wait = try client.advance()
      unsafe wait_ms?.pointee = wait
    } catch .released {
      // A loop that goes on waits for its other descriptors.
      unsafe wait_ms?.pointee = -1
      throw .released
    }
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_event_fd")
public func tl_client_event_fd(
  _ client: OpaquePointer?, _ out: UnsafeMutablePointer<Int32>?
) -> tl_status {
  unsafe out?.pointee = -1
  return unsafe boundary(client) { client throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    unsafe out.pointee = try client.eventDescriptor()
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_state")
public func tl_client_state(
  _ client: OpaquePointer?, _ out: UnsafeMutablePointer<tl_state>?
) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try unsafe write(out) { () throws(Failure) in tl_state(try client.state()) }
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_frame_account")
public func tl_frame_account(
  _ frame: tl_view, _ out: UnsafeMutablePointer<tl_view>?
) -> tl_status {
  unsafe out?.pointee = tl_view()
  return boundary { () throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    let bytes = try unsafe frame.bytes(
      "the frame", atMost: Limits.frameBytesMax, or: .tooLarge("the frame is over 16 MiB"))
    guard let range = try frameAccountRange(bytes) else { return status(TL_NONE) }
    guard bytes.indices.contains(range), let base = unsafe frame.data else {
      throw .internal("an account lies outside of its frame")
    }
    unsafe out.pointee = view(base, range)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_sync")
public func tl_client_sync(
  _ client: OpaquePointer?, _ request: UnsafePointer<tl_sync_request>?,
  _ out: UnsafeMutablePointer<UInt64>?
) -> tl_status {
  unsafe out?.pointee = 0
  return unsafe boundary(client) { client throws(Failure) in
    let request = try unsafe SyncRequest(read(request, zero: tl_sync_request()))
    let number = try client.sync(request)
    unsafe out?.pointee = number
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_cancel")
public func tl_client_cancel(_ client: OpaquePointer?, _ sync: UInt64) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try client.cancel(sync) ? status(TL_OK) : status(TL_NONE)
  }
}

@implementation @_cdecl("tl_client_sync_status")
public func tl_client_sync_status(
  _ client: OpaquePointer?, _ sync: UInt64, _ out: UnsafeMutablePointer<tl_sync_status>?
) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try unsafe write(out) { () throws(Failure) in tl_sync_status(try client.syncStatus(sync)) }
    return status(TL_OK)
  }
}
