/// Search, from Swift.
import CTidelineShared

/// A message that was found, and what is to be marked in it, as ranges of UTF-16 by member.
public struct Hit {
  public let message: Message
  public let marks: [(member: String, utf16: Range<Int>)]

  init(_ hit: tl_hit) {
    message = Message(hit.message)
    marks = UnsafeBufferPointer(start: hit.marks, count: Int(hit.mark_count)).map { mark in
      let first = Int(mark.utf16_first)
      return (mark.member.string, first..<first + Int(mark.utf16_count))
    }
  }
}

/// Work in steps; letting go of it ends it.
public struct Work: ~Copyable {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) {
    self.handle = handle
  }

  deinit {
    tl_work_free(handle)
  }

  public func step(ms: UInt32) throws -> tl_progress {
    var out = tl_progress()
    out.struct_size = size(tl_progress.self)
    try check(tl_work_step(handle, ms, &out))
    return out
  }

  /// What a check of the file has found.
  public func checked() throws -> tl_checked {
    var out = tl_checked()
    out.struct_size = size(tl_checked.self)
    try check(tl_work_checked(handle, &out))
    return out
  }

  /// What a new data key has made unreadable.
  public func receipt() throws -> tl_receipt {
    var out = tl_receipt()
    out.struct_size = size(tl_receipt.self)
    try check(tl_work_receipt(handle, &out))
    return out
  }
}

extension Batch {
  public var hits: [Hit] {
    var count = 0
    let hits = tl_batch_hits(handle, &count)
    return UnsafeBufferPointer(start: hits, count: count).map(Hit.init)
  }

  public func searched() throws -> tl_searched {
    var out = tl_searched()
    out.struct_size = size(tl_searched.self)
    try check(tl_batch_searched(handle, &out))
    return out
  }
}

/// A conversation of which a search does not see all.
public struct Unsearched: Equatable {
  public let number: UInt64
  public let conversation: String
  /// Nil where nothing is known to be whole.
  public let wholeFromUs: Int64?
  public let isPartial: Bool
  public let sealed: UInt32

  init(_ one: tl_unsearched) {
    number = one.number
    conversation = one.conversation.string
    wholeFromUs = one.whole_from_us == .max ? nil : one.whole_from_us
    isPartial = one.flags & UInt32(TL_UNSEARCHED_PARTIAL) != 0
    sealed = one.sealed
  }
}

extension Batch {
  public var unsearched: [Unsearched] {
    var count = 0
    let found = tl_batch_unsearched(handle, &count)
    return UnsafeBufferPointer(start: found, count: count).map(Unsearched.init)
  }
}

extension Client {
  public func unsearched(
    in conversation: String = "", after number: UInt64 = 0
  ) throws -> [Unsearched] {
    try withViews([conversation]) { views in
      var out: OpaquePointer?
      if try check(tl_search_unsearched(handle, views[0], number, 0, &out)) == .none { return [] }
      return Batch(try handed(out)).unsearched
    }
  }

  /// Switches search on or off; false when it was so.
  @discardableResult
  public func switchSearch(_ isOn: Bool) throws -> Bool {
    try check(tl_search_switch(handle, isOn ? 1 : 0)) == .ok
  }

  public func buildSearch() throws -> Work {
    var out: OpaquePointer?
    try check(tl_search_build(handle, &out))
    return Work(try handed(out))
  }

  public func checkSearch() throws -> Work {
    var out: OpaquePointer?
    try check(tl_search_check(handle, &out))
    return Work(try handed(out))
  }

  public func search(_ text: String, in conversation: String = "") throws -> Batch {
    let batch = try withViews([text, conversation]) { views in
      var search = tl_search()
      search.struct_size = size(tl_search.self)
      search.text = views[0]
      search.conversation = views[1]
      var out: OpaquePointer?
      try check(tl_client_search(handle, &search, &out))
      return try handed(out)
    }
    return Batch(batch)
  }
}
