// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Act" of the header: marks, typing, drafts, and what is removed here only.
internal import Base
public import CTideline
internal import Engine

@implementation @_cdecl("tl_client_mark_read")
public func tl_client_mark_read(
  _ client: OpaquePointer?, _ conversation: tl_view, _ ids: UnsafePointer<tl_view>?, _ count: Int
) -> tl_status {
  unsafe mark(client, conversation, ids, count) {
    client, conversation, ids throws(Failure) in
    try client.markRead(conversation: conversation, ids: ids)
  }
}

@implementation @_cdecl("tl_client_mark_listened")
public func tl_client_mark_listened(
  _ client: OpaquePointer?, _ conversation: tl_view, _ ids: UnsafePointer<tl_view>?, _ count: Int
) -> tl_status {
  unsafe mark(client, conversation, ids, count) {
    client, conversation, ids throws(Failure) in
    try client.markListened(conversation: conversation, ids: ids)
  }
}

@implementation @_cdecl("tl_client_mark_delivered")
public func tl_client_mark_delivered(
  _ client: OpaquePointer?, _ conversation: tl_view, _ ids: UnsafePointer<tl_view>?, _ count: Int
) -> tl_status {
  unsafe mark(client, conversation, ids, count) {
    client, conversation, ids throws(Failure) in
    try client.markDelivered(conversation: conversation, ids: ids)
  }
}

private func mark(
  _ client: OpaquePointer?, _ conversation: tl_view, _ ids: UnsafePointer<tl_view>?, _ count: Int,
  _ body: (Client, [UInt8], [[UInt8]]) throws(Failure) -> Void
) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    let conversation = try unsafe conversation.id("conversation", mayBeTooLarge: true)
    try body(client, conversation, try unsafe ABI.ids(ids, count))
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_forget")
public func tl_client_forget(
  _ client: OpaquePointer?, _ conversation: tl_view, _ id: tl_view
) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try client.forget(conversation: unsafe conversation.id("conversation"), id: unsafe id.id("id"))
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_typing")
public func tl_client_typing(
  _ client: OpaquePointer?, _ conversation: tl_view, _ event: tl_typing
) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    guard let signal = TypingAction(rawValue: event) else {
      throw .invalid("event is not one of typing")
    }
    let isSent = try client.typing(
      conversation: unsafe conversation.id("conversation"), event: signal)
    return isSent ? status(TL_OK) : status(TL_NONE)
  }
}
