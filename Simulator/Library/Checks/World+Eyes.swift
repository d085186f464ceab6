/// What a person sees between two answers: order, rows that stay, badges with a cause.
internal import ReferenceServer

extension World {
  // MARK: Order

  /// Notes which messages a page has shown, where the page itself tells its older end: it holds
  /// two times.
  func notePage(_ bytes: [UInt8]) {
    let answer = Frames.answer(bytes)
    guard judgesOrderOnTheWay, Frames.type(answer) == "get_messages" else { return }
    var rows: [(conversation: Int, row: Truth)] = []
    for id in Frames.all("message_id", answer) {
      guard let serial = ledger.serial(ofID: id) else { continue }
      let conversation = ledger.posted[serial].conversation
      guard conversations.indices.contains(conversation),
        let row = known(conversation).row(Array(id.utf8))
      else { continue }
      rows.append((conversation, row))
    }
    guard let first = rows.first, rows.contains(where: { $0.row.order != first.row.order })
    else { return }
    for (conversation, row) in rows { eyes.show(row.id, at: row.order, in: conversation) }
  }

  /// A server that contradicts itself teaches no order; a restored one may have another.
  var judgesOrderOnTheWay: Bool {
    client.claimsCoverage && knobs.ordersByPages && !knobs.contradictions && !knobs.updates.isOn
      && findings.restores == 0
  }

  /// Messages of one time that pages have shown stand as the server lists them. A walk through more
  /// of them than half a page holds may meet their ends before what lies between.
  func checkOrderShown(_ conversation: Int, _ rows: some Sequence<SimRow>) throws {
    guard judgesOrderOnTheWay, let shown = eyes.shown[conversation] else { return }
    let known = known(conversation)
    var last: (row: SimRow, place: Int)?
    for row in rows {
      guard shown[row.order]?.contains(RowKey(row.id)) == true, let place = known.place(row.id)
      else { continue }
      if let last, last.row.order == row.order, last.place > place, isSmall(row.order, in: known) {
        throw Violation(
          "pages have shown \(Self.text(row.id)) before \(Self.text(last.row.id)), and it stands "
            + "behind")
      }
      last = (row, place)
    }
  }

  private func isSmall(_ order: Int64, in known: KnownTruth) -> Bool {
    known.rows.count { $0.order == order } < knobs.pageSize / 2
  }

  // MARK: Badges

  /// Notes what a frame that the device took may do to the counts.
  func noteCauses(_ bytes: [UInt8]) {
    eyes.noteCounts(bytes)
    guard knobs.looksAtBadges else { return }
    noteStaleCounts(bytes)
    guard let told = Told(bytes), told.things.isEmpty, !Frames.hasLongList(bytes) else {
      eyes.free()
      return
    }
    for mark in told.contents where mark.serial < ledger.posted.count {
      let posted = ledger.posted[mark.serial]
      if posted.mine { continue }
      eyes.rise(posted.conversation)
      // A copy may say that this user has read it elsewhere.
      if Frames.find(Array("\"\(Self.me)\"".utf8), in: bytes, from: 0) != nil {
        eyes.fall(posted.conversation)
      }
    }
    for id in told.deleted { noteFall(id) }
    for receipt in told.receipts where receipt.user == Self.me { noteFall(receipt.id) }
  }

  private func noteStaleCounts(_ bytes: [UInt8]) {
    guard Frames.type(bytes) == "update", let count = Frames.number("unread_count", bytes) else {
      return
    }
    // An update of a conversation tells one.
    for name in Frames.all("conversation_id", bytes).prefix(1) {
      guard let index = conversations.firstIndex(where: { $0.name == name }) else { continue }
      eyes.noteCount(count, server: server.unread(name, of: Self.me).count, in: index)
    }
  }

  private func noteFall(_ id: String) {
    guard let serial = ledger.serial(ofID: id) else { return eyes.free() }
    eyes.fall(ledger.posted[serial].conversation)
  }

  /// Looks at the counts of all conversations after an input. A count changes for a cause only.
  func lookAtBadges() throws {
    guard knobs.looksAtBadges, let probe else { return }
    let losses = findings.kills + findings.powerCuts + findings.diskFailures + findings.restores
    if losses != eyes.losses { eyes.free() }
    eyes.losses = losses
    for index in conversations.indices {
      let badge = try probe.badge(conversations[index].bytes)
      let before = eyes.badges[index]
      eyes.badges[index] = badge
      guard let badge, !conversations[index].isGone else { continue }
      if badge != before || eyes.looks % 16 == 0 { try checkBadge(index, badge) }
      guard let before, !eyes.isFree, before.unread != badge.unread else { continue }
      let cause = eyes.causes[index] ?? Eyes.Cause()
      if eyes.isForeseen(badge.unread, after: before.unread, for: cause, in: index) { continue }
      let difference = try unreadDifference(index)
      throw Violation(
        "the badge of c\(index) goes from \(before) to \(badge), and \(cause) was told; "
          + difference)
    }
    eyes.endLook()
  }

