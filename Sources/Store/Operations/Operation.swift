/// What the user did and the server has not confirmed: the rows of the outbox.
///
/// The message table holds only what the server said. An operation lies over it until
/// it is done or dropped, so taking something back is dropping a row. The raw values
/// are part of the file's format.

package import Base
internal import Timeline

/// What an operation asks of the server. Those below ten are marks, one a message, and
/// are kept by `enqueueMark`.
package enum OperationVerb: Int64, CaseIterable, Sendable {
  case markRead = 1
  case markDelivered = 2
  case markListened = 3
  case sendMessage = 10
  case createConversation = 11
  case editMessage = 20
  case deleteMessage = 21
  case reactMessage = 22
  case unreactMessage = 23
  case pinMessage = 24
  case unpinMessage = 25
  case markLastRead = 30
  case saveConversation = 31
  case deleteConversation = 32
  case leaveConversation = 33
  case addParticipants = 34
  case removeParticipants = 35
  case addAdmins = 36
  case removeAdmins = 37
  case getConversations = 50
  case getConversation = 51
  case getReceipts = 52
  case getUnreadCount = 53
  case getTotalUnreadCount = 54
  case getUserChannel = 55
  case deleteUserChannels = 56
  case subscribe = 57
  case unsubscribe = 58

  package var isMark: Bool { rawValue < 10 }
  /// Changes something on the server.
  package var isChange: Bool { rawValue >= 20 && rawValue < 50 }
  /// Asks, and changes nothing that others see.
  package var isFetch: Bool { rawValue >= 50 }
}

package enum OperationState: Int64, Sendable {
  /// The server has taken it, and its log has not listed it yet. What is below 3 lies over rows.
  case answered = -1
  case queued = 0
  case inFlight = 1
  /// It may have arrived; a look at the server will tell.
  case unknown = 2
  case refused = 3
  case done = 4

  /// How the message stands that such an operation sends.
  package var ofMessage: MessageState {
    switch self {
    case .queued: .queued
    case .inFlight, .answered: .inFlight
    case .unknown: .unknown
    case .refused: .refused
    case .done: .confirmed
    }
  }
}

/// What an operation waits for beside other operations.
package enum OperationWait: Int64, Sendable {
  case nothing = 0
  case upload = 1
  case seal = 2
}

/// One operation, whole. `addOperation` gives `seq`, `number` and `lsn`; they and
/// `flags` are the store's and what is saved in them is ignored.
package struct OperationRecord: Equatable, Sendable {
  package internal(set) var seq: UInt64 = 0
  package var verb: OperationVerb
  /// 0 for none.
  package var cid: Int64
  /// The message it is about: its id, or the client id of a send; else empty. Of a send
  /// that is done, the id that the server gave.
  package var target: [UInt8]
  package var state: OperationState = .queued
  /// The local number of a send's row; 0 for anything else.
  package internal(set) var number: UInt64 = 0
  /// What lies over a pending row.
  package internal(set) var flags: RowFlags = []
  package var clientID: [UInt8]?
  /// The operation that it waits for; 0 for none.
  package var depends: UInt64 = 0
  package var waits: OperationWait = .nothing
  /// The message that a send answers, as it is shown.
  package var replyTo: [UInt8]?
  /// JSON object of the other members, as given.
  package var body: [UInt8]
  /// The payload as the user sees it. Of `react_message` and `unreact_message`, the text
  /// of the reaction.
  package var plain: [UInt8]?
  /// The payload's JSON value as it goes out; nil for the plain one.
  package var sealed: [UInt8]?
  package var attempts = 0
  package var errorCode: [UInt8]?
  package var errorText: [UInt8]?
  /// JSON `data` of the answer.
  package var result: [UInt8]?
  /// When the user did it, by the device's clock: to be shown, and for nothing else.
  package var atUs: Int64 = 0
  /// Of a send, what was known of the server's time (of its numbers, where it has them)
  /// before it was sent first: its message lies above. Nil where nothing was.
  package var sentAfter: Int64?
  /// Of a send or a create that the server may have and has not answered, when and by whom it was
  /// sent first. Nil where it cannot have it, and where it is the user's to decide.
  package var firstSent: SendStamp?
  /// Its payload was changed after it may have reached the server: of a send that is
  /// done, the server has what it said before.
  package internal(set) var isRewritten = false
  /// The commit that last changed it.
  package internal(set) var lsn: UInt64 = 0

  package init(
    _ verb: OperationVerb, cid: Int64, target: [UInt8] = [], clientID: [UInt8]? = nil,
    body: [UInt8] = [], plain: [UInt8]? = nil
  ) {
    self.verb = verb
    self.cid = cid
    self.target = target
    self.clientID = clientID
    self.body = body
    self.plain = plain
  }

  /// Gives it another payload.
  package mutating func rewrite(_ payload: [UInt8]?) {
    if attempts > 0, payload != plain { isRewritten = true }
    plain = payload
  }

  /// The row that a screen shows for it; nil for none.
  var row: RowState? {
    guard number != 0, state != .done else { return nil }
    return RowState(position: .pending(seq), flags: flags)
  }
}

/// When something was sent to the server, and by which device or connection.
package struct SendStamp: Equatable, Sendable {
  /// By the device's wall clock; nil for a device without one.
  package var atUs: Int64?
  /// A digest of the device, or a number of the connection; 0 where neither matters.
  package var by: Int64

  /// It was put back into a file that lacked it: what of the conversation was known before it was
  /// sent is lost, so that a look does not find it proves nothing.
  package static let lost: Int64 = -2

  package init(atUs: Int64?, by: Int64) {
    self.atUs = atUs
    self.by = by
  }
}

/// Where a row stands and what it is: what screens and counters go by.
struct RowState: Equatable {
  var position: Position
  var flags: RowFlags

  var isVisible: Bool { flags.isDisjoint(with: .hidden) }

  /// Whether it is one to notify of now, and was not before.
  func isOffered(after before: RowState?) -> Bool {
    guard flags.contains(.offered), !(before?.flags.contains(.offered) ?? false) else {
      return false
    }
    return !flags.contains(.silent) && flags.isDisjoint(with: .ownOrRead) && isVisible
  }
}

/// Which operations to read, oldest first. Marks are none of them.
package struct OperationFilter: Sendable {
  package var cid: Int64?
  /// Without those that are done.
  package var openOnly: Bool
  package var after: UInt64
  package var limit: Int

  package init(cid: Int64? = nil, openOnly: Bool = false, after: UInt64 = 0, limit: Int) {
    self.cid = cid
    self.openOnly = openOnly
    self.after = after
    self.limit = limit
  }
}

/// What the order of sending is made from.
package struct OpenOperation: Equatable, Sendable {
  package var seq: UInt64
  package var verb: OperationVerb
  package var cid: Int64
  package var state: OperationState
  package var depends: UInt64
  package var waits: OperationWait
  package var attempts: Int

  package init(
    seq: UInt64, verb: OperationVerb, cid: Int64, state: OperationState, depends: UInt64 = 0,
    waits: OperationWait = .nothing, attempts: Int = 0
  ) {
    self.seq = seq
    self.verb = verb
    self.cid = cid
    self.state = state
    self.depends = depends
    self.waits = waits
    self.attempts = attempts
  }

  package init(_ record: OperationRecord) {
    self.init(
      seq: record.seq, verb: record.verb, cid: record.cid, state: record.state,
      depends: record.depends, waits: record.waits, attempts: record.attempts)
  }
}
