/// What the host has subscribed to: asked again on each connection, before other work,
/// so that a catch-up that follows leaves nothing between them.
internal import Base
internal import Wire

struct Subscriptions {
  /// The other members of each request, in the order asked; lost with the process.
  private(set) var all: [[UInt8]] = []
  /// Those that are still to be asked on this connection.
  private(set) var due: [[UInt8]] = []
  private(set) var notBeforeMs: Int64 = .min
  private var attempts = 0

  mutating func add(_ body: [UInt8]) {
    if !all.contains(body) { all.append(body) }
  }

  mutating func remove(_ body: [UInt8]) {
    all.removeAll { $0 == body }
    due.removeAll { $0 == body }
  }

  mutating func connect() {
    due = all
    notBeforeMs = .min
    attempts = 0
  }

  mutating func disconnect() {
    due = []
  }

  mutating func takeDue() -> [UInt8]? {
    due.isEmpty ? nil : due.removeFirst()
  }

  /// Once more, later.
  mutating func again(_ body: [UInt8], _ later: (_ attempt: Int) -> Int64) {
    guard all.contains(body), !due.contains(body) else { return }
    due.append(body)
    attempts += 1
    notBeforeMs = later(attempts)
  }
}

extension Core {
  /// Asks what is due; false while other work is to wait for it.
  func sendSubscriptions(_ now: Instant) -> Bool {
    if subscriptions.notBeforeMs <= now.monotonicMs {
      while exchange.hasRoom, let body = subscriptions.takeDue() {
        stats.requests += 1
        exchange.send(
          .operation(OperationRequest(verb: .subscribe, body: body)), for: .subscription(body),
          issued: lastLSN, account: commander)
        hasNews = true
      }
      if !subscriptions.due.isEmpty { return false }
    }
    return !exchange.flights.contains { flight in
      if case .subscription = flight.purpose { true } else { false }
    }
  }

  func takeSubscription(_ body: [UInt8], _ outcome: Outcome, _ now: Instant) {
    switch outcome {
    case .failed(.exists, _):
      break
    case .failed(.rateLimited, let retry), .failed(.unavailable, let retry):
      subscribeAgain(body, atLeast: retry ?? 0, now)
    case .failed(.other, let retry?):
      subscribeAgain(body, atLeast: retry, now)
    case .failed:
      subscriptions.remove(body)
      logLines.append((.warn, "the server refused a subscription"))
    default:
      break
    }
  }

  func subscribeAgain(_ body: [UInt8], atLeast: Int64, _ now: Instant) {
    subscriptions.again(body) { attempt in
      now.monotonicMs + exchange.backoffMs(attempt: attempt, atLeast: atLeast)
    }
  }
}