  private func unreadDifference(_ conversation: Int) throws -> String {
    let page = try client.page(conversations[conversation].bytes, limit: 10_000)
    let here = Set(page.rows.filter(\.unread).map { Self.text($0.id) })
    let there = server.unread(conversations[conversation].name, of: Self.me)
    return "unread here \(here.count), only here \(here.subtracting(there).sorted()), only on the "
      + "server \(Set(there).subtracting(here).sorted())"
  }

  /// What is stored and unread is counted. Nothing else is, where the server has told no count:
  /// one that it tells holds also what is not shown, and what the device has not heard of yet.
  private func checkBadge(_ conversation: Int, _ badge: Eyes.Badge) throws {
    // What another device has read, what a restore took back and what a marker did that the user
    // took back may be known to the count alone.
    guard !knobs.otherDeviceReads, findings.restores == 0 else { return }
    // A count that is pushed twice, or late, may be one from before.
    let isOrdered = knobs.duplicateShare == 0 && !knobs.reorders
    guard isOrdered || !eyes.hasCounts else { return }
    let page = try client.page(conversations[conversation].bytes, limit: 10_000)
    let stored = page.rows.count(where: \.unread)
    // What the device has forgotten that it read, and what stands elsewhere in an order that no
    // page has told it, the server knows as read.
    let there = server.unread(conversations[conversation].name, of: Self.me)
    let both = page.rows.count { $0.unread && there.contains(Self.text($0.id)) }
    // A number that is not exact is the one that was told last, and says nothing of rows.
    guard badge.isExact else { return }
    if badge.unread < both || !eyes.hasCounts && badge.unread != stored {
      throw Violation(
        "the badge of c\(conversation) is \(badge), and \(stored) stored messages are unread")
    }
  }

  // MARK: Windows

  /// A window that rests shows what it showed, but for what left the server.
  func judgeStay(_ screen: Screen, _ before: [SimWindowRow], changed: Bool) throws {
    let state = try screen.window.state()
    defer {
      if !changed, state.isIdle { screen.isAtRest = true }
      screen.wasAtEnd = state.atEnd
    }
    guard screen.isAtRest, findings.restores == 0, !conversations[screen.conversation].wasLeft
    else { return }
    guard changed else { return }
    let now = Set(screen.rows.map(\.row.number))
    // Rows that find no room leave far from the user.
    if screen.rowsMax < 1_000 { return }
    if screen.wasAtEnd, !state.atEnd, !screen.rows.isEmpty {
      throw Violation("it followed the present, and nobody has scrolled")
    }
    let known = known(screen.conversation)
    for row in before where !now.contains(row.row.number) && !row.row.isPending {
      guard let there = known.row(row.row.id), !there.hidden else { continue }
      if knobs.operations.isOn, ledger.posted[there.serial].isOperated { continue }
      throw Violation("\(Self.text(row.row.id)) goes away, and nobody has deleted it")
    }
  }

  /// What is said to heal heals by a request, and what is held back is drawn when its time is up.
  func judgeHealing(_ screen: Screen) throws {
    guard screen.rows.contains(where: { $0.gapBefore && $0.healing }) else { return }
    if try link.isUp && client.state().busy { return }
    // What the poll itself found to be of no use any more it has dropped; the next one tells.
    if try link.isUp && screen.poll() {
      trace.note(nowUs, "window \(screen.number): \(Pictures.screen(screen, self))")
    }
    if let row = screen.rows.first(where: { $0.gapBefore && $0.healing }) {
      throw Violation("the split before \(Self.text(row.row.id)) heals, and nothing is asked for")
    }
  }

  func judgeHold(_ screen: Screen) throws {
    let held = try screen.window.state().splits > screen.rows.count(where: \.gapBefore)
    guard screen.holds, held else {
      screen.heldSinceUs = [:]
      return
    }
    let page = try client.page(conversations[screen.conversation].bytes, limit: 10_000)
    let gaps = Set(page.gapsBefore.filter { $0 < page.rows.count }.map { page.rows[$0].number })
    var since: [UInt64: Int64] = [:]
    for (before, row) in zip(screen.rows, screen.rows.dropFirst())
    where !row.gapBefore && gaps.contains(row.row.number) {
      // The first of several in a row stands for all of them.
      if before.gapBefore || gaps.contains(before.row.number) { continue }
      let from = screen.heldSinceUs[row.row.number] ?? nowUs
      since[row.row.number] = from
      // A second from when it is checked, which steady messages are every three seconds.
      if nowUs - from > 4_100_000 {
        throw Violation(
          "the split before \(Self.text(row.row.id)) is held back for \((nowUs - from) / 1_000) ms")
      }
    }
    screen.heldSinceUs = since
  }
}
