/// Looks whether the index has what the messages say, token by token, as two sums.
///
/// FTS5 has a check of its own, which finds what it lacks and not what it has of messages that are
/// gone. Rule protected: both sums are of one state. Where the index changed between two slices
/// the look begins anew, and after a few times the rest is read in one.
internal import Base
internal import Text

package struct SearchCheck: Sendable {
  package enum Finding: Equatable, Sendable {
    case more, right, wrong
    /// Nothing was looked at: the index has yet to follow what changed.
    case behind
  }

  private enum Stage {
    /// The messages below a number.
    case texts(below: Int64)
    /// What the index has behind a token.
    case tokens(after: [UInt8])
    /// What it has of a token that many messages have, behind a place.
    case rows(of: [UInt8], after: Int64)
  }

  /// It begins anew so often at most.
  private static let restartsMax = 3
  /// Messages of one read, and tokens of the index that take about as long as a short one.
  private static let rows: Int64 = 64
  private static let tokensOfRow: Int64 = 32

  private var stage = Stage.texts(below: .max)
  /// How FTS5 had its segments when the look began: each change of the index is seen in it.
  private var structure: [UInt8] = []
  private var restarts = 0
  /// All was right.
  package private(set) var isDone = false
  /// Of all tokens, each with its row and place in it: those of the texts less those of the index.
  private var sum: UInt64 = 0
  /// Messages that have to be in the index less rows that it has.
  private var missing: Int64 = 0
  /// Messages that were looked at, of so many.
  package private(set) var done: UInt64 = 0
  package private(set) var total: UInt64 = 0
  /// Messages and tokens that were looked at: the cost that tests hold to the size.
  package private(set) var looked: Int64 = 0

  package init() {}

  /// Looks at about so many messages, or as many tokens as they have; nil where search is off.
  package mutating func step(
    _ rx: ReadTransaction, size: Int64
  ) throws(StoreFailure) -> Finding? {
    let connection = try rx.connection
    guard SearchIndex(connection: connection).isOn else { return nil }
    if isDone { return .right }
    try connection.registerTokenizer()
    if try connection.number(Queries.searchChanged) != nil { return .behind }
    let row = try connection.statement(Queries.searchStructure)
    let now = try row.step() ? row.bytes(0) : []
    _ = consume row
    if now != structure {
      restarts &+= structure.isEmpty ? 0 : 1
      try begin(now, connection)
    }
    let isLast = restarts >= Self.restartsMax
    repeat {
      if try look(connection, isLast ? .max : Swift.max(size, 1)) {
        isDone = sum == 0 && missing == 0
        return isDone ? .right : .wrong
      }
    } while isLast
    return .more
  }

  private mutating func begin(
    _ structure: [UInt8], _ connection: Connection
  ) throws(StoreFailure) {
    let restarts = restarts
    self = SearchCheck()
    self.restarts = restarts
    self.structure = structure
    missing = 0 &- (try connection.number(Queries.searchRowCount) ?? 0)
    total = UInt64(clamping: try connection.number(Queries.searchLastNumber) ?? 0)
  }

  /// Whether all was looked at.
  private mutating func look(
    _ connection: Connection, _ size: Int64
  ) throws(StoreFailure) -> Bool {
    switch stage {
    case .texts(let below):
      if let next = try takeTexts(connection, below: below, size) {
        stage = .texts(below: next)
        done = total &- Swift.min(total, UInt64(clamping: next))
      } else {
        stage = .tokens(after: [])
        done = total
      }
      return false
    case .tokens(let after):
      guard let next = try takeTokens(connection, after: after, size) else { return true }
      stage = next
      return false
    case .rows(let token, let after):
      if let next = try takeRows(connection, of: token, after: after, size) {
        stage = .rows(of: token, after: next)
      } else {
        stage = .tokens(after: token)
      }
      return false
    }
  }

  /// Adds what the index has to have of messages; the last one, nil where these were all.
  private mutating func takeTexts(
    _ connection: Connection, below: Int64, _ size: Int64
  ) throws(StoreFailure) -> Int64? {
    let index = SearchIndex(connection: connection)
    let books = try SearchBooks(connection)
    let summing = SearchTokenizer.forRows()
    var (left, below) = (SearchSlice(size).cost, below)
    while left > 0 {
      let count = Self.rows
      let row = try connection.statement(Queries.searchBuild, below, count)
      var seen: Int64 = 0
      while left > 0, try row.step() {
        seen &+= 1
        looked &+= 1
        below = row.int(0)
        let document = SearchableRow(row, from: 1).document(connection.members)
        let read = row.size(4) &+ row.size(6)
        left &-= SearchCost.document(document.count) &+ SearchCost.payload(read)
        if document.isEmpty { continue }
        let place = try index.place(of: row.uint(0), at: row.int(7), books)
        // The build has not come to it.
        if place == nil, below < books.below { continue }
        // Nor the commit that brought it: what waits is not indexed.
        if place == nil, try connection.number(Queries.searchIsWaiting, below) != nil { continue }
        missing &+= 1
        if let place { sum &+= summing.sum(document, place) }
      }
      if seen < count, left > 0 { return nil }
    }
    return below
  }

  /// Takes what the index has away; where it goes on, nil where these were all.
  private mutating func takeTokens(
    _ connection: Connection, after: [UInt8], _ size: Int64
  ) throws(StoreFailure) -> Stage? {
    let row = try connection.statement(Queries.searchTokens, after)
    var left = tokens(size)
    var token: [UInt8] = []
    var hash: UInt64 = 0
    var place = Int64.min
    while try row.step() {
      let isOther = !row.isEqual(0, to: token)
      if left <= 0, isOther { return .tokens(after: token) }
      // To come back to the midst of a token this way is to read all of it before.
      if left <= 0, row.int(1) != place { return .rows(of: token, after: place) }
      if isOther {
        token = row.bytes(0)
        hash = TokenSum.hash(token)
      }
      place = row.int(1)
      left &-= 1
      looked &+= 1
      sum &-= TokenSum.term(hash, place: place, offset: row.int(2))
    }
    return nil
  }

  /// The same of one token, behind a place; the last place, nil where these were all.
  private mutating func takeRows(
    _ connection: Connection, of token: [UInt8], after: Int64, _ size: Int64
  ) throws(StoreFailure) -> Int64? {
    let quote = UInt8(ascii: "\"")
    let quoted = [quote] + token.flatMap { $0 == quote ? [quote, quote] : [$0] } + [quote]
    let most = tokens(size)
    let row = try connection.statement(
      Queries.searchTokenRows, Int64(bitPattern: TokenSum.hash(token)), quoted, after, most)
    var last = after
    var count: Int64 = 0
    while try row.step() {
      last = row.int(0)
      count &+= 1
      looked &+= 1
      sum &-= UInt64(bitPattern: row.int(1))
    }
    return count < most ? nil : last
  }

  private func tokens(_ size: Int64) -> Int64 {
    let count = size.multipliedReportingOverflow(by: Self.tokensOfRow).partialValue
    return count <= 0 ? .max : count
  }
}

/// The sum of tokens, which does not depend on their order.
struct TokenSum {
  private(set) var sum: UInt64 = 0
  private let place: Int64
  private var offset: Int64 = -1
  /// Tokens of the place so far: one that comes twice is there once.
  private var here: [UInt64] = []

  init(_ place: Int64) {
    self.place = place
  }

  mutating func take(_ token: some Sequence<UInt8>, isColocated: Bool) {
    if !isColocated || offset < 0 {
      offset &+= 1
      here.removeAll(keepingCapacity: true)
    }
    let hash = Self.hash(token)
    if here.contains(hash) { return }
    here.append(hash)
    sum &+= Self.term(hash, place: place, offset: offset)
  }

  static func hash(_ token: some Sequence<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in token { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    return hash
  }

  static func term(_ hash: UInt64, place: Int64, offset: Int64) -> UInt64 {
    checksumTerm(
      checksumTerm(hash, number: UInt64(bitPattern: place)), number: UInt64(bitPattern: offset))
  }
}
