/// What a `tl_batch` pointer points to: one block of memory.
///
/// A header, then the records (messages, changes, events, entities, operations, conversations,
/// items or quarantined items), then the bytes that the views point into. Plain memory with one
/// owner, the host: it needs no client, so batches and clients may be freed in any order.
internal import Base
internal import CTideline
internal import Engine

@safe struct Batch {
  /// "batch of" in ASCII, read as a number.
  private static let magic: UInt64 = 0x666F_2068_6374_6162

  /// What the records are.
  enum Kind {
    case messages, changes, events, entities, operations, conversations, quarantined, items, hits
    case badLines, unsearched, keySlots
  }

  private var word: UInt64
  /// Bytes behind the header.
  private(set) var size: Int
  var kind = Kind.messages
  var count = 0
  private var coverage: tl_coverage?

  /// The header of messages, which the store has written behind it.
  init(messages count: Int, _ coverage: tl_coverage, size: Int) {
    word = Self.magic
    self.size = size
    self.count = count
    unsafe self.coverage = coverage
  }

  private init(size: Int) {
    word = Self.magic
    self.size = size
  }

  /// Puts changes into a new batch.
  static func new(_ changes: [ChangeView]) throws(Failure) -> OpaquePointer {
    let (block, views) = unsafe try records(
      .changes, of: tl_change.self, changes.map { [$0.conversation] })
    let target = unsafe start(of: block).bindMemory(to: tl_change.self, capacity: changes.count)
    for (index, change) in changes.enumerated() {
      unsafe (target + index).initialize(to: tl_change(change, views[index]))
    }
    return OpaquePointer(block)
  }

  /// Puts events into a new batch.
  static func new(_ events: [EventView]) throws(Failure) -> OpaquePointer {
    let (block, views) = unsafe try records(
      .events, of: tl_event.self, events.map { [$0.conversation, $0.entity, $0.body, $0.id] })
    let target = unsafe start(of: block).bindMemory(to: tl_event.self, capacity: events.count)
    for (index, event) in events.enumerated() {
      unsafe (target + index).initialize(to: tl_event(event, views[(4 * index)...]))
    }
    return OpaquePointer(block)
  }

  /// Puts entities into a new batch.
  static func new(_ entities: [EntityView]) throws(Failure) -> OpaquePointer {
    let (block, views) = unsafe try records(
      .entities, of: tl_entity.self, entities.map { [$0.conversation, $0.id, $0.body] })
    let target = unsafe start(of: block).bindMemory(
      to: tl_entity.self, capacity: entities.count)
    for (index, entity) in entities.enumerated() {
      unsafe (target + index).initialize(to: tl_entity(entity, views[(3 * index)...]))
    }
    return OpaquePointer(block)
  }

  /// Puts items that could not be applied into a new batch.
  static func new(_ items: [QuarantinedView]) throws(Failure) -> OpaquePointer {
    let (block, views) = unsafe try records(
      .quarantined, of: tl_quarantined.self,
      items.map { item in
        [item.conversation, Array((item.reason?.description ?? "").utf8), item.item]
      })
    let target = unsafe start(of: block).bindMemory(
      to: tl_quarantined.self, capacity: items.count)
    for (index, item) in items.enumerated() {
      unsafe (target + index).initialize(to: tl_quarantined(item, views[(3 * index)...]))
    }
    return OpaquePointer(block)
  }

  /// Puts lines of no use into a new batch.
  static func new(_ lines: [(number: UInt64, reason: StaticText)]) throws(Failure) -> OpaquePointer
  {
    let (block, views) = unsafe try records(
      .badLines, of: tl_bad_line.self, lines.map { [Array($0.reason.description.utf8)] })
    let target = unsafe start(of: block).bindMemory(to: tl_bad_line.self, capacity: lines.count)
    for (index, line) in lines.enumerated() {
      unsafe (target + index).initialize(
        to: tl_bad_line(number: line.number, reason: views[index]))
    }
    return OpaquePointer(block)
  }

  /// Puts items into a new batch.
  static func new(_ items: [ItemView]) throws(Failure) -> OpaquePointer {
    let (block, _) = unsafe try records(.items, of: tl_item.self, items.map { _ in [] })
    let target = unsafe start(of: block).bindMemory(to: tl_item.self, capacity: items.count)
    for (index, item) in items.enumerated() {
      unsafe (target + index).initialize(to: tl_item(item))
    }
    return OpaquePointer(block)
  }

  /// Puts operations into a new batch.
  static func new(_ page: OperationPage) throws(Failure) -> OpaquePointer {
    let rows = unsafe try extent(of: tl_operation.self, page.rows.count)
    let block = try unsafe allocate([rows, page.bytes.count])
    let bytes = unsafe start(of: block) + rows
    unsafe fill(bytes, page.bytes)
    let target = unsafe start(of: block).bindMemory(
      to: tl_operation.self, capacity: page.rows.count)
    for (index, row) in page.rows.enumerated() {
      guard row.fits(page.bytes.count) else {
        unsafe block.deallocate()
        throw .internal("an operation lies outside of its page")
      }
      unsafe (target + index).initialize(to: tl_operation(row, bytes))
    }
    unsafe block.pointee.kind = .operations
    unsafe block.pointee.count = page.rows.count
    return OpaquePointer(block)
  }

