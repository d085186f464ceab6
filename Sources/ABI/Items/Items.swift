// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Items" of the header: what a person sees of a window.
internal import Base
public import CTideline
internal import Engine

/// Runs `body` with the items behind `handle`.
private func boundary(
  items handle: OpaquePointer?, _ body: (Items) throws(Failure) -> tl_status
) -> tl_status {
  boundary { () throws(Failure) in
    let items = unsafe try Handle.items(handle)
    do throws(Failure) {
      return try body(items)
    } catch {
      // As for a window: what it holds in memory is not to be trusted any more.
      items.window.client.note(error)
      if case .internal = error { items.window.client.close() }
      throw error
    }
  }
}

@implementation @_cdecl("tl_items_open")
public func tl_items_open(
  _ window: OpaquePointer?, _ config: UnsafePointer<tl_items_config>?,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return boundary { () throws(Failure) in
    let config = try unsafe read(config, zero: tl_items_config())
    let hook = unsafe FoldHook(config)
    do throws(Failure) {
      let window = unsafe try Handle.window(window)
      guard let out = unsafe out else { throw .invalid("out is NULL") }
      let items = try window.openItems(unsafe ItemsConfig(config, hook))
      unsafe out.pointee = Handle.new(items, hook)
      return status(TL_OK)
    } catch {
      hook.drop()
      throw error
    }
  }
}

@implementation @_cdecl("tl_items_poll")
public func tl_items_poll(
  _ items: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<tl_diff>?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return unsafe boundary(items: items) { items throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    guard let diff = try items.poll() else { return status(TL_NONE) }
    unsafe out.pointee = Block<tl_diff>.new(diff)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_items_read")
public func tl_items_read(
  _ items: OpaquePointer?, _ first: UInt32, _ count: UInt32,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return unsafe boundary(items: items) { items throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    let count = try ABI.count(
      count, zero: 0, atMost: Limits.readRowsMax, "count is over 10,000")
    let views = try items.items(first: Int(first), count: count)
    if views.isEmpty { return status(TL_NONE) }
    unsafe out.pointee = try Batch.new(views)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_batch_items")
public func tl_batch_items(
  _ batch: OpaquePointer?, _ count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<tl_item>? {
  unsafe Batch.contents(batch, .items, count)
}

@implementation @_cdecl("tl_items_messages")
public func tl_items_messages(
  _ items: OpaquePointer?, _ item: UInt32, _ first: UInt32, _ count: UInt32,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return unsafe boundary(items: items) { items throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    let count = try ABI.count(
      count, zero: Limits.readRowsMax, atMost: Limits.readRowsMax, "count is over 10,000")
    guard let page = try items.messages(of: Int(item), first: Int(first), count: count) else {
      return status(TL_NONE)
    }
    unsafe out.pointee = try Batch.new(page)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_items_find")
public func tl_items_find(
  _ items: OpaquePointer?, _ id: tl_view, _ item: UnsafeMutablePointer<UInt32>?,
  _ place: UnsafeMutablePointer<UInt32>?
) -> tl_status {
  unsafe item?.pointee = 0
  unsafe place?.pointee = 0
  return unsafe boundary(items: items) { items throws(Failure) in
    guard let item = unsafe item else { throw .invalid("item is NULL") }
    guard let found = try items.find(unsafe id.id("id")) else { return status(TL_NONE) }
    unsafe item.pointee = UInt32(clamping: found.item)
    unsafe place?.pointee = UInt32(clamping: found.place)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_items_find_key")
public func tl_items_find_key(
  _ items: OpaquePointer?, _ key: UInt64, _ item: UnsafeMutablePointer<UInt32>?
) -> tl_status {
  unsafe item?.pointee = 0
  return unsafe boundary(items: items) { items throws(Failure) in
    guard let item = unsafe item else { throw .invalid("item is NULL") }
    guard let found = try items.index(ofKey: key) else { return status(TL_NONE) }
    unsafe item.pointee = UInt32(clamping: found)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_items_bits")
public func tl_items_bits(
  _ items: OpaquePointer?, _ item: UInt32, _ place: UInt32, _ out: UnsafeMutablePointer<UInt64>?
) -> tl_status {
  unsafe out?.pointee = 0
  return unsafe boundary(items: items) { items throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    guard let bits = try items.bits(of: Int(item), place: Int(place)) else {
      return status(TL_NONE)
    }
    unsafe out.pointee = bits
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_items_range")
public func tl_items_range(
  _ items: OpaquePointer?, _ range: UInt32, _ first: UnsafeMutablePointer<UInt32>?,
  _ count: UnsafeMutablePointer<UInt32>?
) -> tl_status {
  unsafe first?.pointee = 0
  unsafe count?.pointee = 0
  return unsafe boundary(items: items) { items throws(Failure) in
    guard let first = unsafe first, let count = unsafe count else {
      throw .invalid("out is NULL")
    }
    guard let found = try items.range(at: Int(range)) else { return status(TL_NONE) }
    unsafe first.pointee = UInt32(clamping: found.lowerBound)
    unsafe count.pointee = UInt32(clamping: found.count)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_items_set_open")
public func tl_items_set_open(
  _ items: OpaquePointer?, _ item: UInt32, _ open: Int32
) -> tl_status {
  unsafe boundary(items: items) { items throws(Failure) in
    guard open == 0 || open == 1 else { throw .invalid("open is neither 0 nor 1") }
    return try items.setOpen(Int(item), open == 1) ? status(TL_OK) : status(TL_NONE)
  }
}

@implementation @_cdecl("tl_items_unread")
public func tl_items_unread(_ items: OpaquePointer?, _ number: UInt64) -> tl_status {
  unsafe boundary(items: items) { items throws(Failure) in
    try items.setUnread(number)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_items_show")
public func tl_items_show(
  _ items: OpaquePointer?, _ first: UInt32, _ count: UInt32
) -> tl_status {
  unsafe boundary(items: items) { items throws(Failure) in
    try items.show(first: Int(first), count: Int(count))
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_items_state")
public func tl_items_state(
  _ items: OpaquePointer?, _ out: UnsafeMutablePointer<tl_items_status>?
) -> tl_status {
  unsafe boundary(items: items) { items throws(Failure) in
    try unsafe write(out) { () throws(Failure) in tl_items_status(try items.state()) }
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_items_close")
public func tl_items_close(_ items: OpaquePointer?) {
  if unsafe items == nil { return }
  _ = unsafe boundary(items: items) { items in
    items.close()
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_items_free")
public func tl_items_free(_ items: OpaquePointer?) {
  unsafe Handle.freeItems(items)
}
