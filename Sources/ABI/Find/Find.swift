// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Find" of the header: messages by their words, and work in steps.
internal import Base
public import CTideline
internal import Engine

@implementation @_cdecl("tl_work_step")
public func tl_work_step(
  _ work: OpaquePointer?, _ ms: UInt32, _ out: UnsafeMutablePointer<tl_progress>?
) -> tl_status {
  boundary { () throws(Failure) in
    let work = unsafe try Handle.work(work)
    do throws(Failure) {
      var isDone = false
      try unsafe write(out) { () throws(Failure) in
        let ms = try count(ms, zero: 0, atMost: Limits.stepMsMax, "ms is over 60,000")
        let progress = try work.step(milliseconds: Int64(ms))
        isDone = progress.isDone
        return tl_progress(
          struct_size: 0, is_done: isDone ? 1 : 0, done: progress.done, total: progress.total)
      }
      return status(isDone ? TL_NONE : TL_OK)
    } catch {
      work.client?.note(error)
      if case .internal = error { work.client?.close() }
      throw error
    }
  }
}

@implementation @_cdecl("tl_work_free")
public func tl_work_free(_ work: OpaquePointer?) {
  unsafe Handle.freeWork(work)
}

@implementation @_cdecl("tl_search_switch")
public func tl_search_switch(_ client: OpaquePointer?, _ on: Int32) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    guard on == 0 || on == 1 else { throw .invalid("on is neither 0 nor 1") }
    return try SearchService(client).switchSearch(on: on == 1) ? status(TL_OK) : status(TL_NONE)
  }
}

@implementation @_cdecl("tl_search_build")
public func tl_search_build(
  _ client: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    unsafe Handle.new(try SearchService(client).buildSearch())
  }
}

@implementation @_cdecl("tl_search_check")
public func tl_search_check(
  _ client: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    unsafe Handle.new(try SearchService(client).checkSearch())
  }
}

@implementation @_cdecl("tl_client_search")
public func tl_client_search(
  _ client: OpaquePointer?, _ search: UnsafePointer<tl_search>?,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    let query = try unsafe SearchQuery(read(search, zero: tl_search()))
    return unsafe try Batch.new(SearchService(client).search(query))
  }
}

@implementation @_cdecl("tl_batch_hits")
public func tl_batch_hits(
  _ batch: OpaquePointer?, _ count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<tl_hit>? {
  unsafe Batch.contents(batch, .hits, count)
}

@implementation @_cdecl("tl_batch_searched")
public func tl_batch_searched(
  _ batch: OpaquePointer?, _ out: UnsafeMutablePointer<tl_searched>?
) -> tl_status {
  boundary { () throws(Failure) in
    try unsafe write(out) { () throws(Failure) in try unsafe Batch.searched(batch) }
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_search_unsearched")
public func tl_search_unsearched(
  _ client: OpaquePointer?, _ conversation: tl_view, _ after: UInt64, _ limit: UInt32,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    let limit = try count(
      limit, zero: 100, atMost: Limits.readRowsMax, "limit is over 10,000")
    let id = try unsafe conversation.size == 0 ? nil : conversation.id("conversation")
    let found = try SearchService(client).unsearched(id, after: after, limit: limit)
    if found.isEmpty { return nil }
    return unsafe try Batch.new(found)
  }
}

@implementation @_cdecl("tl_batch_unsearched")
public func tl_batch_unsearched(
  _ batch: OpaquePointer?, _ count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<tl_unsearched>? {
  unsafe Batch.contents(batch, .unsearched, count)
}

extension SearchQuery {
  fileprivate init(_ search: tl_search) throws(Failure) {
    let mine = UInt32(truncatingIfNeeded: TL_SEARCH_MINE)
    let attachment = UInt32(truncatingIfNeeded: TL_SEARCH_ATTACHMENT)
    let noMarks = UInt32(truncatingIfNeeded: TL_SEARCH_NO_MARKS)
    guard unsafe search.flags & ~(mine | attachment | noMarks) == 0 else {
      throw .invalid("flags has an unknown flag of a search")
    }
    func id(_ view: tl_view, _ name: StaticString) throws(Failure) -> [UInt8]? {
      unsafe view.size == 0 ? nil : try unsafe view.id(name)
    }
    self.init(
      try unsafe search.text.bytes(
        "text", atMost: Limits.searchBytesMax, or: .tooLarge("a text is over 4 MiB")))
    conversation = try unsafe id(search.conversation, "conversation")
    sender = try unsafe id(search.sender, "sender")
    isMine = unsafe search.flags & mine != 0
    hasAttachment = unsafe search.flags & attachment != 0
    leavesMarks = unsafe search.flags & noMarks != 0
    fromUs = unsafe search.from_us == 0 ? .min : search.from_us
    beforeUs = unsafe search.before_us == 0 ? .max : search.before_us
    afterUs = unsafe search.after_time_us
    afterNumber = unsafe search.after_number
    limit = try unsafe count(
      search.limit, zero: 50, atMost: Limits.searchHitsMax, "limit is over 1,000")
    switch unsafe Int(search.order) {
    case TL_HIT_ORDER_TIME: isByRelevance = false
    case TL_HIT_ORDER_RELEVANCE: isByRelevance = true
    default: throw .invalid("order is not a known value")
    }
    guard let behind = unsafe search.behind else { return }
    guard isByRelevance else { throw .invalid("behind is for an order by relevance") }
    self.behind = try unsafe Batch.order(behind)
  }
}
