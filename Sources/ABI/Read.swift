// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Read" of the header: pages of messages, changes, and their batches.
internal import Base
public import CTideline
internal import Engine

@implementation @_cdecl("tl_client_messages")
public func tl_client_messages(
  _ client: OpaquePointer?, _ query: UnsafePointer<tl_query>?,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    let query = try unsafe MessageQuery(read(query, zero: tl_query()))
    return unsafe try Batch.new(client.messages(query))
  }
}

@implementation @_cdecl("tl_client_message")
public func tl_client_message(
  _ client: OpaquePointer?, _ conversation: tl_view, _ id: tl_view,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    let page = try unsafe client.message(
      conversation: conversation.id("conversation"), id: id.id("id"))
    return unsafe try Batch.new(page)
  }
}

@implementation @_cdecl("tl_client_numbered")
public func tl_client_numbered(
  _ client: OpaquePointer?, _ conversation: tl_view, _ first: UInt64, _ last: UInt64,
  _ limit: UInt32, _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    guard first <= last else { throw .invalid("last is less than first") }
    let limit = try count(limit, zero: 50, atMost: Limits.readRowsMax, "limit is over 10,000")
    let page = try unsafe client.messages(
      conversation: conversation.id("conversation"), numbers: first...last, limit: limit)
    return unsafe try Batch.new(page)
  }
}

@implementation @_cdecl("tl_client_changes")
public func tl_client_changes(
  _ client: OpaquePointer?, _ after: UInt64, _ limit: UInt32,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return unsafe boundary(client) { client throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    let limit = try count(limit, zero: 256, atMost: Limits.changesMax, "limit is over 10,000")
    switch try client.changes(after: after, limit: limit) {
    case .none: return status(TL_NONE)
    case .resync: return status(TL_RESYNC)
    case .changes(let changes): unsafe out.pointee = try Batch.new(changes)
    }
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_events")
public func tl_client_events(
  _ client: OpaquePointer?, _ after: UInt64, _ limit: UInt32,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return unsafe boundary(client) { client throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    let limit = try count(limit, zero: 256, atMost: Limits.changesMax, "limit is over 10,000")
    switch try client.events(after: after, limit: limit) {
    case .none: return status(TL_NONE)
    case .resync: return status(TL_RESYNC)
    case .events(let events): unsafe out.pointee = try Batch.new(events)
    }
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_quarantined")
public func tl_client_quarantined(
  _ client: OpaquePointer?, _ conversation: tl_view, _ after: UInt64, _ limit: UInt32,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    let limit = try count(limit, zero: 256, atMost: Limits.readRowsMax, "limit is over 10,000")
    let isOfAll = unsafe conversation.size == 0
    let items = try client.quarantined(
      conversation: isOfAll ? nil : unsafe conversation.id("conversation"), after: after,
      limit: limit)
    if items.isEmpty { return nil }
    return unsafe try Batch.new(items)
  }
}

@implementation @_cdecl("tl_batch_quarantined")
public func tl_batch_quarantined(
  _ batch: OpaquePointer?, _ count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<tl_quarantined>? {
  unsafe Batch.contents(batch, .quarantined, count)
}

@implementation @_cdecl("tl_client_entities")
public func tl_client_entities(
  _ client: OpaquePointer?, _ query: UnsafePointer<tl_entity_query>?,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    let entities = try client.entities(
      try unsafe EntityQuery(read(query, zero: tl_entity_query())))
    if entities.isEmpty { return nil }
    return unsafe try Batch.new(entities)
  }
}

@implementation @_cdecl("tl_merge_messages")
public func tl_merge_messages(
  _ base: tl_view, _ more: tl_view, _ out: UnsafeMutablePointer<UnsafeMutablePointer<tl_text>?>?
) -> tl_status {
  unsafe merge(base, more, out, areDeltas: false)
}

@implementation @_cdecl("tl_merge_deltas")
public func tl_merge_deltas(
  _ base: tl_view, _ deltas: tl_view,
  _ out: UnsafeMutablePointer<UnsafeMutablePointer<tl_text>?>?
) -> tl_status {
  unsafe merge(base, deltas, out, areDeltas: true)
}

private func merge(
  _ base: tl_view, _ more: tl_view, _ out: UnsafeMutablePointer<UnsafeMutablePointer<tl_text>?>?,
  areDeltas: Bool
) -> tl_status {
  unsafe out?.pointee = nil
  return boundary { () throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    let excess: Failure = .tooLarge("a list is over 16 MiB")
    let base = try unsafe base.bytes("base", atMost: Limits.frameBytesMax, or: excess)
    let more = try unsafe more.bytes("more", atMost: Limits.frameBytesMax, or: excess)
    let merged = try merged(base, with: more, areDeltas: areDeltas)
    unsafe out.pointee = Block<tl_text>.new(merged.bytes)
    guard let reason = merged.left else { return status(TL_OK) }
    LastError.record(reason)
    return status(TL_QUARANTINED)
  }
}

@implementation @_cdecl("tl_client_explain")
public func tl_client_explain(
  _ client: OpaquePointer?, _ conversation: tl_view, _ id: tl_view, _ limit: UInt32,
  _ out: UnsafeMutablePointer<UnsafeMutablePointer<tl_text>?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return unsafe boundary(client) { client throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    let limit = try count(limit, zero: 256, atMost: Limits.readRowsMax, "limit is over 10,000")
    unsafe out.pointee = Block<tl_text>.new(
      try client.explain(
        conversation: unsafe conversation.id("conversation"), id: unsafe id.id("id"),
        limit: limit))
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_text_free")
public func tl_text_free(_ text: UnsafeMutablePointer<tl_text>?) {
  unsafe Block<tl_text>.free(text)
}

@implementation @_cdecl("tl_batch_rows")
public func tl_batch_rows(
  _ batch: OpaquePointer?, _ count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<tl_message>? {
  unsafe Batch.contents(batch, .messages, count)
}

@implementation @_cdecl("tl_batch_changes")
public func tl_batch_changes(
  _ batch: OpaquePointer?, _ count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<tl_change>? {
  unsafe Batch.contents(batch, .changes, count)
}

@implementation @_cdecl("tl_batch_events")
public func tl_batch_events(
  _ batch: OpaquePointer?, _ count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<tl_event>? {
  unsafe Batch.contents(batch, .events, count)
}

@implementation @_cdecl("tl_batch_entities")
public func tl_batch_entities(
  _ batch: OpaquePointer?, _ count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<tl_entity>? {
  unsafe Batch.contents(batch, .entities, count)
}

@implementation @_cdecl("tl_batch_coverage")
public func tl_batch_coverage(
  _ batch: OpaquePointer?, _ out: UnsafeMutablePointer<tl_coverage>?
) -> tl_status {
  boundary { () throws(Failure) in
    try unsafe write(out) { () throws(Failure) in try unsafe Batch.coverage(batch) }
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_batch_block")
public func tl_batch_block(
  _ batch: OpaquePointer?, _ out: UnsafeMutablePointer<tl_view>?
) -> tl_status {
  unsafe out?.pointee = tl_view()
  return boundary { () throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    unsafe out.pointee = try Batch.contents(batch)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_batch_free")
public func tl_batch_free(_ batch: OpaquePointer?) {
  unsafe Batch.free(batch)
}
