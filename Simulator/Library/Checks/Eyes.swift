/// What a person has seen so far, and what has happened since: for the looks between two answers.
///
/// Built from the frames that the device took and from what the host did, as `PushLog` is. It knows
/// no page of the store and shares no code with the client.
internal import ReferenceServer

struct Eyes {
  /// How many unread messages a conversation showed, and whether it called that exact.
  struct Badge: Equatable {
    var unread = 0
    var isExact = false
  }

  /// By how much a badge may have changed since the last look.
  struct Cause {
    var rise = 0
    var fall = 0
  }

  /// Messages that pages have shown, by the first part of their place.
  private(set) var shown: [Int: [Int64: Set<RowKey>]] = [:]
  var badges: [Int: Badge] = [:]
  private(set) var causes: [Int: Cause] = [:]
  /// Something happened whose effect on a count is not foretold: an answer, an act, a loss.
  private(set) var isFree = true
  /// The server has told how many messages are unread.
  private(set) var hasCounts = false
  /// By how much a count that an update told stands behind the server's own: an update that comes
  /// once more after a cut, or late, tells what was counted when it was made.
  private(set) var stale: [Int: Int] = [:]
  /// What the host has called read.
  var marked: Set<String> = []
  var looks = 0
  var losses = 0

  mutating func show(_ id: [UInt8], at order: Int64, in conversation: Int) {
    shown[conversation, default: [:]][order, default: []].insert(RowKey(id))
  }

  mutating func rise(_ conversation: Int) { causes[conversation, default: Cause()].rise += 1 }
  mutating func fall(_ conversation: Int) { causes[conversation, default: Cause()].fall += 1 }
  mutating func free() { isFree = true }

  mutating func noteCounts(_ frame: [UInt8]) {
    hasCounts = hasCounts || Self.counts.contains { Frames.find($0, in: frame, from: 0) != nil }
  }

  /// Notes a count that was told, beside the one of the server at that moment.
  mutating func noteCount(_ told: Int, server: Int, in conversation: Int) {
    stale[conversation] = server - told
  }

  /// Whether a count may follow another one. A count that stands behind is put right once.
  mutating func isForeseen(
    _ now: Int, after before: Int, for cause: Cause, in conversation: Int
  ) -> Bool {
    let lowest = before - cause.fall
    let highest = before + cause.rise
    if (lowest...highest).contains(now) { return true }
    guard let behind = stale.removeValue(forKey: conversation) else { return false }
    return (lowest + min(0, behind)...highest + max(0, behind)).contains(now)
  }

  private static let counts = ["\"unread_count\"", "\"message_count\""].map { Array($0.utf8) }

  /// What is seen from now on needs another cause.
  mutating func endLook() {
    causes = [:]
    isFree = false
    looks += 1
  }

  /// What is not stored any more has no place among those of its time, until a page shows it again.
  mutating func forget(besides stored: Set<RowKey>, in conversation: Int) {
    for (order, rows) in shown[conversation] ?? [:] {
      shown[conversation]?[order] = rows.intersection(stored)
    }
  }

  /// A loss of power may take away what pages have taught.
  mutating func forgetPages() { shown = [:] }
}
