/// What must hold of the log's worlds at any moment: each claim is compared with the server.
internal import Base

extension LogWorld {
  /// After each input: shape, numbers, claims, and what was sent.
  func check(_ device: LogDevice) throws {
    guard device.client.claimsCoverage else { return }
    let page = try image(device)
    let name = "d\(device.number)"
    let rows = page.rows + page.pending
    guard Set(rows.map(\.number)).count == rows.count,
      Set(rows.map { RowKey($0.id) }).count == rows.count
    else { throw Violation("\(name) shows a row twice: \(Self.picture(page))") }
    device.pending = Set(page.pending.map { World.text($0.id) })
    for row in page.rows {
      trace.mix(row.number)
      if let id = device.ids.updateValue(row.id, forKey: row.number), id != row.id,
        findings.restores == 0
      {
        throw Violation(
          "\(name): number \(row.number) was \(World.text(id)), \(World.text(row.id))")
      }
    }
    noteGone(device, rows)
    try checkClaims(device, page, name)
    try checkSends(device)
  }

  /// Notes which own messages are here under no name: their range was dropped.
  private func noteGone(_ device: LogDevice, _ rows: [SimRow]) {
    let numbers = Set(rows.map(\.number))
    for (client, send) in device.sends where !send.hasGone && !numbers.contains(send.number) {
      let id = room.messages.first { $0.clientID == client }?.id ?? client
      if !rows.contains(where: { World.text($0.id) == id }) { device.sends[client]?.hasGone = true }
    }
  }

  static func picture(_ page: SimPage) -> String {
    var text = page.rows.enumerated().map { index, row in
      (page.gapsBefore.contains(index) ? "|" : "") + World.text(row.id)
        + (row.unverified ? "?" : "")
    }.joined(separator: " ")
    if page.gapsBefore.contains(page.rows.count) { text += " |" }
    return (page.reachesStart ? "start " : "") + text
  }

  private func truth() -> String { room.messages.map(\.id).joined(separator: " ") }

  private func fail(_ name: String, _ what: String, _ page: SimPage) -> Violation {
    let pending = page.pending.map { World.text($0.id) }
    return Violation(
      "\(name): \(what)\n  shown \(Self.picture(page))\n  pending \(pending)\n  room \(truth())")
  }

  /// What this user has deleted is hidden until the log tells of it, and what he sends stands
  /// behind all others until then.
  func isOwn(_ device: LogDevice, _ entry: LogRoom.Entry) -> Bool {
    device.touched.contains(entry.id)
      || entry.clientID.map { device.touched.contains($0) || device.pending.contains($0) } ?? false
  }

  /// Neighbours are neighbours on the server; what is called whole to the start or to the present
  /// is; and what stands there is as it was then, or later.
  ///
  /// - Parameter isLast: nothing more is to be told of what is shown.
  func checkClaims(
    _ device: LogDevice, _ page: SimPage, _ name: String, isLast: Bool = true
  ) throws {
    // Of a restore that the server names a device knows by the next page.
    if knobs.room.namesEpoch, device.epoch != room.epoch { return }
    let places = places
    let gaps = Set(page.gapsBefore)
    let shown = Set(page.rows.map { RowKey($0.id) })
    let messages = room.messages
    func isMissing(_ range: Range<Int>, through serial: Int = .max) -> String? {
      messages[range].first {
        max($0.serial, room.returnedAt[$0.id] ?? 0) <= serial
          && !shown.contains(RowKey(Array($0.id.utf8))) && !isOwn(device, $0)
      }?.id
    }
    var last: Int?
    for (index, row) in page.rows.enumerated() {
      if gaps.contains(index) { last = nil }
      guard !row.unverified, let at = places[row.id] else {
        // Gone since, or not claimed.
        last = nil
        continue
      }
      if let last, at <= last || !messages[(last + 1)..<at].allSatisfy({ isOwn(device, $0) }) {
        throw fail(name, "before \(World.text(row.id)) something is missing", page)
      }
      last = at
    }
    if page.reachesStart, !gaps.contains(0) {
      let first = page.rows.first { !$0.unverified && places[$0.id] != nil }
      let high = first.flatMap { places[$0.id] } ?? 0
      let index = page.rows.firstIndex { $0.number == first?.number } ?? 0
      if !gaps.contains(where: { $0 <= index }), let id = isMissing(0..<high) {
        throw fail(name, "it reaches the start and lacks \(id)", page)
      }
    }
    // An island may stand above what reached the present, and says nothing of what is beside it.
    let isOne = gaps.allSatisfy { $0 == 0 && !page.rows.isEmpty }
    if !isLast || !isOne || page.rows.last?.unverified ?? false { return }
    // What is pending, or what the user deletes, may be all that a window shows of a full log.
    let isAll = page.pending.isEmpty && device.touched.isEmpty || page.reachesStart
    let isEmpty = page.rows.isEmpty && isAll
    // Where all that is shown has left the log meanwhile, nothing tells from where on.
    let newest = page.rows.last { !$0.unverified && places[$0.id] != nil }
    if let low = newest.flatMap({ places[$0.id] }).map({ $0 + 1 }) ?? (isEmpty ? 0 : nil),
      let id = isMissing(low..<messages.count, through: device.presentSerial)
    {
      throw fail(name, "it reaches the present as of \(device.presentSerial) and lacks \(id)", page)
    }
    try checkContent(device, page, from: gaps.max() ?? 0, name)
  }

