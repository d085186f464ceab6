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
  private var wanted: Set<Int64> = []
  private var notBeforeMs: [Int64: Int64] = [:]
  /// Until when all else has to rest, from the first look at rest on.
  private var restsUntilMs: Int64?
  /// The server tells the count of one conversation, as far as is known.
  var asksAlone = true

  /// So many are asked for one by one.
  static let aloneMax = 8
  /// The list of all conversations, beside them.
  private static let list: Int64 = 0

  var isEmpty: Bool { wanted.isEmpty }

  mutating func begin() {
    notBeforeMs = [:]
    restsUntilMs = nil
    asksAlone = true
  }

  mutating func note(_ cid: Int64, isWanted: Bool) {
    if isWanted { wanted.insert(cid) } else { wanted.remove(cid) }
  }

  /// Something else is under way.
  mutating func wake() { restsUntilMs = nil }

  /// All else rests: whether it has for long enough.
  mutating func rests(at nowMs: Int64) -> Bool {
    let until = restsUntilMs ?? nowMs.saturating(plus: Limits.recountRestMs)
    restsUntilMs = until
    return nowMs >= until
  }

  private func dueMs(_ cid: Int64) -> Int64 { notBeforeMs[cid] ?? .min }

  func isListDue(at nowMs: Int64) -> Bool { dueMs(Self.list) <= nowMs }

  /// Those that may be asked for now, in one order on each device.
  func due(at nowMs: Int64) -> [Int64] { Array(wanted.filter { dueMs($0) <= nowMs }).ascending() }

  /// When the next one may be asked for that may not be now.
  func nextMs(after nowMs: Int64) -> Int64? {
    let first = max(restsUntilMs ?? .min, asksAlone ? .min : dueMs(Self.list))
    var next: Int64?
    for cid in wanted where max(first, dueMs(cid)) > nowMs && dueMs(cid) < .max {
      next = min(next ?? .max, max(first, dueMs(cid)))
    }
    return next
  }

  private mutating func putOff(_ cid: Int64, at nowMs: Int64) {
    notBeforeMs[cid] = nowMs.saturating(plus: Limits.recountApartMs)
  }

  /// Nobody looks at it on this connection, until it is caught up with.
  mutating func putAside(_ cid: Int64) { notBeforeMs[cid] = .max }

  mutating func bringBack(_ cid: Int64) {
    if dueMs(cid) == .max { notBeforeMs[cid] = nil }
  }

  /// They are asked for; false where the list was a minute ago.
  mutating func take(_ asked: some Sequence<Int64>, at nowMs: Int64, withList: Bool) -> Bool {
    if withList, !isListDue(at: nowMs) { return false }
    if withList { putOff(Self.list, at: nowMs) }
    restsUntilMs = nil
    for cid in asked {
      wanted.remove(cid)
      putOff(cid, at: nowMs)
    }
    return true
  }
}
