/// How a server lists messages, as far as its pages have shown.
///
/// Rule protected: only pages teach the order of messages with one printed time, and only where
/// it is known which end of a page is the older one. That is read off a page that shows two
/// times, never guessed from what two pages share; a request from a time on and all others may
/// be listed differently. A server whose pages contradict each other teaches nothing more.
internal import Base
internal import Store
internal import Timeline
internal import Wire

struct TieLearner {
  /// Requests that may be listed in one way each.
  enum Listing: CaseIterable {
    case afterTime, others
  }

  private enum Direction {
    case up, down
    /// The times of a page went both ways.
    case none
  }

  /// A page inside one time group, of a listing whose direction was not known.
  struct Waiting {
    let cid: Int64
    let time: Int64
    /// The newest commit when it was asked for.
    let issued: UInt64
    /// In the order sent.
    var shown: TieOrder.Shown
    /// What was stored of the group when it came.
    var known = IDSet()
    /// What other pages have placed since, and what of it before all that is stored.
    var placed = IDSet()
    var ahead = IDSet()
    /// `takeTaught` has named its conversation.
    var isNamed = false
  }

  private struct Group: Hashable {
    let cid: Int64
    let time: Int64
  }

  private var directions: [Listing: Direction] = [:]
  private var waiting: [Listing: [Waiting]] = [:]
  /// What pages of this process showed of groups, from end to end.
  private var taught: [Group: Set<[UInt8]>] = [:]
  private var contradictions = 0

  private static let waitingMax = 16
  private static let taughtMax = 1_024
  private static let contradictionsMax = 3

  /// Pages contradicted what pages had taught too often.
  var isUnstable: Bool { contradictions >= Self.contradictionsMax }

  /// Whether pages list the newest first; nil where that is not known, or not always the same.
  func descends(_ listing: Listing) -> Bool? {
    switch directions[listing] {
    case .up: false
    case .down: true
    case .some(.none), nil: nil
    }
  }

  /// Whether nothing is known of it yet.
  func isUnknown(_ listing: Listing) -> Bool { directions[listing] == nil }

  /// Takes the times of a page, in the order sent.
  mutating func learn(_ times: some Sequence<Int64>, of listing: Listing) {
    var last: Int64?
    for time in times {
      if let last, last != time { note(last < time ? .up : .down, listing) }
      last = time
    }
  }

  private mutating func note(_ direction: Direction, _ listing: Listing) {
    let known = directions[listing]
    directions[listing] = known == nil || known == direction ? direction : Direction.none
  }

  /// Whether pages of all kinds have shown how they are listed, and none contradicted another.
  var isKnown: Bool { Listing.allCases.allSatisfy { descends($0) != nil } && contradictions == 0 }

  /// Keeps a page until its listing is known.
  mutating func wait(_ page: Waiting, _ listing: Listing) {
    if waiting[listing, default: []].count < Self.waitingMax {
      waiting[listing, default: []].append(page)
    }
  }

  /// Another page has placed rows of a group meanwhile.
  mutating func place(_ ids: [[UInt8]], isAhead: Bool, at time: Int64, in cid: Int64) {
    for listing in waiting.keys {
      for index in waiting[listing, default: []].indices
      where waiting[listing]?[index].cid == cid && waiting[listing]?[index].time == time {
        waiting[listing]?[index].placed.insert(all: ids)
        if isAhead { waiting[listing]?[index].ahead.insert(all: ids) }
      }
    }
  }

  /// Other conversations with a page that waited for what is known now, each named once: nothing
  /// else may ask for their next page.
  mutating func takeTaught(besides cid: Int64) -> [Int64] {
    var found: [Int64] = []
    for listing in Listing.allCases where descends(listing) != nil {
      for index in waiting[listing, default: []].indices {
        guard let page = waiting[listing]?[index], !page.isNamed else { continue }
        waiting[listing]?[index].isNamed = true
        if page.cid != cid, !found.contains(page.cid) { found.append(page.cid) }
      }
    }
    return found
  }

  /// The pages of a conversation that waited for what is known now, whatever they were asked for:
  /// oldest first each, and in the order in which they were asked.
  mutating func takeWaiting(in cid: Int64) -> [Waiting] {
    if waiting.isEmpty { return [] }
    var pages: [Waiting] = []
    for listing in Listing.allCases { pages.append(contentsOf: takeWaiting(listing, in: cid)) }
    pages.order { $0.issued < $1.issued }
    return pages
  }

  private mutating func takeWaiting(_ listing: Listing, in cid: Int64) -> [Waiting] {
    guard let all = waiting[listing], !all.isEmpty, !isUnknown(listing) else { return [] }
    let pages = all.filter { $0.cid == cid }
    waiting[listing] = all.filter { $0.cid != cid }
    guard let descends = descends(listing) else { return [] }
    return pages.map { page in
      var page = page
      if descends { page.shown.ids.reverse() }
      return page
    }
  }

  /// The server is another one, or none of it is stored any more.
  mutating func removeTaught() {
    taught = [:]
    waiting = [:]
    contradictions = 0
  }

  /// A page shows these rows of a group in this order; false where known rows are to stay as they
  /// stand.
  mutating func teaches(_ rows: [TieOrder.Row], in cid: Int64, isWhole: Bool) -> Bool {
    guard let time = rows.first?.position.time else { return false }
    let group = Group(cid: cid, time: time)
    if let before = taught[group] {
      // Of what pages have shown it shows two the other way round.
      let known = rows.filter { !$0.isNew }.map(\.position).filter { before.contains($0.id) }
      if known != known.ascending() {
        contradictions += 1
        taught[group] = nil
      }
    }
    if isUnstable { return false }
    if isWhole {
      if taught.count >= Self.taughtMax { taught = [:] }
      taught[group] = Set(rows.map(\.position.id))
    }
    return true
  }
}
