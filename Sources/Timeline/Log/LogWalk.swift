/// Which request is next, to bring what is known of a log to where somebody wants it.
///
/// It is a value beside the book and may be lost: all that it has proven is there. One request is
/// under way at a time.
internal import Base

package struct LogWalk: Sendable {
  package enum Goal: Equatable, Sendable {
    /// Everything since the newest that is known, up to the present.
    case present
    case entry([UInt8])
    /// Further down, or up, from the range that holds an entry. Who walks says when it is enough.
    case down(from: [UInt8])
    case up(from: [UInt8])
    /// The start of the range that holds an entry, by an answer of now.
    case start(of: [UInt8])
  }

  package enum Next: Equatable, Sendable {
    case ask(LogAsk.Place, carried: LogClaim?)
    case ended(End)
  }

  package enum End: Equatable, Sendable {
    case done
    /// It stays a gap, and the next sync goes on from there.
    case gap
    case notFound
  }

  /// What is asked before the goal itself is.
  enum Detour {
    case none
    /// What is behind a token that a page left, and that touches nothing known.
    case floating(LogToken, carried: LogClaim?)
    case seek(Seek)
    case search(EdgeSearch)
    /// A token has led through what is known: its last entry is asked for, and what tokens there
    /// are stay, should it not be found.
    case jump
    /// Neither a token nor an entry leads on: the newest page is asked for, once.
    case newest
    /// Where a log starts its first entry says.
    case firstEntry
  }

  /// An end without a token that is known is looked for by ids: its own, then some further inward.
  struct Seek {
    var end: [UInt8]
    var id: [UInt8]
    /// How far inward that is.
    var distance = 0
    var side: LogNote.Side
  }

  /// So many answers in a row may bring nothing.
  package static let idleMax = 64

  package let goal: Goal
  package let began: UInt64
  /// The last entries up to the present that were known when it began, the topmost first: what is
  /// new stands above them. Several, since some may leave the log meanwhile; none where the log was
  /// known to be empty, and nil where nothing was known.
  package let lastKnown: [[UInt8]]?
  /// The top of the lowest range that ever reached the present: all above is to be joined to it.
  private let target: [UInt8]?
  /// An entry of the range that is to reach the present.
  private var head: [UInt8]?
  /// How many answers in a row brought nothing. Who walks on elsewhere takes it along.
  package private(set) var idle: Int
  var detour = Detour.none
  /// How it ends once no detour is left.
  private var end: End?
  /// No entry was asked for that the server did not find.
  package private(set) var findsEntries = true
  private var turnedToNewest = false

  package init<Table: LogTable>(
    _ goal: Goal, _ book: LogBook<Table>, idle: Int = 0
  ) throws(Table.Failure) {
    self.goal = goal
    self.idle = idle
    began = book.facts.issued
    let newest = book.newest ?? book.ranges.lastIndex { !$0.isUnverified }
    // A sync that was content with the newest page has left what lies between.
    let lowest = newest.flatMap {
      book.ranges[..<$0].firstIndex { !$0.isUnverified && $0.present != nil }
    }
    target = try Self.top(lowest ?? newest, book)
    head = try Self.top(newest, book)
    lastKnown = try Self.last(Self.lastMax, of: book)
    if case .up(let id) = goal { head = id }
    if case .start = goal { detour = .firstEntry }
  }

  private static let lastMax = 8

  private static func last<Table: LogTable>(
    _ count: Int, of book: LogBook<Table>
  ) throws(Table.Failure) -> [[UInt8]]? {
    guard let range = book.newest.map({ book.ranges[$0] }) else {
      return book.facts.empty == nil ? nil : []
    }
    var ids: [[UInt8]] = []
    var row = try book.topRow(of: range)
    while let one = row, ids.count < count {
      ids.append(one.id)
      row = try book.table.last(below: one.place, from: range.low)
    }
    return ids
  }

  private static func top<Table: LogTable>(
    _ index: Int?, _ book: LogBook<Table>
  ) throws(Table.Failure) -> [UInt8]? {
    guard let index else { return nil }
    return try book.topRow(of: book.ranges[index])?.id
  }

  // MARK: What is next

  package mutating func next<Table: LogTable>(
    _ book: LogBook<Table>
  ) throws(Table.Failure) -> Next {
    if end == .gap || idle >= Self.idleMax && !book.isPlanted(.endlessWalk) { return .ended(.gap) }
    switch detour {
    case .newest: return .ask(.newest, carried: nil)
    case .seek(let seek): return .ask(.around(seek.id), carried: nil)
    case .search(let search): return .ask(.around(search.asked), carried: nil)
    case .floating(let token, let claim): return .ask(.before(token), carried: claim)
    case .none, .jump, .firstEntry: break
    }
    if let end { return .ended(end) }
    switch goal {
    case .entry(let id): return .ask(.around(id), carried: nil)
    case .down(let id): return try askDown(book, from: id)
    case .up(let id): return try askUp(book, from: id)
    case .start(let id): return try askStart(book, of: id)
    case .present: break
    }
    if let empty = book.facts.empty, empty.request > began { return .ended(.done) }
    guard let newest = book.newest, let claim = book.ranges[newest].present, claim.request > began
    else { return try askPresent(book) }
    return try askGap(book, book.ranges[newest])
  }

  func askDown<Table: LogTable>(
    _ book: LogBook<Table>, from id: [UInt8]
  ) throws(Table.Failure) -> Next {
    guard let at = try book.range(of: id), !book.ranges[at].isUnverified else {
      return .ended(.gap)
    }
    let range = book.ranges[at]
    if range.start != nil { return .ended(.done) }
    return try askBelow(book, range)
  }

  /// What lies below a range: by its token, or around its lowest entry.
  private func askBelow<Table: LogTable>(
    _ book: LogBook<Table>, _ range: LogRange
  ) throws(Table.Failure) -> Next {
    if !jumps, let token = range.lower.first(where: book.isUsable) {
      return .ask(.before(token), carried: nil)
    }
    guard let row = try book.bottomRow(of: range) else { return .ended(.gap) }
    return .ask(.around(row.id), carried: nil)
  }

  private var jumps: Bool { if case .jump = detour { true } else { false } }

  /// Where an answer has left something out, the way up is the way down from what it showed.
  private func askUp<Table: LogTable>(
    _ book: LogBook<Table>, from id: [UInt8]
  ) throws(Table.Failure) -> Next {
    guard let at = try book.range(of: id), !book.ranges[at].isUnverified else {
      return .ended(.gap)
    }
    let range = book.ranges[at]
    if let head, let top = try book.range(of: head), top != at {
      return try askDown(book, from: head)
    }
    if at == book.newest, let claim = range.present, claim.request > began { return .ended(.done) }
    if !jumps, let token = range.upper.first(where: book.isUsable) {
      return .ask(.after(token), carried: nil)
    }
    guard let row = try book.topRow(of: range) else { return .ended(.gap) }
    return .ask(.around(row.id), carried: nil)
  }

  /// What came since.
  private func askPresent<Table: LogTable>(
    _ book: LogBook<Table>
  ) throws(Table.Failure) -> Next {
    guard let head, let index = try book.range(of: head), !book.ranges[index].isUnverified,
      let token = book.ranges[index].upper.first(where: book.isUsable)
    else { return .ask(.newest, carried: nil) }
    return .ask(.after(token), carried: nil)
  }

  /// What lies between the newest page and what was known, and below that.
  private func askGap<Table: LogTable>(
    _ book: LogBook<Table>, _ range: LogRange
  ) throws(Table.Failure) -> Next {
    let isJoined: Bool
    if let target, let row = try book.table.row(target) {
      isJoined = range.holds(row.place) || range.start != nil
    } else {
      // Of a log that was known to be empty all is new.
      isJoined = lastKnown == nil || range.start != nil
    }
    return isJoined ? .ended(.done) : try askBelow(book, range)
  }

  // MARK: What came of it

  /// Takes a page into the book.
  package mutating func take<Table: LogTable>(
    _ page: LogPage, of ask: LogAsk, behind below: [UInt8]? = nil, into book: inout LogBook<Table>
  ) throws(Table.Failure) {
    if case .seek(let found) = detour, case .around(let id) = ask.place, found.distance > 0 {
      try book.splitOff(found.side, of: id)
    }
    let searched = search
    if searched == nil { detour = .none }
    let outcome = try book.take(page, of: ask, behind: below)
    if searched == nil, let token = outcome.floating {
      detour = .floating(token, carried: outcome.carried)
    }
    if case .entry(let id) = goal { end = try book.table.row(id) != nil ? .done : .notFound }
    if case .after(let token) = ask.place, outcome.isDetached {
      // It goes on from there; where nothing came of it, the newest page says more.
      if let id = outcome.id {
        head = id
      } else if outcome.floating == nil {
        book.removeCursor(token)
      }
    }
    if case .before(let token) = ask.place, outcome.isEmpty, page.before == nil,
      token.connection != ask.connection
    {
      // Whether the log starts there its first entry says (rule 12).
      book.removeCursor(token)
    }
    if case .before(let token) = ask.place, !outcome.isEmpty, !outcome.isProgress,
      !outcome.isConfirming
    {
      // It leads nowhere, or in a circle: the way goes on by ids.
      book.removeCursor(token)
      jump()
    }
    if case .up = goal, case .after = ask.place, !outcome.isEmpty, !outcome.isProgress,
      !outcome.isConfirming, !outcome.isDetached
    {
      jump()
    }
    if case .around = ask.place {
      if !outcome.isProgress { findsEntries = false }
      if let searched { try searchOn(searched, found: page, of: ask, in: &book) }
    }
    if outcome.isProgress { idle = 0 } else if !outcome.isConfirming { idle += 1 }
  }

  private mutating func jump() {
    if findsEntries, case .none = detour { detour = .jump }
  }

  /// The server does not know the token that was asked (rule 6).
  package mutating func tokenIsUnknown<Table: LogTable>(
    _ ask: LogAsk, in book: inout LogBook<Table>
  ) throws(Table.Failure) {
    idle += 1
    detour = .none
    guard let token = ask.token else { return }
    book.removeCursor(token)
    guard let id = token.id, let at = try book.range(of: id) else { return }
    var side = LogNote.Side.above
    if case .before = ask.place { side = .below }
    // The range may have grown beyond the entry of the token, which may be gone.
    let range = book.ranges[at]
    let last = side == .above ? try book.topRow(of: range) : try book.bottomRow(of: range)
    guard let last else { return }
    let end = book.isPlanted(.tokenStaysEnd) ? id : last.id
    detour = .seek(Seek(end: end, id: end, side: side))
  }

  /// The server does not have the entry that was asked for by its id.
  package mutating func isMissing<Table: LogTable>(
    _ ask: LogAsk, in book: inout LogBook<Table>
  ) throws(Table.Failure) {
    idle += 1
    findsEntries = false
    let before = detour
    if search == nil { detour = .none }
    guard case .around(let id) = ask.place else { return }
    var sought: Seek?
    switch (before, goal) {
    case (.seek(let seek), _): sought = seek
    case (_, .entry):
      end = .notFound
      return
    case (.search(let search), _): return try searchOn(search, ask, in: &book)
    default: sought = try Self.seek(id, in: book)
    }
    guard var seek = sought else {
      try book.lost(id)
      return
    }
    guard let end = try book.table.row(seek.end), let at = book.range(holding: end.place) else {
      return
    }
    seek.distance = max(1, seek.distance &* 2)
    let range = book.ranges[at]
    let row =
      seek.side == .above
      ? try book.table.row(seek.distance, below: end.place, from: range.low)
      : try book.table.row(seek.distance, above: end.place, through: range.high)
    guard let row else { return try searchInward(from: seek.id, seek.side, ask, in: &book) }
    seek.id = row.id
    detour = .seek(seek)
  }

  /// The first or the last entry of a range was asked for since the end has no token, and is gone.
  private static func seek<Table: LogTable>(
    _ id: [UInt8], in book: LogBook<Table>
  ) throws(Table.Failure) -> Seek? {
    guard let row = try book.table.row(id), let at = book.range(holding: row.place) else {
      return nil
    }
    let range = book.ranges[at]
    let (bottom, top) = (try book.bottomRow(of: range), try book.topRow(of: range))
    if bottom?.id == top?.id { return nil }
    if bottom?.id == id { return Seek(end: id, id: id, side: .below) }
    return top?.id == id ? Seek(end: id, id: id, side: .above) : nil
  }

  /// The server has no way to ask around an entry.
  package mutating func isUnsupported() {
    idle += 1
    findsEntries = false
    let before = detour
    detour = .none
    switch (before, goal) {
    case (.jump, _): return
    // Where a log starts only its first entry says.
    case (.search, .start): end = .gap
    default: if !turnToNewest() { end = .gap }
    }
  }

  /// Where neither a token nor an entry leads on the newest page does, once.
  package mutating func turnToNewest() -> Bool {
    guard !turnedToNewest else { return false }
    turnedToNewest = true
    detour = .newest
    return true
  }
}