  /// Puts conversations into a new batch, their last messages behind them.
  static func new(_ page: ConversationPage) throws(Failure) -> OpaquePointer {
    let rows = unsafe try extent(of: tl_conversation.self, page.rows.count)
    let lasts = unsafe try extent(of: tl_message.self, page.rows.count)
    let block = try unsafe allocate([rows, lasts, page.bytes.count, page.messages.textBytes])
    let body = unsafe start(of: block)
    let bytes = unsafe body + rows + lasts
    unsafe fill(bytes, page.bytes)
    let texts = unsafe bytes + page.bytes.count
    unsafe page.messages.copyTexts(to: texts)
    let target = unsafe body.bindMemory(to: tl_conversation.self, capacity: page.rows.count)
    let messages = unsafe (body + rows).bindMemory(
      to: tl_message.self, capacity: page.rows.count)
    let isWhole = unsafe page.messages.withRows { shown in
      for (index, row) in page.rows.enumerated() {
        guard row.fits(page.bytes.count) else { return false }
        var last: UnsafePointer<tl_message>?
        if let message = row.last, shown.indices.contains(message) {
          let id = unsafe view(bytes, row.id)
          unsafe (messages + index).initialize(to: tl_message(shown[message], id, texts))
          unsafe last = UnsafePointer(messages + index)
        } else {
          // All bytes of a batch are set: a host may copy the whole block.
          unsafe (messages + index).initialize(to: tl_message())
        }
        unsafe (target + index).initialize(to: tl_conversation(row, last, bytes))
      }
      return true
    }
    guard isWhole else {
      unsafe block.deallocate()
      throw .internal("a conversation lies outside of its page")
    }
    unsafe block.pointee.kind = .conversations
    unsafe block.pointee.count = page.rows.count
    return OpaquePointer(block)
  }

  /// A block with room for one record for each element of `texts`, and the texts
  /// copied behind them, as views in order.
  static func records<Record>(
    _ kind: Kind, of type: Record.Type, _ texts: [[[UInt8]]]
  ) throws(Failure) -> (UnsafeMutablePointer<Batch>, [tl_view]) {
    let head = try extent(of: type, texts.count)
    let texts = texts.flatMap { $0 }
    let block = try unsafe allocate([head] + texts.map(\.count))
    unsafe block.pointee.kind = kind
    unsafe block.pointee.count = head / MemoryLayout<Record>.stride
    var bytes = unsafe start(of: block) + head
    var views: [tl_view] = unsafe []
    for text in texts {
      unsafe fill(bytes, text)
      unsafe views.append(view(bytes, 0..<text.count))
      unsafe bytes += text.count
    }
    return unsafe (block, views)
  }

  static func free(_ handle: OpaquePointer?) {
    guard let block = unsafe ours(handle) else { return }
    unsafe block.pointee.word = 0
    unsafe block.deallocate()
  }

  /// The records, or NULL, and how many there are; none where it holds others.
  static func contents<Record>(
    _ handle: OpaquePointer?, _ kind: Kind, _ count: UnsafeMutablePointer<Int>?
  ) -> UnsafePointer<Record>? {
    unsafe count?.pointee = 0
    guard let block = unsafe ours(handle), unsafe block.pointee.kind == kind,
      unsafe block.pointee.count > 0
    else { return nil }
    unsafe count?.pointee = block.pointee.count
    return unsafe UnsafePointer(start(of: block).assumingMemoryBound(to: Record.self))
  }

  /// How complete the messages are; nothing else has such an answer.
  static func coverage(_ handle: OpaquePointer?) throws(Failure) -> tl_coverage {
    guard let coverage = try unsafe block(handle).pointee.coverage else {
      throw .invalid("the batch holds no messages")
    }
    return unsafe coverage
  }

  /// Everything behind the header.
  static func contents(_ handle: OpaquePointer?) throws(Failure) -> tl_view {
    let block = try unsafe block(handle)
    let size = unsafe block.pointee.size
    let start = unsafe start(of: block).assumingMemoryBound(to: UInt8.self)
    return unsafe tl_view(data: size == 0 ? nil : UnsafePointer(start), size: size)
  }

  /// A block with room for parts of these sizes behind the header.
  static func allocate(_ sizes: [Int]) throws(Failure) -> UnsafeMutablePointer<Batch> {
    var size = 0
    for part in sizes {
      let (sum, overflow) = size.addingReportingOverflow(part)
      if overflow || sum > Int.max / 2 { throw .internal("a page is over the address space") }
      size = sum
    }
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: header + size, alignment: MemoryLayout<Batch>.alignment)
    let block = unsafe memory.bindMemory(to: Batch.self, capacity: 1)
    unsafe block.initialize(to: Batch(size: size))
    return unsafe block
  }

  /// Bytes of the header, so that what follows is aligned.
  static var header: Int { RowPage.headBytes }

  static func start(of block: UnsafeMutablePointer<Batch>) -> UnsafeMutableRawPointer {
    unsafe UnsafeMutableRawPointer(block) + header
  }

  /// Bytes that `count` values take.
  static func extent<Row>(of type: Row.Type, _ count: Int) throws(Failure) -> Int {
    let (bytes, overflow) = count.multipliedReportingOverflow(by: MemoryLayout<Row>.stride)
    if overflow { throw .internal("a page has too many rows") }
    return bytes
  }

  static func block(
    _ handle: OpaquePointer?
  ) throws(Failure) -> UnsafeMutablePointer<Batch> {
    guard let block = unsafe ours(handle) else { throw .invalid("batch is not a batch") }
    return unsafe block
  }

  private static func ours(_ handle: OpaquePointer?) -> UnsafeMutablePointer<Batch>? {
    guard let handle = unsafe handle, unsafe isAligned(handle) else { return nil }
    let block = unsafe UnsafeMutablePointer<Batch>(handle)
    return unsafe block.pointee.word == magic ? block : nil
  }
}
