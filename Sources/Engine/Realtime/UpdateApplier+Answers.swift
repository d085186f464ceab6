/// What an answer to an operation tells: what the server did is applied like an update.
internal import Base
internal import Store
internal import Wire

extension ServerUpdate {
  init(answer verb: Verb) {
    name = []
    action = .none
    isSilent = false
    ref = nil
    effects = []
    raw = nil
    fault = nil
    skipped = nil
  }
}

extension UpdateApplier {
  /// The last message of a conversation that was told; it may be an old one.
  mutating func last(of known: WireConversation) throws(StoreFailure) {
    guard let item = known.lastMessage else { return }
    let wasAside = isAside
    isAside = true
    try messages(known.id, items: [PushedItem(item: item, isNew: false)])
    isAside = wasAside
  }

  /// Who has done what with a message that was asked about.
  mutating func receipts(
    _ receipts: [WireReceipt], of record: OperationRecord
  ) throws(StoreFailure) {
    var users: [ReceiptKind: [[UInt8]]] = [:]
    var areMine: Set<ReceiptKind> = []
    for receipt in receipts {
      for (kind, stamp) in [
        (ReceiptKind.read, receipt.read), (.delivered, receipt.delivered),
        (.listened, receipt.listened),
      ] where stamp != nil {
        users[kind, default: []].append(receipt.user)
        if receipt.user == rules.user { areMine.insert(kind) }
      }
    }
    if users.isEmpty { return }
    _ = try tx.annotationTable.receipts(users, of: record.target, in: record.cid, areMine: areMine)
  }

  /// What is known to be so because the server did it. Gives the conversation that this
  /// user is no longer in.
  mutating func effect(
    of record: OperationRecord, in conversation: ConversationRecord?
  ) throws(StoreFailure) -> [UInt8]? {
    switch record.verb {
    case .deleteMessage:
      guard !record.target.isEmpty, let conversation else { return nil }
      try delete([record.target], in: conversation)
    case .pinMessage, .unpinMessage:
      _ = try tx.annotationTable.pin(
        record.target, in: record.cid, isPinned: record.verb == .pinMessage, issued: tx.lsn)
    case .editMessage:
      if isPlanted(.confirmedEditLost) { return nil }
      try tx.operationTable.confirm(edit: record)
    case .reactMessage, .unreactMessage:
      guard let conversation, let reaction = record.plain, !isPlanted(.confirmedReactionLost)
      else { return nil }
      try reacted(
        UserReaction(
          user: rules.user, reaction: reaction, isAdded: record.verb == .reactMessage,
          version: nil),
        to: record.target, in: conversation.id)
    case .addParticipants, .removeParticipants:
      try change("participant_ids", by: record, in: conversation)
    case .addAdmins, .removeAdmins:
      try change("admin_ids", by: record, in: conversation)
    case .saveConversation:
      try save(record, in: conversation)
    case .deleteConversation, .leaveConversation:
      try tx.removeConversation(record.cid)
      return conversation?.id
    default:
      break
    }
    return nil
  }

  /// A server that does not show the conversation again did as it was asked.
  private func save(
    _ record: OperationRecord, in conversation: ConversationRecord?
  ) throws(StoreFailure) {
    guard let conversation, let body = try tx.entry(conversation).body else { return }
    var members = Array(body.dropFirst().dropLast())
    for name in ["title", "metadata"] as [StaticString] {
      guard let value = operationValue(name, in: record.members) else { continue }
      members = operationBody(members, setting: name, to: value)
    }
    try tx.operationTable.confirm(object: OperationRecord.body(members), of: conversation)
  }

  /// Adds the users of a confirmed operation to a list of the conversation's object, or takes them
  /// out. An object without the list says nothing of it, and stays.
  private func change(
    _ list: StaticString, by record: OperationRecord, in conversation: ConversationRecord?
  ) throws(StoreFailure) {
    guard let conversation, let body = try tx.entry(conversation).body else { return }
    let members = Array(body.dropFirst().dropLast())
    let isAdded = record.verb == .addParticipants || record.verb == .addAdmins
    guard
      let changed = operationUsers(
        list, in: members, changedBy: record.members, isAdded: isAdded)
    else { return }
    try tx.operationTable.confirm(
      object: OperationRecord.body(operationBody(members, setting: list, to: changed)),
      of: conversation)
  }
}
