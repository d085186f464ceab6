/// The host's requests as the engine's, with every enumeration checked.
internal import Base
internal import CTideline
internal import Engine

extension SyncRequest {
  init(_ request: tl_sync_request) throws(Failure) {
    try unsafe mustBeZero(request.flags)
    let kind: Kind
    switch unsafe Int(request.kind) {
    case TL_SYNC_LATEST: kind = .latest
    case TL_SYNC_OLDER: kind = .older
    case TL_SYNC_LIVE: kind = .live
    default: throw .invalid("an unknown kind of sync")
    }
    guard let policy = unsafe Policy(rawValue: request.policy) else {
      throw .invalid("an unknown policy")
    }
    self.init(
      conversation: try unsafe request.conversation.id(
        or: .tooLarge("conversation is over 512 bytes")),
      kind: kind, policy: policy, want: unsafe Int(request.want),
      pagesMax: unsafe Int(request.pages_max))
  }
}

extension MessageQuery {
  init(_ query: tl_query) throws(Failure) {
    try unsafe mustBeZero(query.flags, query.reserved)
    self.init(
      conversation: try unsafe query.conversation.id(), from: try unsafe From(query),
      descending: try unsafe isDescending(query.order),
      limit: try unsafe count(
        query.limit, zero: 50, atMost: Limits.readRowsMax, "limit is over 10,000"))
  }
}

private func isDescending(_ order: tl_order) throws(Failure) -> Bool {
  switch Int(order) {
  case TL_ORDER_ASCENDING: false
  case TL_ORDER_DESCENDING: true
  default: throw .invalid("an unknown order")
  }
}

extension MessageQuery.From {
  fileprivate init(_ query: tl_query) throws(Failure) {
    switch unsafe Int(query.from) {
    case TL_FROM_LATEST: self = .latest
    case TL_FROM_OLDEST: self = .oldest
    case TL_FROM_BEFORE: unsafe self = .before(query.number)
    case TL_FROM_AFTER: unsafe self = .after(query.number)
    case TL_FROM_TIME: unsafe self = .time(query.time_us)
    default: throw .invalid("an unknown place to begin")
    }
  }
}

/// The ids of an array of views.
func ids(_ views: UnsafePointer<tl_view>?, _ count: Int) throws(Failure) -> [[UInt8]] {
  guard count >= 0, count <= Limits.markReadMax else { throw .tooLarge("over 10,000 ids") }
  if count == 0 { return [] }
  guard let views = unsafe views else { throw .invalid("ids is NULL but count is not 0") }
  var ids: [[UInt8]] = []
  ids.reserveCapacity(count)
  for index in 0..<count {
    ids.append(try unsafe views[index].id(or: .tooLarge("an id is over 512 bytes")))
  }
  return ids
}
