/// What a request selects of a conversation, and how it is cut.
///
/// A page is a run of neighbours in the server's order. Without numbers that
/// order is by time, and a selection by time is a run as well. With numbers a
/// late commit may stand behind newer ones; a selection by time then leaves out
/// rows in between, as a client has to expect of such a server.
extension ReferenceServer {
  /// One end of what a request selects.
  private enum Selection {
    case all
    case after(Int64)
    case before(Int64, id: String?)
    case around(Int)
  }

  /// A received time on the printed resolution.
  func cursor(_ text: String) throws(ServerFailure) -> Int64 {
    guard let us = ServerTime.parse(text, zoneMinutes: knobs.zoneMinutes) else {
      throw ServerFailure("invalid", "not a time")
    }
    return ServerTime.tick(us, resolutionUs: knobs.timeResolutionUs)
  }

  // MARK: Messages

  func getMessages(_ request: Request, _ user: String) throws(ServerFailure) -> [UInt8] {
    let state = try room(request, user)
    let asked = request.limit ?? 50
    let offset = request.offset ?? 0
    guard asked > 0, offset >= 0 else { throw ServerFailure("invalid", "limit or offset") }
    let selection = try selection(request, state)
    var size = knobs.pageCap > 0 ? min(asked, knobs.pageCap) : asked
    if knobs.pageSizesVary { size = 1 + dice.below(size) }
    if case .around(let target) = selection { return around(target, size, state.rows) }
    let rows = select(selection, state)
    let skipped = min(offset, rows.count)
    let page: ArraySlice<Row>
    let hasMore: Bool
    if case .after = selection, knobs.truncates == .oldest {
      page = rows.dropFirst(skipped).prefix(size)
      hasMore = page.endIndex < rows.endIndex
    } else {
      page = rows.dropLast(skipped).suffix(size)
      hasMore = page.startIndex > rows.startIndex
    }
    return messages(page, state.rows.count) { out in
      if knobs.sendsHasMore { out.append(contentsOf: ",\"has_more\":\(hasMore)".utf8) }
    }
  }

  private func selection(
    _ request: Request, _ state: ConversationState
  ) throws(ServerFailure) -> Selection {
    let before = request.beforeTs ?? request.beforeID
    let around = request.aroundID ?? request.aroundTs
    guard before == nil || knobs.takesBefore, around == nil || knobs.takesAround else {
      throw ServerFailure("unsupported", "no such place of a page")
    }
    let places = [request.afterTs, before, request.aroundID, request.aroundTs]
    guard places.count(where: { $0 != nil }) <= 1 else {
      throw ServerFailure("invalid", "more than one place")
    }
    if let after = request.afterTs { return .after(try cursor(after)) }
    if let id = request.aroundID {
      guard let index = state.index(id, knobs.ties) else {
        throw ServerFailure("not_found", "no such message")
      }
      return .around(index)
    }
    if let time = request.aroundTs {
      let us = try cursor(time)
      let first =
        knobs.numbersMessages
        ? state.rows.firstIndex { $0.place.tickUs >= us } ?? state.rows.count
        : state.start(after: us, inclusive: true)
      return .around(first)
    }
    if before == nil { return .all }
    guard let time = request.beforeTs else {
      throw ServerFailure("invalid", "before_id without before_ts")
    }
    return .before(try cursor(time), id: request.beforeID)
  }

  private func select(_ selection: Selection, _ state: ConversationState) -> ArraySlice<Row> {
    switch selection {
    case .all, .around: return state.rows[...]
    case .after(let us):
      if knobs.numbersMessages {
        let isInclusive = knobs.afterInclusive
        return ArraySlice(
          state.rows.filter { isInclusive ? $0.place.tickUs >= us : $0.place.tickUs > us })
      }
      return state.rows[state.start(after: us, inclusive: knobs.afterInclusive)...]
    case .before(let us, let id):
      // The message may have gone; then all of its tick is before it.
      var stop = id.flatMap { state.index($0, knobs.ties) }
      if let index = stop, state.rows[index].place.tickUs != us { stop = nil }
      if knobs.numbersMessages {
        let wholeTick = id != nil && stop == nil
        let kept = state.rows.enumerated().filter { index, row in
          row.place.tickUs < us || (row.place.tickUs == us && (wholeTick || index < stop ?? 0))
        }
        return ArraySlice(kept.map(\.element))
      }
      return state.rows[..<(stop ?? state.start(after: us, inclusive: id == nil))]
    }
  }

