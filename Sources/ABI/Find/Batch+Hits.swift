/// A batch of hits: the hits, what was searched, the marks, and the bytes of all of them.
internal import Base
internal import CTideline
internal import Engine

extension Batch {
  /// Puts hits into a new batch.
  static func new(_ page: HitPage) throws(Failure) -> OpaquePointer {
    let rows = unsafe try extent(of: tl_hit.self, page.rows.count)
    let searched = MemoryLayout<tl_searched>.stride
    let markCount = page.rows.reduce(0) { $0 + $1.marks.count }
    let marks = unsafe try extent(of: tl_mark.self, markCount)
    let block = try unsafe allocate(
      [rows, searched, marks, page.bytes.count, page.messages.textBytes])
    let body = unsafe start(of: block)
    let bytes = unsafe body + rows + searched + marks
    unsafe fill(bytes, page.bytes)
    let texts = unsafe bytes + page.bytes.count
    unsafe page.messages.copyTexts(to: texts)
    unsafe (body + rows).initializeMemory(as: tl_searched.self, to: tl_searched(page))
    let hits = unsafe body.bindMemory(to: tl_hit.self, capacity: page.rows.count)
    var mark = unsafe (body + rows + searched).bindMemory(to: tl_mark.self, capacity: markCount)
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
            reserved_words: reservedWords))
      }
    }
    unsafe block.pointee.kind = .hits
    unsafe block.pointee.count = page.rows.count
    return OpaquePointer(block)
  }

  static func hits(_ handle: OpaquePointer?) -> (UnsafePointer<tl_hit>?, Int) {
    unsafe contents(handle, .hits)
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
  fileprivate init(_ page: HitPage) {
    var asked = TL_ASKED
    if page.asksNoWord { asked = TL_ASKED_NO_WORD }
    if page.asksOnlyExclusions { asked = TL_ASKED_ONLY_EXCLUSIONS }
    self.init(
      struct_size: 0, asked: tl_asked(truncatingIfNeeded: asked), has_more: page.hasMore ? 1 : 0,
      is_cut: page.isCut ? 1 : 0, sealed: UInt32(clamping: page.sealed),
      partial: UInt32(clamping: page.partial), unbuilt: page.unbuilt, total: page.total)
  }
}
