/// Records of the header as Swift values, copied out of their batch.
import CTidelineShared

public struct Message: Sendable, Equatable {
  public let number: UInt64
  public let id, conversation, sender, stamp, payload: String
  public let timeUs: Int64
  public let operation: UInt64
  public let uploadPermille: Int
  public let state: tl_message_state
  public let flags: UInt32

  init(_ row: tl_message) {
    number = row.number
    id = row.id.string
    conversation = row.conversation.string
    sender = row.sender.string
    stamp = row.stamp.string
    payload = row.payload.string
    timeUs = row.time_us
    operation = row.operation
    uploadPermille = Int(row.upload_permille)
    state = row.state
    flags = row.flags
  }

  /// Whether a flag such as `TL_MESSAGE_UNREAD` is set.
  public func has(_ flag: Int) -> Bool {
    flags & UInt32(flag) != 0
  }
}

public struct Change: Sendable, Equatable {
  public let seq: UInt64
  public let kind: tl_change_kind
  public let first, last: UInt64
  public let conversation: String

  init(_ entry: tl_change) {
    seq = entry.seq
    kind = entry.kind
    first = entry.first
    last = entry.last
    conversation = entry.conversation.string
  }
}

public struct Event: Sendable, Equatable {
  public let seq: UInt64
  public let kind: tl_event_kind
  public let action: tl_action
  public let entity, body: String

  init(_ entry: tl_event) {
    seq = entry.seq
    kind = entry.kind
    action = entry.action
    entity = entry.entity.string
    body = entry.body.string
  }
}

public struct Quarantined: Sendable, Equatable {
  public let seq, size: UInt64
  public let isCut: Bool
  public let lowUs, highUs: Int64
  public let conversation, reason, item: String

  init(_ entry: tl_quarantined) {
    seq = entry.seq
    size = entry.size
    isCut = entry.flags & UInt32(TL_QUARANTINED_CUT) != 0
    lowUs = entry.low_us
    highUs = entry.high_us
    conversation = entry.conversation.string
    reason = entry.reason.string
    item = entry.item.string
  }
}

public struct Entity: Sendable, Equatable {
  public let conversation, id, body: String

  init(_ entry: tl_entity) {
    conversation = entry.conversation.string
    id = entry.id.string
    body = entry.body.string
  }
}

public struct Operation: Sendable, Equatable {
  public let id, number: UInt64
  public let state: tl_operation_state
  public let waiting: tl_operation_wait
  public let verb, clientID, request, result, errorCode, errorText: String

  init(_ entry: tl_operation) {
    id = entry.id
    number = entry.number
    state = entry.state
    waiting = entry.waiting
    verb = entry.verb.string
    clientID = entry.client_id.string
    request = entry.request.string
    result = entry.result.string
    errorCode = entry.error_code.string
    errorText = entry.error_text.string
  }
}

public struct Conversation: Sendable, Equatable {
  public let number, unread: UInt64
  public let id, title, draft, typing: String
  public let last: Message?

  init(_ entry: tl_conversation) {
    number = entry.number
    unread = entry.unread
    id = entry.id.string
    title = entry.title.string
    draft = entry.draft.string
    typing = entry.typing.string
    last = entry.last.map { Message($0.pointee) }
  }
}

public struct Coverage: Sendable, Equatable {
  public let isWhole: Bool
  public let stop: tl_stop
  public let knownCount: UInt64
  /// The row that each gap lies before.
  public let gaps: [Int]

  init(_ coverage: tl_coverage) {
    isWhole = coverage.whole == 1
    stop = coverage.stop
    knownCount = coverage.known_count
    gaps = UnsafeBufferPointer(start: coverage.gaps, count: Int(coverage.gap_count)).map {
      Int($0.before_row)
    }
  }
}

/// One step of a difference.
public enum Step: Sendable, Equatable {
  case insert(Range<Int>)
  case remove(Range<Int>)
  case update(Range<Int>)
  case move(from: Int, to: Int)

  init(_ step: tl_op) {
    let row = Int(step.row)
    let rows = row..<row + Int(step.count)
    switch Int(step.kind) {
    case TL_OP_INSERT: self = .insert(rows)
    case TL_OP_REMOVE: self = .remove(rows)
    case TL_OP_MOVE: self = .move(from: Int(step.from), to: row)
    default: self = .update(rows)
    }
  }
}
