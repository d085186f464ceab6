/// What the user did and the server has answered, until the log lists it (rule 22).
///
/// An answer tells an id at most, and no place. So an operation that was answered lies over the
/// rows as it did, until a page or a push lists its entry, or the log was read up to the present
/// after the answer: then the log says how things are.
internal import Base
internal import Store
internal import Timeline

struct LogSends {
  let tx: WriteTransaction
  let cid: Int64

  /// What the user is told of a message that the server took and its log lacks.
  static let notListed = Array("not_listed".utf8)

  init(_ tx: WriteTransaction, _ cid: Int64) {
    self.tx = tx
    self.cid = cid
  }

  /// Notes that the server has answered, and which message it made; whether the log has still to
  /// tell of it.
  func noteAnswer(
    to known: OperationRecord, id: [UInt8]?, result: [UInt8]?
  ) throws(StoreFailure) -> Bool {
    guard var record = try tx.operation(known.seq) else { return false }
    record.result = result
    if record.state != .done {
      record.state = .answered
      // How many requests of the log had been issued then.
      record.sentAfter = Int64(clamping: try LogRanges(tx).load(cid).facts.issued)
      if record.verb == .sendMessage, let id { record.target = id }
      record.errorCode = nil
      record.errorText = nil
    }
    try tx.operationTable.saveOperation(record)
    guard record.state != .done else { return false }
    guard record.verb == .sendMessage, let id, try tx.row(id, cid) != nil else { return true }
    // It was listed before the answer came, and was not known again.
    try tx.operationTable.settle(send: record.seq, as: id)
    return false
  }

  /// Ends those of which the log has told by now, and tells the user of a message that it lacks.
  func settle(by book: LogBook<LogRows>) throws(StoreFailure) {
    for record in try tx.answeredOperations(cid) {
      let answered = UInt64(clamping: record.sentAfter ?? 0)
      if record.verb == .sendMessage {
        let isLost =
          record.target.isEmpty
          ? try isListed(record, book, answered)
          : try book.lacks(record.target, answered: answered)
        guard isLost else {
          // The present was read since and does not list it: it stands in a gap below.
          if !record.target.isEmpty, try isListed(record, book, answered) {
            try tx.operationTable.settle(send: record.seq, as: record.target)
          }
          continue
        }
        var lost = record
        lost.state = .unknown
        lost.target = []
        lost.firstSent = nil
        lost.errorCode = Self.notListed
        try tx.operationTable.saveOperation(lost)
        try tx.operationTable.giveUp(send: lost.seq)
      } else if try isListed(record, book, answered) {
        var done = record
        done.state = .done
        try tx.operationTable.saveOperation(done)
        try tx.operationTable.resolve(done.seq, target: nil)
        try tx.operationTable.trimOperations()
      }
    }
  }

  private func isListed(
    _ record: OperationRecord, _ book: LogBook<LogRows>, _ answered: UInt64
  ) throws(StoreFailure) -> Bool {
    if let empty = book.facts.empty { return empty.request > answered }
    guard let newest = book.newest, let claim = book.ranges[newest].present else { return false }
    return claim.request > answered
  }
}

extension OperationVerb {
  /// It makes an entry of a log.
  var makesEntry: Bool {
    switch self {
    case .sendMessage, .editMessage, .deleteMessage, .reactMessage, .unreactMessage, .pinMessage,
      .unpinMessage:
      true
    default: false
    }
  }
}
