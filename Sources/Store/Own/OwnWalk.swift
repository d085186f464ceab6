/// Whether the main file has the own work that was kept twice: a walk in slices.
///
/// It finds what the tables of own work cannot show by themselves: that they are those of an
/// earlier state, all of them. Rule protected: a slice is one committed state.
internal import Base

struct OwnWalk: Sendable {
  private enum Part {
    case operations, read, listened, drafts
  }

  private static let rows = 200

  private var part = Part.operations
  private var after: Int64 = 0
  /// Units that were seen, since this commit.
  private var seen = 0
  private var lsn: UInt64?
  /// The newest operation of that commit.
  private var last: UInt64 = 0

  /// Looks at a slice; gives what differs from `index`, and how to go on, nil at the end. `newest`
  /// is the last operation that there is.
  func step(
    _ rx: ReadTransaction, _ index: OwnIndex, newest: UInt64
  ) throws(StoreFailure) -> (differing: UInt64, next: OwnWalk?) {
    var next = self
    var differing: UInt64 = 0
    if lsn == nil { (next.lsn, next.last) = (rx.lsn, newest) }
    let units = OwnUnits(rx: rx)
    func look(_ key: OwnKey, _ unit: [UInt8]?, in cid: Int64) throws(StoreFailure) {
      guard let unit else { return }
      next.seen &+= 1
      // One without a conversation was found before.
      if cid != 0, try rx.conversation(cid: cid) == nil { return }
      if !index.has(key, as: unit) { differing &+= 1 }
    }
    let found: [OperationRecord]
    switch part {
    case .operations:
      found = try rx.operations(
        OperationFilter(openOnly: true, after: UInt64(clamping: after), limit: Self.rows))
    case .read: found = try rx.marks(.markRead, after: UInt64(clamping: after), limit: Self.rows)
    case .listened:
      found = try rx.marks(.markListened, after: UInt64(clamping: after), limit: Self.rows)
    case .drafts:
      var drafts: [Int64] = []
      do {
        let row = try rx.connection.statement(Queries.draftsFrom, after, Self.rows)
        while try row.step() { drafts.append(row.int(0)) }
      }
      for cid in drafts {
        // An older page may lead in a ring.
        guard cid > next.after else { return (differing &+ 1, nil) }
        next.after = cid
        guard let draft = try rx.draft(cid) else { continue }
        try look(OwnKey(kind: .draft, id: cid), try units.unit(of: draft, in: cid), in: cid)
      }
      if drafts.count == Self.rows { return (differing, next) }
      // What was removed of the index is seen where nothing was written meanwhile.
      if next.lsn == rx.lsn, next.seen < index.count {
        differing &+= UInt64(clamping: index.count &- next.seen)
      }
      return (differing, nil)
    }
    for record in found where record.seq <= next.last {
      guard Int64(clamping: record.seq) > next.after else { return (differing &+ 1, nil) }
      try look(.operation(record.seq), try units.unit(of: record), in: record.cid)
      next.after = Int64(clamping: record.seq)
    }
    // What is appended meanwhile would never end.
    if found.last.map({ $0.seq > next.last }) ?? true {
      next.after = 0
      next.part = part == .operations ? .read : part == .read ? .listened : .drafts
    }
    return (differing, next)
  }
}
