/// A host that keeps a part only: it purges at any moment, mirrors the feed, and looks at what is
/// left.
internal import Base

extension World {
  /// One turn of the host's, in the worlds of retention.
  func retentionTurn() throws {
    guard knobs.retention.isOn, let keeper = client as? TidelineClient else { return }
    if !isKept {
      guard try input({ try keeper.keep(knobs.retention) }) != nil else { return }
      isKept = true
    }
    try missYear(keeper)
    if retentionDice.chance(knobs.retention.purgeShare) {
      try keeper.hurry()
      for _ in 0...retentionDice.below(4) {
        guard let isDone = try input({ try keeper.purgeStep() }) else { return }
        try lookAtBadges()
        try lookAtScreens()
        if isDone { break }
      }
      let room = try keeper.room()
      trace.note(nowUs, "host: purged, \(room)")
    }
    if retentionDice.chance(0.5) { try pullMirror(keeper) }
  }

  /// Before a frame may bring it again: what was purged has lost its place among those of its time.
  func forgetPurged() throws {
    guard knobs.retention.isOn, judgesOrderOnTheWay, let keeper = client as? TidelineClient else {
      return
    }
    let purged = try keeper.room().purged
    if purged == purgedSeen { return }
    purgedSeen = purged
    for index in conversations.indices {
      eyes.forget(besides: Set(try keeper.stored(conversations[index].bytes)), in: index)
    }
  }

  /// The subscriber reads what the feed tells, and the rows that it tells of.
  func pullMirror(_ keeper: TidelineClient) throws {
    guard knobs.retention.mirrors else { return }
    while true {
      guard let entries = try keeper.feed(after: mirror.seq) else {
        mirror.beginAnew(at: try keeper.lastChange())
        return
      }
      if entries.isEmpty { return }
      var rows: [UInt64: (conversation: Int, row: SimRow)] = [:]
      for index in conversations.indices {
        for row in try client.page(conversations[index].bytes, limit: 10_000).rows {
          rows[row.number] = (index, row)
        }
      }
      try mirror.take(entries, rows, of: conversations.map(\.bytes))
    }
  }

  /// Quiet: all that may go goes, what is left is judged as always, and then all is kept again.
  func endRetention() throws {
    guard knobs.retention.isOn, let keeper = client as? TidelineClient else { return }
    try pullMirror(keeper)
    // The subscriber says that it has done with all of it.
    try pullMirror(keeper)
    try checkTold()
    if isKept {
      try keeper.hurry()
      var steps = 0
      while try !keeper.purgeStep() {
        steps += 1
        if steps > 10_000 { throw Violation("a purge does not come to its end") }
      }
      let room = try keeper.room()
      let kept = knobs.retention.messages
      if kept > 0, room.messages > Int(kept), !room.isOver {
        throw Violation("\(room.messages) are left of \(kept), and nothing says so")
      }
      trace.note(nowUs, "the budget is kept: \(room)")
      for index in conversations.indices { try readAll(index) }
      try lookAtBadges()
      try lookAtScreens()
    }
    isKept = true
    keepsAll = true
    try keeper.keep(RetentionKnobs())
  }

  /// At rest, with all of it here again: the mirror has each message that is shown, as it is shown.
  func checkMirror() throws {
    guard knobs.retention.mirrors, let keeper = client as? TidelineClient else { return }
    try pullMirror(keeper)
    for index in present {
      let held = mirror.messages[index] ?? [:]
      for row in try client.page(conversations[index].bytes, limit: 10_000).rows {
        guard let known = held[RowKey(row.id)] else {
          throw Violation("the subscriber was never told of \(Self.text(row.id))")
        }
        if known.payload != row.payload || known.number != row.number {
          throw Violation("the subscriber was told of another \(Self.text(row.id))")
        }
      }
    }
  }
}
