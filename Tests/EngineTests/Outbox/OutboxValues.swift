import Store
/// Whose turn it is, and what becomes of an operation whose request has ended.
import Testing

@testable import Engine
@testable import Wire

@Suite struct OutboxValues {
  private func operation(
    _ seq: UInt64, _ verb: OperationVerb = .sendMessage, cid: Int64 = 1,
    _ state: OperationState = .queued, depends: UInt64 = 0,
    waits: Store.OperationWait = .nothing
  ) -> OpenOperation {
    OpenOperation(
      seq: seq, verb: verb, cid: cid, state: state, depends: depends, waits: waits, attempts: 0)
  }

  private func next(
    _ open: [OpenOperation], launched: Set<UInt64> = [], verifying: Set<UInt64> = [],
    notBeforeMs: [UInt64: Int64] = [:], limit: Int = 10
  ) -> [UInt64] {
    OutboxPolicy.next(
      open, launched: launched, verifying: verifying, notBeforeMs: notBeforeMs, nowMs: 100,
      limit: limit)
  }

  @Test func aConversationGoesInOrderAndOthersBesideIt() {
    let open = [
      operation(1), operation(2, .editMessage), operation(3, cid: 2), operation(4, cid: 2),
      operation(5, .getConversations), operation(6, .getConversations),
    ]
    #expect(next(open) == [1, 3, 5, 6])
    #expect(next(open, limit: 2) == [1, 3])
    #expect(next(open, limit: 0).isEmpty)
  }

  @Test func whatIsInFlightHoldsItsConversation() {
    let open = [
      operation(1, .sendMessage, .inFlight), operation(2),
      operation(3, .createConversation, cid: 2),
    ]
    #expect(next(open) == [3])
    #expect(next([operation(1, .getConversations, .inFlight), operation(2)]) == [2])
  }

  /// A refused one that the user sends again may be older than what is under way.
  @Test func anOlderOneWaitsForWhatIsUnderWay() {
    let open = [operation(1), operation(2, .sendMessage, .inFlight), operation(3, cid: 2)]
    #expect(next(open) == [3])
    #expect(next([operation(1), operation(2)], launched: [2]).isEmpty)
    #expect(next([operation(1, .getReceipts), operation(2)], launched: [2]) == [1])
  }

  @Test func whatWaitsForTheHostIsNotAskedTwice() {
    let open = [operation(1), operation(2), operation(3, cid: 2), operation(4, .getConversations)]
    #expect(next(open, launched: [1, 4]) == [3])
  }

  /// Only while its verification is under way.
  @Test func anUnknownOneHoldsWhileItIsVerified() {
    let open = [operation(1, .sendMessage, .unknown), operation(2), operation(3, cid: 2)]
    #expect(next(open, verifying: [1]) == [3])
    #expect(next(open) == [2, 3])
  }

  @Test func aRefusedOneHoldsNothing() {
    #expect(next([operation(1, .sendMessage, .refused), operation(2)]) == [2])
  }

  /// An attempt that is to be made later keeps the order.
  @Test func aLaterAttemptKeepsItsPlace() {
    let open = [operation(1), operation(2), operation(3, cid: 2), operation(4, .getConversations)]
    #expect(next(open, notBeforeMs: [1: 101]) == [3, 4])
    #expect(next(open, notBeforeMs: [1: 100]) == [1, 3, 4])
    #expect(next(open, notBeforeMs: [4: 101]) == [1, 3])
  }

  /// What waits for the host, or for another operation, lets others pass.
  @Test func waitingLetsOthersPass() {
    #expect(next([operation(1, waits: .upload), operation(2)]) == [2])
    #expect(next([operation(1, waits: .seal), operation(2)]) == [2])
    #expect(next([operation(1, .editMessage, depends: 9), operation(2)]) == [2])
  }

  private func verdict(
    _ ending: OutboxPolicy.Ending, _ verb: Verb = .sendMessage, repeatable: Bool = false,
    taken: Bool = true
  ) -> OutboxPolicy.Verdict {
    OutboxPolicy.verdict(ending, verb: verb, isRepeatable: repeatable, wasTaken: taken)
  }

  @Test func withoutAnAnswerItMayHaveArrived() {
    #expect(verdict(.none) == .unknown)
    #expect(verdict(.none, taken: false) == .retry(afterMs: 0))
    #expect(verdict(.none, repeatable: true) == .retry(afterMs: 0))
    #expect(verdict(.malformed) == .unknown)
    #expect(verdict(.malformed, repeatable: true) == .retry(afterMs: 0))
  }

  @Test func aRefusalIsFinalAndATroubleIsNot() {
    let final: [ServerError] = [
      .tooLarge, .invalid, .forbidden, .conflict, .unsupported, .unknownCursor, .other, .notFound,
    ]
    for error in final {
      #expect(verdict(.failed(error, retryAfterMs: nil)) == .refused)
    }
    for error in [ServerError.rateLimited, .unavailable] {
      #expect(verdict(.failed(error, retryAfterMs: nil)) == .retry(afterMs: 0))
      #expect(verdict(.failed(error, retryAfterMs: 700)) == .retry(afterMs: 700))
    }
    #expect(verdict(.failed(.other, retryAfterMs: 50)) == .retry(afterMs: 50))
    // A delay promises nothing where the refusal is final.
    #expect(verdict(.failed(.forbidden, retryAfterMs: 50)) == .refused)
  }

  @Test func whatIsThereAlreadyIsDone() {
    for verb in Verb.allCases {
      #expect(verdict(.failed(.exists, retryAfterMs: nil), verb) == .done)
    }
  }

  @Test func whatIsGoneNeedNotBeRemoved() {
    let gone: [Verb] = [.deleteMessage, .deleteConversation, .leaveConversation]
    for verb in Verb.allCases {
      let expected: OutboxPolicy.Verdict = gone.contains(verb) ? .done : .refused
      #expect(verdict(.failed(.notFound, retryAfterMs: nil), verb) == expected)
    }
  }

  @Test func onlyNewThingsCannotBeRepeated() {
    for verb in Verb.allCases {
      let isNew = verb == .sendMessage || verb == .createConversation
      #expect(OutboxPolicy.isRepeatable(verb, body: [], isIdempotent: false) == !isNew)
      #expect(OutboxPolicy.isRepeatable(verb, body: [], isIdempotent: true))
    }
    for member in ["distinct", "direct"] {
      let body = Array("\"\(member)\":true".utf8)
      #expect(OutboxPolicy.isRepeatable(.createConversation, body: body, isIdempotent: false))
      #expect(!OutboxPolicy.isRepeatable(.sendMessage, body: body, isIdempotent: false))
    }
  }
}

@Suite struct OutboxWords {
  @Test func eachVerbOfAnOperationHasAWordOnTheWire() {
    for verb in OperationVerb.allCases {
      #expect(OperationVerb(verb.onWire) == verb, "\(verb)")
    }
  }
}
