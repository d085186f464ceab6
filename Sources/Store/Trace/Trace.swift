/// What a trace says of a change: who made it, and what it did to a message.
internal import Base

/// Who made a change. The values are part of the file's format.
package enum TraceCause: Int64, Sendable {
  /// A call of the host, or a timer.
  case call = 1
  case answer = 2
  case push = 3
  /// Something that this user did.
  case operation = 4
  case imported = 5
  case retention = 6
}

/// What a change did to a message. The values are part of the file's format.
package enum TraceEffect: Int64, Sendable {
  case inserted = 1
  case changed = 2
  /// It stands at another position.
  case moved = 3
  case hidden = 4
  case shown = 5
  /// The server's copy took the place of a pending row.
  case confirmed = 6
  /// A complete answer did not list it, so its row was removed.
  case omitted = 7
  /// The server deleted it.
  case deleted = 8
  /// Its row was removed; the server may have it.
  case removed = 9
  /// A copy changed nothing: it was older, or the message had been deleted or erased.
  case ignored = 10
}

/// Where the changes of a transaction come from.
package struct TraceSource: Sendable {
  package var cause: TraceCause
  /// The id of the answered request, or the ref of the update.
  package var request: [UInt8]
  /// The verb of that request.
  package var verb: StaticString?
  /// Of this process, counted from 1.
  package var connection: UInt64
  /// By the device's clock, microseconds since 1970; 0 where there is none.
  package var atUs: Int64

  package init(
    cause: TraceCause = .call, request: [UInt8] = [], verb: StaticString? = nil,
    connection: UInt64 = 0, atUs: Int64 = 0
  ) {
    self.cause = cause
    self.request = request
    self.verb = verb
    self.connection = connection
    self.atUs = atUs
  }
}

/// One change of one message, as it is read.
package struct TraceEntry: Sendable {
  /// Nil for one of a later version, as is the effect.
  package var cause: TraceCause?
  package var effect: TraceEffect?
  package var atUs: Int64
  /// Empty where it was no answer and no update.
  package var request: [UInt8]
  package var verb: [UInt8]
  package var connection: UInt64
  package var commit: UInt64
  package var number: UInt64
  package var operation: UInt64
  /// Where the message stood; nil where that was not known.
  package var order: Int64?
  /// It is about the whole conversation.
  package var isOfAll: Bool

  /// It is about a send that is not confirmed.
  package var isOfPending: Bool { operation != 0 && order == nil && effect != .confirmed }

  /// Whether a row is stored after this.
  fileprivate func leavesRow(_ isStored: Bool) -> Bool {
    switch effect {
    case .removed, .omitted, .deleted: false
    case .ignored: isStored
    default: !isOfPending
    }
  }
}

extension [TraceEntry] {
  /// Takes out entries of the whole conversation that met no row of the message. Entries are the
  /// newest first; what was before the last of them is known where they are all.
  mutating func removeForeign(areAll: Bool) {
    var isStored = !areAll
    var kept: [TraceEntry] = []
    for entry in reversed() where !entry.isOfAll || isStored {
      kept.append(entry)
      isStored = entry.leavesRow(isStored)
    }
    self = kept.reversed()
  }
}

/// What a change of a row says of itself beside its state before and after.
enum TraceHint {
  case none
  /// Only receipts, reactions or a pin changed.
  case marks
  /// An operation lies over the row.
  case operation(UInt64)
  case effect(TraceEffect)
}

/// What a transaction has done to messages, until it is written.
struct TraceNotes {
  struct Note: Equatable {
    var cid: Int64
    /// Empty for a pending row whose client id is not known, and for a whole conversation.
    var id: [UInt8]
    var number: UInt64 = 0
    var operation: UInt64 = 0
    var cause: TraceCause
    var effect: TraceEffect
    var order: Int64?
  }

  /// Entries that the file keeps.
  let max: Int
  var source = TraceSource()
  /// Rows of a conversation go together, which is one entry.
  var isMuted = false
  private(set) var notes: [Note] = []

  init(max: Int) { self.max = max }

  /// Who makes the change that is to be noted; nil where none is.
  var cause: TraceCause? { isMuted ? nil : source.cause }

  mutating func add(_ note: Note) {
    if notes.last == note { return }
    notes.append(note)
    // Older ones would be dropped right after they were written.
    if notes.count >= max &* 2 { notes.removeFirst(max) }
  }

  /// Nothing is to be kept of a conversation.
  mutating func erase(_ cid: Int64) { notes.removeAll { $0.cid == cid } }
}
