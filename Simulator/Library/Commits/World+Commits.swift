/// A commit that fails: the device goes on, or another process opens its file, and both are told
/// the same from then on.

extension World {
  /// An input in whose course a commit may fail: the world then calms down. Nil where the call
  /// failed with it, or the process ended.
  @inline(never)
  func inputBeside<Result>(
    _ plan: CommitPlan, _ body: () throws -> Result
  ) throws -> Result? {
    let result: Result?
    do {
      result = try body()
    } catch {
      guard plan.hasFailed, client.isDiskTrouble(error) else { throw error }
      result = nil
    }
    guard plan.hasFailed else { return result }
    plan.isOver = true
    try afterFailedCommit(plan)
    return knobs.afterFailure == .live ? result : nil
  }

  private func afterFailedCommit(_ plan: CommitPlan) throws {
    trace.note(nowUs, "commit \(plan.begun) failed")
    findings.commitsFailed += 1
    hostTurnsLeft = 0
    if let frame = pushLog.inHand {
      pushLog.doubt(frame)
      pushLog.isVague = true
    }
    if plan.linesSeen < 50 { throw Violation("nothing is seen of the process") }
    if !plan.leaks.isEmpty {
      throw Violation(
        "a transaction that failed has changed memory: "
          + plan.leaks.prefix(12).joined(separator: "\n    "))
    }
    isQuiet = true
    switch knobs.afterFailure {
    case .reopened:
      try kill(expecting: [images()])
    case .live:
      // What the host asked for, and what it looks at, goes with another process, too.
      closeScreens()
      for sync in syncs { try client.cancel(sync.number) }
      syncs = []
      try cut(outageUs: 0)
    }
  }

  /// How the lines begin that count only where both engines have them.
  static let exactness = "exact of c"

  /// What is shown at rest, by conversation: all that two engines have to agree on. What only those
  /// know whom a page has told, as marks and edits, is not among it, nor what depends on when a
  /// device sent something.
  func picture() throws -> [String] {
    var lines: [String] = []
    // A stamp ahead proves the present to the engine that saw it come, and to no other.
    let isCertain = !knobs.poison && !knobs.strangers.stampsAhead
    for (index, page) in try images().enumerated() {
      // Beyond the horizon only who has looked knows what is deleted.
      if knobs.horizonUs > 0 { continue }
      var rows: [String] = []
      // What a server has done for this user, and when, may differ by then.
      for row in knobs.operations.isOn ? page.pending : page.rows + page.pending {
        var line = "c\(index): message \(mark(row)?.serial ?? -1)"
        if !knobs.operations.isOn {
          line += " \(Self.text(row.id)) at \(row.timeUs), \(row.order)"
          if isCertain { line += ", unverified \(row.unverified)" }
          if !knobs.autoMarkRead, !knobs.otherReceipts, !knobs.otherDeviceReads {
            line += " \(row.unread)"
          }
          if !knobs.edits { line += " \(Self.text(row.payload))" }
        }
        rows.append("\(line), pending \(row.isPending), sealed \(row.isSealed)")
      }
      lines += knobs.operations.isOn || knobs.ordersByPages ? rows.sorted() : rows
      if knobs.operations.isOn || knobs.poison { continue }
      if isCertain {
        lines.append("c\(index): start \(page.reachesStart), gaps \(page.gapsBefore)")
      }
      if knobs.autoMarkRead || knobs.otherReceipts || knobs.otherDeviceReads { continue }
      if let badge = try probe?.badge(conversations[index].bytes) {
        lines.append("c\(index): unread \(badge.unread)")
        // Who has asked for a count, and on which connection, only one of them may have.
        if !eyes.hasCounts { lines.append("\(Self.exactness)\(index): \(badge.isExact)") }
      }
    }
    for one in try probe?.allOperations() ?? [] where one.standing != .done {
      lines.append("\(one.verb): \(one.standing) \(one.waiting)")
    }
    return lines
  }
}
