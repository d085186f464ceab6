/// A year that the device misses: others write, edit and delete old messages meanwhile, and when it
/// ends all that is here is older than what the host keeps.
internal import ReferenceServer

/// What was on the screen when the connection ended.
struct MissedYear {
  var isOver = false
  /// The number of the window, and its conversation.
  var screen: Int?
  var conversation = 0
  var ids: [[UInt8]] = []
}

extension World {
  /// In the midst of the chaos the connection is cut, and the device sleeps.
  func missYear(_ keeper: TidelineClient) throws {
    let yearUs = knobs.retention.yearUs
    guard yearUs > 0, !year.isOver, hostTurnsLeft <= knobs.hostTurns / 2, !killIsArmed,
      !diskFailureIsArmed, let index = present.first
    else { return }
    year.isOver = true
    try watch(index)
    try cut(outageUs: yearUs)
    trace.note(nowUs, "a year of \(yearUs / 1_000) ms is missed")
    let endUs = nowUs + yearUs - 1_000
    for month in 1...12 {
      moveTime(to: endUs - yearUs / 12 * Int64(12 - month))
      for index in present { passMonth(index) }
      // It wakes up at times, offline, and keeps its budget.
      if retentionDice.chance(0.3) { try pump() }
    }
    eyes.free()
    try pump()
    try keeper.hurry()
    while true {
      guard let isDone = try input({ try keeper.purgeStep() }) else { return }
      if isDone { break }
    }
    let room = try keeper.room()
    trace.note(nowUs, "after a year: \(room)")
    try lookAtScreens()
    try checkWatched(isAtRest: false)
  }

  /// A window at the newest messages, with the last ones of them on the screen.
  private func watch(_ index: Int) throws {
    guard let screen = try openScreen(index, at: .latest, rowsMax: 200_000) else { return }
    try look(at: screen)
    let count = screen.rows.suffix(12).prefix { !$0.row.isPending }.count
    let first = max(0, screen.rows.count - 12)
    guard count > 0, try input({ try screen.window.show(first, count) }) != nil else { return }
    try pump()
    screen.isWatched = true
    year.screen = screen.number
    year.conversation = index
    year.ids = screen.rows[first..<(first + count)].map(\.row.id)
  }

  private func passMonth(_ index: Int) {
    let watched = index == year.conversation ? Set(year.ids.map { Self.text($0) }) : []
    var gone: [String] = []
    for row in server.truth(conversations[index].name) {
      let isWatched = watched.contains(row.id)
      if retentionDice.chance(isWatched ? 0.06 : 0.01) { edit(row, in: index) }
      if retentionDice.chance(isWatched ? 0.01 : 0.005) { gone.append(row.id) }
    }
    remove(gone, in: index)
    for _ in 0..<(1 + retentionDice.below(8)) { post(index, lateUs: 0) }
  }

  /// What was on the screen is there as long as the server has it, in its own time with what it is
  /// now.
  func checkWatched(isAtRest: Bool) throws {
    guard let screen = screens.first(where: { $0.number == year.screen }),
      !conversations[year.conversation].isGone
    else { return }
    let known = known(year.conversation)
    for id in year.ids where known.row(id).map({ !$0.hidden }) ?? false {
      if ledger.everForgotten.contains(Self.text(id)) { continue }
      guard let row = screen.rows.first(where: { $0.row.id == id })?.row else {
        throw Violation(
          "window \(screen.number): \(Self.text(id)) was on the screen, and went while a year was "
            + "missed\n  \(Pictures.all(screen, self))")
      }
      guard isAtRest, !(knobs.poison && row.unverified),
        let message = server.message(conversations[year.conversation].name, Self.text(id))
      else { continue }
      // What this user did lies over it.
      let kept = Array(message.payload.utf8)
      if let mark = Ledger.mark(kept), ledger.posted[mark.serial].isOperated { continue }
      let shown = SimKeys.opened(row.payload)
      if shown != SimKeys.opened(kept) {
        throw Violation(
          "window \(screen.number): \(Self.text(id)) is on the screen as it was a year ago, "
            + "\(Self.text(shown)) for \(Self.text(SimKeys.opened(kept)))")
      }
    }
  }

  /// Back again, what is on the screen is as the server has it.
  func endYear() throws {
    guard let screen = screens.first(where: { $0.number == year.screen }),
      let first = screen.rows.firstIndex(where: { year.ids.contains($0.row.id) }),
      let last = screen.rows.lastIndex(where: { year.ids.contains($0.row.id) })
    else { return }
    _ = try screen.window.show(first, last - first + 1)
    try pump()
    try settle(screen, "after a year")
    try checkWatched(isAtRest: true)
    findings.years += 1
  }

  /// Each message that came is told, also one that went in the purge behind it.
  func checkTold() throws {
    guard knobs.retention.mirrors, !mirror.hasBegunAnew, !knobs.operations.isOn else { return }
    for posted in ledger.posted where posted.delivered > 0 && posted.conversation >= 0 {
      if posted.control || posted.isQuarantined || posted.isLongListed { continue }
      if ledger.deleted.contains(posted.id) || ledger.everForgotten.contains(posted.id) { continue }
      if mirror.messages[posted.conversation]?[RowKey(Array(posted.id.utf8))] == nil {
        throw Violation("the subscriber was never told of \(posted.id), which came")
      }
    }
  }
}
