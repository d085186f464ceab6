/// The end of a log's world: all faults off, everything read, and the exact checks.
internal import Base

extension LogWorld {
  func finish() throws {
    trace.note(nowUs, "quiet")
    isQuiet = true
    room.isSettled = true
    for device in devices where device.killIsArmed {
      device.killIsArmed = false
      try kill(device, expecting: [image(device)])
    }
    for device in devices { try cut(device, 0) }
    for device in devices { try until("after the chaos") { try isIdle(device) } }
    guard devices[0].client.claimsCoverage else { return try measure() }
    for device in devices { try settleActs(device) }
    for device in devices { try readAll(device) }
    for device in devices { try finishScreens(device) }
    for device in devices { try catchUp(device) }
    for device in devices { try checkNews(device) }
    try loseTail()
    try readAfresh()
    for device in devices.prefix(knobs.devices) {
      let found = try device.client.contradictions()
      if found > 0 { throw Violation("\(found) rows contradict others") }
      if knobs.usesFile {
        try kill(device, expecting: [image(device)])
        try until("after a kill") { try isIdle(device) }
        try wellSync(device, .latest)
        try checkExact(device)
      }
    }
  }

  /// How many entries a page holds, at most.
  private var pageSize: Int { max(1, min(knobs.pageLimit, knobs.room.cap)) }

  private func pages(_ count: Int) -> Int { max(1, (count + pageSize - 1) / pageSize) }

  private func isIdle(_ device: LogDevice) throws -> Bool {
    try device.isUp && !device.client.state().busy
      && device.screens.allSatisfy { try $0.screen.window.state().isIdle }
  }

  /// Runs until `done`, at most ten minutes of virtual time.
  func until(_ what: String, _ done: () throws -> Bool) throws {
    let end = nowUs + 600_000_000
    var steps = 0
    while true {
      for device in devices {
        try look(device)
        try pump(device)
      }
      if try done() { return }
      steps += 1
      guard try step() else { throw Violation("a client waits for nothing: \(what)") }
      guard nowUs < end, steps < 20_000 else {
        throw Violation("quiet, yet it does not come to an end: \(what)")
      }
    }
  }

  private func pass(_ us: Int64) throws {
    let end = nowUs + us
    plan(at: end, .moment)
    while nowUs < end { guard try step() else { break } }
  }

  /// Runs one sync to its end; how many requests it took.
  @discardableResult
  private func wellSync(
    _ device: LogDevice, _ asked: LogAsked, mayStop: Bool = false
  ) throws -> Int {
    let before = device.requests
    // What a restore has put in doubt is read again, at most 64 entries by a sync.
    var more = knobs.restores && asked == .latest ? room.log.count / 64 : 0
    guard var number = try sync(device, asked) else { throw Violation("a kill in quiet") }
    while true {
      try until("sync \(asked)") { try device.client.progress(number).outcome != .pending }
      let progress = try device.client.progress(number)
      guard case .failed(let why) = progress.outcome else { break }
      if mayStop, why == "incomplete" { break }
      guard why == "incomplete", more > 0, let next = try sync(device, asked) else {
        throw Violation("d\(device.number): sync \(asked) ended with \(why)")
      }
      more -= 1
      device.syncs.removeAll { $0 == number }
      number = next
    }
    try until("after sync \(asked)") { try isIdle(device) }
    device.syncs.removeAll { $0 == number }
    return device.requests - before
  }

  // MARK: What the user did

  /// The user decides about all that is stuck, until nothing is open.
  private func settleActs(_ device: LogDevice) throws {
    guard let tideline = device.tideline else { return }
    for _ in 0..<200 {
      try until("operations") { try isIdle(device) }
      try checkOperations(device)
      let open = try tideline.allOperations().filter { $0.standing != .done }
      if open.isEmpty { return }
      if open.contains(where: { $0.standing == .refused || $0.standing == .unknown }) {
        try decide(device, tideline, isRetry: device.dice.chance(0.5))
      } else {
        // What was answered waits until the log tells of it, or all of it lacks it.
        try wellSync(device, .latest)
        try wellSync(device, .older(100), mayStop: true)
        try pass(2_000_000)
      }
    }
    let open = try tideline.allOperations().filter { $0.standing != .done }
    throw Violation("d\(device.number): these stay open: \(open)")
  }

  // MARK: What is there

