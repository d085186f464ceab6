// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Keep" of the header: copies of the file, and what is left of a damaged one.
internal import Base
public import CTideline
internal import Engine

@implementation @_cdecl("tl_client_backup")
public func tl_client_backup(
  _ client: OpaquePointer?, _ path: tl_view, _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return unsafe boundary(client) { client throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    unsafe out.pointee = Handle.new(try Backup(client).start(unsafe filePath(path)))
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_salvage")
public func tl_salvage(
  _ config: UnsafePointer<tl_client_config>?, _ path: tl_view,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return boundary { () throws(Failure) in
    let work = try unsafe salvage(config, to: path)
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    unsafe out.pointee = Handle.new(work)
    return status(TL_OK)
  }
}
