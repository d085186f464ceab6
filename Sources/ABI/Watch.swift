// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Watch" of the header: windows, their loads and their differences.
internal import Base
public import CTideline
internal import Engine

/// Runs `body` with the window behind `handle`.
private func boundary(
  window handle: OpaquePointer?, _ body: (Window) throws(Failure) -> tl_status
) -> tl_status {
  boundary { () throws(Failure) in
    let window = unsafe try Handle.window(handle)
    do throws(Failure) {
      return try body(window)
    } catch {
      // As for a client: what it holds in memory is not to be trusted any more.
      window.client.note(error)
      if case .internal = error { window.client.close() }
      throw error
    }
  }
}

@implementation @_cdecl("tl_window_open")
public func tl_window_open(
  _ client: OpaquePointer?, _ config: UnsafePointer<tl_window_config>?,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    let config = try unsafe WindowConfig(read(config, zero: tl_window_config()))
    return unsafe Handle.new(try client.openWindow(config))
  }
}

@implementation @_cdecl("tl_window_load")
public func tl_window_load(
  _ window: OpaquePointer?, _ load: UnsafePointer<tl_load>?
) -> tl_status {
  unsafe boundary(window: window) { window throws(Failure) in
    let load = try unsafe Load(read(load, zero: tl_load()))
    return try window.load(load) ? status(TL_OK) : status(TL_NONE)
  }
}

@implementation @_cdecl("tl_window_poll")
public func tl_window_poll(
  _ window: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<tl_diff>?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return unsafe boundary(window: window) { window throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    guard let diff = try window.poll() else { return status(TL_NONE) }
    unsafe out.pointee = Block<tl_diff>.new(diff)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_diff_free")
public func tl_diff_free(_ diff: UnsafeMutablePointer<tl_diff>?) {
  unsafe Block<tl_diff>.free(diff)
}

@implementation @_cdecl("tl_checksum")
public func tl_checksum(_ numbers: UnsafePointer<UInt64>?, _ count: Int) -> UInt64 {
  guard let numbers = unsafe numbers, count > 0 else { return 0 }
  return checksum(unsafe Array(UnsafeBufferPointer(start: numbers, count: count)))
}

@implementation @_cdecl("tl_window_rows")
public func tl_window_rows(
  _ window: OpaquePointer?, _ first: UInt32, _ count: UInt32,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return unsafe boundary(window: window) { window throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    let count = try ABI.count(
      count, zero: 0, atMost: Limits.readRowsMax, "count is over 10,000")
    guard let page = try window.rows(first: Int(first), count: count) else {
      return status(TL_NONE)
    }
    unsafe out.pointee = try Batch.new(page)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_window_find")
public func tl_window_find(
  _ window: OpaquePointer?, _ id: tl_view, _ out: UnsafeMutablePointer<UInt32>?
) -> tl_status {
  unsafe out?.pointee = 0
  return unsafe boundary(window: window) { window throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    guard let row = try window.find(unsafe id.id("id")) else { return status(TL_NONE) }
    unsafe out.pointee = UInt32(clamping: row)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_window_fill")
public func tl_window_fill(_ window: OpaquePointer?, _ row: UInt32) -> tl_status {
  unsafe boundary(window: window) { window throws(Failure) in
    try window.fill(row: Int(row)) ? status(TL_OK) : status(TL_NONE)
  }
}

@implementation @_cdecl("tl_window_show")
public func tl_window_show(
  _ window: OpaquePointer?, _ first: UInt32, _ count: UInt32
) -> tl_status {
  unsafe boundary(window: window) { window throws(Failure) in
    try window.show(first: Int(first), count: Int(count))
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_window_trim")
public func tl_window_trim(
  _ window: OpaquePointer?, _ first: UInt32, _ count: UInt32
) -> tl_status {
  unsafe boundary(window: window) { window throws(Failure) in
    try window.trim(first: Int(first), count: Int(count))
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_window_state")
public func tl_window_state(
  _ window: OpaquePointer?, _ out: UnsafeMutablePointer<tl_window_status>?
) -> tl_status {
  unsafe boundary(window: window) { window throws(Failure) in
    try unsafe write(out) { () throws(Failure) in tl_window_status(try window.state()) }
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_window_close")
public func tl_window_close(_ window: OpaquePointer?) {
  if unsafe window == nil { return }
  _ = unsafe boundary(window: window) { window in
    window.close()
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_window_free")
public func tl_window_free(_ window: OpaquePointer?) {
  unsafe Handle.freeWindow(window)
}
