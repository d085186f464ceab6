/// Budgets of Tideline behind the simulator's protocol, with the faults that may be planted there.
internal import Engine

extension TidelineClient {
  /// How much is kept from now on, also by the process that follows a kill.
  func keep(_ knobs: RetentionKnobs) throws {
    budget = Budget()
    budget.messages = knobs.messages
    budget.messagesEach = knobs.messagesEach
    budget.bytes = knobs.bytes
    budget.ageUs = knobs.ageUs
    budget.keepsUntold = knobs.mirrors
    try RetentionService(client).set(budget)
  }

  /// A budget is the process's.
  func keepAgain() throws {
    work = nil
    if budget != Budget() { try RetentionService(client).set(budget) }
  }

  func hurry() throws {
    work = try RetentionService(client).purge()
  }

  /// As little as can be purged at once; whether nothing is left to do.
  func purgeStep() throws -> Bool {
    let step = try work?.step(milliseconds: 0)
    return step?.isDone ?? true
  }

  func room() throws -> SimRoom {
    let room = try RetentionService(client).room(nil)
    return SimRoom(
      messages: Int(clamping: room.messages), purged: Int(clamping: room.purgedMessages),
      isOver: room.isOver)
  }

  /// Messages that are stored, read without a look.
  func stored(_ conversation: [UInt8]) throws -> [RowKey] {
    let page = try client.messages(
      conversation: conversation, numbers: 1...UInt64.max, limit: 10_000)
    return page.rows.map { RowKey(page[$0.id]) }
  }

  /// Whether anything was purged, for a fault that follows a purge.
  var hasPurged: Bool { (try? room().purged > 0) ?? false }

  func lastChange() throws -> UInt64 { try client.state().changeSeq }

  /// Entries behind one; nil where the reader has to begin anew.
  func feed(after seq: UInt64) throws -> [SimChange]? {
    switch try client.changes(after: seq, limit: 1_000) {
    case .none: return []
    case .resync: return nil
    case .changes(let changes):
      var entries = changes.map { change in
        SimChange(
          seq: change.seq, kind: Self.kind(change.kind), conversation: change.conversation,
          first: change.first, last: change.last)
      }
      if fault == .untoldMessages {
        for index in entries.indices where entries[index].kind == .inserted {
          if entries[index].seq % 5 == 0 { entries[index].kind = .other }
        }
      }
      if fault == .toldTwice {
        for index in entries.indices where entries[index].kind == .updated {
          if entries[index].seq % 5 == 0 { entries[index].kind = .inserted }
        }
      }
      return entries
    }
  }

  private static func kind(_ kind: Int32) -> SimChange.Kind {
    switch kind {
    case 1: .inserted
    case 2: .updated
    case 3: .removed
    case 9: .purged
    default: .other
    }
  }

  /// A row in the midst of those that are left, away without a gap, as by a purge that cuts no
  /// range.
  func withoutPurged(_ rows: [SimRow]) -> [SimRow] {
    guard fault == .purgedInRange, rows.count > 4, hasPurged else { return rows }
    var rows = rows
    rows.remove(at: rows.count / 2)
    return rows
  }
}
