// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Viewport" of the header: where the rows of a list stand. It needs no client.
internal import Base
public import CTideline
internal import Engine
internal import Viewport

/// Runs `body` alone with the viewport behind `handle`.
private func boundary(
  viewport handle: OpaquePointer?, _ body: (inout Viewport) throws(Failure) -> tl_status
) -> tl_status {
  boundary { () throws(Failure) in
    let viewport = unsafe try Handle.viewport(handle)
    return try viewport.lock.withLock(body)
  }
}

/// Runs what the viewport refuses in its own words.
private func refused<Result>(
  _ body: () throws(ViewportError) -> Result
) throws(Failure) -> Result {
  do throws(ViewportError) {
    return try body()
  } catch {
    throw Failure(error)
  }
}

/// Elements that the host lends for the call.
private func borrowed<Element>(
  _ start: UnsafePointer<Element>?, _ count: Int, _ missing: StaticText
) throws(Failure) -> UnsafeBufferPointer<Element> {
  guard count >= 0, count <= Limits.viewportRowsMax else {
    throw .tooLarge("there are more than 1,048,576 of them")
  }
  if unsafe start == nil, count > 0 { throw .invalid(missing) }
  return unsafe UnsafeBufferPointer(start: start, count: count)
}

private func told(_ isSo: Bool) -> tl_status { isSo ? status(TL_OK) : status(TL_NONE) }

