/// After each input: the books beside the engine, and both beside the server.
internal import Base
internal import Book
internal import BookSupport

extension World {
  /// Compares the conversations that may have changed.
  func lookAtShadow(atRest: Bool = false) throws {
    guard let shadow, client.claimsCoverage else { return }
    for index in conversations.indices where !conversations[index].isGone {
      let room = shadow.room(conversations[index].name)
      guard room.isDirty || atRest else { continue }
      room.isDirty = false
      let page = try client.page(conversations[index].bytes, limit: 10_000)
      try follow(page, index, room, shadow)
      if let broken = room.pager.disk.book.broken() {
        shadow.figures.note("book broken: \(broken.prefix(20))")
      }
      // What a restore brings back a client finds out by two more answers.
      if findings.restores == 0 { compare(page, index, room, shadow, atRest: atRest) }
    }
  }

  /// Rows that the engine has from elsewhere, and rows that it has no more.
  private func follow(
    _ page: SimPage, _ index: Int, _ room: Shadow.Room, _ shadow: Shadow
  ) throws {
    var here: Set<Int> = []
    for row in page.rows {
      let id = Self.text(row.id)
      let name = room.name(id)
      here.insert(name)
      if room.pager.disk.book.contains(name) { continue }
      var message = BookMessage(name: name, time: row.timeUs)
      if knobs.sequence { message.number = row.order }
      room.pager.pushed(message, after: predecessor(of: row, id, index, room))
      shadow.figures.pushes += 1
    }
    var stored: Set<RowKey>?
    if let keeper = client as? TidelineClient, knobs.retention.isOn {
      stored = Set(try keeper.stored(conversations[index].bytes))
    }
    for (name, id) in room.ids where !here.contains(name) {
      guard room.pager.disk.book.contains(name), !id.hasPrefix("? ") else { continue }
      if ledger.deleting.contains(id) { continue }
      let serial = ledger.serial(ofID: id)
      // Control messages are never shown.
      let isHidden = serial.map { ledger.posted[$0].control } ?? true
      if isHidden, stored?.contains(RowKey(Array(id.utf8))) ?? true { continue }
      // A deletion that the host took back has not happened: the row may have been purged.
      let isThere = server.message(conversations[index].name, id) != nil
      if ledger.deleted.contains(id), !isThere {
        room.pager.bury([name])
      } else {
        room.pager.disk.book.purge(name)
        shadow.figures.purges += 1
      }
    }
  }

  /// The row before a pushed one, where the push names it or nothing can be between.
  private func predecessor(
    of row: SimRow, _ id: String, _ index: Int, _ room: Shadow.Room
  ) -> Int? {
    let book = room.pager.disk.book
    guard let last = book.entries.indices.last, book.entries[last].place == .present,
      let below = book.previous(last), book.entries[below].link != .none
    else { return nil }
    if knobs.previousIDs, let previous = server.message(conversations[index].name, id)?.previousID {
      return room.names[previous]
    }
    guard knobs.lossless, room.isLive, shadow?.pushed.contains(id) ?? false,
      !book.entries[below].isMark
    else { return nil }
    // In one second nothing says which of the two is first.
    if book.entries[below].place.key == row.order, !(knobs.declaresTies && !knobs.tiesByID) {
      return nil
    }
    return book.entries[below].name
  }

  // MARK: The judge

  /// A row of a range, as either side shows it.
  private struct Shown {
    var id: [UInt8]
    var order: Int64
    var isAhead: Bool
    /// Its order beside the row before it was told.
    var isOrdered: Bool
  }

  private func compare(
    _ page: SimPage, _ index: Int, _ room: Shadow.Room, _ shadow: Shadow, atRest: Bool
  ) {
    shadow.figures.looks += 1
    let known = known(index)
    let engine = segments(page).map { range in
      page.rows[range].map {
        Shown(
          id: $0.id, order: $0.order, isAhead: isAhead($0) || wasAhead($0.id), isOrdered: true)
      }
    }
    let (book, ranges) = ranges(of: room, known)
    let rest = atRest ? "rest: " : ""
    let lacking = (
      book: book.lazy.compactMap { self.lacks($0, known) }.first,
      engine: engine.lazy.compactMap { self.lacks($0, known) }.first
    )
    note(lacking, rest + "whole", room, shadow)
    let order = (
      book: book.lazy.compactMap { self.outOfOrder($0, known) }.first,
      engine: engine.lazy.compactMap { self.outOfOrder($0, known) }.first
    )
    note(order, rest + "order", room, shadow)
    noteKnown(page, room, ranges, shadow, atRest)
  }