  /// What stands in the newest range is as of the page that said that it reached the present.
  private func checkContent(
    _ device: LogDevice, _ page: SimPage, from index: Int, _ name: String
  ) throws {
    let since = device.presentSerial
    // What a restore took back shows on until the present is read again.
    if since == 0 || device.epoch != room.epoch { return }
    for row in page.rows[min(index, page.rows.count)...] where !row.unverified {
      let id = World.text(row.id)
      if !row.isDeleted, let serial = room.leftAt[id], serial <= since,
        !device.touched.contains(id)
      {
        throw fail(name, "\(id) was deleted as of \(since)", page)
      }
      guard let place = room.place(of: id), !isOwn(device, room.log[place]) else { continue }
      // A change that has left counts until the device hears of that.
      if room.changeLeftAt[id, default: 0] > since { continue }
      let own = room.changes(of: id)
      let back = own.flatMap { room.changes(of: $0.id) }
      if back.contains(where: { $0.serial > since }) { continue }
      let from = max(since, room.log[place].serial)
      let states = ([from] + own.map(\.serial).filter { $0 > from })
        .compactMap { room.state(of: id, through: $0) }
      let (says, reactions) = (World.text(row.payload), World.text(row.marks.reactions))
      guard states.contains(where: { $0.isDeleted == row.isDeleted }) else {
        throw fail(name, "\(id) is deleted \(row.isDeleted) as of \(since)", page)
      }
      if row.isDeleted { continue }
      // Several changes of others may have come, and not those between them.
      guard states.contains(where: { "\"\($0.payload)\"" == says }) else {
        throw fail(name, "\(id) says \(says) as of \(since), not \(states)", page)
      }
      guard states.contains(where: { $0.isPinned == row.marks.pinned }) else {
        throw fail(name, "\(id) is pinned \(row.marks.pinned) as of \(since)", page)
      }
      if own.allSatisfy({ $0.serial <= since }),
        !states.contains(where: { LogRoom.text($0.reactions) == reactions })
      {
        throw fail(name, "\(id) has \(reactions) as of \(since), not \(states)", page)
      }
    }
  }

  /// What the log has is not told as missing.
  func checkOperations(_ device: LogDevice) throws {
    guard let tideline = device.tideline, findings.restores == 0, knobs.acts else { return }
    for one in try tideline.allOperations() where one.error == "not_listed" {
      guard let made = room.first(by: one.clientID), room.place(of: made.id) != nil else {
        continue
      }
      throw Violation("d\(device.number): \(one.clientID) is told as missing, and is \(made.id)")
    }
  }

  /// What was asked for once is made once, unless the user asked again.
  private func checkSends(_ device: LogDevice) throws {
    for (name, send) in device.sends {
      let tries = knobs.room.idempotent ? 1 : send.tries
      if room.made[name, default: 0] > tries + findings.restores {
        throw Violation("\(name) was made \(room.made[name, default: 0]) times")
      }
    }
  }
}