@implementation @_cdecl("tl_viewport_new")
public func tl_viewport_new(
  _ config: UnsafePointer<tl_viewport_config>?, _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return boundary { () throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    let config = try unsafe ViewportConfig(read(config, zero: tl_viewport_config()))
    let viewport = try refused { () throws(ViewportError) in try Viewport(config) }
    unsafe out.pointee = Handle.new(LockedViewport(viewport))
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_viewport_free")
public func tl_viewport_free(_ viewport: OpaquePointer?) {
  unsafe Handle.freeViewport(viewport)
}

@implementation @_cdecl("tl_viewport_update")
public func tl_viewport_update(
  _ viewport: OpaquePointer?, _ steps: UnsafePointer<tl_op>?, _ stepCount: Int,
  _ keys: UnsafePointer<UInt64>?, _ classes: UnsafePointer<UInt32>?, _ rowCount: Int
) -> tl_status {
  unsafe boundary(viewport: viewport) { viewport throws(Failure) in
    let ops = try unsafe Array(borrowed(steps, stepCount, "steps is NULL"))
    var list: [DiffOp] = []
    list.reserveCapacity(ops.count)
    for op in ops { list.append(try DiffOp(op)) }
    let keys = try unsafe borrowed(keys, rowCount, "keys is NULL")
    let classes = unsafe UnsafeBufferPointer(start: classes, count: classes == nil ? 0 : rowCount)
    try refused { () throws(ViewportError) in
      try viewport.update(
        list, keyCount: keys.count,
        key: { unsafe keys.indices.contains($0) ? keys[$0] : 0 },
        kind: { unsafe classes.indices.contains($0) ? classes[$0] : 0 })
    }
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_viewport_measure")
public func tl_viewport_measure(
  _ viewport: OpaquePointer?, _ keys: UnsafePointer<UInt64>?, _ heights: UnsafePointer<Int64>?,
  _ count: Int
) -> tl_status {
  unsafe boundary(viewport: viewport) { viewport throws(Failure) in
    let keys = try unsafe borrowed(keys, count, "keys is NULL")
    let heights = try unsafe borrowed(heights, count, "heights is NULL")
    let pairs = unsafe zip(keys, heights).map { (key: $0, height: $1) }
    return told(try refused { () throws(ViewportError) in try viewport.measure(pairs) > 0 })
  }
}

@implementation @_cdecl("tl_viewport_resize")
public func tl_viewport_resize(
  _ viewport: OpaquePointer?, _ extent: Int64, _ flags: UInt32
) -> tl_status {
  unsafe boundary(viewport: viewport) { viewport throws(Failure) in
    try mustBeFlags(flags, TL_RESIZE_MEASURE, "flags has an unknown flag of a resize")
    try refused { () throws(ViewportError) in
      try viewport.resize(extent, heightsAreOld: flags != 0)
    }
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_viewport_layout")
public func tl_viewport_layout(
  _ viewport: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<tl_layout>?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return unsafe boundary(viewport: viewport) { viewport throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    let layout = viewport.layout()
    unsafe out.pointee = Block<tl_layout>.new(layout, layouts: viewport.state().layouts)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_layout_free")
public func tl_layout_free(_ layout: UnsafeMutablePointer<tl_layout>?) {
  unsafe Block<tl_layout>.free(layout)
}

@implementation @_cdecl("tl_viewport_scroll")
public func tl_viewport_scroll(
  _ viewport: OpaquePointer?, _ delta: Int64, _ flags: UInt32
) -> tl_status {
  unsafe boundary(viewport: viewport) { viewport throws(Failure) in
    try mustBeFlags(flags, TL_SCROLL_FINGER, "flags has an unknown flag of a scroll")
    viewport.scroll(by: delta, isFinger: flags != 0)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_viewport_scroll_to")
public func tl_viewport_scroll_to(
  _ viewport: OpaquePointer?, _ target: UnsafePointer<tl_target>?
) -> tl_status {
  unsafe boundary(viewport: viewport) { viewport throws(Failure) in
    let target = try unsafe Target(read(target, zero: tl_target()))
    return told(try refused { () throws(ViewportError) in try viewport.scroll(to: target) })
  }
}

@implementation @_cdecl("tl_viewport_animate_to")
public func tl_viewport_animate_to(
  _ viewport: OpaquePointer?, _ target: UnsafePointer<tl_target>?, _ speed: Int64,
  _ timeMs: Int64
) -> tl_status {
  unsafe boundary(viewport: viewport) { viewport throws(Failure) in
    let target = try unsafe Target(read(target, zero: tl_target()))
    return told(
      try refused { () throws(ViewportError) in
        try viewport.animate(to: target, speed: speed, nowMs: timeMs)
      })
  }
}

@implementation @_cdecl("tl_viewport_tick")
public func tl_viewport_tick(_ viewport: OpaquePointer?, _ timeMs: Int64) -> tl_status {
  unsafe boundary(viewport: viewport) { viewport in told(viewport.tick(nowMs: timeMs)) }
}

@implementation @_cdecl("tl_viewport_release")
public func tl_viewport_release(_ viewport: OpaquePointer?, _ timeMs: Int64) -> tl_status {
  unsafe boundary(viewport: viewport) { viewport in told(viewport.release(nowMs: timeMs)) }
}

@implementation @_cdecl("tl_viewport_stop")
public func tl_viewport_stop(_ viewport: OpaquePointer?) -> tl_status {
  unsafe boundary(viewport: viewport) { viewport in told(viewport.stop()) }
}

@implementation @_cdecl("tl_viewport_find")
public func tl_viewport_find(
  _ viewport: OpaquePointer?, _ key: UInt64, _ out: UnsafeMutablePointer<tl_placed>?
) -> tl_status {
  unsafe out?.pointee = tl_placed()
  return unsafe boundary(viewport: viewport) { viewport throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    guard let row = viewport.find(key) else { return status(TL_NONE) }
    unsafe out.pointee = tl_placed(row)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_viewport_at")
public func tl_viewport_at(
  _ viewport: OpaquePointer?, _ place: Int64, _ out: UnsafeMutablePointer<tl_placed>?
) -> tl_status {
  unsafe out?.pointee = tl_placed()
  return unsafe boundary(viewport: viewport) { viewport throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    guard let row = viewport.row(at: place) else { return status(TL_NONE) }
    unsafe out.pointee = tl_placed(row)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_viewport_state")
public func tl_viewport_state(
  _ viewport: OpaquePointer?, _ out: UnsafeMutablePointer<tl_viewport_status>?
) -> tl_status {
  unsafe boundary(viewport: viewport) { viewport throws(Failure) in
    try unsafe write(out) { () throws(Failure) in tl_viewport_status(viewport.state()) }
    return status(TL_OK)
  }
}
