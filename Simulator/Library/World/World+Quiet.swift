/// The end of a world: all faults off, everything synced, and the exact checks.

extension World {
  func finish() throws {
    try settleDown()
    guard client.claimsCoverage else {
      try measureControl()
      return
    }
    try endYear()
    try endRetention()
    try settleOperations()
    try checkReceivedAtRest()
    if knobs.screens > 0 { try finishScreens() }
    for index in present { try syncUntilGood(index) }
    if findings.restores > 0 {
      // One answer takes nothing away: a restore is believed a minute later, by a second one.
      try pass(61_000_000)
      try untilIdle("a second look")
      for index in present { try syncUntilGood(index) }
    }
    try settleReads()
    for index in present { try checkLatest(index) }
    for index in present { try fetchAll(index) }
    try settleReads()
    if knobs.screens > 0 {
      for index in present { try fillByScreen(index) }
    }
    try checkUpdates()
    for index in present { try checkExact(index) }
    try checkNews()
    try checkMarks()
    try checkMirror()
    try checkActsAtRest()
    closeScreens()
    if knobs.usesFile { try kill(expecting: [images()]) }
    let before = findings.requests
    for index in present { try syncUntilGood(index) }
    findings.reopenRequests = findings.requests - before
    try untilIdle("a start")
    for index in present { try checkExact(index) }
    try ensureConsistent()
  }

  /// No check of the file calls a sound one damaged.
  private func ensureConsistent() throws {
    let found = try client.contradictions()
    if found > 0 { throw Violation("\(found) rows contradict others") }
  }

  /// Faults off, a new connection, and late commits land.
  private func settleDown() throws {
    trace.note(nowUs, "quiet")
    isQuiet = true
    if killIsArmed {
      killIsArmed = false
      try kill(expecting: [images()])
    }
    diskFailureIsArmed = false
    client.mendDisk()
    try cut(outageUs: 0)
    try pass(12_000_000)
    // What landed late is heard of by those who connect now.
    if knobs.screens > 0 || knobs.envelope { try cut(outageUs: 0) }
    try untilIdle("after the chaos")
  }

  /// Lets the world run for a while.
  func pass(_ us: Int64) throws {
    let end = nowUs + us
    queue.plan(at: end, .clockTick)
    while nowUs < end {
      guard try step() else { break }
    }
  }

  /// Runs until `done`, at most ten minutes of virtual time.
  func until(_ what: String, _ done: () throws -> Bool) throws {
    let end = nowUs + 600_000_000
    var steps = 0
    while try !done() {
      steps += 1
      guard try step() else {
        throw Violation("the client waits for nothing: \(what), \(try client.state())")
      }
      guard nowUs < end, steps < 20_000 else {
        throw Violation("quiet, yet it does not come to an end: \(what)")
      }
    }
  }

  private func untilIdle(_ what: String) throws {
    try until(what) { try link.isUp && !isBusy() }
    try lookAtSyncs()
  }

  private func settleReads() throws {
    try until("reading is not confirmed") { try client.state().readsPending == 0 }
    try untilIdle("reads")
  }

  /// Runs one sync to its end and says how it went.
  func runSync(_ conversation: Int, older want: Int?) throws -> SimProgress {
    guard let number = try startSync(conversation, older: want) else {
      throw Violation("a kill in quiet")
    }
    try until("sync \(number)") { try client.progress(number).outcome != .pending }
    let progress = try client.progress(number)
    try lookAtSyncs()
    trace.note(nowUs, "sync \(number): \(progress.outcome), \(progress.requests) requests")
    let bound = requestBound(conversation)
    if progress.requests > bound {
      throw Violation("a quiet sync took \(progress.requests) requests, bound \(bound)")
    }
    return progress
  }

  /// More than any sensible walk needs; a livelock goes beyond it.
  private func requestBound(_ conversation: Int) -> Int {
    let rows = server.visibleCount(conversations[conversation].name)
    let page = min(knobs.pageCap, knobs.pageLimit)
    return 40 + 12 * rows / max(1, knobs.pageSizesVary ? page / 4 : page)
  }

  private func syncUntilGood(_ conversation: Int) throws {
    var last = SimOutcome.pending
    for _ in 0..<8 {
      last = try runSync(conversation, older: nil).outcome
      if last == .ok { return }
      try pass(3_000_000)
    }
    throw Violation("eight quiet syncs of c\(conversation) did not end well: \(last)")
  }

  private func fetchAll(_ conversation: Int) throws {
    let bytes = conversations[conversation].bytes
    var last = SimOutcome.pending
    for round in 0..<30 {
      if round == 10, findings.restores > 0 {
        // What only the way down has shown is believed by a second look as well.
        try pass(61_000_000)
        try untilIdle("a second look further down")
      }
      let page = try client.page(bytes, limit: 10_000)
      let ordinary = ordinaryCount(page)
      let whole =
        fillableGaps(conversation, page).allSatisfy {
          $0 >= ordinary && ordinary < page.rows.count
        }
        && (knobs.horizonUs > 0 || knobs.poison
          || !page.rows.prefix(ordinary).contains(where: \.unverified))
      // What stands below a stamp ahead may all have been erased on this device.
      let startsAhead =
        ordinary == 0 && !page.rows.isEmpty
        && truth(conversation).allSatisfy { $0.hidden || $0.timeUs > server.nowUs }
      let reachesStart =
        page.reachesStart || startsAhead || isQuarantined(conversation, nil, page.rows.first)
        // A message that was deleted beyond the horizon makes a difference to the count.
        || knobs.horizonUs > 0 && page.gapsBefore.isEmpty && page.rows.contains(where: \.unverified)
      if reachesStart, whole { return }
      last = try runSync(conversation, older: 100_000).outcome
    }
    let page = try client.page(bytes, limit: 10_000)
    throw Violation(
      "the start of c\(conversation) is not reached: \(last), \(page.rows.count) rows, gaps "
        + "\(page.gapsBefore), to be filled \(fillableGaps(conversation, page)), start "
        + "\(page.reachesStart)")
  }

  // MARK: The control

  /// The control makes no claims, so what it lacks is counted: messages newer than its oldest.
  private func measureControl() throws {
    for index in conversations.indices {
      for _ in 0..<3 { _ = try runControl(index, older: nil) }
      let rows = truth(index).filter { !$0.hidden }
      let page = try client.page(conversations[index].bytes, limit: 10_000)
      guard let oldest = page.rows.min(by: { $0.timeUs < $1.timeUs }) else { continue }
      let have = Set(page.rows.map(\.id))
      let alive = Set(rows.map(\.id))
      let lost = rows.filter { $0.timeUs > oldest.timeUs && !have.contains($0.id) }
      let zombies = page.rows.filter {
        !alive.contains($0.id) && !ledger.forgotten.contains(Self.text($0.id))
      }
      findings.lost += lost.count
      findings.zombies += zombies.count
    }
    if findings.lost + findings.zombies > 0 {
      throw Violation("lost \(findings.lost) messages, shows \(findings.zombies) deleted ones")
    }
  }

  private func runControl(_ conversation: Int, older want: Int?) throws -> SimOutcome {
    guard let number = try startSync(conversation, older: want) else { return .pending }
    try until("sync \(number)") { try client.progress(number).outcome != .pending }
    return try client.progress(number).outcome
  }
}
