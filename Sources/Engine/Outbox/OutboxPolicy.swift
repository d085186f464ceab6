/// What happens to an operation when …: all of it, as values.
///
/// Rules protected: one conversation's operations go out one at a time in the order
/// they were made; no conversation waits for another; what the server would do twice is
/// sent again only where it cannot have arrived; what was refused, or is not known to
/// have arrived, is the user's to decide and holds nothing up.
internal import Base
internal import Store
internal import Wire

enum OutboxPolicy {
  /// The operations that may go out now, oldest first.
  ///
  /// - Parameters:
  ///   - open: by `seq`.
  ///   - launched: those whose frame waits for the host, or for its answer.
  ///   - verifying: unknown ones for which the server is still to be looked at.
  ///   - notBeforeMs: when those that had trouble may be tried again.
  static func next(
    _ open: [OpenOperation], launched: Set<UInt64>, verifying: Set<UInt64>,
    notBeforeMs: [UInt64: Int64], nowMs: Int64, limit: Int
  ) -> [UInt64] {
    var held: Set<Int64> = []
    var next: [UInt64] = []
    // One that the user sends again may be older than what is under way.
    var busy: Set<Int64> = []
    for operation in open where !operation.verb.isFetch {
      if operation.state == .inFlight || launched.contains(operation.seq) {
        busy.insert(operation.cid)
      }
    }
    for operation in open {
      if next.count >= limit { break }
      let isOrdered = !operation.verb.isFetch
      switch operation.state {
      case .done, .refused, .answered:
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
      if operation.waits != .nothing || operation.depends != 0 { continue }
      if isOrdered, !held.insert(operation.cid).inserted { continue }
      if launched.contains(operation.seq) { continue }
      if isOrdered, busy.contains(operation.cid) { continue }
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
  ///   - isRepeatable: the server does it once, however often it is sent.
  ///   - wasTaken: the host had taken the frame.
  static func verdict(
    _ ending: Ending, verb: Verb, isRepeatable: Bool, wasTaken: Bool
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

  /// Whether the server does it once, however often it is sent.
  ///
  /// - Parameters:
  ///   - body: the other members of its request.
  ///   - isIdempotent: the server recognises a repetition by its client id.
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

/// Whether the server recognizes a repeated send or create. It may forget one after a while, or
/// recognize only those of one device or connection.
struct RepeatRecognition {
  /// The stamp of what is sent now.
  let now: SendStamp
  let nowMs: Int64
  /// Repeats are recognized from any device.
  let isOfAccount: Bool
  /// For how long a repeat is recognized; 0 for ever.
  let knownUs: Int64
  /// For how long a request may be under way.
  let timeoutMs: Int64

  /// Repeats are recognized for as long as the message exists.
  var isKnownForEver: Bool { isOfAccount && knownUs == 0 }

  /// Whether the server recognizes a repeat of what was sent then, also where the request takes its
  /// time. The clocks may only say that it was longer ago: one that was set back says nothing.
  ///
  /// - Parameter sinceMs: when this process sent it; nil where an earlier one has.
  func isKnown(_ before: SendStamp, sinceMs: Int64?) -> Bool {
    guard isOfAccount || before.by == now.by else { return false }
    if knownUs == 0 { return true }
    var ages: [Int64] = []
    if let sinceMs { ages.append(nowMs.saturating(minus: sinceMs) &* 1_000) }
    if let us = now.atUs, let then = before.atUs { ages.append(us.saturating(minus: then)) }
    guard let least = ages.min(), least >= 0, let age = ages.max() else { return false }
    return age.saturating(plus: timeoutMs &* 1_000) < knownUs
  }
}

extension OperationVerb {
  /// Whether the server may do it twice when it is sent twice.
  var isNew: Bool { self == .sendMessage || self == .createConversation }

  /// Whether it carries a payload.
  var hasPayload: Bool { self == .sendMessage || self == .editMessage }

  private static let words: [(OperationVerb, Verb)] = [
    (.sendMessage, .sendMessage), (.createConversation, .createConversation),
    (.editMessage, .editMessage), (.deleteMessage, .deleteMessage),
    (.reactMessage, .reactMessage), (.unreactMessage, .unreactMessage),
    (.pinMessage, .pinMessage), (.unpinMessage, .unpinMessage), (.markLastRead, .markLastRead),
    (.saveConversation, .saveConversation), (.deleteConversation, .deleteConversation),
    (.leaveConversation, .leaveConversation), (.addParticipants, .addParticipants),
    (.removeParticipants, .removeParticipants), (.addAdmins, .addAdmins),
    (.removeAdmins, .removeAdmins), (.getConversations, .getConversations),
    (.getConversation, .getConversation), (.getReceipts, .getReceipts),
    (.getUnreadCount, .getUnreadCount), (.getTotalUnreadCount, .getTotalUnreadCount),
    (.getUserChannel, .getUserChannel), (.deleteUserChannels, .deleteUserChannels),
    (.subscribe, .subscribe), (.unsubscribe, .unsubscribe), (.markRead, .markRead),
    (.markDelivered, .markDelivered), (.markListened, .markListened),
  ]

  /// Nil for what leaves no operation behind.
  init?(_ verb: Verb) {
    guard let word = Self.words.first(where: { $0.1 == verb }) else { return nil }
    self = word.0
  }

  /// As it is told to the server.
  var onWire: Verb {
    Self.words.first { $0.0 == self }?.1 ?? .typing
  }
}
