/// Where what is committed now comes from: for the change feed, and for a trace.
internal import Base
internal import Store
internal import Wire

struct ChangeSource {
  var origin = ChangeOrigin.own
  private var cause = TraceCause.call
  /// The id of the answered request, or the ref of the update.
  private var request: [UInt8] = []
  private var verb: Verb?

  /// A call of the host, a timer, or a service.
  init(_ cause: TraceCause = .call) { self.cause = cause }

  init(_ body: Body) {
    guard case .response = body else {
      (origin, cause) = (.pushed, .push)
      if case .update(let update) = body { request = update.ref }
      return
    }
    (origin, cause) = (.fetched, .answer)
  }

  /// The answer is to this request.
  mutating func answers(_ pending: PendingRequest) {
    (request, verb) = (pending.requestID, pending.verb)
  }

  func traced(at now: Instant, connection: UInt64) -> TraceSource {
    TraceSource(
      cause: cause, request: request, verb: verb?.name, connection: connection,
      atUs: now.wallUs ?? 0)
  }
}
