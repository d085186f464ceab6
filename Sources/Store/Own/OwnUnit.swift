/// What is kept twice: operations and drafts, each as one unit, and the records that put a unit or
/// take it away.
///
/// Rule protected: a unit is all that is needed to make its row again in a file that has nothing,
/// so it has the id of its conversation. It leaves out what sending an operation changes, so that
/// is no reason to write it again: who puts it back takes it as sent.
internal import Base
internal import Vault

enum OwnKind: UInt8, Sendable {
  /// Whose work it is.
  case binding = 0
  case operation = 1
  case draft = 2
  /// The commit that the units behind it are of; its number is in place of an id. Its unit is the
  /// openings of the file that changed own work, the last one in the end.
  case commit = 3
  /// The main file has gone on without it and could not take what it has, so it still lacks that.
  case fork = 4
}

/// Names a unit: by the number of an operation, or that of a conversation here.
struct OwnKey: Hashable, Sendable {
  var kind: OwnKind
  var id: Int64

  static func operation(_ seq: UInt64) -> OwnKey {
    OwnKey(kind: .operation, id: Int64(clamping: seq))
  }
}

/// What a commit makes of a unit.
enum OwnChange: Sendable {
  case put([UInt8])
  /// The user took it back.
  case removed
  /// The server has it. A file that has lost that commit asks for it again.
  case answered

  var unit: [UInt8]? { if case .put(let unit) = self { unit } else { nil } }
}

enum OwnUnit {
  private static let columns: Int32 = 19

  /// A fetch is asked again, and what was received is told again.
  static func isKept(_ record: OperationRecord) -> Bool {
    record.state != .done && !record.verb.isFetch && record.verb != .markDelivered
  }

  /// The columns of an operation behind those of its conversation.
  fileprivate static func bind(_ record: OperationRecord, _ row: inout ColumnPacker) {
    let isRefused = record.state == .refused
    // It is sent, was sent, or is looked for.
    let isLasting = isRefused || record.state == .answered
    row.bind(record.verb.rawValue)
    row.bind(record.target)
    row.bind(isLasting ? record.state.rawValue : OperationState.queued.rawValue)
    row.bind(record.number)
    row.bind(record.clientID)
    row.bind(record.depends)
    row.bind(record.waits.rawValue)
    row.bind(record.replyTo)
    row.bind(record.body)
    row.bind(record.plain)
    row.bind(record.sealed)
    row.bind(isRefused ? record.errorCode : nil)
    row.bind(isRefused ? record.errorText : nil)
    row.bind(record.result)
    row.bind(record.atUs)
    row.bind(record.isRewritten ? 1 as Int64 : 0)
  }

  /// An operation as a unit has it, in a conversation of this file.
  static func operation(_ row: PackedColumns, seq: UInt64, cid: Int64) -> OperationRecord? {
    guard row.count >= columns, let verb = OperationVerb(rawValue: row.int(3)),
      let state = OperationState(rawValue: row.int(5)),
      let waits = OperationWait(rawValue: row.int(9)), seq > 0
    else { return nil }
    var record = OperationRecord(
      verb, cid: cid, target: row.bytes(4), clientID: row.optionalBytes(7), body: row.bytes(11),
      plain: row.optionalBytes(12))
    record.seq = seq
    record.state = state
    record.number = verb == .sendMessage ? row.uint(6) : 0
    record.flags = verb == .sendMessage ? [.mine, .readByMe] : []
    record.depends = row.uint(8)
    record.waits = waits
    record.replyTo = row.optionalBytes(10)
    record.sealed = row.optionalBytes(13)
    record.errorCode = row.optionalBytes(14)
    record.errorText = row.optionalBytes(15)
    record.result = row.optionalBytes(16)
    record.atUs = row.int(17)
    record.isRewritten = row.int(18) != 0
    record.sentAfter = row.optionalInt(0)
    return isKept(record) ? record : nil
  }

  /// The number of the row that an operation shows.
  static func number(of row: PackedColumns) -> UInt64 { row.uint(6) }

  /// All of a unit but what was known of the server before it was sent, which does not change what
  /// the user did.
  static func content(of unit: [UInt8]) -> ArraySlice<UInt8> {
    unit.dropFirst(unit.first == 0 ? 1 : 9)
  }

  static func binding(_ binding: Schema.Binding) -> [UInt8] {
    var row = ColumnPacker()
    row.bind(binding.account)
    row.bind(binding.user)
    row.bind(binding.positionKind)
    return row.packed
  }
}

/// Makes units of what a transaction reads.
struct OwnUnits {
  let rx: ReadTransaction

