/// A model of an outbox that is plain to see: what the server said, what the user did,
/// and a screen made anew from both each time.
import Timeline

@testable import Store

/// What the user did, and what the server said.
struct OutboxPolicy {
  struct Message {
    var number: UInt64
    var time: Int64
    var payload: String
    var isMine: Bool
    var isPinned = false
    var reactions = ""
    var isForgotten = false
  }

  struct Operation {
    var seq: UInt64
    var verb: OperationVerb
    var target: String
    var state = OperationState.queued
    var number: UInt64 = 0
    var clientID = ""
    var depends: UInt64 = 0
    var plain = ""

    var isSend: Bool { verb == .sendMessage }
    /// It may still come true, so it lies over its message.
    var isLaid: Bool { state != .done && state != .refused }
  }

  struct Row: Equatable, CustomStringConvertible {
    var number: UInt64
    var position: Position
    var id: String
    var payload: String
    var isPinned: Bool
    var isEdited: Bool
    var reactions: String
    var operation: UInt64
    var isMine: Bool

    var description: String {
      let marks = "\(isPinned ? " pinned" : "")\(isEdited ? " edited" : "")"
      return "\(number) \(name) \(id)=\(payload)\(marks)\(reactions)"
    }

    private var name: String { position.isPending ? "pending" : "\(position.time)" }
  }

  var messages: [String: Message] = [:]
  var deleted: Set<String> = []
  /// Erased here, for good.
  var forgotten: Set<String> = []
  var operations: [Operation] = []
  var lastNumber: UInt64 = 0
  var lastOperation: UInt64 = 0

  func pending(_ clientID: String) -> Int? {
    operations.firstIndex { $0.isSend && $0.clientID == clientID && $0.state != .done }
  }

  /// A row with all that lies over it; nil where it is not to be seen.
  private func laid(over row: Row, _ id: String, _ changes: [Operation]) -> Row? {
    var row = row
    for change in changes where change.target == id {
      switch change.verb {
      case .deleteMessage: return nil
      case .editMessage:
        row.payload = change.plain
        row.isEdited = true
      case .pinMessage: row.isPinned = true
      case .unpinMessage: row.isPinned = false
      case .reactMessage: row.reactions = #"{"+":["me"]}"#
      case .unreactMessage: row.reactions = ""
      default: break
      }
    }
    return row
  }

  var screen: [Row] {
    let changes = operations.filter { !$0.isSend && $0.isLaid }
    var rows: [Row] = []
    for (id, m) in messages where !m.isForgotten {
      let row = Row(
        number: m.number, position: position(m.time, id), id: id, payload: m.payload,
        isPinned: m.isPinned, isEdited: false, reactions: m.reactions, operation: 0,
        isMine: m.isMine)
      if let row = laid(over: row, id, changes) { rows.append(row) }
    }
    for send in operations where send.isSend && send.state != .done {
      let row = Row(
        number: send.number, position: .pending(send.seq), id: send.clientID,
        payload: send.plain, isPinned: false, isEdited: false, reactions: "",
        operation: send.seq, isMine: true)
      if let row = laid(over: row, send.clientID, changes) { rows.append(row) }
    }
    return rows.sorted { $0.position < $1.position }
  }

  mutating func add(
    _ verb: OperationVerb, target: String, clientID: String, depends: UInt64, plain: String
  ) {
    lastOperation += 1
    var operation = Operation(seq: lastOperation, verb: verb, target: target)
    operation.clientID = clientID
    operation.depends = depends
    operation.plain = plain
    if operation.isSend {
      lastNumber += 1
      operation.number = lastNumber
    }
    operations.append(operation)
  }

  mutating func finish(_ index: Int, _ id: String, keepsNumber: Bool) {
    operations[index].state = .done
    operations[index].target = id
    operations[index].depends = 0
    if !keepsNumber { operations[index].number = 0 }
    let seq = operations[index].seq
    for other in operations.indices where operations[other].depends == seq {
      operations[other].depends = 0
      if !operations[other].isSend { operations[other].target = id }
    }
  }

  /// A copy of a message of this user or another one.
  mutating func apply(
    _ id: String, _ time: Int64, _ payload: String, clientID: String?, isMine: Bool
  ) {
    var send: Int?
    if isMine, let clientID {
      send = pending(clientID)
    } else if isMine, messages[id] == nil, !deleted.contains(id) {
      send = operations.firstIndex {
        $0.isSend && [.inFlight, .unknown].contains($0.state) && $0.plain == payload
      }
    }
    if deleted.contains(id) {
      if let send { finish(send, id, keepsNumber: false) }
    } else if let known = messages[id] {
      if let send { finish(send, id, keepsNumber: false) }
      if !known.isForgotten { messages[id]?.payload = payload }
      messages[id]?.time = time
    } else {
      let number = send.map { operations[$0].number }
      if let send { finish(send, id, keepsNumber: true) }
      if number == nil { lastNumber += 1 }
      messages[id] = Message(
        number: number ?? lastNumber, time: time, payload: payload, isMine: isMine,
        isForgotten: forgotten.contains(id))
    }
  }

  mutating func drop(_ seq: UInt64) {
    let waiting = operations.filter { $0.depends == seq }
    operations.removeAll { $0.seq == seq }
    for next in waiting {
      if next.isSend { refuse(answer: next.seq) } else { drop(next.seq) }
    }
  }

  /// A send is refused: what answers it is, too, and what deletes it takes it back.
  mutating func refused(_ seq: UInt64) {
    let waiting = operations.filter { $0.depends == seq }
    if waiting.contains(where: { $0.verb == .deleteMessage && $0.state == .queued }) {
      return drop(seq)
    }
    for next in waiting where next.isSend { refuse(answer: next.seq) }
  }

  private mutating func refuse(answer seq: UInt64) {
    guard let index = operations.firstIndex(where: { $0.seq == seq }) else { return }
    operations[index].state = .refused
    operations[index].depends = 0
    refused(seq)
  }
}
