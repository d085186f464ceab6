/// The person at the screen: opens windows, scrolls, jumps, trims, and closes them again.
internal import Base

extension World {
  /// Most windows are small, so that rows have to leave them.
  private static let bounds = [100, 120, 300, 200_000]

  func screenTurn() throws {
    screenTurnsLeft -= 1
    if screenTurnsLeft <= 0 { return }
    let pause = Int64(screenDice.below(Int(knobs.screenPauseUs) * 2) + 1_000)
    queue.plan(at: nowUs + pause, .screenTurn)
    if screens.isEmpty || (screens.count < knobs.screens && screenDice.chance(0.2)) {
      try openScreen()
      return
    }
    let screen = screens[screenDice.below(screens.count)]
    if screen.isWatched { return }
    if screenDice.chance(0.05) {
      trace.note(nowUs, "host: close window \(screen.number)")
      screen.window.close()
      screens.removeAll { $0.number == screen.number }
      return
    }
    try act(on: screen)
  }

  @discardableResult
  func openScreen(
    _ conversation: Int? = nil, at chosen: SimPlace? = nil, rowsMax bound: Int? = nil
  ) throws -> Screen? {
    let conversation = conversation ?? screenDice.below(conversations.count)
    if conversations[conversation].isGone { return nil }
    let place = chosen ?? somePlace(conversation)
    let count = 1 + screenDice.below(60)
    let rowsMax = bound ?? Self.bounds[screenDice.below(Self.bounds.count)]
    let number = screensOpened
    screensOpened += 1
    trace.note(nowUs, "host: open window \(number) on c\(conversation) at \(Self.text(place))")
    let bytes = conversations[conversation].bytes
    let opened = try input {
      try client.openWindow(
        bytes, at: place, count: count, rowsMax: rowsMax, holdMs: Self.holdMs(number))
    }
    guard let opened, let window = opened else { return nil }
    findings.screens += 1
    let screen = Screen(
      number: number, conversation: conversation, place: place, window: window,
      holds: Self.holdMs(number) > 0, rowsMax: rowsMax)
    screens.append(screen)
    try pump()
    return screen
  }

  /// Every third window holds back splits that heal, as hosts do by default.
  private static func holdMs(_ number: Int) -> Int64 { number % 3 == 2 ? 1_000 : 0 }

  /// A place that a person may want to see: also one that is deleted, or never was.
  private func somePlace(_ conversation: Int) -> SimPlace {
    switch screenDice.below(20) {
    case 0..<9: return .latest
    case 9..<12: return .unread
    case 12..<17: return .message(someID(conversation))
    default: return .time(someTime(conversation))
    }
  }

  private func someID(_ conversation: Int) -> [UInt8] {
    let rows = truth(conversation)
    if screenDice.chance(0.1) || rows.isEmpty {
      let posted = ledger.posted.randomElement(using: &screenDice)
      return Array((posted?.id ?? "never").utf8)
    }
    return rows[screenDice.below(rows.count)].id
  }

  private func someTime(_ conversation: Int) -> Int64 {
    let rows = truth(conversation)
    guard let row = rows.randomElement(using: &screenDice) else { return server.nowUs }
    return row.timeUs + Int64(screenDice.below(3)) - 1
  }

  private func act(on screen: Screen) throws {
    let rows = screen.rows
    switch screenDice.below(100) {
    case 0..<30: try load(screen, someLoad(screen, older: true))
    case 30..<45: try load(screen, someLoad(screen, older: false))
    case 45..<52: try load(screen, .around(somePlace(screen.conversation)))
    case 52..<58: try load(screen, .last)
    case 58..<61: try load(screen, .initial)
    case 61..<68: try trimSome(screen)
    case 68..<83: try showSome(screen)
    case 83..<95: try fillSome(screen)
    default:
      guard let row = rows.randomElement(using: &screenDice) else { return }
      // One on its way is found by its client id, unless it has gone since the last poll.
      let bytes = conversations[screen.conversation].bytes
      if row.row.isPending, try probe?.row(bytes, row.row.id)?.number != row.row.number { return }
      if try screen.window.find(row.row.id).map({ rows[$0].row.id }) != row.row.id {
        throw Violation("\(Self.text(row.row.id)) is in window \(screen.number), yet not found")
      }
      if try screen.window.find(Array("never".utf8)) != nil {
        throw Violation("window \(screen.number) finds what never was")
      }
    }
  }

  private func someLoad(_ screen: Screen, older: Bool) -> SimLoad {
    let row = screenDice.chance(0.3) ? screen.rows.randomElement(using: &screenDice) : nil
    let number = row?.row.number ?? 0
    return older ? .before(number) : .after(number)
  }

