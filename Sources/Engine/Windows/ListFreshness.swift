/// Whether the server's list of conversations was read whole on this connection, and of which
/// conversations the number of unread messages is asked for once more.
///
/// Rule protected: a number is asked for once a minute at most, and when all else has rested for a
/// second: one request is for all that happens together, and a window asks for its rows first.
internal import Base

struct ListFreshness {
  private(set) var isWhole = false
  var recounts = Recounts()

  /// The list is asked for anew, on a new connection or because nothing of it is stored.
  mutating func begin() {
    isWhole = false
    recounts.begin()
  }

  /// What was read is not known to hold any more.
  mutating func expire() { isWhole = false }

  mutating func becameWhole() { isWhole = true }
}

/// Conversations of which the number is to be asked for, and when each of them was.
struct Recounts {
  private var wanted = IDSet()
  /// The list of all conversations has no name.
  private var notBeforeMs: [[UInt8]: Int64] = [:]
  /// Until when all else has to rest, from the first look at rest on.
  private var restsUntilMs: Int64?
  /// The server tells the count of one conversation, as far as is known.
  var asksAlone = true

  /// So many are asked for one by one.
  static let aloneMax = 8

  var isEmpty: Bool { wanted.isEmpty }

  mutating func begin() {
    notBeforeMs = [:]
    restsUntilMs = nil
    asksAlone = true
  }

  mutating func note(_ conversation: [UInt8], isWanted: Bool) {
    if isWanted { wanted.insert(conversation) } else { wanted.remove(conversation) }
  }

  /// Something else is under way.
  mutating func wake() { restsUntilMs = nil }

  /// All else rests: whether it has for long enough.
  mutating func rests(at nowMs: Int64) -> Bool {
    let until = restsUntilMs ?? nowMs.saturating(plus: Limits.recountRestMs)
    restsUntilMs = until
    return nowMs >= until
  }

  private func dueMs(_ conversation: [UInt8]) -> Int64 { notBeforeMs[conversation] ?? .min }

  /// Those that may be asked for now, in one order on each device.
  func due(at nowMs: Int64, where mayAsk: ([UInt8]) -> Bool) -> [[UInt8]] {
    wanted.all.filter { dueMs($0) <= nowMs && mayAsk($0) }
      .sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// When the next one may be asked for that may not be now.
  func nextMs(after nowMs: Int64, where mayAsk: ([UInt8]) -> Bool) -> Int64? {
    wanted.all.lazy.filter(mayAsk).map { [self] in
      max(dueMs($0), restsUntilMs ?? .min, asksAlone ? .min : dueMs([]))
    }.filter { $0 > nowMs }.min()
  }

  /// They are asked for; false where the list was a minute ago.
  mutating func take(_ asked: [[UInt8]], at nowMs: Int64, withList: Bool) -> Bool {
    if withList, dueMs([]) > nowMs { return false }
    restsUntilMs = nil
    let again = nowMs.saturating(plus: Limits.recountApartMs)
    if withList { notBeforeMs[[]] = again }
    for conversation in asked {
      wanted.remove(conversation)
      notBeforeMs[conversation] = again
    }
    return true
  }
}
