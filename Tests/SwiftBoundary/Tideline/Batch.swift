/// What the library gives out, freed exactly once.
///
/// Each of these owns one block of the library. None can be copied, so its `deinit` runs once, and
/// the compiler refuses a use after it.
import CTidelineShared

/// Records in one allocation; which kind depends on the call that made it.
public struct Batch: ~Copyable {
  let handle: OpaquePointer

  /// Takes over what a call gave.
  init(_ handle: OpaquePointer) {
    self.handle = handle
  }

  deinit {
    tl_batch_free(handle)
  }

  public var messages: [Message] {
    var count = 0
    let rows = tl_batch_rows(handle, &count)
    return UnsafeBufferPointer(start: rows, count: count).map(Message.init)
  }

  public var changes: [Change] {
    var count = 0
    let entries = tl_batch_changes(handle, &count)
    return UnsafeBufferPointer(start: entries, count: count).map(Change.init)
  }

  public var events: [Event] {
    var count = 0
    let entries = tl_batch_events(handle, &count)
    return UnsafeBufferPointer(start: entries, count: count).map(Event.init)
  }

  public var quarantined: [Quarantined] {
    var count = 0
    let items = tl_batch_quarantined(handle, &count)
    return UnsafeBufferPointer(start: items, count: count).map(Quarantined.init)
  }

  public var entities: [Entity] {
    var count = 0
    let entries = tl_batch_entities(handle, &count)
    return UnsafeBufferPointer(start: entries, count: count).map(Entity.init)
  }

  public var operations: [Operation] {
    var count = 0
    let entries = tl_batch_operations(handle, &count)
    return UnsafeBufferPointer(start: entries, count: count).map(Operation.init)
  }

  public var conversations: [Conversation] {
    var count = 0
    let entries = tl_batch_conversations(handle, &count)
    return UnsafeBufferPointer(start: entries, count: count).map(Conversation.init)
  }

  /// How complete the messages are.
  public func coverage() throws -> Coverage {
    var out = tl_coverage()
    out.struct_size = size(tl_coverage.self)
    try check(tl_batch_coverage(handle, &out))
    return Coverage(out)
  }

  /// The block of memory behind all of it, as a copy.
  public func block() throws -> [UInt8] {
    var out = tl_view()
    try check(tl_batch_block(handle, &out))
    return out.bytes
  }

  /// Where the text of the first message lies in the block.
  public func offsetOfFirstPayload() throws -> Int? {
    var out = tl_view()
    try check(tl_batch_block(handle, &out))
    guard let start = out.data, let row = tl_batch_rows(handle, nil) else { return nil }
    return row.pointee.payload.data.map { $0 - start }
  }
}

/// One frame to send.
public struct Frame: ~Copyable {
  private let handle: UnsafeMutablePointer<tl_frame>

  init(_ handle: UnsafeMutablePointer<tl_frame>) {
    self.handle = handle
  }

  deinit {
    tl_frame_free(handle)
  }

  public var id: UInt64 { handle.pointee.id }
  public var json: String { handle.pointee.bytes.string }
}

/// The steps between two versions of a window or a list.
public struct Difference: ~Copyable {
  private let handle: UnsafeMutablePointer<tl_diff>

  init(_ handle: UnsafeMutablePointer<tl_diff>) {
    self.handle = handle
  }

  deinit {
    tl_diff_free(handle)
  }

  public var checksum: UInt64 { handle.pointee.checksum }
  public var rowCount: Int { Int(handle.pointee.row_count) }
  public var versions: ClosedRange<UInt64> {
    handle.pointee.from_version...handle.pointee.to_version
  }

  public var steps: [Step] {
    UnsafeBufferPointer(start: handle.pointee.ops, count: Int(handle.pointee.op_count)).map(
      Step.init)
  }
}

/// A text that the library made.
struct Text: ~Copyable {
  private let handle: UnsafeMutablePointer<tl_text>

  init(_ handle: UnsafeMutablePointer<tl_text>) {
    self.handle = handle
  }

  deinit {
    tl_text_free(handle)
  }

  var string: String { handle.pointee.bytes.string }
}
