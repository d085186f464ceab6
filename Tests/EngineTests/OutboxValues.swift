/// Whose turn it is, and what becomes of an operation whose request has ended.
import Testing

@testable import Engine
@testable import Wire

@Suite struct OutboxValues {
  private func operation(
    _ seq: UInt64, _ kind: OpenOperation.Kind = .send, cid: Int64 = 1,
    _ standing: OperationStanding = .queued, depends: UInt64 = 0, wait: OperationWait = .nothing
  ) -> OpenOperation {
    OpenOperation(
      seq: seq, kind: kind, cid: cid, standing: standing, depends: depends, wait: wait)
  }

  private func next(
    _ open: [OpenOperation], verifying: Set<UInt64> = [], notBeforeMs: [UInt64: Int64] = [:],
    nowMs: Int64 = 100, limit: Int = 10
  ) -> [UInt64] {
    Outbox.next(
      open, verifying: verifying, notBeforeMs: notBeforeMs, nowMs: nowMs, limit: limit)
  }

  @Test func aConversationGoesInOrderAndOthersBesideIt() {
    let open = [
      operation(1), operation(2, .change), operation(3, cid: 2), operation(4, cid: 2),
      operation(5, .fetch), operation(6, .fetch),
    ]
    #expect(next(open) == [1, 3, 5, 6])
    #expect(next(open, limit: 2) == [1, 3])
    #expect(next(open, limit: 0).isEmpty)
  }

  @Test func whatIsInFlightHoldsItsConversation() {
    let open = [operation(1, .send, .inFlight), operation(2), operation(3, .create, cid: 2)]
    #expect(next(open) == [3])
    #expect(next([operation(1, .fetch, .inFlight), operation(2)]) == [2])
  }

  /// Only while its verification is under way.
  @Test func anUnknownOneHoldsWhileItIsVerified() {
    let open = [operation(1, .send, .unknown), operation(2), operation(3, cid: 2)]
    #expect(next(open, verifying: [1]) == [3])
    #expect(next(open) == [2, 3])
  }

  @Test func aRefusedOneHoldsNothing() {
    #expect(next([operation(1, .send, .refused), operation(2)]) == [2])
  }

  /// An attempt that is to be made later keeps the order.
  @Test func aLaterAttemptKeepsItsPlace() {
    let open = [operation(1), operation(2), operation(3, cid: 2), operation(4, .fetch)]
    #expect(next(open, notBeforeMs: [1: 101]) == [3, 4])
    #expect(next(open, notBeforeMs: [1: 100]) == [1, 3, 4])
    #expect(next(open, notBeforeMs: [4: 101]) == [1, 3])
  }

  /// What waits for the host, or for another operation, lets others pass.
  @Test func waitingLetsOthersPass() {
    #expect(next([operation(1, wait: .upload), operation(2)]) == [2])
    #expect(next([operation(1, wait: .seal), operation(2)]) == [2])
    #expect(next([operation(1, .change, depends: 9), operation(2)]) == [2])
  }

  private func verdict(
    _ ending: Outbox.Ending, _ verb: Verb = .sendMessage, repeatable: Bool = false,
    taken: Bool = true
  ) -> Outbox.Verdict {
    Outbox.verdict(ending, verb, isRepeatable: repeatable, wasTaken: taken)
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
      let expected: Outbox.Verdict = gone.contains(verb) ? .done : .refused
      #expect(verdict(.failed(.notFound, retryAfterMs: nil), verb) == expected)
    }
  }

  @Test func onlyNewThingsCannotBeRepeated() {
    for verb in Verb.allCases {
      let isNew = verb == .sendMessage || verb == .createConversation
      #expect(Outbox.isRepeatable(verb, body: [], isIdempotent: false) == !isNew)
      #expect(Outbox.isRepeatable(verb, body: [], isIdempotent: true))
    }
    for member in ["distinct", "direct"] {
      let body = Array("\"\(member)\":true".utf8)
      #expect(Outbox.isRepeatable(.createConversation, body: body, isIdempotent: false))
      #expect(!Outbox.isRepeatable(.sendMessage, body: body, isIdempotent: false))
    }
  }
}
