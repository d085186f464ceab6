/// What happens to an operation when …: all of it, as values.
///
/// Rules protected: one conversation's operations go out one at a time in the order
/// they were made; no conversation waits for another; what the server would do twice is
/// sent again only where it cannot have arrived; what was refused, or is not known to
/// have arrived, is the user's to decide and holds nothing up.
internal import Base
internal import Wire

/// One operation that is not done, as far as its turn depends on it.
struct OpenOperation: Equatable, Sendable {
  enum Kind: Equatable, Sendable {
    /// A new message.
    case send
    /// A new conversation.
    case create
    /// What changes something and may be repeated.
    case change
    /// What only asks.
    case fetch

    /// Whether it keeps its place among those of its conversation.
    var isOrdered: Bool { self != .fetch }
    /// Whether the server may do it twice when it is told twice.
    var isNew: Bool { self == .send || self == .create }
  }

  let seq: UInt64
  let kind: Kind
  var cid: Int64
  var standing: OperationStanding
  /// The operation whose end it waits for; 0 for none.
  var depends: UInt64
  var wait: OperationWait
}

enum Outbox {
  /// The operations that may go out now, oldest first.
  ///
  /// - Parameters:
  ///   - open: by `seq`.
  ///   - verifying: unknown ones for which the server is still to be looked at.
  ///   - notBeforeMs: when those that had trouble may be tried again.
  static func next(
    _ open: [OpenOperation], verifying: Set<UInt64>, notBeforeMs: [UInt64: Int64], nowMs: Int64,
    limit: Int
  ) -> [UInt64] {
    var held: Set<Int64> = []
    var next: [UInt64] = []
    for operation in open {
      if next.count >= limit { break }
      let isOrdered = operation.kind.isOrdered
      switch operation.standing {
      case .done, .refused:
        continue
      case .unknown:
        if isOrdered, verifying.contains(operation.seq) { held.insert(operation.cid) }
        continue
      case .inFlight:
        if isOrdered { held.insert(operation.cid) }
        continue
      case .queued:
        break
      }
      // What waits for the host, or for another operation, lets those behind it pass.
      if operation.wait != .nothing || operation.depends != 0 { continue }
      if isOrdered, !held.insert(operation.cid).inserted { continue }
      // One that waits for its next attempt keeps its place before those behind it.
      if let notBefore = notBeforeMs[operation.seq], notBefore > nowMs { continue }
      next.append(operation.seq)
    }
    return next
  }

  /// How a request came to its end.
  enum Ending: Equatable {
    case ok
    case failed(ServerError, retryAfterMs: Int64?)
    /// An answer that cannot be read.
    case malformed
    /// None in time, or none before the connection was lost.
    case none
  }

  enum Verdict: Equatable {
    case done
    /// Not done, and asking again would change nothing.
    case refused
    /// Not done: again, not before so long.
    case retry(afterMs: Int64)
    /// It may have been done.
    case unknown
  }

  /// What becomes of an operation whose request ended so.
  ///
  /// - Parameters:
  ///   - isRepeatable: the server does it once, however often it is told.
  ///   - wasTaken: the host had taken the frame.
  static func verdict(
    _ ending: Ending, _ verb: Verb, isRepeatable: Bool, wasTaken: Bool
  ) -> Verdict {
    switch ending {
    case .ok:
      return .done
    case .none:
      return isRepeatable || !wasTaken ? .retry(afterMs: 0) : .unknown
    case .malformed:
      return isRepeatable ? .retry(afterMs: 0) : .unknown
    case .failed(let error, let retryAfterMs):
      switch error {
      case .exists:
        return .done
      case .rateLimited, .unavailable:
        return .retry(afterMs: max(0, retryAfterMs ?? 0))
      case .notFound:
        return isRemoval(verb) ? .done : .refused
      case .tooLarge, .invalid, .forbidden, .conflict, .unsupported, .unknownCursor:
        return .refused
      case .other:
        return retryAfterMs.map { .retry(afterMs: max(0, $0)) } ?? .refused
      }
    }
  }

  /// Whether that nothing is there was what it wanted.
  private static func isRemoval(_ verb: Verb) -> Bool {
    verb == .deleteMessage || verb == .deleteConversation || verb == .leaveConversation
  }

  /// Whether the server does it once, however often it is told.
  ///
  /// - Parameters:
  ///   - body: the other members of its request.
  ///   - isIdempotent: the server knows what it was told before by its client id.
  static func isRepeatable(_ verb: Verb, body: [UInt8], isIdempotent: Bool) -> Bool {
    switch verb {
    case .sendMessage:
      return isIdempotent
    case .createConversation:
      // Of these there is one for the same people, whoever asks and how often.
      return isIdempotent || operationFlag("distinct", in: body)
        || operationFlag("direct", in: body)
    default:
      return true
    }
  }
}

extension OpenOperation.Kind {
  /// Nil for what is no stored operation: marks have rows of their own, typing has
  /// none, and what syncs ask is not the user's.
  init?(_ verb: Verb) {
    switch verb {
    case .sendMessage:
      self = .send
    case .createConversation:
      self = .create
    case .editMessage, .deleteMessage, .reactMessage, .unreactMessage, .pinMessage,
      .unpinMessage, .markLastRead, .saveConversation, .deleteConversation, .leaveConversation,
      .addParticipants, .removeParticipants, .addAdmins, .removeAdmins:
      self = .change
    case .getConversations, .getConversation, .getReceipts, .getUnreadCount,
      .getTotalUnreadCount, .getUserChannel, .deleteUserChannels, .subscribe, .unsubscribe:
      self = .fetch
    case .getMessages, .getDeletedSince, .getChangedSince, .markRead, .markDelivered,
      .markListened, .typing:
      return nil
    }
  }
}