  /// Nil for what is not kept twice.
  func unit(of record: OperationRecord) throws(StoreFailure) -> [UInt8]? {
    guard OwnUnit.isKept(record) else { return nil }
    var row = ColumnPacker()
    row.bind(record.sentAfter)
    try bindConversation(record.cid, &row)
    OwnUnit.bind(record, &row)
    return row.packed
  }

  func unit(of draft: StoredDraft, in cid: Int64) throws(StoreFailure) -> [UInt8] {
    var row = ColumnPacker()
    row.bind(nil as Int64?)
    try bindConversation(cid, &row)
    row.bind(draft.body)
    row.bind(draft.replyTo)
    return row.packed
  }

  private func bindConversation(_ cid: Int64, _ row: inout ColumnPacker) throws(StoreFailure) {
    let conversation = cid == 0 ? nil : try rx.conversation(cid: cid)
    row.bind(conversation?.id)
    row.bind(conversation?.isPending ?? false ? 1 as Int64 : 0)
  }

  /// Gives each unit of the file.
  func each(
    _ body: (OwnKey, [UInt8]) throws(StoreFailure) -> Void
  ) throws(StoreFailure) {
    var filter = OperationFilter(openOnly: true, limit: Limits.readRowsMax)
    while case let found = try rx.operations(filter), let last = found.last {
      for record in found {
        if let unit = try unit(of: record) { try body(.operation(record.seq), unit) }
      }
      filter.after = last.seq
    }
    for verb in [OperationVerb.markRead, .markListened] {
      var after: UInt64 = 0
      while case let found = try rx.marks(verb, after: after), let last = found.last {
        for record in found {
          if let unit = try unit(of: record) { try body(.operation(record.seq), unit) }
        }
        after = last.seq
      }
    }
    var drafts: [Int64] = []
    do {
      let row = try rx.connection.statement(Queries.drafts)
      while try row.step() { drafts.append(row.int(0)) }
    }
    for cid in drafts {
      guard let draft = try rx.draft(cid) else { continue }
      try body(OwnKey(kind: .draft, id: cid), try unit(of: draft, in: cid))
    }
  }
}

// MARK: - Records

/// What one commit has changed is one record: changes, one behind the other.
enum OwnRecord {
  private static let puts: UInt8 = 1
  private static let removes: UInt8 = 2
  private static let ends: UInt8 = 3

  static func append(_ key: OwnKey, _ change: OwnChange, to record: inout [UInt8]) {
    var unit: [UInt8]?
    switch change {
    case .put(let made):
      record.append(puts)
      unit = made
    case .removed: record.append(removes)
    case .answered: record.append(ends)
    }
    record.append(key.kind.rawValue)
    append(UInt64(bitPattern: key.id), 8, to: &record)
    guard let unit else { return }
    append(UInt64(clamping: unit.count), 4, to: &record)
    record.append(contentsOf: unit)
  }

  /// Names the commit that the changes behind it are of.
  static func commit(_ lsn: UInt64, of openings: [Int64]) -> [UInt8] {
    var row = ColumnPacker()
    for opening in openings { row.bind(opening) }
    var record: [UInt8] = []
    append(OwnKey(kind: .commit, id: Int64(clamping: lsn)), .put(row.packed), to: &record)
    return record
  }

  static var fork: [UInt8] {
    var record: [UInt8] = []
    append(OwnKey(kind: .fork, id: 0), .removed, to: &record)
    return record
  }

  /// Gives each change, up to what was not made by `append`. A kind of a later version is left out.
  static func each(in record: [UInt8], _ body: (OwnKey, OwnChange) -> Void) {
    var rest = record[...]
    while rest.count >= 10 {
      let (action, kind) = (rest.removeFirst(), OwnKind(rawValue: rest.removeFirst()))
      let id = Int64(bitPattern: take(8, of: &rest))
      let change: OwnChange
      switch action {
      case puts:
        guard rest.count >= 4 else { return }
        let size = Int(clamping: take(4, of: &rest))
        guard size <= rest.count else { return }
        change = .put(Array(rest.prefix(size)))
        rest = rest.dropFirst(size)
      case removes: change = .removed
      case ends: change = .answered
      default: return
      }
      if let kind { body(OwnKey(kind: kind, id: id), change) }
    }
  }

  private static func append(_ number: UInt64, _ count: UInt64, to record: inout [UInt8]) {
    for place in 0..<count { record.append(UInt8(truncatingIfNeeded: number &>> (place &* 8))) }
  }

  private static func take(_ count: Int, of rest: inout ArraySlice<UInt8>) -> UInt64 {
    let number = rest.prefix(count).reversed().reduce(0 as UInt64) {
      $0 &<< 8 | UInt64(clamping: $1)
    }
    rest = rest.dropFirst(count)
    return number
  }
}
