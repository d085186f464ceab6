/// What the file of own work has, as far as the store has to know it.
internal import Base
internal import Vault

/// The newest commit that changed own work, and the opening that made it: see `Counters.opening`.
struct OwnStamp: Equatable, Sendable {
  var lsn: UInt64 = 0
  /// 0 before the first one.
  var opening: Int64 = 0
}

/// The openings whose changes of own work a file of it has, the last one in the end.
struct OwnPast: Sendable {
  /// So many openings that end without writing their log back are not lost with it.
  private static let openingsMax = 64

  private(set) var openings: [Int64] = []

  mutating func take(_ opening: Int64) {
    if openings.last == opening { return }
    openings.removeAll { $0 == opening }
    openings.append(opening)
    if openings.count > Self.openingsMax { openings.removeFirst() }
  }

  mutating func take(unit: [UInt8]?) {
    guard let row = unit.flatMap({ PackedColumns($0) }) else { return }
    for column in 0..<row.count { take(row.int(column)) }
  }

  func has(_ opening: Int64) -> Bool { opening != 0 && openings.contains(opening) }
}

/// Numbers that no later commit of a file may go below.
struct OwnFloor: Sendable {
  var lsn: UInt64 = 0
  var operation: UInt64 = 0
  var number: UInt64 = 0
}

extension Counters {
  /// The next commit is newer, and gives no number again.
  mutating func raise(to floor: OwnFloor) {
    lsn = Swift.max(lsn, floor.lsn == 0 ? 0 : floor.lsn &+ 1)
    lastOperation = Swift.max(lastOperation, floor.operation)
    lastNumber = Swift.max(lastNumber, floor.number)
  }
}

/// Of a file that is written: which units it has, so that what it has already is not written again,
/// and how much of it is of no use any more.
struct OwnIndex: Sendable {
  private struct Entry: Sendable {
    var digest: Int64
    var size: Int
  }

  private static let floorBytes = 64 << 10

  private let digest: ContentDigest
  private var entries: [OwnKey: Entry] = [:]
  var past: OwnPast
  private var liveBytes = 0
  private var deadBytes = 0

  init(_ digest: ContentDigest, past: OwnPast = OwnPast()) {
    self.digest = digest
    self.past = past
  }

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }
  /// Whether it has what was changed or removed since.
  var hasDead: Bool { deadBytes > 0 }
  /// Making it anew costs less than what it wastes.
  var isWasteful: Bool { deadBytes > Swift.max(liveBytes, Self.floorBytes) }

  /// Takes a change in; false where it changes nothing.
  mutating func take(_ key: OwnKey, _ change: OwnChange) -> Bool {
    guard key.kind == .operation || key.kind == .draft else { return false }
    let entry = change.unit.map { Entry(digest: digest(OwnUnit.content(of: $0)), size: $0.count) }
    let known = entries[key]
    guard known?.digest != entry?.digest else { return false }
    entries[key] = entry
    liveBytes &+= (entry?.size ?? 0) &- (known?.size ?? 0)
    deadBytes &+= known?.size ?? 0
    return true
  }

  mutating func take(record: [UInt8]) {
    OwnRecord.each(in: record) { key, change in
      if key.kind == .commit { past.take(unit: change.unit) } else { _ = take(key, change) }
    }
  }

  /// Whether it has this of a unit.
  func has(_ key: OwnKey, as unit: [UInt8]) -> Bool {
    entries[key]?.digest == digest(OwnUnit.content(of: unit))
  }

  func isSame(as other: OwnIndex) -> Bool {
    entries.count == other.entries.count
      && entries.allSatisfy { other.entries[$0.key]?.digest == $0.value.digest }
  }
}

