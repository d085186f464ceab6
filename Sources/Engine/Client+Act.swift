/// What the user does: one call for every verb, and typed ones for the common verbs.
///
/// Rule protected: what returned is on disk, and is told to the server once. The
/// sealing hook runs before any lock is taken.
internal import Base

extension Client {
  /// Takes a request object of the protocol as an operation. `number` is the row of the
  /// message that is sent, otherwise 0. The same client id again is the same operation.
  package func perform(
    _ json: [UInt8], _ options: PerformOptions = PerformOptions()
  ) throws(Failure) -> (operation: UInt64, number: UInt64) {
    throw .unsupported("operations")
  }

  /// `send_message` without JSON of the caller's around it.
  package func send(
    _ message: Outgoing, _ options: PerformOptions = PerformOptions()
  ) throws(Failure) -> (operation: UInt64, number: UInt64) {
    throw .unsupported("operations")
  }

  package func markDelivered(conversation: [UInt8], ids: [[UInt8]]) throws(Failure) {
    throw .unsupported("operations")
  }

  /// Tells the others, if connected: false where not. Nothing of it is kept.
  package func typing(conversation: [UInt8], _ event: TypingSignal) throws(Failure) -> Bool {
    throw .unsupported("operations")
  }

  package func operations(_ query: OperationQuery) throws(Failure) -> OperationPage {
    throw .unsupported("operations")
  }

  /// - Throws: `notFound`.
  package func operation(_ id: UInt64) throws(Failure) -> OperationPage {
    throw .unsupported("operations")
  }

  /// Sends a refused or unknown operation again, under its client id: false where it is
  /// neither. Also ends a wait for a new attempt.
  package func retry(_ operation: UInt64) throws(Failure) -> Bool {
    throw .unsupported("operations")
  }

  /// Drops an operation and what depends on it: false where it can no longer be dropped,
  /// because it is done or under way.
  package func cancel(operation: UInt64) throws(Failure) -> Bool {
    throw .unsupported("operations")
  }

  /// Puts members of a JSON object in the place of those that a queued or refused
  /// operation has; false where it may have been sent. A refused one is queued again.
  package func editOperation(_ operation: UInt64, _ json: [UInt8]) throws(Failure) -> Bool {
    throw .unsupported("operations")
  }

  /// The upload is over: the operation may go out, with this JSON value as its
  /// `attachment`; empty leaves it as it was given.
  package func uploaded(_ operation: UInt64, attachment: [UInt8]) throws(Failure) -> Bool {
    throw .unsupported("operations")
  }

  /// Kept in memory only, for whoever lists operations.
  package func uploadProgress(
    _ operation: UInt64, permille: UInt32
  ) throws(Failure) -> Bool {
    throw .unsupported("operations")
  }

  /// The operation is refused with the host's own reason; a retry waits for the upload.
  package func uploadFailed(
    _ operation: UInt64, reason: [UInt8]
  ) throws(Failure) -> Bool {
    throw .unsupported("operations")
  }

  /// Keys have come: offers sealed messages to `open` and unsealed operations to `seal`,
  /// of one conversation or of all. Gives how many were opened or sealed.
  package func reopenPayloads(conversation: [UInt8]?) throws(Failure) -> Int {
    throw .unsupported("operations")
  }
}
