/// Windows on a log: they scroll, follow, jump; after each input they are polled and judged.
internal import Base

/// A window, and what was on it at the last look.
struct LogScreen {
  let screen: Screen
  /// The user has touched it since the last look, or asked for something.
  var isFree = true
  var ids: [[UInt8]] = []
}

extension LogWorld {
  func screenTurn(_ device: LogDevice) throws {
    if device.screens.isEmpty || device.screens.count < knobs.screens && device.dice.chance(0.2) {
      return try openScreen(device, somePlace(device))
    }
    let index = device.dice.below(device.screens.count)
    let screen = device.screens[index].screen
    device.screens[index].isFree = true
    switch device.dice.below(100) {
    case 0..<5:
      screen.window.close()
      device.screens.remove(at: index)
      return
    case 5..<40: try load(device, screen, .before(someNumber(device, screen)))
    case 40..<60: try load(device, screen, .after(someNumber(device, screen)))
    case 60..<67: try load(device, screen, .around(somePlace(device)))
    case 67..<75: try load(device, screen, .last)
    case 75..<85 where !screen.rows.isEmpty:
      let row = device.dice.below(screen.rows.count)
      trace.note(nowUs, "d\(device.number) window \(screen.number) fills before \(row)")
      guard try input(device, { try screen.window.fill(row) }) != nil else { return }
    case 85..<93 where !screen.rows.isEmpty:
      let first = device.dice.below(screen.rows.count)
      let count = 1 + device.dice.below(screen.rows.count - first)
      guard try input(device, { try screen.window.show(first, count) }) != nil else { return }
    case 93..<100 where screen.rows.count > 3:
      let first = device.dice.below(screen.rows.count / 2)
      let count = 1 + device.dice.below(screen.rows.count - first)
      trace.note(nowUs, "d\(device.number) window \(screen.number) keeps \(first)+\(count)")
      guard try input(device, { try screen.window.trim(first, count) }) != nil else { return }
    default: break
    }
    try pump(device)
    try look(device)
  }

  private func someNumber(_ device: LogDevice, _ screen: Screen) -> UInt64 {
    guard device.dice.chance(0.3) else { return 0 }
    return screen.rows.randomElement(using: &device.dice)?.row.number ?? 0
  }

  private func somePlace(_ device: LogDevice) -> SimPlace {
    switch device.dice.below(10) {
    case 0..<5: .latest
    case 5: .unread
    case 6..<9: .message(Array(someID(device).utf8))
    default: .time(serverUs - Int64(device.dice.below(3_600_000)) * 1_000)
    }
  }

  func openScreen(_ device: LogDevice, _ place: SimPlace, count: Int? = nil) throws {
    let count = count ?? 1 + device.dice.below(40)
    let number = device.screensOpened
    device.screensOpened += 1
    trace.note(
      nowUs, "d\(device.number) host: window \(number) of \(count) at \(World.text(place))")
    let opened = try input(device) {
      try device.client.openWindow(
        Self.room, at: place, count: count, rowsMax: 200_000, holdMs: 0)
    }
    guard let opened, let window = opened else { return }
    findings.screens += 1
    device.screens.append(
      LogScreen(
        screen: Screen(
          number: number, conversation: 0, place: place, window: window, holds: false,
          rowsMax: 200_000)))
    try pump(device)
    try look(device)
  }

  func load(
    _ device: LogDevice, _ screen: Screen, _ load: SimLoad, count: Int? = nil
  ) throws {
    let count = count ?? 1 + device.dice.below(40)
    trace.note(nowUs, "d\(device.number) window \(screen.number) loads \(load) \(count)")
    screen.note(load)
    let past = !isQuiet && device.dice.chance(0.2)
    guard try input(device, { try screen.window.load(load, count: count, pastGaps: past) }) != nil
    else { return }
    try pump(device)
  }

  // MARK: Looking

  /// Polls all windows of a device, and judges what they show.
  func look(_ device: LogDevice) throws {
    for index in device.screens.indices {
      guard device.screens.indices.contains(index) else { return }
      let screen = device.screens[index].screen
      // A poll may ask for what is to come, or hear of what came meanwhile.
      var polls = 0
      while try screen.poll() {
        try judge(device, index, isLast: false)
        try pump(device)
        polls += 1
        if polls > 20 { throw Violation("window \(screen.number) changes without end") }
        guard device.screens.indices.contains(index) else { return }
      }
      if polls > 0 { try judge(device, index, isLast: true) }
    }
  }

  private func judge(_ device: LogDevice, _ index: Int, isLast: Bool) throws {
    let screen = device.screens[index].screen
    let rows = screen.rows
    for row in rows { trace.mix(row.row.number) }
    let name = "d\(device.number) window \(screen.number)"
    let sent = rows.prefix { !$0.row.isPending }
    guard rows[sent.count...].allSatisfy(\.row.isPending) else {
      throw Violation("\(name): what is confirmed stands behind what is pending")
    }
    guard Set(rows.map { RowKey($0.row.id) }).count == rows.count else {
      throw Violation("\(name) shows a row twice: \(Self.picture(screen))")
    }
    // What was there stays, but for what the server has no more or the user has set away.
    let ids = sent.map(\.row.id)
    if !device.screens[index].isFree, !device.mayDrop {
      let now = Set(ids.map { RowKey($0) })
      if let gone = device.screens[index].ids.first(where: {
        guard !now.contains(RowKey($0)), let entry = room.entry(World.text($0)) else {
          return false
        }
        return !isOwn(device, entry)
      }) {
        let stored = try image(device)
        throw Violation(
          "\(name): \(World.text(gone)) has vanished: \(Self.picture(screen))\n  stored "
            + Self.picture(stored))
      }
    }
    device.screens[index].ids = ids
    device.screens[index].isFree = false
    let state = try screen.window.state()
    guard state.version == screen.version, state.rowCount == rows.count else {
      throw Violation("\(name): the state is of another list")
    }
    let gaps = rows.indices.filter { rows[$0].gapBefore }
    if state.splits != gaps.count {
      throw Violation("\(name) counts \(state.splits) splits and draws \(gaps.count)")
    }
    if device.dice.chance(isQuiet ? 0.5 : 0.15) { try screen.compareWithWindow() }
    let page = SimPage(
      rows: sent.map(\.row), pending: rows[sent.count...].map(\.row),
      gapsBefore: gaps.filter { $0 <= sent.count }
        + (state.atEnd && !state.gapAfter ? [] : [sent.count]),
      reachesStart: state.atStart)
    try checkClaims(device, page, name, isLast: isLast)
  }

  static func picture(_ screen: Screen) -> String {
    screen.rows.map { ($0.gapBefore ? "|" : "") + World.text($0.row.id) }
      .joined(separator: " ")
  }
}
