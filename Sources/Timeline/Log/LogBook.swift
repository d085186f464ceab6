/// What is known of one conversation that a server keeps as a log.
///
/// It is handed what was received, and brings ranges and rows to where that proves them to be. It
/// asks nobody (`LogWalk` says what is to be asked) and reads no clock. Rule protected: two entries
/// are called neighbours only where a page or a push showed them so, in this history of the
/// server's.
internal import Base

package struct LogBook<Table: LogTable> {
  package var table: Table
  /// In the order of their places, without a common place or one between that touches both.
  package internal(set) var ranges: [LogRange]
  package internal(set) var facts: LogFacts
  package let profile: LogProfile
  package let spacing: LogSpacing
  /// What the input at hand changed.
  package internal(set) var step = LogStep()

  /// Entries of which the ranges are not put together with others, while an answer is taken.
  package var keeps: [[UInt8]] = []

  /// The token behind an empty log, of this connection: what is pushed right behind it starts the
  /// log. It is not stored.
  package var emptyEnd: [UInt8]?

  /// How many of those that the step has touched were reviewed.
  var reviewed = 0

  /// Changes whose range moved: on the way only.
  var unsettled: [LogRow] = []
  /// What was dropped since it stood where it cannot: on the way only.
  var impossible: [LogRow] = []

  #if DEBUG
    package var planted: LogFault?
  #endif

  package init(
    table: Table, ranges: [LogRange] = [], facts: LogFacts = LogFacts(), profile: LogProfile,
    spacing: LogSpacing = .normal
  ) {
    self.table = table
    self.ranges = ranges
    self.facts = facts
    self.profile = profile
    self.spacing = spacing
    #if DEBUG
      planted = profile.planted
    #endif
  }

  // MARK: Connections and requests

  package mutating func connected() {
    facts.connection &+= 1
    emptyEnd = nil
  }

  package mutating func ask(_ place: LogAsk.Place, carried: LogClaim? = nil) -> LogAsk {
    facts.issued &+= 1
    return LogAsk(
      place, request: facts.issued, connection: facts.connection, carried: carried)
  }

  /// Notes which entry was the last one when the log was first read up to the present.
  package mutating func noteNews() throws(Table.Failure) {
    guard facts.news == nil else { return }
    if let newest {
      facts.news = try topRow(of: ranges[newest])?.id
    } else if facts.empty != nil, ranges.isEmpty {
      facts.news = []
    }
  }

  /// What changed since it was last asked, for the host and for what is derived.
  package mutating func takeStep() -> LogStep {
    defer {
      step = LogStep()
      reviewed = 0
    }
    return step
  }

  // MARK: Looking

  /// The range in which an entry stands.
  package func range(holding place: Place) -> Int? {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].high < place { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].holds(place) ? low : nil
  }

  package func range(of id: [UInt8]) throws(Table.Failure) -> Int? {
    guard let row = try table.row(id) else { return nil }
    return range(holding: row.place)
  }

  /// The range that reached the present, by the latest claim.
  package var newest: Int? {
    var best: Int?
    for (index, range) in ranges.enumerated() where range.present != nil && !range.isUnverified {
      if best.map({ (ranges[$0].present?.request ?? 0) <= (range.present?.request ?? 0) }) ?? true {
        best = index
      }
    }
    return best
  }

  package func topRow(of range: LogRange) throws(Table.Failure) -> LogRow? {
    try table.rows(from: range.high, through: range.high).first
  }

  package func bottomRow(of range: LogRange) throws(Table.Failure) -> LogRow? {
    try table.rows(from: range.low, through: range.low).first
  }

  /// Whether a token of this range may be sent now (rule 5).
  package func isUsable(_ token: LogToken) -> Bool {
    if token.connection == facts.connection || profile.refusesUnknown { return true }
    if profile.namesEpoch, token.epoch != nil, token.epoch == facts.epoch { return true }
    return isPlanted(.oldTokenCounts)
  }

  /// Up to where nothing is claimed of what messages show, since an unverified change tells
  /// neither what it does nor to what: it was first seen as taken away, and may have been given
  /// back. Nil where there is none.
  package func untrustedBelow() throws(Table.Failure) -> Place? {
    try table.lastWithoutTarget(isClaimed: false)
  }

  /// Whether the log surely lacks an entry of this user that the server said it took (rule 22).
  ///
  /// - Parameter issued: how many requests had been issued when it said so.
  package func lacks(_ id: [UInt8], answered issued: UInt64) throws(Table.Failure) -> Bool {
    guard try table.row(id) == nil else { return false }
    if let empty = facts.empty { return empty.request > issued || isPlanted(.lostTooEarly) }
    for range in ranges where !range.isUnverified && range.start != nil {
      guard let present = range.present else { continue }
      if present.request > issued || isPlanted(.lostTooEarly) { return true }
    }
    return false
  }
}

/// What is kept of a conversation's log beside its ranges.
package struct LogFacts: Equatable, Sendable {
  /// How many requests were ever issued.
  package var issued: UInt64 = 0
  /// The number of the connection, of those that there ever were.
  package var connection: UInt64 = 0
  package var epoch: [UInt8]?
  /// The log has no entry at all, as of then.
  package var empty: LogClaim?
  /// How many pages listed what was known in another order.
  package var contradictions: UInt64 = 0
  /// What stands above this entry came after the log was read for the first time: it is new to this
  /// device. Empty where all is; nil before that.
  package var news: [UInt8]?
  /// By how much the time of an entry lay below that of one before it in the log, at most: so much
  /// may a search by time be off.
  package var stepUs: Int64 = 0

  package init() {}
}

/// What an input changed.
package struct LogStep: Equatable, Sendable {
  /// Entries that are stored now, in another place, with another content, or no more.
  package var inserted: [[UInt8]] = []
  package var moved: [[UInt8]] = []
  package var updated: [[UInt8]] = []
  package var removed: [[UInt8]] = []
  /// Messages and changes whose state may be another.
  package var touched: [[UInt8]] = []
  /// By message the users whose reactions to it may be others.
  package var reacted: [[UInt8]: Set<[UInt8]>] = [:]
  /// Something came that stands apart: a catch-up has to say where.
  package var needsCatchUp = false

  package init() {}
}