  /// Reads a log down to its start. A log that is all known costs one request, or one more where a
  /// token must be found again.
  private func readAll(_ device: LogDevice) throws {
    try wellSync(device, .latest)
    let began = device.requests
    for _ in 0..<400 {
      let page = try image(device)
      if page.gapsBefore.isEmpty, page.reachesStart { break }
      if room.log.isEmpty { break }
      // After many answers in vain a walk ends with a gap (rule 11), and the next one goes on.
      if try wellSync(device, .older(30), mayStop: true) == 0 { break }
    }
    let pages = pages(room.log.count)
    if device.requests - began > 3 * pages + 40 {
      throw Violation("d\(device.number): \(device.requests - began) requests for \(pages) pages")
    }
    try wellSync(device, .latest)
    try checkExact(device)
    let again = try wellSync(device, .latest)
    if again > 2 { throw Violation("d\(device.number): nothing new took \(again) requests") }
  }

  /// The shown list is the room: order, ids, content, annotations, and all of it is called whole.
  func checkExact(_ device: LogDevice) throws {
    let page = try image(device)
    let name = "at rest d\(device.number)"
    guard page.pending.isEmpty else { throw Violation("\(name): something is pending") }
    let gone = Set(room.left.map { RowKey(Array($0.utf8)) })
    // What left the log when it was deleted is shown so, or not at all.
    let rows = page.rows.filter { !gone.contains(RowKey($0.id)) || !$0.isDeleted }
    let messages = room.messages
    guard rows.map({ World.text($0.id) }) == messages.map(\.id) else {
      throw Violation(
        "\(name): shown \(Self.picture(page))\n  room \(messages.map(\.id).joined(separator: " "))")
    }
    for (row, message) in zip(rows, messages) {
      guard let state = room.state(of: message.id) else { continue }
      try checkRow(row, state, name)
    }
    guard messages.isEmpty || page.gapsBefore.isEmpty && page.reachesStart else {
      throw Violation("\(name): it is not whole, \(Self.picture(page))")
    }
    if let row = rows.first(where: \.unverified) {
      throw Violation("\(name): \(World.text(row.id)) is not claimed")
    }
    try checkSendsAtRest(device, rows)
  }

  private func checkRow(_ row: SimRow, _ state: LogRoom.State, _ name: String) throws {
    let id = World.text(row.id)
    if row.isDeleted != state.isDeleted {
      throw Violation("\(name): \(id) is deleted \(row.isDeleted)")
    }
    if state.isDeleted { return }
    guard World.text(row.payload) == "\"\(state.payload)\"" else {
      throw Violation("\(name): \(id) says \(World.text(row.payload)), not \(state.payload)")
    }
    guard row.marks.pinned == state.isPinned else {
      throw Violation("\(name): \(id) is pinned \(row.marks.pinned)")
    }
    guard World.text(row.marks.reactions) == LogRoom.text(state.reactions) else {
      throw Violation(
        "\(name): \(id) has \(World.text(row.marks.reactions)), not \(state.reactions)")
    }
  }

  private func checkSendsAtRest(_ device: LogDevice, _ rows: [SimRow]) throws {
    for (client, send) in device.sends.sorted(by: { $0.key < $1.key }) where send.seq != 0 {
      if !send.isTakenBack, room.made[client] == nil {
        throw Violation("d\(device.number): \(client) was never sent")
      }
      guard knobs.room.echoesClientIDs, send.tries == 1, findings.restores == 0,
        let entry = room.messages.first(where: { $0.clientID == client }),
        let row = rows.first(where: { World.text($0.id) == entry.id })
      else { continue }
      if row.number != send.number, !send.isTakenBack, !send.hasGone {
        throw Violation("\(client) was row \(send.number) and is \(row.number)")
      }
    }
  }

  // MARK: Windows

  /// Windows left open are right by themselves; a new one scrolls to the start and shows the room.
  private func finishScreens(_ device: LogDevice) throws {
    guard knobs.screens > 0 else { return }
    for screen in device.screens.map(\.screen) {
      try screen.compareWithWindow()
      try checkAtRest(device, screen)
      let last = screen.rows.map(\.row).last {
        !$0.isDeleted || !room.left.contains(World.text($0.id))
      }
      if try screen.window.state().atEnd, let newest = room.messages.last,
        last.map({ World.text($0.id) }) != newest.id
      {
        throw Violation(
          "d\(device.number) window \(screen.number) is at the end: \(Self.picture(screen)), "
            + "not \(newest.id)")
      }
      screen.window.close()
    }
    device.screens = []
    try openScreen(device, .latest, count: 20)
    guard let screen = device.screens.last?.screen else { throw Violation("no window opens") }
    for _ in 0..<200 {
      try until("a window") { try isIdle(device) }
      if try screen.window.state().atStart { break }
      device.screens[0].isFree = true
      try load(device, screen, .before(0), count: 30)
      try look(device)
    }
    let shown = screen.rows.map { World.text($0.row.id) }.filter { !room.left.contains($0) }
    guard shown == room.messages.map(\.id), !screen.rows.contains(where: \.gapBefore) else {
      throw Violation(
        "d\(device.number): a window that scrolled shows \(Self.picture(screen))\n  room "
          + room.messages.map(\.id).joined(separator: " "))
    }
    screen.window.close()
    device.screens = []
  }

