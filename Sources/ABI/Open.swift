// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Open" of the header: a client's beginning and its ends.
internal import Base
public import CTideline
internal import Engine

@implementation @_cdecl("tl_client_open")
public func tl_client_open(
  _ config: UnsafePointer<tl_client_config>?, _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return boundary { () throws(Failure) in
    let client = try unsafe open(config)
    guard let out = unsafe out else {
      unsafe Handle.freeClient(client)
      throw .invalid("out is NULL")
    }
    unsafe out.pointee = client
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_close")
public func tl_client_close(_ client: OpaquePointer?) {
  if unsafe client == nil { return }
  _ = unsafe boundary(client) { client in
    client.close()
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_free")
public func tl_client_free(_ client: OpaquePointer?) {
  unsafe Handle.freeClient(client)
}

@implementation @_cdecl("tl_client_wipe")
public func tl_client_wipe(_ client: OpaquePointer?) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try client.wipe()
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_release")
public func tl_client_release(_ client: OpaquePointer?) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try client.release() ? status(TL_OK) : status(TL_NONE)
  }
}

@implementation @_cdecl("tl_client_reacquire")
public func tl_client_reacquire(_ client: OpaquePointer?) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try client.reacquire() ? status(TL_OK) : status(TL_NONE)
  }
}

@implementation @_cdecl("tl_client_rest")
public func tl_client_rest(_ client: OpaquePointer?) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try client.rest() ? status(TL_OK) : status(TL_NONE)
  }
}

@implementation @_cdecl("tl_file_watch")
public func tl_file_watch(
  _ path: tl_view, _ out: UnsafeMutablePointer<Int32>?
) -> tl_status {
  unsafe out?.pointee = -1
  return boundary { () throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    unsafe out.pointee = try Client.watch(unsafe filePath(path))
    return status(TL_OK)
  }
}
