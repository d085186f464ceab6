/// A conversation as a log: `get_entries`, its tokens, and how news becomes entries.
///
/// A token names a place, the epoch, and, where it lives for a time only, when it was given. It
/// needs no memory of the server's, and is unknown where any of them does not count any more.
extension ReferenceServer {
  /// The most entries of an answer.
  static let entriesMax = 10_000

  // MARK: Pages

  func getEntries(_ request: Request, _ user: String) throws(ServerFailure) -> [UInt8] {
    guard knobs.keepsLog else { throw ServerFailure("unsupported", "this server keeps no log") }
    let log = try room(request, user).log
    let asked = request.limit ?? 50
    guard asked > 0 else { throw ServerFailure("invalid", "limit") }
    let cap = knobs.pageCap > 0 ? knobs.pageCap : ReferenceServer.entriesMax
    let size = min(asked, cap)
    guard [request.before, request.after, request.aroundID].count(where: { $0 != nil }) <= 1 else {
      throw ServerFailure("invalid", "more than one place")
    }
    let newest = max(log.first, log.end - size)..<log.end
    if let token = request.before {
      let place = try place(of: token, in: log)
      return entries(log, max(log.first, place - size)..<place)
    }
    if let token = request.after {
      let place = try place(of: token, in: log)
      if knobs.logGapMin > 0, log.end - place > max(knobs.logGapMin, size) {
        return entries(log, newest, isBehindGap: true)
      }
      return entries(log, place..<min(log.end, place + size))
    }
    if let id = request.aroundID {
      guard let place = log.place(of: id) else {
        throw ServerFailure("not_found", "no such entry")
      }
      let low = max(log.first, min(place - size / 2, log.end - size))
      return entries(log, low..<min(log.end, low + size))
    }
    return entries(log, newest)
  }

  private func entries(
    _ log: EntryLog, _ range: Range<Int>, isBehindGap: Bool = false
  ) -> [UInt8] {
    var out = Writer(knobs)
    out.raw("{\"entries\":[")
    out.entries(log[range])
    out.raw("]")
    if range.lowerBound > log.first { out.text("before", token(range.lowerBound)) }
    out.text("after", token(range.upperBound))
    if range.upperBound == log.end { out.raw(",\"present\":true") }
    if isBehindGap { out.raw(",\"gap\":true") }
    if knobs.sendsEpoch { out.text("epoch", "\(epoch)") }
    if knobs.sendsServerTime { out.time("server_time", nowUs) }
    out.raw("}")
    return out.bytes
  }

  // MARK: Tokens

  private func token(_ place: Int) -> String {
    token(place, givenUs: knobs.tokenLifeUs > 0 ? nowUs : 0)
  }

  private func token(_ place: Int, givenUs: Int64) -> String {
    "s\(place).\(epoch).\(expiries).\(givenUs)"
  }

  private func place(of token: String, in log: EntryLog) throws(ServerFailure) -> Int {
    let parts = token.dropFirst().split(separator: ".")
    guard parts.count == 4, let place = Int(parts[0]), let givenUs = Int64(parts[3]),
      token == self.token(place, givenUs: givenUs), (log.first...log.end).contains(place),
      knobs.tokenLifeUs == 0 || givenUs >= nowUs - knobs.tokenLifeUs
    else { throw ServerFailure("unknown_cursor", "this token is not known, or not any more") }
    return place
  }

  /// Forgets all tokens that were given.
  public func expireTokens() {
    expiries += 1
  }

  /// Takes the oldest entries of a log away, as a retention does, and their messages. Nobody is
  /// told.
  public func purgeLog(conversation: String, count: Int) {
    guard let state = conversations[conversation] else { return }
    let gone = state.log.purge(count)
    for id in gone { state.forget(id, knobs.ties) }
    onChange?(.purge(conversation, first: state.log.first, ids: gone))
  }

  /// The ids of all entries of a log, in its order.
  public func entryIDs(_ conversation: String) -> [String] {
    (conversations[conversation]?.log.entries ?? []).map(\.id)
  }

  // MARK: News

  /// Enters what has happened; gives the push that tells of it, or nil where it is no entry.
  func enter(_ news: News, in state: ConversationState) -> [UInt8]? {
    var made: [EntryLog.Entry] = []
    switch news {
    case .message(let row, let isNew, _):
      if isNew {
        made = [.init(id: row.message.id, sender: row.message.sender, bytes: row.rendered)]
      } else {
        made = [
          change("edit", row.message.id, row.message.sender) { out in
            out.raw(",\"payload\":\(row.message.payload)")
          }
        ]
      }
    case .deleted(_, let ids):
      made = ids.map { change("delete", $0, state.log.entry($0)?.sender ?? "server") }
    case .marked(let mark, _, let user, let ids, _):
      let word = mark == .read ? "read" : mark == .delivered ? "delivered" : "listened"
      made = ids.map { change(word, $0, user) }
    case .reacted(let message, let user):
      let names = message.reactions.filter { $0.users.contains(user) }.map(\.name)
      made = [change("reactions", message.id, user) { $0.texts("reactions", names) }]
    case .pinned(let message):
      made = [change(message.isPinned == true ? "pin" : "unpin", message.id, message.sender)]
    default: return nil
    }
    let place = state.log.end
    let previous = state.log.newest?.id
    for entry in made {
      onChange?(.entry(state.id, place: state.log.end, entry))
      state.log.append(entry)
    }
    var out = Writer(knobs)
    out.head("entries_new", state.id)
    if knobs.sendsPreviousEntries {
      if let previous { out.text("prev", previous) }
      out.text("before", token(place))
    }
    out.text("after", token(state.log.end))
    out.raw(",\"entries\":[")
    out.entries(made[...])
    out.raw("]}")
    return out.bytes
  }

  private func change(
    _ word: String, _ target: String, _ user: String, _ more: (inout Writer) -> Void = { _ in }
  ) -> EntryLog.Entry {
    // A number that is never given twice, not even after a restore.
    arrivals += 1
    let id = "x\(arrivals)"
    var out = Writer(knobs)
    out.raw("{")
    out.first("entry_id", id)
    out.text("change", word)
    out.text("target_id", target)
    out.text("sender_id", user)
    out.time("created_at", nowUs)
    more(&out)
    out.raw("}")
    return EntryLog.Entry(id: id, sender: user, bytes: out.bytes)
  }
}

extension Writer {
  mutating func entries(_ some: ArraySlice<EntryLog.Entry>) {
    for (index, entry) in some.enumerated() {
      if index > 0 { raw(",") }
      raw(entry.bytes)
    }
  }
}