  private func note(
    _ wrong: (book: String?, engine: String?), _ what: String, _ room: Shadow.Room,
    _ shadow: Shadow
  ) {
    let detail = "\(wrong) at \(nowUs), \(picture(room))"
    switch wrong {
    case (.some, nil): shadow.note("\(what): book wrong, engine right", detail)
    case (nil, .some): shadow.note("\(what): engine wrong, book right", detail)
    case (.some, .some): shadow.note("\(what): both wrong", detail)
    case (nil, nil): break
    }
  }

  private func picture(_ room: Shadow.Room) -> String {
    room.pager.disk.book.picture { room.ids[$0] ?? "?" }
  }

  /// The book's ranges, cut at what cannot be read, and the number of the range of each row.
  private func ranges(of room: Shadow.Room, _ known: KnownTruth) -> ([[Shown]], [Int: Int]) {
    let book = room.pager.disk.book
    var ranges: [[Shown]] = []
    var numbers: [Int: Int] = [:]
    var range: [Shown] = []
    var number = 0
    var link = BookLink.none
    for entry in book.entries where !entry.isOut {
      if entry.isUnreadable {
        ranges.append(range)
        (range, number) = ([], number + 1)
      } else if !entry.isMark, let order = entry.place.key {
        let id = Array((room.ids[entry.name] ?? "").utf8)
        let timeUs = room.pager.disk.messages[entry.name]?.time ?? order
        let isAhead = !knobs.sequence && timeUs > server.nowUs - (knobs.previousIDs ? 1_000_000 : 0)
        range.append(
          Shown(
            id: id, order: order, isAhead: isAhead || wasAhead(id), isOrdered: link == .neighbour))
        numbers[entry.name] = number
      }
      link = entry.link
      if entry.link == .none {
        ranges.append(range)
        (range, number) = ([], number + 1)
      }
    }
    return (ranges + [range], numbers)
  }

  /// Whether it was stamped ahead: what was below it may have come later, also once its time has
  /// passed or it is gone.
  private func wasAhead(_ id: [UInt8]) -> Bool {
    knobs.strangers.stampsAhead
      && ledger.serial(ofID: Self.text(id)).map { ledger.posted[$0].future } ?? false
  }

  /// Whether a message that was surely there when a range was read is not in it; as `check` says.
  private func lacks(_ range: [Shown], _ known: KnownTruth) -> String? {
    guard let low = range.first, let high = range.last(where: { !$0.isAhead }) else { return nil }
    let have = Set(range.map { RowKey($0.id) })
    let row = known.rows.first { row in
      low.order < row.order && row.order < high.order && !row.fleeting && !row.hidden
        && !have.contains(RowKey(row.id))
    }
    return row.map { Self.text($0.id) }
  }

  /// Whether two rows that are next to each other are the other way round on the server.
  private func outOfOrder(_ range: [Shown], _ known: KnownTruth) -> String? {
    var last: Int?
    for row in range {
      let place = known.place(row.id)
      if let last, let place, row.isOrdered, last > place { return Self.text(row.id) }
      last = place
    }
    return nil
  }

  /// How many neighbours each side knows.
  private func noteKnown(
    _ page: SimPage, _ room: Shadow.Room, _ ranges: [Int: Int], _ shadow: Shadow, _ atRest: Bool
  ) {
    let gaps = Set(page.gapsBefore)
    var counts = (both: 0, engine: 0, book: 0)
    for (index, row) in page.rows.enumerated().dropFirst() {
      let below = page.rows[index - 1]
      let isEngine = !gaps.contains(index) && !row.unverified && !below.unverified
      let numbers = [below, row].map { room.names[Self.text($0.id)].flatMap { ranges[$0] } }
      let isBook = numbers[0] != nil && numbers[0] == numbers[1]
      if isEngine, isBook { counts.both += 1 }
      if isEngine, !isBook { counts.engine += 1 }
      if !isEngine, isBook { counts.book += 1 }
    }
    shadow.figures.both += counts.both
    shadow.figures.engineAlone += counts.engine
    shadow.figures.bookAlone += counts.book
    if !atRest { return }
    shadow.figures.restBoth += counts.both
    shadow.figures.restEngineAlone += counts.engine
    shadow.figures.restBookAlone += counts.book
    let detail = "gaps \(page.gapsBefore) of \(page.rows.count), \(picture(room))"
    if counts.engine > 0 { shadow.note("rest: engine knows more", detail) }
    if counts.book > 0 { shadow.note("rest: book knows more", detail) }
  }
}
