/// Requests and their answers, exactly as the protocol page says.
///
/// One frame in, its answers out. What is not understood is answered as an
/// error and changes nothing.
extension ReferenceServer {
  /// Answers one request frame of `user`.
  public func handle(_ frame: [UInt8], user: String) -> [[UInt8]] {
    guard let request = Request(frame) else {
      return [answer(Request.unreadable, failure: ServerFailure("invalid", "not a request"))]
    }
    if !failures.isEmpty { return [answer(request, failure: failures.removeFirst())] }
    do throws(ServerFailure) {
      switch request.type {
      case "get_messages": return [try getMessages(request, user)]
      case "get_deleted_since": return [try getDeletedSince(request, user)]
      case "mark_read": return [try markRead(request, user)]
      case "subscribe": return [answer(request, data: subscription())]
      case "unsubscribe": return [answer(request, data: Array("{}".utf8))]
      default: throw ServerFailure("unsupported", "no such request")
      }
    } catch {
      return [answer(request, failure: error)]
    }
  }

  /// Lets the next request fail in this way, and those asked for after it.
  public func failNext(_ code: String, retryAfterMs: Int? = nil) {
    failures.append(ServerFailure(code, "as asked for", retryAfterMs: retryAfterMs))
  }

  private func room(_ request: Request, _ user: String) throws(ServerFailure) -> ConversationState {
    guard let id = request.conversation else {
      throw ServerFailure("invalid", "conversation_id is missing")
    }
    guard let state = conversations[id] else {
      throw ServerFailure("not_found", "no such conversation")
    }
    guard state.admits(user) else { throw ServerFailure("forbidden", "not a participant") }
    return state
  }

  /// A received time on the printed resolution.
  private func cursor(_ text: String) throws(ServerFailure) -> Int64 {
    guard let us = ServerTime.parse(text, zoneMinutes: knobs.zoneMinutes) else {
      throw ServerFailure("invalid", "not a time")
    }
    return ServerTime.tick(us, resolutionUs: knobs.timeResolutionUs)
  }

  private func getMessages(_ request: Request, _ user: String) throws(ServerFailure) -> [UInt8] {
    let state = try room(request, user)
    let asked = request.limit ?? 50
    let offset = request.offset ?? 0
    guard asked > 0, offset >= 0 else { throw ServerFailure("invalid", "limit or offset") }
    var first = 0
    if let after = request.afterTs {
      first = state.start(after: try cursor(after), inclusive: knobs.afterInclusive)
    }
    let all = state.rows
    var size = knobs.pageCap > 0 ? min(asked, knobs.pageCap) : asked
    if knobs.pageSizesVary { size = 1 + dice.below(size) }
    let skipped = min(offset, all.count - first)
    let page: ArraySlice<Row>
    if request.afterTs != nil, knobs.truncates == .oldest {
      let from = first + skipped
      page = all[from..<min(all.count, from + min(size, all.count))]
    } else {
      let to = all.count - skipped
      page = all[max(first, to - min(size, to))..<to]
    }
    return answer(request, data: messages(page, total: all.count))
  }

  private func messages(_ page: ArraySlice<Row>, total: Int) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(page.reduce(128) { $0 + $1.rendered.count + 1 })
    out.append(contentsOf: "{\"messages\":[".utf8)
    let count = page.count
    for step in 0..<count {
      if step > 0 { out.append(0x2C) }
      let index = knobs.arrayOrder == .ascending ? step : count - 1 - step
      out.append(contentsOf: page[page.startIndex + index].rendered)
    }
    out.append(0x5D)
    if knobs.sendsTotalCount { out.append(contentsOf: ",\"total_count\":\(total)".utf8) }
    writeServerTime(into: &out)
    out.append(0x7D)
    return out
  }

  private func getDeletedSince(_ request: Request, _ user: String) throws(ServerFailure) -> [UInt8]
  {
    let state = try room(request, user)
    guard let since = request.since else { throw ServerFailure("invalid", "since is missing") }
    let cursor = try cursor(since)
    let unit = knobs.timeResolutionUs
    let horizon = knobs.deletionHorizonUs > 0 ? nowUs - knobs.deletionHorizonUs : Int64.min
    // The log is sorted by printed time, so the answer is a run at its end.
    var first = state.deletions.count
    while first > 0 {
      let tick = ServerTime.tick(state.deletions[first - 1].deletedUs, resolutionUs: unit)
      guard knobs.afterInclusive ? tick >= cursor : tick > cursor else { break }
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
      ServerTime.write(nextSince, knobs, into: &out)
      out.append(0x22)
    }
    writeServerTime(into: &out)
    out.append(0x7D)
    return answer(request, data: out)
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

  private func markRead(_ request: Request, _ user: String) throws(ServerFailure) -> [UInt8] {
    let state = try room(request, user)
    guard let ids = request.messageIDs else {
      throw ServerFailure("invalid", "message_ids is missing")
    }
    markRead(conversation: state.id, ids: ids, user: user)
    return answer(request, data: Array("{}".utf8))
  }

  private func subscription() -> [UInt8] {
    Array((knobs.sendsEpoch ? "{\"epoch\":\"\(epoch)\"}" : "{}").utf8)
  }

  private func writeServerTime(into out: inout [UInt8]) {
    guard knobs.sendsServerTime else { return }
    out.append(contentsOf: ",\"server_time\":\"".utf8)
    ServerTime.write(nowUs, knobs, into: &out)
    out.append(0x22)
  }

  // MARK: Frames

  private func head(_ request: Request, _ status: StaticString, room: Int) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(room + request.requestID.count + 128)
    out.append(contentsOf: "{\"type\":".utf8)
    ServerJSON.write(request.type, into: &out)
    if knobs.echoesRequestIDs, !request.requestID.isEmpty {
      out.append(contentsOf: ",\"request_id\":".utf8)
      out.append(contentsOf: request.requestID)
    }
    out.append(contentsOf: ",\"status\":\"".utf8)
    status.withUTF8Buffer { out.append(contentsOf: $0) }
    return out
  }

  /// An answer with `data`, a JSON value.
  public func answer(_ request: Request, data: [UInt8]) -> [UInt8] {
    var out = head(request, "ok\",\"data\":", room: data.count)
    out.append(contentsOf: data)
    out.append(0x7D)
    return out
  }

  public func answer(_ request: Request, failure: ServerFailure) -> [UInt8] {
    var out = head(request, "error\",\"error\":{\"code\":", room: 128)
    ServerJSON.write(failure.code, into: &out)
    out.append(contentsOf: ",\"message\":".utf8)
    ServerJSON.write(failure.message, into: &out)
    if let wait = failure.retryAfterMs {
      out.append(contentsOf: ",\"retry_after_ms\":\(wait)".utf8)
    }
    out.append(contentsOf: "}}".utf8)
    return out
  }
}

/// An error answer: a code of the protocol and a sentence for people.
public struct ServerFailure: Error, Sendable {
  public let code: String
  public let message: String
  public let retryAfterMs: Int?

  public init(_ code: String, _ message: String, retryAfterMs: Int? = nil) {
    self.code = code
    self.message = message
    self.retryAfterMs = retryAfterMs
  }
}
