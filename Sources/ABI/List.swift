// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Watch" of the header: the list of conversations, and drafts as part of it.
internal import Base
public import CTideline
internal import Engine

/// Runs `body` with the list behind `handle`.
private func boundary(
  list handle: OpaquePointer?, _ body: (ConversationList) throws(Failure) -> tl_status
) -> tl_status {
  boundary { () throws(Failure) in
    let list = unsafe try Handle.list(handle)
    do throws(Failure) {
      return try body(list)
    } catch {
      // As for a client: what it holds in memory is not to be trusted any more.
      list.client.note(error)
      if case .internal = error { list.client.close() }
      throw error
    }
  }
}

@implementation @_cdecl("tl_list_open")
public func tl_list_open(
  _ client: OpaquePointer?, _ config: UnsafePointer<tl_list_config>?,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    let zero = tl_list_config()
    let config = try ListConfig(unsafe config == nil ? zero : read(config, zero: zero))
    return unsafe Handle.new(try client.openList(config))
  }
}

extension ListConfig {
  fileprivate init(_ config: tl_list_config) throws(Failure) {
    let cacheOnly = UInt32(truncatingIfNeeded: TL_LIST_CACHE_ONLY)
    guard config.flags & ~cacheOnly == 0 else {
      throw .invalid("flags has an unknown flag of a list")
    }
    try mustBeZero(config.reserved, "reserved is not zero")
    let choice = try PolicyChoice(config.policy, config.limit_ms, config.age_us)
    let rows = try count(
      config.rows_max, zero: 10_000, atMost: Limits.windowRowsMax, "rows_max is over 200,000")
    guard rows >= Limits.windowRowsMin else { throw .invalid("rows_max is under 100") }
    self.init(rowsMax: rows)
    self.choice = choice
    if config.flags & cacheOnly != 0 { isCacheOnly = true }
  }
}

@implementation @_cdecl("tl_list_poll")
public func tl_list_poll(
  _ list: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<tl_diff>?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return unsafe boundary(list: list) { list throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    guard let diff = try list.poll() else { return status(TL_NONE) }
    unsafe out.pointee = Block<tl_diff>.new(diff)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_list_rows")
public func tl_list_rows(
  _ list: OpaquePointer?, _ first: UInt32, _ count: UInt32,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return unsafe boundary(list: list) { list throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    let count = try ABI.count(
      count, zero: 0, atMost: Limits.readRowsMax, "count is over 10,000")
    guard count > 0, let page = try list.rows(first: Int(first), count: count) else {
      return status(TL_NONE)
    }
    unsafe out.pointee = try Batch.new(page)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_list_find")
public func tl_list_find(
  _ list: OpaquePointer?, _ conversation: tl_view, _ out: UnsafeMutablePointer<UInt32>?
) -> tl_status {
  unsafe out?.pointee = 0
  return unsafe boundary(list: list) { list throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    guard let row = try list.find(unsafe conversation.id("conversation")) else {
      return status(TL_NONE)
    }
    unsafe out.pointee = UInt32(clamping: row)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_list_state")
public func tl_list_state(
  _ list: OpaquePointer?, _ out: UnsafeMutablePointer<tl_list_status>?
) -> tl_status {
  unsafe boundary(list: list) { list throws(Failure) in
    try unsafe write(out) { () throws(Failure) in tl_list_status(try list.state()) }
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_list_close")
public func tl_list_close(_ list: OpaquePointer?) {
  if unsafe list == nil { return }
  _ = unsafe boundary(list: list) { list in
    list.close()
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_list_free")
public func tl_list_free(_ list: OpaquePointer?) {
  unsafe Handle.freeList(list)
}

@implementation @_cdecl("tl_client_conversations")
public func tl_client_conversations(
  _ client: OpaquePointer?, _ offset: UInt32, _ limit: UInt32,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    let limit = try count(
      limit, zero: 256, atMost: Limits.readRowsMax, "limit is over 10,000")
    let page = try client.conversations(offset: Int(offset), limit: limit)
    if page.rows.isEmpty { return nil }
    return unsafe try Batch.new(page)
  }
}

@implementation @_cdecl("tl_client_conversation")
public func tl_client_conversation(
  _ client: OpaquePointer?, _ conversation: tl_view,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    unsafe try Batch.new(client.conversation(unsafe conversation.id("conversation")))
  }
}

@implementation @_cdecl("tl_batch_conversations")
public func tl_batch_conversations(
  _ batch: OpaquePointer?, _ count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<tl_conversation>? {
  unsafe Batch.contents(batch, .conversations, count)
}

@implementation @_cdecl("tl_client_draft")
public func tl_client_draft(
  _ client: OpaquePointer?, _ draft: UnsafePointer<tl_draft>?
) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    let draft = try unsafe read(draft, zero: tl_draft())
    try unsafe mustBeZero(draft.reserved, "reserved is not zero")
    let body = try unsafe draft.text.bytes(
      "text", atMost: Limits.draftBytesMax, or: .tooLarge("a draft is over 64 KiB"))
    let target = unsafe draft.reply_to.size == 0 ? [] : try unsafe draft.reply_to.id("reply_to")
    try client.setDraft(
      conversation: unsafe draft.conversation.id("conversation"), body: body, replyTo: target)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_clear")
public func tl_client_clear(_ client: OpaquePointer?) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try client.clear()
    return status(TL_OK)
  }
}
