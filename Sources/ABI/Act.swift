// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Act" of the header: what the user does to messages.
public import CTideline
internal import Engine

@implementation @_cdecl("tl_client_mark_read")
public func tl_client_mark_read(
  _ client: OpaquePointer?, _ conversation: tl_view, _ ids: UnsafePointer<tl_view>?, _ count: Int
) -> tl_status {
  unsafe mark(client, conversation, ids, count, isListening: false)
}

@implementation @_cdecl("tl_client_mark_listened")
public func tl_client_mark_listened(
  _ client: OpaquePointer?, _ conversation: tl_view, _ ids: UnsafePointer<tl_view>?, _ count: Int
) -> tl_status {
  unsafe mark(client, conversation, ids, count, isListening: true)
}

private func mark(
  _ client: OpaquePointer?, _ conversation: tl_view, _ ids: UnsafePointer<tl_view>?, _ count: Int,
  isListening: Bool
) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    let excess: Failure = .tooLarge("conversation is over 512 bytes")
    let conversation = try unsafe conversation.id(or: excess)
    let ids = try unsafe ABI.ids(ids, count)
    if isListening {
      try client.markListened(conversation: conversation, ids: ids)
    } else {
      try client.markRead(conversation: conversation, ids: ids)
    }
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_forget")
public func tl_client_forget(
  _ client: OpaquePointer?, _ conversation: tl_view, _ id: tl_view
) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try client.forget(conversation: unsafe conversation.id(), id: unsafe id.id())
    return status(TL_OK)
  }
}