  /// All is known, so a window shows nothing that the server has no more, and nothing as it was.
  private func checkAtRest(_ device: LogDevice, _ screen: Screen) throws {
    let name = "at rest d\(device.number) window \(screen.number)"
    for row in screen.rows.map(\.row) {
      let id = World.text(row.id)
      if let state = room.state(of: id) {
        if row.unverified { throw Violation("\(name): \(id) is not claimed") }
        try checkRow(row, state, name)
      } else if !room.left.contains(id) || !row.isDeleted {
        throw Violation("\(name): \(id) is shown, which the log has no more")
      }
    }
  }

  // MARK: Requests

  /// What comes while a device is away costs its pages, a look at the start, and one request more;
  /// one more again where the server knows a token no longer, and the end is looked for by its id.
  private func catchUp(_ device: LogDevice) throws {
    try cut(device, 0)
    for _ in 0..<serverDice.below(50) { append() }
    let new = room.log.filter { $0.serial > device.presentSerial }
    let (began, refusals) = (device.requests, device.refusals)
    try until("connected") { try isIdle(device) }
    try wellSync(device, .latest)
    let used = device.requests - began
    let refused = device.refusals - refusals
    // Whose edit was taken back where it stands is read again: its first content was never seen.
    let back = new.filter { knobs.room.marksInPlace && $0.act == .delete }
      .compactMap { room.entry($0.target) }
    let again = Set(back.filter { $0.act != nil }.map(\.target)).count
    // Where the entry that started the log has left it, the start is found by halving.
    let halvings = knobs.room.leaves ? Int.bitWidth - room.log.count.leadingZeroBitCount : 0
    if used > pages(new.count) + 2 + refused + again + halvings {
      throw Violation(
        "d\(device.number): \(used) requests for \(new.count) new entries, \(refused) refused, "
          + "\(again) to be read again")
    }
    try checkExact(device)
  }

  /// What was pushed last is lost, and nothing new comes: it goes from each list.
  private func loseTail() throws {
    guard knobs.losesTail, knobs.room.namesEpoch || !knobs.room.marksInPlace else { return }
    for _ in 0..<3 {
      pushAll([append()])
      try pass(1_000_000)
    }
    room.backUp(without: 1 + serverDice.below(3))
    try restore()
    for device in devices {
      try until("after a restore") { try isIdle(device) }
      try readAll(device)
    }
  }

  /// A file that knows nothing costs its pages, and one request more.
  private func readAfresh() throws {
    let device = try addDevice(usesFile: false)
    planReconnect(device, afterUs: 10_000)
    try until("a fresh device") { try isIdle(device) }
    try wellSync(device, .latest)
    try wellSync(device, .older(100_000))
    if device.requests > pages(room.log.count) + 1 {
      throw Violation(
        "d\(device.number): \(device.requests) requests for the first \(room.log.count) entries")
    }
    try checkExact(device)
  }

  /// What the control has lost and shows wrongly.
  private func measure() throws {
    for device in devices {
      for _ in 0..<3 {
        guard let number = try sync(device, .latest) else { continue }
        try until("sync") { try device.client.progress(number).outcome != .pending }
      }
      let rows = try image(device).rows
      let oldest = rows.compactMap { places[$0.id] }.min() ?? .max
      let shown = Set(rows.map { RowKey($0.id) })
      for (place, message) in room.messages.enumerated() where place >= oldest {
        if !shown.contains(RowKey(Array(message.id.utf8))) { findings.lost += 1 }
      }
      for row in rows where room.place(of: World.text(row.id)) == nil {
        if !room.purged.contains(World.text(row.id)) { findings.zombies += 1 }
      }
      // What was changed, and is shown as it was.
      for row in rows {
        guard let state = room.state(of: World.text(row.id)) else { continue }
        if state.isDeleted || World.text(row.payload) != "\"\(state.payload)\"" {
          findings.zombies += 1
        }
      }
      let order = rows.compactMap { places[$0.id] }
      findings.lost += zip(order, order.dropFirst()).count { $0 >= $1 }
    }
    if findings.lost + findings.zombies > 0 {
      throw Violation("lost \(findings.lost), shown wrongly \(findings.zombies)")
    }
  }
}
