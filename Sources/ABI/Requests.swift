/// The host's requests as the engine's, with every enumeration checked.
internal import Base
internal import CTideline
internal import Engine

extension SyncRequest {
  init(_ request: tl_sync_request) throws(Failure) {
    let marks = UInt32(truncatingIfNeeded: TL_SYNC_MARK_READ)
    guard unsafe request.flags & ~marks == 0 else {
      throw .invalid("flags has an unknown flag of a sync")
    }
    let kind: Kind
    switch unsafe Int(request.kind) {
    case TL_SYNC_LATEST: kind = .latest
    case TL_SYNC_OLDER: kind = .older
    case TL_SYNC_LIVE: kind = .live
    case TL_SYNC_CONVERSATIONS: kind = .conversations
    case TL_SYNC_ALL: kind = .all
    default: throw .invalid("kind is not one of a sync")
    }
    try unsafe mustBeZero(request.reserved, "reserved is not zero")
    let choice = try unsafe PolicyChoice(request.policy, request.limit_ms, request.age_us)
    var conversation: [UInt8] = []
    if kind != .conversations, kind != .all {
      conversation = try unsafe request.conversation.id("conversation", mayBeTooLarge: true)
    } else if unsafe request.conversation.size != 0 {
      throw .invalid("conversation is not empty, and a sync of the list, or of all, has none")
    }
    self.init(
      conversation: conversation, kind: kind, choice: choice, want: unsafe Int(request.want),
      pagesMax: unsafe Int(request.pages_max))
    marksRead = unsafe request.flags & marks != 0
  }
}

extension PolicyChoice {
  init(_ policy: tl_policy, _ limitMs: UInt32, _ ageUs: Int64) throws(Failure) {
    guard let policy = Policy(rawValue: policy) else {
      throw .invalid("policy is not a known one")
    }
    guard limitMs <= Limits.policyLimitMsMax else { throw .invalid("limit_ms is over 3,600,000") }
    guard ageUs >= 0 else { throw .invalid("age_us is negative") }
    self.init(policy, limitMs: Int64(limitMs), ageUs: ageUs)
  }
}

extension MessageQuery {
  init(_ query: tl_query) throws(Failure) {
    try unsafe mustBeZero(query.reserved, "reserved is not zero")
    let known = UInt32(truncatingIfNeeded: TL_QUERY_PINNED)
    guard unsafe query.flags & ~known == 0 else {
      throw .invalid("flags has an unknown flag of a query")
    }
    self.init(
      conversation: try unsafe query.conversation.id("conversation"), from: try unsafe From(query),
      descending: try unsafe isDescending(query.order),
      limit: try unsafe count(
        query.limit, zero: 50, atMost: Limits.readRowsMax, "limit is over 10,000"))
    isPinnedOnly = unsafe query.flags & known != 0
  }
}

extension EntityQuery {
  init(_ query: tl_entity_query) throws(Failure) {
    try unsafe mustBeZero(query.reserved, "reserved is not zero")
    guard let role = unsafe EntityRole(rawValue: query.kind) else {
      throw .invalid("kind is not one of an entity")
    }
    func id(_ view: tl_view, _ name: StaticString) throws(Failure) -> [UInt8]? {
      unsafe view.size == 0 ? nil : try unsafe view.id(name)
    }
    self.init(
      role, conversation: try unsafe id(query.conversation, "conversation"),
      id: try unsafe id(query.id, "id"),
      afterConversation: try unsafe id(query.after_conversation, "after_conversation") ?? [],
      afterID: try unsafe id(query.after_id, "after_id") ?? [],
      limit: try unsafe count(
        query.limit, zero: 256, atMost: Limits.readRowsMax, "limit is over 10,000"))
  }
}

