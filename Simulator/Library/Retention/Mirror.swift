/// The host's own tables, filled from the change feed as docs/reference/retention.md says.
///
/// It holds the rule of the recipe: what the feed tells is read before the next entries are asked
/// for, and so each message is told once, also one that is purged as soon as that is allowed.
struct Mirror {
  struct Held {
    var number: UInt64
    var payload: [UInt8]
    /// It is not stored any more, and was not deleted.
    var isPurged = false
  }

  /// Up to which entry all is here.
  private(set) var seq: UInt64 = 0
  private(set) var hasBegunAnew = false
  /// By conversation and id.
  private(set) var messages: [Int: [RowKey: Held]] = [:]
  /// Numbers that were told as new, and have not gone since.
  private var new: Set<UInt64> = []
  private var ids: [UInt64: (conversation: Int, key: RowKey)] = [:]

  /// Takes entries with the rows that the client shows after them.
  mutating func take(
    _ entries: [SimChange], _ rows: [UInt64: (conversation: Int, row: SimRow)],
    of names: [[UInt8]]
  ) throws {
    for (index, entry) in entries.enumerated() {
      let later = entries[(index + 1)...]
      for number in entry.first...max(entry.first, entry.last) {
        switch entry.kind {
        case .inserted, .updated:
          guard let (conversation, row) = rows[number] else {
            try mustBeGone(number, entry, later)
            continue
          }
          // A number between may belong to another conversation.
          if names[conversation] != entry.conversation { continue }
          try note(conversation, row, entry, later)
        case .removed: drop(number)
        case .purged: purge(number)
        case .other: break
        }
      }
      seq = entry.seq
    }
  }

  /// A number may belong to another conversation; else what is told and not there was deleted.
  private func mustBeGone(
    _ number: UInt64, _ entry: SimChange, _ later: ArraySlice<SimChange>
  ) throws {
    func isTold(_ kind: SimChange.Kind) -> Bool {
      later.contains { $0.kind == kind && $0.first <= number && number <= $0.last }
    }
    if isTold(.removed) || !isTold(.purged) { return }
    throw Violation("message number \(number) was purged before the subscriber was told of it")
  }

  private mutating func note(
    _ conversation: Int, _ row: SimRow, _ entry: SimChange, _ later: ArraySlice<SimChange>
  ) throws {
    let key = RowKey(row.id)
    if entry.kind == .inserted, !new.insert(row.number).inserted {
      throw Violation("\(World.text(row.id)) was told as new a second time, by entry \(entry.seq)")
    }
    if let known = messages[conversation]?[key], known.number != row.number, !known.isPurged {
      throw Violation("\(World.text(row.id)) was told as new, and is already here")
    }
    messages[conversation, default: [:]][key] = Held(number: row.number, payload: row.payload)
    ids[row.number] = (conversation, key)
  }

  private mutating func drop(_ number: UInt64) {
    new.remove(number)
    guard let (conversation, key) = ids.removeValue(forKey: number) else { return }
    if messages[conversation]?[key]?.number == number { messages[conversation]?[key] = nil }
  }

  private mutating func purge(_ number: UInt64) {
    new.remove(number)
    guard let (conversation, key) = ids[number] else { return }
    if messages[conversation]?[key]?.number == number {
      messages[conversation]?[key]?.isPurged = true
    }
  }

  /// The feed has lost its beginning, or the cache was made anew.
  mutating func beginAnew(at seq: UInt64) {
    self = Mirror()
    self.seq = seq
    hasBegunAnew = true
  }
}

/// One entry of the feed.
package struct SimChange: Equatable, Sendable {
  package enum Kind: Sendable { case inserted, updated, removed, purged, other }

  package var seq: UInt64
  package var kind: Kind
  package var conversation: [UInt8] = []
  package var first: UInt64
  package var last: UInt64
}

/// What a host asks of a client that keeps a part only.
package struct SimRoom: Equatable, Sendable {
  package var messages = 0
  package var purged = 0
  package var isOver = false
}
