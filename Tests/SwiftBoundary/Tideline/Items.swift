/// Items over a window, from Swift. They are used by the thread that uses their window.
import CTidelineShared

/// What a host's function says of one message: whether it folds, and 64 bits of the host's.
public typealias FoldFunction = (_ message: tl_message) -> (fold: UInt32, bits: UInt64)

public final class Items {
  private let handle: OpaquePointer
  private let window: Window

  /// A function behind a C pointer; the library releases it once.
  private final class Box {
    let fold: FoldFunction

    init(_ fold: @escaping FoldFunction) { self.fold = fold }
  }

  public init(
    _ window: Window, flags: Int = 0, gapMinutes: UInt32 = 0, fold: FoldFunction? = nil
  ) throws {
    self.window = window
    var config = tl_items_config()
    config.struct_size = size(tl_items_config.self)
    config.flags = UInt32(flags)
    config.gap_min = gapMinutes
    if let fold {
      config.fold_context = Unmanaged.passRetained(Box(fold)).toOpaque()
      config.fold = { context, message, answer in
        guard let context, let message, let answer else { return }
        let said = Unmanaged<Box>.fromOpaque(context).takeUnretainedValue().fold(message.pointee)
        answer.pointee.fold = said.fold
        answer.pointee.bits = said.bits
      }
      config.fold_drop = { context in
        if let context { Unmanaged<Box>.fromOpaque(context).release() }
      }
    }
    var out: OpaquePointer?
    try check(tl_items_open(window.handle, &config, &out))
    handle = try handed(out)
  }

  deinit {
    tl_items_free(handle)
  }

  public func close() {
    tl_items_close(handle)
  }

  public func poll() throws -> Difference? {
    var out: UnsafeMutablePointer<tl_diff>?
    try check(tl_items_poll(handle, &out))
    guard let out else { return nil }
    return Difference(out)
  }

  public func read(_ items: Range<Int>) throws -> [tl_item] {
    var out: OpaquePointer?
    try check(tl_items_read(handle, UInt32(items.lowerBound), UInt32(items.count), &out))
    guard let out else { return [] }
    defer { tl_batch_free(out) }
    var count = 0
    let rows = tl_batch_items(out, &count)
    return (0..<count).compactMap { rows?[$0] }
  }

  public func messages(_ item: Int) throws -> [Message] {
    var out: OpaquePointer?
    try check(tl_items_messages(handle, UInt32(item), 0, 0, &out))
    guard let out else { return [] }
    return Batch(out).messages
  }

  public func find(_ id: String) throws -> (item: Int, place: Int)? {
    try withViews([id]) { views in
      var (item, place): (UInt32, UInt32) = (0, 0)
      return try check(tl_items_find(handle, views[0], &item, &place)) == .ok
        ? (Int(item), Int(place)) : nil
    }
  }

  public func find(key: UInt64) throws -> Int? {
    var item: UInt32 = 0
    return try check(tl_items_find_key(handle, key, &item)) == .ok ? Int(item) : nil
  }

  public func bits(_ item: Int, place: Int) throws -> UInt64? {
    var bits: UInt64 = 0
    return try check(tl_items_bits(handle, UInt32(item), UInt32(place), &bits)) == .ok ? bits : nil
  }

  public func range(_ range: Int) throws -> Range<Int>? {
    var (first, count): (UInt32, UInt32) = (0, 0)
    guard try check(tl_items_range(handle, UInt32(range), &first, &count)) == .ok else {
      return nil
    }
    return Int(first)..<Int(first) + Int(count)
  }

  public func setOpen(_ item: Int, _ isOpen: Bool) throws -> Bool {
    try check(tl_items_set_open(handle, UInt32(item), isOpen ? 1 : 0)) == .ok
  }

  /// The unread line stands before a message; before none for 0.
  public func setUnread(_ number: UInt64) throws {
    try check(tl_items_unread(handle, number))
  }

  public func show(_ items: Range<Int>) throws {
    try check(tl_items_show(handle, UInt32(items.lowerBound), UInt32(items.count)))
  }

  public func state() throws -> tl_items_status {
    var out = tl_items_status()
    out.struct_size = size(tl_items_status.self)
    try check(tl_items_state(handle, &out))
    return out
  }
}
