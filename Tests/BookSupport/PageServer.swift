/// A server that lists a conversation by time or by number, with ties, late commits, deletions,
/// restores and items that nobody can read.
package import Base

package struct BookMessage: Sendable {
  package var name: Int
  package var time: Int64
  /// The server's number, given when the message becomes visible.
  package var number: Int64 = 0
  package var isUnreadable = false
  /// Orders messages of one time.
  package var tie = 0

  package init(name: Int, time: Int64, number: Int64 = 0, isUnreadable: Bool = false) {
    (self.name, self.time, self.number) = (name, time, number)
    self.isUnreadable = isUnreadable
  }
}

package struct PageServerKind: Sendable {
  package enum Listing: CaseIterable, Sendable { case ascending, descending, mixed, shuffled }
  package enum Ties: CaseIterable, Sendable { case arrival, id, reversed, changing }

  package var isNumbered = false
  /// Which end of a cut answer to `after` is kept.
  package var keepsOldest = false
  package var pageMax = 50
  package var listing = Listing.ascending
  package var ties = Ties.arrival
  package var isLate = false
  package var hasBefore = false
  package var hasUnreadable = false

  package init() {}
}

/// What a killed process throws.
package struct Killed: Error {
  package init() {}
}

package struct PageServer: Sendable {
  package let kind: PageServerKind
  package var dice: Random
  package var now: Int64 = 1_000
  /// In the server's order.
  package private(set) var rows: [BookMessage] = []
  package private(set) var deletions: [(time: Int64, name: Int)] = []
  /// Committed and not pushed yet, with the message before it.
  package var pushes: [(message: BookMessage, after: Int?)] = []
  package private(set) var requests = 0
  /// How many commits there were when each message became visible.
  package private(set) var committed: [Int: Int] = [:]
  package private(set) var commits = 0
  private var pending: [(time: Int64, message: BookMessage)] = []
  private var numbers: Int64 = 0
  private var names = 0

  package init(_ kind: PageServerKind, seed: UInt64) {
    self.kind = kind
    dice = Random(seed: seed)
  }

  package mutating func post() {
    names += 1
    var message = BookMessage(name: names, time: now)
    message.isUnreadable = kind.hasUnreadable && dice.chance(0.06)
    if kind.isLate, dice.chance(0.25) {
      // Numbers are given at the commit, so a late one has any number and an early time.
      pending.append((now + Int64(dice.below(kind.isNumbered ? 16 : 5)), message))
    } else {
      commit(message)
    }
  }

  private mutating func commit(_ message: BookMessage) {
    var message = message
    numbers += 1
    commits += 1
    message.number = numbers
    switch kind.ties {
    case .arrival: message.tie = commits
    case .id, .changing: message.tie = (message.name &* 7_919) % 10_007
    case .reversed: message.tie = -commits
    }
    committed[message.name] = commits
    let place =
      kind.isNumbered
      ? rows.count : rows.firstIndex { ($0.time, $0.tie) > (message.time, message.tie) }
    let index = place ?? rows.count
    rows.insert(message, at: index)
    pushes.append((message, index > 0 ? rows[index - 1].name : nil))
  }

  package mutating func pass(_ units: Int) {
    for _ in 0..<units {
      now += 1
      let due = pending.filter { $0.time <= now }.shuffled(using: &dice)
      pending.removeAll { $0.time <= now }
      for one in due { commit(one.message) }
    }
  }

  package mutating func delete(_ name: Int) {
    guard let index = rows.firstIndex(where: { $0.name == name }) else { return }
    rows.remove(at: index)
    deletions.append((now, name))
  }

  /// The messages of one time change their order.
  package mutating func turnTies() {
    guard kind.ties == .changing else { return }
    for index in rows.indices { rows[index].tie = dice.below(1_000) }
    rows.sort { ($0.time, $0.tie) < ($1.time, $1.tie) }
  }

  package var backup: Backup {
    Backup(rows: rows, numbers: numbers, deletions: deletions)
  }

  package struct Backup: Sendable {
    var rows: [BookMessage]
    package var numbers: Int64
    var deletions: [(time: Int64, name: Int)]
  }

  package var hasNumbers: Int64 { numbers }

  package mutating func restore(_ backup: Backup) {
    (rows, numbers, deletions) = (backup.rows, backup.numbers, backup.deletions)
    (pushes, pending) = ([], [])
    pass(3)
  }

  package mutating func page(
    limit: Int, offset: Int, after: Int64?, before: Int64?
  ) -> (messages: [BookMessage], more: Bool) {
    requests += 1
    let size = min(limit, kind.pageMax)
    let selected = rows.filter { row in
      after.map { row.time > $0 } ?? true && before.map { row.time < $0 } ?? true
    }
    var page: [BookMessage]
    let isMore: Bool
    if after != nil, kind.keepsOldest {
      page = Array(selected.dropFirst(offset).prefix(size))
      isMore = offset + size < selected.count
    } else {
      let end = max(0, selected.count - offset)
      page = Array(selected[max(0, end - size)..<end])
      isMore = end > size
    }
    switch kind.listing {
    case .ascending: break
    case .descending: page.reverse()
    case .mixed: if after == nil { page.reverse() }
    case .shuffled: page.shuffle(using: &dice)
    }
    return (page, isMore)
  }

  package mutating func deleted(since: Int64) -> [Int] {
    requests += 1
    return deletions.filter { $0.time > since }.map(\.name)
  }
}