  func load(_ screen: Screen, _ load: SimLoad, count: Int? = nil, past: Bool? = nil) throws {
    let count = count ?? 1 + screenDice.below(80)
    let past = past ?? screenDice.chance(0.2)
    screen.isAtRest = false
    let answer = try input { try screen.window.load(load, count: count, pastGaps: past) }
    guard let answer else { return }
    trace.note(
      nowUs, "host: window \(screen.number) loads \(Self.text(load)) \(count) \(past): \(answer)")
    screen.note(load)
    try pump()
  }

  private func trimSome(_ screen: Screen) throws {
    guard screen.rows.count > 1 else { return }
    let first = screenDice.below(screen.rows.count)
    let count = screenDice.below(screen.rows.count - first + 1)
    trace.note(nowUs, "host: window \(screen.number) keeps \(first)+\(count)")
    // Rows that come back are new ones, and so are the splits before them.
    screen.heldSinceUs = [:]
    // A load of the newest that has not come would bring back the first rows that leave.
    let isThere = try screen.window.state().atEnd
    if first + count < screen.rows.count || first > 0 && !isThere { screen.followsPresent = false }
    screen.isAtRest = false
    guard try input({ try screen.window.trim(first, count) }) != nil else { return }
    try pump()
  }

  private func showSome(_ screen: Screen) throws {
    let count = min(screen.rows.count, screenDice.below(20))
    let first = screenDice.below(screen.rows.count - count + 1)
    // Rows that are too many leave far from what is shown, also the newest.
    screen.followsPresent = false
    trace.note(nowUs, "host: window \(screen.number) shows \(first)+\(count)")
    screen.isAtRest = false
    guard try input({ try screen.window.show(first, count) }) != nil else { return }
    try pump()
  }

  private func fillSome(_ screen: Screen) throws {
    let splits = screen.rows.indices.filter { screen.rows[$0].gapBefore } + [screen.rows.count]
    try fill(screen, splits[screenDice.below(splits.count)])
  }

  func fill(_ screen: Screen, _ row: Int) throws {
    screen.followsPresent = false
    screen.fills = true
    screen.isAtRest = false
    guard let answer = try input({ try screen.window.fill(row) }) else { return }
    trace.note(nowUs, "host: window \(screen.number) fills before \(row): \(answer)")
    try pump()
  }

  /// Looks at all windows after a step: most are polled, and each poll is judged.
  func lookAtScreens() throws {
    if screens.isEmpty { return }
    for screen in screens where isQuiet || knobs.looksAlways || screenDice.chance(0.7) {
      try look(at: screen)
      if !screens.contains(where: { $0.number == screen.number }) { return }
    }
    // A poll may have asked for something.
    try pump()
  }

  @discardableResult
  func look(at screen: Screen) throws -> Bool {
    let before = screen.rows
    do {
      let changed = try screen.poll()
      if changed { trace.note(nowUs, "window \(screen.number): \(Pictures.screen(screen, self))") }
      trace.mix(screen.version)
      if changed, screenDice.chance(0.2) {
        // What was there in between, and sent away what is too much, is not seen here.
        screen.isAtRest = false
        try pollUntilNothing(screen)
      }
      if changed || screenDice.chance(0.05) { try judge(screen) }
      try judgeStay(screen, before, changed: changed)
      try judgeHealing(screen)
      try judgeHold(screen)
      return changed
    } catch let violation as Violation {
      throw Violation(
        "window \(screen.number): \(violation.text)\n  \(Pictures.all(screen, self))"
          + "\n  before  \(Pictures.rows(before, screen.conversation, self))")
    }
  }

  /// A host that polls for as long as it is told of changes comes to an end: what is asked for
  /// may end at once, but nothing moves by itself.
  private func pollUntilNothing(_ screen: Screen) throws {
    var polls = 0
    while try screen.poll() {
      polls += 1
      if polls == 8 { throw Violation("it is polled again and again, and always tells of changes") }
    }
  }

  func closeScreens() {
    for screen in screens { screen.window.close() }
    screens = []
  }

  static func text(_ place: SimPlace) -> String {
    switch place {
    case .latest: "the latest"
    case .unread: "the first unread"
    case .message(let id): text(id)
    case .time(let us): "time \(us)"
    }
  }

  private static func text(_ load: SimLoad) -> String {
    switch load {
    case .around(let place): "around \(text(place))"
    default: "\(load)"
    }
  }
}
