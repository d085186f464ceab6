/// Messages in entries of the feed that its subscriber has not read (`TL_RETAIN_UNTOLD`).
///
/// Rule protected: however far behind the subscriber is, one slice reads so many entries and no
/// more. What was read stays in memory, and what the subscriber has done with goes.
internal import Base

package struct Untold: Sendable {
  /// Entries that one slice reads.
  package static let sliceEntries = 1_024

  /// The subscriber has read the entries up to this one.
  private var told: UInt64 = 0
  private var readTo: UInt64 = 0
  /// By entry, the messages that it is about; an entry about others is none.
  private var entries: [(seq: UInt64, numbers: ClosedRange<UInt64>)] = []
  /// Their numbers, in their order; nil where that is to be made anew.
  private var made: [ClosedRange<UInt64>]?
  /// How many entries were read so far: the cost that tests hold to the change.
  package private(set) var read = 0

  package init() {}

  /// All of them, in the order of their numbers; nil where more is to be read first. Where entries
  /// are not kept any more the subscriber reads everything anew.
  package mutating func readFeed(
    _ tx: WriteTransaction
  ) throws(StoreFailure) -> [ClosedRange<UInt64>]? {
    let everything = [0...UInt64.max]
    let told = UInt64(clamping: try tx.connection.number("SELECT told FROM room_state") ?? 0)
    guard told > 0 else { return everything }
    if told < self.told || told > readTo { restart(at: told) }
    if told > self.told {
      self.told = told
      let left = entries.firstIndex { $0.seq > told } ?? entries.endIndex
      if left > 0 {
        entries.removeFirst(left)
        made = nil
      }
    }
    if readTo &- told >= UInt64(clamping: Limits.changesMax) { return everything }
    let page = try tx.feedReader.changes(after: readTo, limit: Self.sliceEntries)
    guard case .entries(let found) = page else {
      restart(at: told)
      return everything
    }
    read &+= found.count
    for entry in found where entry.kind == .inserted || entry.kind == .updated {
      entries.append((entry.seq, entry.first...Swift.max(entry.first, entry.last)))
      made = nil
    }
    if let last = found.last { readTo = last.seq }
    guard readTo &- told < UInt64(clamping: Limits.changesMax) else { return everything }
    return found.count < Self.sliceEntries ? ranges() : nil
  }

  private mutating func restart(at told: UInt64) {
    (self.told, readTo, entries, made) = (told, told, [], nil)
  }

  private mutating func ranges() -> [ClosedRange<UInt64>] {
    if let made { return made }
    var ranges: [ClosedRange<UInt64>] = []
    for range in entries.map(\.numbers).ascending() {
      if let last = ranges.last, range.lowerBound <= last.upperBound {
        ranges[ranges.count &- 1] = last.lowerBound...Swift.max(last.upperBound, range.upperBound)
      } else {
        ranges.append(range)
      }
    }
    made = ranges
    return ranges
  }
}
