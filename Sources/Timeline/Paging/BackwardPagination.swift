/// The walk back in time by offset, newest first, and its proof that nothing is skipped.
///
/// A walk owns a *run*: an unbroken range of the server's order that ends at the
/// present (or at a span known to). Each page is asked so that it overlaps the
/// run's older end. It extends the run only by evidence: it reaches above the run's
/// low end, or shares a message with the timestamp group that the low end cuts. Arrivals and
/// deletions shift offsets between requests; then a page lies wholly on one side of
/// the low end and the walk asks again nearer to it, always moving, until it finds
/// an anchor or gives up and leaves the gap recorded.
///
/// A walk is a value without I/O: `extend` is the whole decision.
package struct BackwardPagination: Equatable, Sendable {
  /// The run is whole from here up.
  package private(set) var low: Position
  /// Messages of the run in the timestamp group that its low end cuts.
  private var edge = CutEdge()
  /// Unreadable items that were shown right below that end, by their bytes.
  private var below: Set<Int64> = []
  /// The server's offset right below the run, as last seen.
  private var index: Int
  /// Rows of the run that the next page should contain.
  private var anchors = 1
  /// Pages in a row that did not extend the run.
  private var stuck = 0
  private var probe = Probe.none
  private var asked: Int
  private var lowestUnjoined: Int?
  /// The lowest row of the pages that brought nothing older.
  private var lowestIdle: Position?
  private var stepsOver = false
  /// Right below the run nothing could be read, but no page has shown that together with it.
  private var isUnreadBelow = false
  private let ties: Ties

  /// The proof that nothing older exists where a short page proves nothing: an
  /// empty answer right below the run, and then the run's lowest message again, at
  /// the same offset and with nothing below it.
  private enum Probe: Equatable {
    case none
    case beyond
    case confirm
  }

  package static let stuckMax = 24

  /// What a page did for the walk.
  package enum Verdict: Equatable, Sendable {
    /// The run now reaches down to `low`.
    case extended
    /// The run goes on at `low`, below items that could not be read: they alone join the
    /// page to the run, and hide what lies between.
    case resumed
    /// The page belongs to the run and brought nothing older.
    case same
    /// The start of the conversation is reached; `low` is `Position.min`.
    case start
    /// Not joined to the run: what the page claims stands alone.
    case apart
    /// Too many steps without an anchor.
    case gaveUp
  }

  /// Begins below a run that is whole from `low` up and has `above` messages in it.
  package init(low: Position, above: Int, ties: Ties) {
    self.low = Joining.runLow(low, ties: ties)
    self.ties = ties
    index = above
    anchors = Swift.min(4, Swift.max(1, above / 3))
    asked = Swift.max(0, above - anchors)
  }

  /// Begins with a newest page that is cut at its older end.
  package init(
    newest rows: [Position], rawCount: Int, unread: Unreadable = Unreadable(), ties: Ties
  ) {
    self.ties = ties
    low = .max
    index = rawCount
    asked = 0
    below = Set(unread.oldest)
    lowerEdge(to: rows)
    aim(rawCount)
    if rows.isEmpty {
      stepsOver = below.isEmpty
      asked = stepsOver ? rawCount : rawCount - 1
    }
  }

  /// The offset to ask next.
  package var offset: Int { asked }

  /// The run joined a span that reaches down to `end`, with `count` messages between.
  package mutating func jump(to end: Position, skipping count: Int) {
    let low = Joining.runLow(end, ties: ties)
    guard low < self.low else { return }
    self.low = low
    edge = CutEdge()
    below = []
    lowestIdle = nil
    stepsOver = false
    isUnreadBelow = false
    probe = .none
    index += count
    aim(Swift.max(3, count))
  }

  /// Takes the answer to `offset`.
  /// - Parameters:
  ///   - rows: its readable rows, ascending.
  ///   - rawCount: its items, unreadable ones included.
  ///   - unread: the unreadable ones at its ends.
  ///   - complete: nothing older exists beyond this page.
  package mutating func extend(
    rows: [Position], rawCount: Int, unread: Unreadable = Unreadable(), complete: Bool
  ) -> Verdict {
    if rawCount == 0 { return takeEmpty() }
    guard let bottom = rows.first, let top = rows.last else {
      return takeUnread(unread, rawCount: rawCount, complete: complete)
    }
    let isJoined = reachesRun(top, rows: rows) || asked == 0
    let resumes = !isJoined && (stepsOver || !below.isDisjoint(with: unread.newest))
    guard isJoined || resumes else { return missed(rawCount) }
    stepsOver = false
    if complete {
      low = .min
      return resumes ? .resumed : .start
    }
    let beforeLow = low
    let beforeEdge = edge
    if bottom <= low { lowerEdge(to: rows) }
    if low < beforeLow || edge != beforeEdge {
      below = Set(unread.oldest)
      stuck = 0
      lowestUnjoined = nil
      lowestIdle = nil
      probe = .none
      isUnreadBelow = false
      index = asked + rawCount
      aim(rawCount)
      return resumes ? .resumed : .extended
    }
    if lowerUnread(unread.oldest, rawCount: rawCount) { return .same }
    return idle(rows, rawCount: rawCount)
  }

  /// Whether a page with this newest row is joined to the run.
  private func reachesRun(_ top: Position, rows: [Position]) -> Bool {
    Joining.reachesUp(top, to: low, ties: ties) || edge.isShared(rows)
  }

  /// Moves the low end down to the cut end of a joined page.
  private mutating func lowerEdge(to rows: [Position]) {
    guard let bottom = rows.first else { return }
    let newLow = Joining.cutLow(bottom, ties: ties)
    if edge.time == bottom.time || newLow <= low {
      edge.move(to: bottom.time, rows: rows.prefix { $0.time == bottom.time })
    }
    low = Swift.min(low, newLow)
  }

  /// Chooses the next offset: a few rows of the run, then what is older.
  private mutating func aim(_ pageRows: Int) {
    anchors = Swift.min(4, Swift.max(1, pageRows / 3))
    asked = Swift.max(0, index - anchors)
  }

  /// A joined page that brought nothing older.
  private mutating func idle(_ rows: [Position], rawCount: Int) -> Verdict {
    if let bottom = rows.first, lowestIdle.map({ bottom < $0 }) ?? true {
      // Still on its way down to the low end, however many rows there are above it.
      lowestIdle = bottom
      stuck = 0
    }
    stuck += 1
    if stuck > Self.stuckMax { return .gaveUp }
    let holdsLowest = edge.isShared(rows)
    // Messages may have come since the empty answer: then another one stands there. Which of
    // a timestamp group is the lowest is not known where its order is not.
    let isLowest =
      holdsLowest
      || (ties == .unknown
        ? rows.first?.time == lowestIdle?.time : rows.first == lowestIdle)
    if probe == .confirm, asked + 1 == index, rawCount == 1, isLowest {
      low = .min
      return .start
    }
    index = asked + rawCount
    if holdsLowest || rawCount == 1 {
      // Nothing below it was shown: is there anything?
      probe = .beyond
      asked = index
      // Pages of one item show no two things together.
      if isUnreadBelow, rawCount == 1 { stepsOver = true }
    } else {
      // Newer than the low end: messages arrived since. Look further down.
      probe = .none
      asked = index - 1
    }
    return .same
  }

  /// A page on the older side of the low end: messages above were deleted since.
  private mutating func missed(_ rawCount: Int) -> Verdict {
    stuck += 1
    if stuck > Self.stuckMax { return .gaveUp }
    if probe == .beyond {
      // Something older exists after all: ask again from the lowest message.
      probe = .none
      asked = Swift.max(0, index - 1)
      return .apart
    }
    probe = .none
    lowestUnjoined = Swift.min(lowestUnjoined ?? asked, asked)
    let step = Swift.max(1, Swift.max(rawCount / 2, 1 << Swift.min(stuck, 10)) / 2)
    asked = Swift.max(0, (lowestUnjoined ?? asked) - step)
    index = asked
    return .apart
  }

  /// Nothing at this offset.
  private mutating func takeEmpty() -> Verdict {
    if asked == 0 {
      low = .min
      return .start
    }
    if probe == .beyond {
      probe = .confirm
      asked = index - 1
      return .same
    }
    probe = .none
    return missed(0)
  }

  /// A page of which no item can be read.
  private mutating func takeUnread(
    _ unread: Unreadable, rawCount: Int, complete: Bool
  ) -> Verdict {
    // Right below the run stands what is shown together with it, not what is only asked for
    // from there: offsets shift.
    let isNext = stepsOver || asked == 0 && probe != .confirm
    guard isNext || !below.isDisjoint(with: unread.newest) else {
      isUnreadBelow = probe == .beyond
      return missed(rawCount)
    }
    if complete || probe == .confirm && asked + 1 == index && rawCount == 1 {
      low = .min
      return .resumed
    }
    if lowerUnread(unread.oldest, rawCount: rawCount) { return .same }
    stuck += 1
    if stuck > Self.stuckMax { return .gaveUp }
    // The same again, or nothing that tells them apart: the walk goes on below them.
    stepsOver = true
    probe = .beyond
    index = asked + rawCount
    asked = index
    return .same
  }

  /// Whether a page shows further unreadable items below the run. Then the next one is
  /// asked from the lowest of them on, so that it is joined by what cannot be read.
  private mutating func lowerUnread(_ oldest: [Int64], rawCount: Int) -> Bool {
    guard !below.isSuperset(of: oldest) else { return false }
    below.formUnion(oldest)
    stuck = 0
    probe = .none
    index = asked + rawCount
    asked = index - 1
    return true
  }
}

/// The unreadable items at the two ends of a page, known again by their bytes.
package struct Unreadable: Equatable, Sendable {
  package var newest: [Int64]
  package var oldest: [Int64]

  package init(newest: [Int64] = [], oldest: [Int64] = []) {
    self.newest = newest
    self.oldest = oldest
  }
}
