/// The walk back in time by offset, newest first, and its proof that nothing is skipped.
///
/// A walk owns a *run*: an unbroken stretch of the server's order that ends at the
/// present (or at a span known to). Each page is asked so that it overlaps the
/// run's older end. It extends the run only by evidence: it reaches above the run's
/// low end, or shares a message with the tick that the low end cuts. Arrivals and
/// deletions shift offsets between requests; then a page lies wholly on one side of
/// the low end and the walk asks again nearer to it, always moving, until it finds
/// an anchor or gives up and leaves the gap recorded.
///
/// A walk is a value without I/O: `take` is the whole decision.
package struct Walk: Equatable, Sendable {
  /// The run is whole from here up.
  package private(set) var low: Position
  /// Messages of the run in the tick that its low end cuts.
  private var edge = CutEdge()
  /// The server's offset right below the run, as last seen.
  private var index: Int
  /// Rows of the run that the next page should contain.
  private var anchors = 1
  /// Pages in a row that did not extend the run.
  private var stuck = 0
  private var probe = Probe.none
  private var asked: Int
  private var lowestUnjoined: Int?
  private var stepsOver = false
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
    /// The run goes on at `low`, below a page of which nothing could be read.
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
    self.low = Self.lowEnd(low, ties)
    self.ties = ties
    index = above
    anchors = Swift.min(4, Swift.max(1, above / 3))
    asked = Swift.max(0, above - anchors)
  }

  /// Begins with a newest page that is cut at its older end.
  package init(newest rows: [Position], rawCount: Int, ties: Ties) {
    self.ties = ties
    low = .max
    index = rawCount
    asked = 0
    lowerEdge(to: rows)
    aim(rawCount)
    if rows.isEmpty {
      stepsOver = true
      asked = rawCount
    }
  }

  /// The offset to ask next.
  package var offset: Int { asked }

  /// The run joined a span that reaches down to `low`, with `count` messages between.
  package mutating func jump(to low: Position, skipping count: Int) {
    let low = Self.lowEnd(low, ties)
    guard low < self.low else { return }
    self.low = low
    edge = CutEdge()
    index += count
    aim(Swift.max(3, count))
  }

  /// Where a run begins whose low end lies between two messages of one tick. Of that
  /// tick no message is known to be the run's, so none could tie a page to it where
  /// their order is not known: the run begins above the tick, and the walk reads it.
  private static func lowEnd(_ low: Position, _ ties: Ties) -> Position {
    ties == .unknown && !low.id.isEmpty ? .after(tick: low.time) : low
  }

  /// Takes the answer to `offset`.
  /// - Parameters:
  ///   - rows: its readable rows, ascending.
  ///   - rawCount: its items, unreadable ones included.
  ///   - complete: nothing older exists beyond this page.
  package mutating func take(rows: [Position], rawCount: Int, complete: Bool) -> Verdict {
    if rawCount == 0 { return takeEmpty() }
    guard let bottom = rows.first, let top = rows.last else { return stepOver(rawCount, complete) }
    let resumes = stepsOver
    guard reachesRun(top, rows) || asked == 0 || resumes else { return missed(rawCount) }
    stepsOver = false
    if complete {
      low = .min
      return resumes ? .resumed : .start
    }
    let beforeLow = low
    let beforeEdge = edge
    if bottom <= low { lowerEdge(to: rows) }
    if low < beforeLow || edge != beforeEdge {
      stuck = 0
      lowestUnjoined = nil
      probe = .none
      index = asked + rawCount
      aim(rawCount)
      return resumes ? .resumed : .extended
    }
    return idle(rows, rawCount)
  }

  /// Whether a page with this newest row is joined to the run.
  private func reachesRun(_ top: Position, _ rows: [Position]) -> Bool {
    Joining.reachesUp(top, to: low, ties) || edge.isShared(rows)
  }

  /// Moves the low end down to the cut end of a joined page.
  private mutating func lowerEdge(to rows: [Position]) {
    guard let bottom = rows.first else { return }
    let newLow = Joining.cutLow(bottom, ties)
    if edge.time == bottom.time || newLow <= low {
      edge.move(to: bottom.time, rows.prefix { $0.time == bottom.time })
    }
    low = Swift.min(low, newLow)
  }

  /// Chooses the next offset: a few rows of the run, then what is older.
  private mutating func aim(_ pageRows: Int) {
    anchors = Swift.min(4, Swift.max(1, pageRows / 3))
    asked = Swift.max(0, index - anchors)
  }

  /// A joined page that brought nothing older.
  private mutating func idle(_ rows: [Position], _ rawCount: Int) -> Verdict {
    stuck += 1
    if stuck > Self.stuckMax { return .gaveUp }
    let holdsLowest = edge.isShared(rows)
    if probe == .confirm, asked + 1 == index, rawCount == 1 {
      low = .min
      return .start
    }
    index = asked + rawCount
    if holdsLowest || rawCount == 1 {
      // Nothing below it was shown: is there anything?
      probe = .beyond
      asked = index
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

  /// A page of which no item can be read: the walk goes on below it.
  private mutating func stepOver(_ rawCount: Int, _ complete: Bool) -> Verdict {
    stuck += 1
    if stuck > Self.stuckMax || complete { return .gaveUp }
    stepsOver = true
    edge = CutEdge()
    index = asked + rawCount
    asked = index
    return .apart
  }
}
