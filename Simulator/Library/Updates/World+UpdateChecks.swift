/// What must be true of messages, events and things for what was told of them.
internal import ReferenceServer

extension World {
  /// The tokens of all events, in the order of the events.
  func eventMarks() throws -> [Int] {
    guard let events = try client.events(after: 0) else { return pushLog.tokens }
    return events.flatMap { Ledger.marks($0.body, 0x56).map(\.serial) }
  }

  /// Events exactly as told, in order and once each; things as told last.
  func checkThings() throws {
    guard let probe else { return }
    let tokens = try eventMarks()
    if tokens != pushLog.tokens {
      throw Violation("the events are \(tokens.suffix(6)), told were \(pushLog.tokens.suffix(6))")
    }
    if pushLog.isVague { return }
    let things = try probe.things()
    let keys = Set(things.keys).union(pushLog.things.keys).filter {
      things[$0] != pushLog.things[$0] && (things[$0] == nil || things[$0] != pushLog.others[$0])
    }
    guard let key = keys.min() else { return }
    throw Violation(
      "\(key) is \(Self.text(things[key] ?? [])), told was \(Self.text(pushLog.things[key] ?? []))")
  }

  func checkFacts() throws {
    for id in pushLog.facts.keys.sorted() { try checkFact(id) }
  }

  /// One message shows all that was told of it.
  func checkFact(_ id: String) throws {
    guard let probe, let fact = pushLog.facts[id], let serial = ledger.serial(ofID: id) else {
      return
    }
    let posted = ledger.posted[serial]
    let row = try probe.row(conversations[posted.conversation].bytes, Array(id.utf8))
    guard let row else {
      if fact.version == 0 || fact.isDeleted || posted.control || posted.isQuarantined { return }
      if ledger.deleted.contains(id) || ledger.everForgotten.contains(id) { return }
      throw Violation("\(id) was told and is not there")
    }
    if fact.isDeleted { throw Violation("\(id) was told to be deleted and is there") }
    // A page without it took it away with all that was told of it, and a late copy brings it back
    // until its deletion is told.
    if knobs.absenceIsDeletion, ledger.deleted.contains(id) { return }
    let version = Ledger.mark(row.payload)?.version ?? 0
    if version < fact.version {
      throw Violation("\(id) shows version \(version), told was \(fact.version)")
    }
    let reaction = Self.newestReaction(row)?.version ?? 0
    if reaction < fact.reaction {
      throw Violation("\(id) shows reactions \(reaction), told was \(fact.reaction)")
    }
    if fact.readers.contains(Self.me), row.unread {
      throw Violation("\(id) was read by this user elsewhere, and is unread")
    }
    try checkReceipts(id, "readers", row.marks.readBy, fact.readers)
    try checkReceipts(id, "receivers", row.marks.deliveredBy, fact.receivers)
    try checkReceipts(id, "listeners", row.marks.listenedBy, fact.listeners)
  }

  private func checkReceipts(
    _ id: String, _ what: String, _ json: [UInt8], _ told: Set<String>
  ) throws {
    let missing = told.subtracting(Self.quoted(json)).subtracting([Self.me])
    if let user = missing.sorted().first {
      throw Violation("\(id) lacks \(user) among its \(what)")
    }
  }

  static func quoted(_ json: [UInt8]) -> Set<String> {
    let parts = json.split(separator: 0x22, omittingEmptySubsequences: false)
    return Set(parts.enumerated().compactMap { $0 % 2 == 1 ? text(Array($1)) : nil })
  }

  // MARK: Live

  /// A conversation is live from the end of a sync of this connection on, where nothing is lost.
  func noteLive() throws {
    guard let asked = pushLog.asked else { return }
    guard asked.link == link.number, link.isUp else {
      pushLog.asked = nil
      return
    }
    guard try client.progress(asked.sync).outcome == .ok, try !client.state().busy else { return }
    pushLog.asked = nil
    // Where neither the answers nor the device tell the time, nothing may bear out the stamp of a
    // message that comes after a rest, or after a lone one: it is fetched for.
    guard knobs.sendsServerTime || knobs.wallSkewUs != nil else { return }
    // What is empty has no range that a push could extend: its first message is fetched for.
    let name = conversations[asked.conversation].bytes
    guard try !client.page(name, limit: 1).rows.isEmpty else { return }
    pushLog.liveLinks[asked.conversation] = link.number
  }

