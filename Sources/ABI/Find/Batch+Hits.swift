/// A batch of hits: the hits, what was searched, the marks, and the bytes of all of them.
internal import Base
internal import CTideline
internal import Engine

extension Batch {
  /// Puts hits into a new batch.
  static func new(_ page: HitPage) throws(Failure) -> OpaquePointer {
    let rows = unsafe try extent(of: tl_hit.self, page.rows.count)
    let searched = MemoryLayout<tl_searched>.stride
    let words = Self.words(page.order)
    let order = try extent(of: UInt64.self, words.count)
    let markCount = page.rows.reduce(0) { $0 + $1.marks.count }
    let marks = unsafe try extent(of: tl_mark.self, markCount)
    let block = try unsafe allocate(
      [rows, searched, order, marks, page.bytes.count, page.messages.textBytes])
    let body = unsafe start(of: block)
    let bytes = unsafe body + rows + searched + order + marks
    unsafe (body + rows + searched).bindMemory(to: UInt64.self, capacity: words.count)
      .initialize(from: words, count: words.count)
    unsafe fill(bytes, page.bytes)
    let texts = unsafe bytes + page.bytes.count
    unsafe page.messages.copyTexts(to: texts)
    unsafe (body + rows).initializeMemory(as: tl_searched.self, to: tl_searched(page))
    let hits = unsafe body.bindMemory(to: tl_hit.self, capacity: page.rows.count)
    var mark = unsafe (body + rows + searched + order)
      .bindMemory(to: tl_mark.self, capacity: markCount)
    unsafe page.messages.withRows { shown in
      for (index, row) in page.rows.enumerated() {
        let first = unsafe mark
        for found in row.marks {
          unsafe mark.initialize(to: tl_mark(found, bytes))
          unsafe mark += 1
        }
        // A page has all messages that its rows name.
        let message = unsafe shown.indices.contains(row.message) ? shown[row.message] : MessageRow()
        unsafe (hits + index).initialize(
          to: tl_hit(
            message: tl_message(message, view(bytes, row.conversation), texts),
            marks: row.marks.isEmpty ? nil : UnsafePointer(first),
            mark_count: UInt32(clamping: row.marks.count), reserved: 0,
            searchable: view(bytes, row.searchable), reserved_words: (0, 0, 0, 0, 0, 0)))
      }
    }
    unsafe block.pointee.kind = .hits
    unsafe block.pointee.count = page.rows.count
    return OpaquePointer(block)
  }

  /// Puts conversations of which a search does not see all into a new batch.
  static func new(_ found: [UnsearchedView]) throws(Failure) -> OpaquePointer {
    let (block, views) = unsafe try records(
      .unsearched, of: tl_unsearched.self, found.map { [$0.conversation] })
    let target = unsafe start(of: block).bindMemory(to: tl_unsearched.self, capacity: found.count)
    for (index, one) in found.enumerated() {
      let partial = one.isPartial ? UInt32(truncatingIfNeeded: TL_UNSEARCHED_PARTIAL) : 0
      let sealed = one.sealed > 0 ? UInt32(truncatingIfNeeded: TL_UNSEARCHED_SEALED) : 0
      unsafe (target + index).initialize(
        to: tl_unsearched(
          number: one.number, conversation: views[index], whole_from_us: one.wholeFromUs,
          flags: partial | sealed, sealed: UInt32(clamping: one.sealed),
          reserved_words: (0, 0, 0, 0, 0, 0, 0, 0)))
    }
    return OpaquePointer(block)
  }

  /// How an order lies behind what was searched: how many numbers it has and whether it is cut, how
  /// many were given, the marks of its query and its client, then the numbers. No order is more
  /// numbers than there are.
  private static func words(_ order: HitOrder?) -> [UInt64] {
    guard let order else { return [.max, 0, 0, 0] }
    let count = UInt64(order.numbers.count) &<< 1
    return [
      count | (order.isCut ? 1 : 0), UInt64(clamping: order.given), order.mark, order.client,
    ] + order.numbers
  }

  /// The order by relevance that hits have.
  static func order(_ handle: OpaquePointer?) throws(Failure) -> HitOrder {
    let block = try unsafe block(handle)
    let wrong = Failure.invalid("behind holds no hits by relevance")
    guard unsafe block.pointee.kind == .hits else { throw wrong }
    let first =
      unsafe try extent(of: tl_hit.self, block.pointee.count) + MemoryLayout<tl_searched>.stride
    let words = unsafe (start(of: block) + first).assumingMemoryBound(to: UInt64.self)
    let count = unsafe words[0] &>> 1
    let most = unsafe UInt64(block.pointee.size / MemoryLayout<UInt64>.stride)
    guard count < most else { throw wrong }
    return unsafe HitOrder(
      numbers: Array(UnsafeBufferPointer(start: words + 4, count: Int(clamping: count))),
      given: Int(clamping: words[1]), isCut: words[0] & 1 == 1, mark: words[2], client: words[3])
  }

  /// What was searched; nothing but hits has such an answer.
  static func searched(_ handle: OpaquePointer?) throws(Failure) -> tl_searched {
    let block = try unsafe block(handle)
    guard unsafe block.pointee.kind == .hits else { throw .invalid("the batch holds no hits") }
    let rows = unsafe try extent(of: tl_hit.self, block.pointee.count)
    return unsafe (start(of: block) + rows).load(as: tl_searched.self)
  }
}

extension tl_mark {
  fileprivate init(_ mark: HitMark, _ bytes: UnsafeRawPointer) {
    unsafe self.init(
      member: view(bytes, mark.member), utf8_first: UInt32(clamping: mark.utf8.lowerBound),
      utf8_count: UInt32(clamping: mark.utf8.count),
      utf16_first: UInt32(clamping: mark.utf16.lowerBound),
      utf16_count: UInt32(clamping: mark.utf16.count))
  }
}

extension tl_searched {
  private static func counted(_ page: HitPage) -> Int {
    if page.count == nil { return TL_COUNTED_NOT }
    return page.order?.isCut ?? false ? TL_COUNTED_AT_LEAST : TL_COUNTED_ALL
  }

  fileprivate init(_ page: HitPage) {
    var asked = TL_ASKED_YES
    if page.asksNoWord { asked = TL_ASKED_NO_WORD }
    if page.asksOnlyExclusions { asked = TL_ASKED_ONLY_EXCLUSIONS }
    self.init(
      struct_size: 0, asked: tl_asked(truncatingIfNeeded: asked), has_more: page.hasMore ? 1 : 0,
      is_cut: page.isCut ? 1 : 0, sealed: UInt32(clamping: page.sealed),
      partial: UInt32(clamping: page.partial), unbuilt: page.unbuilt, total: page.total,
      count: UInt64(clamping: page.count ?? 0),
      counted: tl_counted(truncatingIfNeeded: Self.counted(page)), reserved: 0)
  }
}
