/// The viewport, from Swift: it needs no client.
///
/// It is used by one thread at a time here, so it is not `Sendable`.
import CTidelineShared

public final class Viewport {
  private let handle: OpaquePointer

  public init(extent: Int64, flags: Int = 0, overscrollMax: Int64 = 0) throws {
    var config = tl_viewport_config()
    config.struct_size = size(tl_viewport_config.self)
    config.flags = UInt32(flags)
    config.extent = extent
    config.height_min = 10
    config.overscroll_max = overscrollMax
    var out: OpaquePointer?
    try check(tl_viewport_new(&config, &out))
    handle = try handed(out)
  }

  deinit {
    tl_viewport_free(handle)
  }

  public func update(_ steps: [tl_op], keys: [UInt64]) throws {
    try check(tl_viewport_update(handle, steps, steps.count, keys, nil, keys.count))
  }

  /// Takes heights; false when none of the rows is in the list.
  @discardableResult
  public func measure(_ keys: [UInt64], _ heights: [Int64]) throws -> Bool {
    try check(tl_viewport_measure(handle, keys, heights, keys.count)) == .ok
  }

  public func resize(_ extent: Int64) throws {
    try check(tl_viewport_resize(handle, extent, UInt32(TL_RESIZE_MEASURE)))
  }

  /// Lays out until nothing is missing; gives the placed rows.
  public func place(_ height: (UInt64) -> Int64) throws -> [tl_placed] {
    while true {
      var out: UnsafeMutablePointer<tl_layout>?
      try check(tl_viewport_layout(handle, &out))
      guard let out else { return [] }
      defer { tl_layout_free(out) }
      let layout = out.pointee
      if layout.missing_count == 0 {
        return Array(UnsafeBufferPointer(start: layout.rows, count: Int(layout.row_count)))
      }
      let missing = UnsafeBufferPointer(start: layout.missing, count: Int(layout.missing_count))
      try measure(missing.map(\.key), missing.map { height($0.key) })
    }
  }

  public func scroll(_ delta: Int64, isFinger: Bool = false) throws {
    try check(tl_viewport_scroll(handle, delta, isFinger ? UInt32(TL_SCROLL_FINGER) : 0))
  }

  private func target(_ edge: Int, _ key: UInt64) -> tl_target {
    var target = tl_target()
    target.struct_size = size(tl_target.self)
    target.edge = tl_edge(edge)
    target.key = key
    return target
  }

  /// Scrolls to a row; false when it is not in the list.
  public func scroll(to edge: Int, of key: UInt64 = 0) throws -> Bool {
    var target = target(edge, key)
    return try check(tl_viewport_scroll_to(handle, &target)) == .ok
  }

  public func animate(to edge: Int, of key: UInt64 = 0, timeMs: Int64) throws -> Bool {
    var target = target(edge, key)
    return try check(tl_viewport_animate_to(handle, &target, 0, timeMs)) == .ok
  }

  public func tick(_ timeMs: Int64) throws -> Bool {
    try check(tl_viewport_tick(handle, timeMs)) == .ok
  }

  public func release(_ timeMs: Int64) throws -> Bool {
    try check(tl_viewport_release(handle, timeMs)) == .ok
  }

  public func stop() throws -> Bool { try check(tl_viewport_stop(handle)) == .ok }

  public func find(_ key: UInt64) throws -> tl_placed? {
    var out = tl_placed()
    return try check(tl_viewport_find(handle, key, &out)) == .ok ? out : nil
  }

  public func row(at place: Int64) throws -> tl_placed? {
    var out = tl_placed()
    return try check(tl_viewport_at(handle, place, &out)) == .ok ? out : nil
  }

  public func state() throws -> tl_viewport_status {
    var out = tl_viewport_status()
    out.struct_size = size(tl_viewport_status.self)
    try check(tl_viewport_state(handle, &out))
    return out
  }
}