  /// What is pushed without loss is not fetched again.
  func judgeFetch(_ request: [UInt8]) throws {
    guard knobs.updates.isOn, !pushLog.liveLinks.isEmpty, Frames.type(request) == "get_messages",
      let name = Frames.string("conversation_id", request),
      let index = conversations.firstIndex(where: { $0.name == name }),
      pushLog.liveLinks[index] == link.number
    else { return }
    if syncs.contains(where: { $0.conversation == index })
      || screens.contains(where: { $0.conversation == index })
    {
      pushLog.liveLinks[index] = nil
      return
    }
    throw Violation(
      "c\(index) is live and nothing is lost, yet it is fetched: \(Self.text(request))")
  }

  // MARK: At rest

  /// All updates have come and were replied to: what is stored equals the server, though no page
  /// was asked for since.
  func checkReceivedAtRest() throws {
    guard knobs.updates.isOn, let probe else { return }
    if knobs.envelope {
      try until("updates are pending") {
        server.pendingRefs(user: Self.me, account: Self.account).isEmpty
      }
    }
    try checkFacts()
    guard knobs.envelope else { return }
    let tokens = try eventMarks()
    if Set(tokens) != Set(1..<(pushLog.tokensMade + 1)) || tokens.count != pushLog.tokensMade {
      throw Violation("at rest there are the events \(tokens), made were \(pushLog.tokensMade)")
    }
    for index in conversations.indices { try checkStored(index) }
    guard knobs.lossless, knobs.updates.things else { return }
    let things = try probe.things().filter { !$0.key.hasPrefix("profile/user") }
    let expected = thingsOfServer.filter { !$0.key.hasPrefix("profile/user") }
    // A conversation whose count the device asked for is known though no update told of it.
    let asked = conversations.map { "conversation/\($0.name)" }.filter { expected[$0] == nil }
    let wrong = Set(things.keys).subtracting(asked).symmetricDifference(expected.keys)
    if let key = wrong.min() { throw Violation("at rest \(key) is there on one side only") }
    for (key, text) in expected
    where Frames.find(Array(text.utf8), in: things[key] ?? [], from: 0) == nil {
      throw Violation("at rest \(key) is \(Self.text(things[key] ?? [])), not \(text)")
    }
  }

  private func checkStored(_ index: Int) throws {
    let name = conversations[index].name
    let page = try client.page(conversations[index].bytes, limit: 10_000)
    try checkShape(index, page)
    for row in page.rows {
      let id = Self.text(row.id)
      guard let message = server.message(name, id) else {
        throw Violation("at rest \(id) is shown, and deleted on the server")
      }
      if row.payload != Array(message.payload.utf8) {
        throw Violation("at rest \(id) has old content")
      }
      let reactions = Set(Ledger.marks(row.marks.reactions, 0x52).map(\.version))
      let expected = message.reactions.flatMap { Ledger.marks(Array($0.name.utf8), 0x52) }
      if reactions != Set(expected.map(\.version)) {
        throw Violation(
          "at rest \(id) has reactions \(reactions.sorted()), not \(expected.map(\.version))")
      }
      for (what, have, all) in [
        ("readers", row.marks.readBy, message.readBy),
        ("receivers", row.marks.deliveredBy, message.deliveredBy),
        ("listeners", row.marks.listenedBy, message.listenedBy),
      ] where Self.quoted(have).subtracting([Self.me]) != Set(all).subtracting([Self.me]) {
        throw Violation("at rest \(id) has \(what) \(Self.text(have)), not \(all)")
      }
      // Pins have no version: of two that came in another order the later one holds.
      if knobs.lossless, row.marks.pinned != (message.isPinned ?? false) {
        throw Violation("at rest \(id) is pinned \(row.marks.pinned)")
      }
    }
  }
}
