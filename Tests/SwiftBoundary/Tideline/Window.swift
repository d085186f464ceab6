/// Windows and the list of conversations, from Swift.
///
/// Each is used by one thread at a time, so neither is `Sendable`.
import CTidelineShared

public final class Window {
  let handle: OpaquePointer
  /// Hooks run inside calls of the client only, so the window needs it for its life alone.
  private let client: Client

  public init(
    _ client: Client, _ conversation: String, at: Int = TL_AT_LATEST, id: String = "",
    count: UInt32 = 0, flags: Int = 0
  ) throws {
    self.client = client
    handle = try withViews([conversation, id]) { views in
      var config = tl_window_config()
      config.struct_size = size(tl_window_config.self)
      config.flags = UInt32(flags)
      config.conversation = views[0]
      config.at = tl_at(at)
      config.id = views[1]
      config.count = count
      config.hold_ms = TL_WINDOW_HOLD_NONE
      var out: OpaquePointer?
      try check(tl_window_open(client.handle, &config, &out))
      return try handed(out)
    }
  }

  deinit {
    tl_window_free(handle)
  }

  public func close() {
    tl_window_close(handle)
  }

  /// Moves to the newest state; nil when nothing changed.
  public func poll() throws -> Difference? {
    var out: UnsafeMutablePointer<tl_diff>?
    try check(tl_window_poll(handle, &out))
    guard let out else { return nil }
    return Difference(out)
  }

  public func rows(_ rows: Range<Int>) throws -> [Message] {
    var out: OpaquePointer?
    try check(tl_window_rows(handle, UInt32(rows.lowerBound), UInt32(rows.count), &out))
    guard let out else { return [] }
    return Batch(out).messages
  }

  /// Loads more; false when nothing lies there.
  public func load(_ kind: Int, count: UInt32 = 0, number: UInt64 = 0) throws -> Bool {
    var load = tl_load()
    load.struct_size = size(tl_load.self)
    load.kind = tl_load_kind(kind)
    load.count = count
    load.number = number
    return try check(tl_window_load(handle, &load)) == .ok
  }

  /// The row of a message, or nil when it is not loaded.
  public func find(_ id: String) throws -> Int? {
    try withViews([id]) { views in
      var out: UInt32 = 0
      return try check(tl_window_find(handle, views[0], &out)) == .ok ? Int(out) : nil
    }
  }

  /// Asks the network to fill the gap before a row; false when no gap is there.
  public func fill(row: Int) throws -> Bool {
    try check(tl_window_fill(handle, UInt32(row))) == .ok
  }

  public func show(_ rows: Range<Int>) throws {
    try check(tl_window_show(handle, UInt32(rows.lowerBound), UInt32(rows.count)))
  }

  public func trim(to rows: Range<Int>) throws {
    try check(tl_window_trim(handle, UInt32(rows.lowerBound), UInt32(rows.count)))
  }

  public func state() throws -> tl_window_status {
    var out = tl_window_status()
    out.struct_size = size(tl_window_status.self)
    try check(tl_window_state(handle, &out))
    return out
  }
}

public final class ConversationList {
  private let handle: OpaquePointer
  private let client: Client

  public init(_ client: Client) throws {
    self.client = client
    var config = tl_list_config()
    config.struct_size = size(tl_list_config.self)
    var out: OpaquePointer?
    try check(tl_list_open(client.handle, &config, &out))
    handle = try handed(out)
  }

  deinit {
    tl_list_free(handle)
  }

  public func close() {
    tl_list_close(handle)
  }

  public func poll() throws -> Difference? {
    var out: UnsafeMutablePointer<tl_diff>?
    try check(tl_list_poll(handle, &out))
    guard let out else { return nil }
    return Difference(out)
  }

  public func rows(_ rows: Range<Int>) throws -> [Conversation] {
    var out: OpaquePointer?
    try check(tl_list_rows(handle, UInt32(rows.lowerBound), UInt32(rows.count), &out))
    guard let out else { return [] }
    return Batch(out).conversations
  }

  public func find(_ conversation: String) throws -> Int? {
    try withViews([conversation]) { views in
      var out: UInt32 = 0
      return try check(tl_list_find(handle, views[0], &out)) == .ok ? Int(out) : nil
    }
  }

  public func state() throws -> tl_list_status {
    var out = tl_list_status()
    out.struct_size = size(tl_list_status.self)
    try check(tl_list_state(handle, &out))
    return out
  }
}
