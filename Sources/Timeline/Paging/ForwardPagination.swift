/// The way up towards the present by offset: the mirror of `BackwardPagination`.
///
/// A climb owns a *run* that is whole up to its high end. Each page is asked so that it
/// overlaps the run's newest rows; it extends the run only by the evidence of `Joining`.
/// Arrivals push a page above the run, deletions pull it into the run: then the next one
/// is asked between the nearest pages known to lie on either side, until one shows both
/// or the climb gives up and leaves the gap recorded. An offset is only a guess of where
/// to look; nothing is believed because of it, but that offset 0 is the newest page.
///
/// A climb is a value without I/O: `extend` is the whole decision.
package struct ForwardPagination: Equatable, Sendable {
  /// The run is whole up to here.
  package private(set) var high: Position
  /// A joined page was the newest one.
  package private(set) var isAtPresent = false
  /// Messages of the run in the timestamp group that its high end cuts.
  private var edge = CutEdge()
  /// Unreadable items that were shown right above that end, by their bytes.
  private var beyond: Set<Int64> = []
  /// The server's offset of the run's newest row, as far as known.
  private var index: Int
  /// The run's newest row lies at or behind this offset: a page before it was apart.
  private var above: Int?
  /// It lies at or before this one: a page from here on showed nothing newer.
  private var below: Int?
  /// Pages in a row that did not extend the run.
  private var stuck = 0
  /// Steps in a row towards a side of which nothing is known; each goes twice as far.
  private var leaps = 0
  private var stepsOver = false
  private let ties: Ties

  package static let stuckMax = 32

  /// What a page did for the climb.
  package enum Verdict: Equatable, Sendable {
    /// The run now reaches up to `high`.
    case extended
    /// The run goes on up to `high`, above items that could not be read: they alone join the
    /// page to the run, and hide what lies between.
    case resumed
    /// The page belongs to the run and brought nothing newer.
    case same
    /// The page joins the run to the present: nothing newer existed when it was made.
    case present
    /// Not joined to the run: what the page claims stands alone.
    case apart
    /// Too many steps without an anchor.
    case gaveUp
  }

  /// Begins above a run that is whole up to `high`.
  /// - Parameters:
  ///   - index: the offset at which its newest row is guessed.
  ///   - rows: the run's newest rows where they are known, ascending.
  package init(high: Position, index: Int, rows: [Position] = [], ties: Ties) {
    self.high = high
    // A guess may come from the server; offsets stay far from where sums overflow.
    self.index = Swift.max(0, Swift.min(index, 1 << 40))
    self.ties = ties
    if let top = rows.last { moveEdge(to: top.time, rows: rows) }
  }

  /// The offset to ask next with a limit: a few rows of the run, then what is newer.
  package func offset(limit: Int) -> Int {
    let anchors = stepsOver ? 0 : Swift.min(4, Swift.max(1, limit / 3))
    return Swift.max(0, index - Swift.max(0, limit - anchors))
  }

  /// A page of the run said where its newest row stands; it is looked at once.
  package mutating func look(at index: Int) {
    if stuck == 1 { self.index = Swift.max(0, index) }
  }

  /// Takes the answer to a request.
  /// - Parameters:
  ///   - rows: its readable rows, ascending.
  ///   - rawCount: its items, unreadable ones included.
  ///   - unread: the unreadable ones at its ends.
  ///   - offset: what was asked.
  ///   - endsAtStart: nothing older existed beyond this page; where it is apart, all of
  ///     the run is gone from the server.
  ///   - endsAtPresent: nothing newer did, by the server's own word.
  package mutating func extend(
    rows: [Position], rawCount: Int, unread: Unreadable = Unreadable(), offset: Int,
    endsAtStart: Bool = false, endsAtPresent: Bool = false
  ) -> Verdict {
    let isNewest = offset <= 0 || endsAtPresent
    guard let bottom = rows.first, let top = rows.last else {
      if rawCount > 0 {
        return takeUnread(
          unread, rawCount: rawCount, offset: offset, isNewest: isNewest, endsAtStart: endsAtStart)
      }
      isAtPresent = isNewest
      return isNewest ? .present : same(offset)
    }
    let isJoined =
      edge.isShared(rows) || Joining.reachesDown(bottom, to: high, ties: ties) || endsAtStart
    let resumes = !isJoined && (stepsOver || !beyond.isDisjoint(with: unread.oldest))
    guard isJoined || resumes else { return apart(offset, rawCount: rawCount) }
    let beforeHigh = high
    let beforeEdge = edge
    raiseEdge(rows, top: top)
    stepsOver = false
    isAtPresent = isNewest
    if isNewest { return resumes ? .resumed : .present }
    if high > beforeHigh || edge != beforeEdge {
      beyond = Set(unread.newest)
      reset()
      index = offset
      return resumes ? .resumed : .extended
    }
    if raiseUnread(unread.newest, offset: offset) { return .same }
    return same(offset)
  }

  /// Moves the high end up to the cut end of a joined page.
  private mutating func raiseEdge(_ rows: [Position], top: Position) {
    let newHigh = Joining.cutHigh(top, ties: ties)
    if edge.time == top.time || newHigh >= high {
      moveEdge(to: top.time, rows: rows)
    }
    high = Swift.max(high, newHigh)
  }

  private mutating func moveEdge(to time: Int64, rows: [Position]) {
    edge.move(to: time, rows: rows[(rows.firstIndex { $0.time == time } ?? rows.count)...])
  }

  private mutating func reset() {
    stuck = 0
    leaps = 0
    above = nil
    below = nil
  }

  /// A joined page that brought nothing newer: look at smaller offsets.
  private mutating func same(_ offset: Int) -> Verdict {
    stuck += 1
    if stuck > Self.stuckMax { return .gaveUp }
    below = offset
    if let other = above, other >= offset {
      above = nil
      leaps = 0
    }
    aim(from: offset, step: -1)
    return .same
  }

  /// A page above the run: messages arrived since. Look at larger offsets.
  private mutating func apart(_ offset: Int, rawCount: Int) -> Verdict {
    stuck += 1
    if stuck > Self.stuckMax { return .gaveUp }
    above = offset + rawCount
    if let other = below, other <= offset {
      below = nil
      leaps = 0
    }
    aim(from: offset + rawCount, step: Swift.max(1, rawCount / 2))
    return .apart
  }

  /// Between the two sides where both are known, else on in growing steps.
  private mutating func aim(from offset: Int, step: Int) {
    if let above, let below, above < below {
      leaps = 0
      index = above + (below - above) / 2
    } else {
      let reach = 1 << Swift.min(leaps, 20)
      leaps += 1
      index = Swift.max(0, offset + (step < 0 ? 1 - reach : step * reach))
    }
  }

  /// A page of which no item can be read. Where none of them was shown right above the
  /// run, it stands apart like any other, unless it is all there is from the start on.
  private mutating func takeUnread(
    _ unread: Unreadable, rawCount: Int, offset: Int, isNewest: Bool,
    endsAtStart: Bool
  ) -> Verdict {
    guard endsAtStart || stepsOver || !beyond.isDisjoint(with: unread.oldest) else {
      return apart(offset, rawCount: rawCount)
    }
    if isNewest {
      isAtPresent = true
      return .present
    }
    if raiseUnread(unread.newest, offset: offset) { return .same }
    stuck += 1
    if stuck > Self.stuckMax { return .gaveUp }
    // The same again, or nothing that tells them apart: the climb goes on above them.
    stepsOver = true
    index = offset
    return .same
  }

  /// Whether a page shows further unreadable items above the run. Then the next one is
  /// asked from the highest of them on, so that it is joined by what cannot be read.
  private mutating func raiseUnread(_ newest: [Int64], offset: Int) -> Bool {
    guard !beyond.isSuperset(of: newest) else { return false }
    beyond.formUnion(newest)
    stepsOver = false
    reset()
    index = offset
    return true
  }
}
