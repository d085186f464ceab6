/// What crosses the engine's border about operations: what the user did, and what has
/// become of it.
internal import Base

/// How an operation stands. The values are `TL_OPERATION_` states of the header.
package enum OperationStanding: Int32, Sendable {
  case queued = 1
  case inFlight
  /// It was sent and no answer came: it may have arrived.
  case unknown
  case refused
  case done
}

/// What an operation waits for. The values are `TL_WAIT_` values of the header.
package enum OperationWaiting: Int32, Sendable {
  case nothing = 0
  case connection
  case turn
  case retry
  case upload
  case seal
  case check
}

/// What the host says beside the request object.
package struct PerformOptions: Equatable, Sendable {
  /// It is not sent before `uploaded` was called for it.
  package var awaitsUpload = false

  package init(awaitsUpload: Bool = false) {
    self.awaitsUpload = awaitsUpload
  }
}

/// A message to send, for the typed call. Everything but the payload may be empty.
package struct Outgoing: Equatable, Sendable {
  package var conversation: [UInt8]
  /// JSON values.
  package var payload: [UInt8]
  package var attachment: [UInt8] = []
  package var metadata: [UInt8] = []
  package var replyTo: [UInt8] = []
  package var clientID: [UInt8] = []

  package init(conversation: [UInt8], payload: [UInt8]) {
    self.conversation = conversation
    self.payload = payload
  }
}

package enum TypingAction: Int32, Sendable {
  case begin = 1
  case pause
  case finished
}

/// Which operations to list, oldest first.
package struct OperationQuery: Equatable, Sendable {
  /// Of one conversation, by its id or by the client id it was created under.
  package var conversation: [UInt8]?
  /// Only those that are not done.
  package var openOnly: Bool
  package var after: UInt64
  package var limit: Int

  package init(
    conversation: [UInt8]? = nil, openOnly: Bool = true, after: UInt64 = 0, limit: Int = 100
  ) {
    self.conversation = conversation
    self.openOnly = openOnly
    self.after = after
    self.limit = limit
  }
}

/// One operation; the ranges point into the page's bytes. Empty means absent.
package struct OperationView: Equatable, Sendable {
  package var id: UInt64
  /// The row on screen, for a message that is sent; otherwise 0.
  package var number: UInt64
  package var standing: OperationStanding
  package var waiting: OperationWaiting
  package var attempts: UInt32
  package var uploadPermille: UInt32
  /// Milliseconds to the next try; -1 where none is planned.
  package var retryMs: Int64
  /// As on the wire.
  package var verb: Range<Int>
  package var conversation: Range<Int>
  /// The message it is about.
  package var message: Range<Int>
  package var clientID: Range<Int>
  /// JSON object of its other members, the payload as the host gave it.
  package var request: Range<Int>
  /// JSON `data` of the answer.
  package var result: Range<Int>
  package var errorCode: Range<Int>
  package var errorText: Range<Int>
}

package struct OperationPage: Sendable {
  package var rows: [OperationView]
  package var bytes: [UInt8]
}

/// The answer of the sealing hook.
package enum SealAnswer: Sendable {
  /// The JSON value that goes out in place of the payload.
  case sealed([UInt8])
  case notYet
  case failed
}

/// A payload offered to the sealing hook.
package struct Sealable: Sendable {
  /// The conversation's id, or the client id of one that is not created yet.
  package var conversation: [UInt8]
  /// Of a message to be sent; empty for an edit.
  package var clientID: [UInt8]
  /// Of a message to be edited; empty for a new one.
  package var message: [UInt8]
  package var payload: [UInt8]
}