private func isDescending(_ order: tl_order) throws(Failure) -> Bool {
  switch Int(order) {
  case TL_ORDER_ASCENDING: false
  case TL_ORDER_DESCENDING: true
  default: throw .invalid("order is not a known one")
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
    case TL_FROM_BEFORE_TIME: unsafe self = .beforeTime(query.time_us)
    default: throw .invalid("from is not a known place to begin")
    }
  }
}

extension WindowConfig {
  init(_ config: tl_window_config) throws(Failure) {
    let flags = unsafe config.flags
    let cacheOnly = UInt32(truncatingIfNeeded: TL_WINDOW_CACHE_ONLY)
    let noRefresh = UInt32(truncatingIfNeeded: TL_WINDOW_NO_REFRESH)
    let preload = UInt32(truncatingIfNeeded: TL_WINDOW_PRELOAD)
    guard flags & ~(cacheOnly | noRefresh | preload) == 0 else {
      throw .invalid("flags has an unknown flag of a window")
    }
    let rowsMax = try unsafe ABI.count(
      config.rows_max, zero: 2_000, atMost: Limits.windowRowsMax, "rows_max is over 200,000")
    guard rowsMax >= Limits.windowRowsMin else { throw .invalid("rows_max is under 100") }
    self.init(
      conversation: try unsafe config.conversation.id("conversation", mayBeTooLarge: true),
      at: try unsafe At(config.at, id: config.id, timeUs: config.time_us),
      count: try unsafe loadCount(config.count), rowsMax: rowsMax)
    try unsafe mustBeZero(config.reserved, "reserved is not zero")
    choice = try unsafe PolicyChoice(config.policy, config.limit_ms, config.age_us)
    if flags & cacheOnly != 0 { isCacheOnly = true }
    leavesStale = flags & noRefresh != 0
    preloads = flags & preload != 0
    if unsafe config.hold_ms == TL_WINDOW_HOLD_NONE {
      holdMs = 0
    } else if unsafe config.hold_ms > 0 {
      holdMs = Int64(
        try unsafe ABI.count(
          config.hold_ms, zero: 1_000, atMost: Limits.holdMsMax, "hold_ms is over 60,000"))
    }
  }
}

private func loadCount(_ value: UInt32) throws(Failure) -> Int {
  try ABI.count(value, zero: 50, atMost: Limits.windowLoadMax, "count is over 1,000")
}

extension At {
  fileprivate init(_ at: tl_at, id: tl_view, timeUs: Int64) throws(Failure) {
    switch Int(at) {
    case TL_AT_LATEST: self = .latest
    case TL_AT_UNREAD: self = .unread
    case TL_AT_MESSAGE: self = .message(try unsafe id.id("id", mayBeTooLarge: true))
    case TL_AT_TIME: self = .time(timeUs)
    default: throw .invalid("at is not a known place")
    }
  }
}

extension Load {
  init(_ load: tl_load) throws(Failure) {
    try unsafe mustBeZero(load.reserved, "reserved is not zero")
    let pastGaps = UInt32(truncatingIfNeeded: TL_LOAD_PAST_GAPS)
    guard unsafe load.flags & ~pastGaps == 0 else {
      throw .invalid("flags has an unknown flag of a load")
    }
    let kind: Kind
    switch unsafe Int(load.kind) {
    case TL_LOAD_INITIAL: kind = .initial
    case TL_LOAD_BEFORE: kind = unsafe .before(load.number)
    case TL_LOAD_AFTER: kind = unsafe .after(load.number)
    case TL_LOAD_AROUND:
      let at = try unsafe At(load.at, id: load.id, timeUs: load.time_us)
      if at == .latest { throw .invalid("at is the latest, which no load is around") }
      kind = .around(at)
    case TL_LOAD_LAST: kind = .last
    default: throw .invalid("kind is not one of a load")
    }
    self.init(
      kind, count: try unsafe loadCount(load.count),
      isPastGaps: unsafe load.flags & pastGaps != 0)
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
    ids.append(try unsafe views[index].id("an id", mayBeTooLarge: true))
  }
  return ids
}
