// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Keep" of the header: copies of the file, a new data key, and what is left of a damaged
/// file.
internal import Base
public import CTideline
internal import Engine

@implementation @_cdecl("tl_client_backup")
public func tl_client_backup(
  _ client: OpaquePointer?, _ path: tl_view, _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    unsafe Handle.new(try Backup(client).start(unsafe filePath(path)))
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

@implementation @_cdecl("tl_client_rekey")
public func tl_client_rekey(
  _ client: OpaquePointer?, _ erase: tl_view, _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    let conversation = try unsafe erase.size == 0 ? [] : erase.id("erase")
    return unsafe Handle.new(try Rekeying(client).start(erasing: conversation))
  }
}

@implementation @_cdecl("tl_client_check")
public func tl_client_check(
  _ client: OpaquePointer?, _ heal: Int32, _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    unsafe Handle.new(try Checking.start(client, heals: heal != 0))
  }
}

@implementation @_cdecl("tl_work_checked")
public func tl_work_checked(
  _ work: OpaquePointer?, _ out: UnsafeMutablePointer<tl_checked>?
) -> tl_status {
  boundary { () throws(Failure) in
    guard let found = try unsafe Handle.work(work).checked else { return status(TL_NONE) }
    try unsafe write(out) { () throws(Failure) in
      tl_checked(
        struct_size: 0, is_healed: found.isHealed ? 1 : 0, pages: found.pages,
        damaged: found.damaged, messages: found.messages, operations: found.operations,
        contradictions: found.contradictions)
    }
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_work_receipt")
public func tl_work_receipt(
  _ work: OpaquePointer?, _ out: UnsafeMutablePointer<tl_receipt>?
) -> tl_status {
  boundary { () throws(Failure) in
    guard let receipt = try unsafe Handle.work(work).receipt else { return status(TL_NONE) }
    try unsafe write(out) { () throws(Failure) in
      tl_receipt(
        struct_size: 0, files: 1, conversations: receipt.conversations,
        messages: receipt.messages, operations: receipt.operations, items: receipt.items,
        bytes: receipt.bytes, file_bytes: receipt.fileBytes)
    }
    return status(TL_OK)
  }
}