/// The units of a file that is read, to be put back.
package struct OwnContents: Sendable {
  private var binding: [UInt8] = []
  private var units: [OwnKey: [UInt8]] = [:]
  /// Operations that the server has, with the commit that says so.
  private var answered: [OwnKey: UInt64] = [:]
  /// The last one that changed it.
  private(set) var commit: UInt64 = 0
  private(set) var past = OwnPast()
  private(set) var isFork = false

  mutating func take(record: [UInt8]) {
    OwnRecord.each(in: record) { key, change in
      switch key.kind {
      case .binding: binding = change.unit ?? []
      case .commit:
        commit = UInt64(clamping: key.id)
        past.take(unit: change.unit)
      case .fork: isFork = true
      case .operation, .draft:
        units[key] = change.unit
        if case .answered = change { answered[key] = commit }
      }
    }
  }

  func isOf(_ owner: Schema.Binding) -> Bool { binding == OwnUnit.binding(owner) }

  /// All that it has is as new as what `stamp` names, or newer.
  func isAsNew(as stamp: OwnStamp) -> Bool {
    !isFork && past.has(stamp.opening) && stamp.lsn <= commit
  }

  /// No commit behind it is to be older, or to have one of its numbers.
  var floor: OwnFloor {
    let all = units(.operation)
    return OwnFloor(
      lsn: commit, operation: all.last.map { UInt64(clamping: $0.id) } ?? 0,
      number: all.map { OwnUnit.number(of: $0.row) }.max() ?? 0)
  }

  /// Whether a file of this last commit has what it is to have of a unit. Where the answer to an
  /// operation was lost with later commits, so was what the answer made of it.
  func agrees(_ key: OwnKey, _ unit: [UInt8], at lsn: UInt64) -> Bool {
    guard let known = units[key] else { return answered[key] ?? 0 > lsn }
    return OwnUnit.content(of: known) == OwnUnit.content(of: unit)
  }

  /// What is there, in order.
  func units(_ kind: OwnKind) -> [(id: Int64, row: PackedColumns)] {
    var found: [(id: Int64, row: PackedColumns)] = []
    for (key, unit) in units where key.kind == kind {
      if let row = PackedColumns(unit) { found.append((key.id, row)) }
    }
    return found.ordered { $0.id < $1.id }
  }
}

/// What a commit changes of own work.
struct OwnChanges {
  var operations: Set<UInt64> = []
  /// Those that are marks and are gone: nobody takes one back.
  var endedMarks: Set<UInt64> = []
  var drafts: Set<Int64> = []
  /// What was removed is to be found nowhere any more.
  var erases = false
  /// Operations that the file had lost, and this commit has put back.
  var putBack: [UInt64] = []
  /// The main file is as new as what lies beside it from this commit on.
  var isPutBack = false
  /// What the file of own work has; nil where nothing is written to it.
  var index: OwnIndex?
  /// What became of those that are not as the index has them; known at the commit's end.
  private(set) var units: [(key: OwnKey, change: OwnChange)] = []

  var isEmpty: Bool { operations.isEmpty && drafts.isEmpty && !erases && !isPutBack }

  mutating func settle(_ tx: ReadTransaction) throws(StoreFailure) {
    let made = OwnUnits(rx: tx)
    for seq in Array(operations).ascending() {
      let record = try tx.operation(seq)
      let unit = try record.flatMap { record throws(StoreFailure) in try made.unit(of: record) }
      let isAnswered = record?.state == .done || endedMarks.contains(seq)
      add(.operation(seq), unit.map { .put($0) } ?? (isAnswered ? .answered : .removed))
    }
    for cid in Array(drafts).ascending() {
      let draft = try tx.draft(cid)
      let unit = try draft.map { draft throws(StoreFailure) in try made.unit(of: draft, in: cid) }
      add(OwnKey(kind: .draft, id: cid), unit.map { .put($0) } ?? .removed)
    }
  }

  private mutating func add(_ key: OwnKey, _ change: OwnChange) {
    if index?.take(key, change) ?? true { units.append((key, change)) }
  }
}
