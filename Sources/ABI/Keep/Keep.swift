// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Keep" of the header: counters.
public import CTideline
internal import Engine

@implementation @_cdecl("tl_client_drop")
public func tl_client_drop(
  _ client: OpaquePointer?, _ conversation: tl_view, _ id: tl_view
) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    let id = try unsafe id.size == 0 ? [] : id.id("id")
    try client.drop(conversation: try unsafe conversation.id("conversation"), id: id)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_stats")
public func tl_client_stats(
  _ client: OpaquePointer?, _ out: UnsafeMutablePointer<tl_stats>?
) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try unsafe write(out) { () throws(Failure) in tl_stats(try client.stats()) }
    return status(TL_OK)
  }
}