  /// A page with its target in the middle; what one side lacks the other gives.
  private func around(_ target: Int, _ size: Int, _ rows: [Row]) -> [UInt8] {
    let older = (size - 1) / 2
    let first = max(0, min(target - older, rows.count - size))
    let last = min(rows.count, first + min(size, rows.count))
    return messages(rows[first..<last], rows.count) { out in
      guard knobs.sendsHasMoreAround else { return }
      out.append(contentsOf: ",\"has_more_before\":\(first > 0)".utf8)
      out.append(contentsOf: ",\"has_more_after\":\(last < rows.count)".utf8)
    }
  }

  private func messages(
    _ page: ArraySlice<Row>, _ total: Int, _ more: (inout [UInt8]) -> Void
  ) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(page.reduce(192) { $0 + $1.rendered.count + 1 })
    write(page, into: &out)
    if knobs.sendsTotalCount { out.append(contentsOf: ",\"total_count\":\(total)".utf8) }
    more(&out)
    if knobs.knowsCursorsAlone {
      let next = ServerTime.tick(
        nowUs - knobs.deletionLatenessMaxUs, resolutionUs: knobs.timeResolutionUs)
      out.append(contentsOf: ",\"deleted_since\":\"~\(next)\"".utf8)
      if knobs.tellsChanges { out.append(contentsOf: ",\"changed_since\":\"~\(next)\"".utf8) }
    }
    writeServerTime(into: &out)
    out.append(0x7D)
    return out
  }

  private func write(_ page: ArraySlice<Row>, into out: inout [UInt8]) {
    out.append(contentsOf: "{\"messages\":[".utf8)
    let count = page.count
    for step in 0..<count {
      if step > 0 { out.append(0x2C) }
      let index = knobs.arrayOrder == .ascending ? step : count - 1 - step
      out.append(contentsOf: page[page.startIndex + index].rendered)
    }
    out.append(0x5D)
  }

  private func writeServerTime(into out: inout [UInt8]) {
    guard knobs.sendsServerTime else { return }
    out.append(contentsOf: ",\"server_time\":\"".utf8)
    ServerTime.write(nowUs, knobs, into: &out)
    out.append(0x22)
  }

  // MARK: Changes

  /// Each message that changed at or after the time, as it is now.
  func getChangedSince(_ request: Request, _ user: String) throws(ServerFailure) -> [UInt8] {
    guard knobs.tellsChanges else { throw ServerFailure("unsupported", "no such request") }
    let state = try room(request, user)
    guard let since = request.since else { throw ServerFailure("invalid", "since is missing") }
    let unit = knobs.timeResolutionUs
    var found = state.changed(since: try ownCursor(since, isOwn: tellsOpaqueChanges))
    var next = ServerTime.tick(nowUs, resolutionUs: unit)
    var count = found.count
    if knobs.changePageCap > 0, count > knobs.changePageCap {
      // The oldest changes are kept, and the whole of their last tick: the next
      // request begins with a tick of its own and always gets on.
      func tick(_ index: Int) -> Int64 { ServerTime.tick(found[index].us, resolutionUs: unit) }
      count = knobs.changePageCap
      while count < found.count, tick(count) == tick(count - 1) { count += 1 }
      if count < found.count { next = tick(count) }
    }
    let hasMore = count < found.count
    found.removeSubrange(count...)
    let rows = found.compactMap { entry in
      state.index(entry.id, knobs.ties).map { state.rows[$0] }
    }
    var out: [UInt8] = []
    write(rows[...], into: &out)
    let text = tellsOpaqueChanges ? "~\(next)" : ServerTime.text(next, knobs)
    out.append(contentsOf: ",\"next_since\":\"\(text)\",\"has_more\":\(hasMore)".utf8)
    writeServerTime(into: &out)
    out.append(0x7D)
    return out
  }

  private var tellsOpaqueDeletions: Bool { knobs.deletionCursors || knobs.knowsCursorsAlone }
  private var tellsOpaqueChanges: Bool { knobs.opaqueCursors || knobs.knowsCursorsAlone }

  /// A time, or a word of the server's own.
  private func ownCursor(_ text: String, isOwn: Bool) throws(ServerFailure) -> Int64 {
    if knobs.knowsCursorsAlone, !text.hasPrefix("~") {
      throw ServerFailure("unknown_cursor", "a time is no cursor")
    }
    guard isOwn, text.hasPrefix("~") else { return try cursor(text) }
    guard let us = Int64(text.dropFirst()) else { throw ServerFailure("invalid", "not a cursor") }
    return us
  }

  // MARK: Deletions

  func getDeletedSince(_ request: Request, _ user: String) throws(ServerFailure) -> [UInt8] {
    let state = try room(request, user)
    guard let since = request.since else { throw ServerFailure("invalid", "since is missing") }
    let cursor = try ownCursor(since, isOwn: tellsOpaqueDeletions)
    let unit = knobs.timeResolutionUs
    let horizon = knobs.deletionHorizonUs > 0 ? nowUs - knobs.deletionHorizonUs : Int64.min
    let isInclusive = knobs.afterInclusive || tellsOpaqueDeletions
    // The log is sorted by printed time, so the answer is a run at its end.
    var first = state.deletions.count
    while first > 0 {
      let tick = ServerTime.tick(state.deletions[first - 1].deletedUs, resolutionUs: unit)
      guard isInclusive ? tick >= cursor : tick > cursor else { break }
      first -= 1
    }
    var found = state.deletions[first...].filter { $0.deletedUs >= horizon }
    var nextSince: Int64?
    if knobs.deletionPageCap > 0, found.count > knobs.deletionPageCap {
      nextSince = cutDeletions(&found, above: cursor)
    }
    var out = Array("{\"message_ids\":".utf8)
    ServerJSON.write(found.map(\.id), into: &out)
    if let nextSince {
      out.append(contentsOf: ",\"has_more\":true,\"next_since\":\"".utf8)
      if knobs.knowsCursorsAlone {
        out.append(contentsOf: "~\(nextSince)".utf8)
      } else {
        ServerTime.write(nextSince, knobs, into: &out)
      }
      out.append(0x22)
    } else if tellsOpaqueDeletions {
      // What is committed late stands above it.
      let next = ServerTime.tick(nowUs - knobs.deletionLatenessMaxUs, resolutionUs: unit)
      out.append(contentsOf: ",\"next_since\":\"~\(next)\"".utf8)
    }
    writeServerTime(into: &out)
    out.append(0x7D)
    return out
  }

  /// Keeps the oldest entries, and with them the whole of their last tick, so
  /// that the next request misses none. Returns where that one starts, or nil
  /// where nothing was cut or where it would start at this one's own tick.
  private func cutDeletions(_ found: inout [ServerDeletion], above cursor: Int64) -> Int64? {
    let unit = knobs.timeResolutionUs
    func tick(_ index: Int) -> Int64 {
      ServerTime.tick(found[index].deletedUs, resolutionUs: unit)
    }
    var count = knobs.deletionPageCap
    while count < found.count, tick(count) == tick(count - 1) || tick(count - 1) == cursor {
      count += 1
    }
    guard count < found.count else { return nil }
    let last = tick(count - 1)
    found.removeSubrange(count...)
    return last
  }
}
