/// What the file of own work has, as far as the store has to know it.
internal import Base
internal import Vault

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
  private var liveBytes = 0
  private var deadBytes = 0

  init(_ digest: ContentDigest) { self.digest = digest }

  var isEmpty: Bool { entries.isEmpty }
  /// Whether it has what was changed or removed since.
  var hasDead: Bool { deadBytes > 0 }
  /// Making it anew costs less than what it wastes.
  var isWasteful: Bool { deadBytes > Swift.max(liveBytes, Self.floorBytes) }

  /// Takes a change in; false where it changes nothing.
  mutating func take(_ key: OwnKey, _ unit: [UInt8]?) -> Bool {
    guard key.kind == .operation || key.kind == .draft else { return false }
    let entry = unit.map { Entry(digest: digest(OwnUnit.content(of: $0)), size: $0.count) }
    let known = entries[key]
    guard known?.digest != entry?.digest else { return false }
    entries[key] = entry
    liveBytes &+= (entry?.size ?? 0) &- (known?.size ?? 0)
    deadBytes &+= known?.size ?? 0
    return true
  }

  mutating func take(record: [UInt8]) {
    OwnRecord.each(in: record) { _ = take($0, $1) }
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
  /// The last one that changed it.
  private(set) var commit: UInt64 = 0

  mutating func take(record: [UInt8]) {
    OwnRecord.each(in: record) { key, unit in
      switch key.kind {
      case .binding: binding = unit ?? []
      case .commit: commit = UInt64(clamping: key.id)
      case .operation, .draft: units[key] = unit
      }
    }
  }

  func isOf(_ owner: Schema.Binding) -> Bool { binding == OwnUnit.binding(owner) }

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
  var drafts: Set<Int64> = []
  /// What was removed is to be found nowhere any more.
  var erases = false
  /// Operations that the file had lost, and this commit has put back.
  var putBack: [UInt64] = []
  /// What became of them, nil for what is gone; known at the commit's end.
  private(set) var units: [(key: OwnKey, unit: [UInt8]?)] = []

  var isEmpty: Bool { operations.isEmpty && drafts.isEmpty && !erases }

  mutating func settle(_ tx: ReadTransaction) throws(StoreFailure) {
    let made = OwnUnits(rx: tx)
    for seq in Array(operations).ascending() {
      let record = try tx.operation(seq)
      let unit = try record.flatMap { record throws(StoreFailure) in try made.unit(of: record) }
      units.append((.operation(seq), unit))
    }
    for cid in Array(drafts).ascending() {
      let draft = try tx.draft(cid)
      let unit = try draft.map { draft throws(StoreFailure) in try made.unit(of: draft, in: cid) }
      units.append((OwnKey(kind: .draft, id: cid), unit))
    }
  }
}
