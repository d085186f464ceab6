/// What the host has subscribed to: asked again on each connection, before other work,
/// so that a catch-up that follows leaves nothing between them.
internal import Base
internal import Wire

/// What was asked: everything, one channel, or one conversation.
struct Subscription: Equatable {
  var conversation: [UInt8]?
  /// The other members of its request.
  var body: [UInt8]
}

struct Subscriptions {
  /// In the order asked; lost with the process.
  private(set) var all: [Subscription] = []
  /// Those that are still to be asked on this connection.
  private(set) var due: [Subscription] = []
  private(set) var notBeforeMs: Int64 = .min
  /// What the host said last of each thing, by the number of its operation: an answer
  /// to something earlier changes nothing, and it is not asked again.
  private var last: [(one: Subscription, seq: UInt64)] = []
  private var attempts = 0

  mutating func note(_ one: Subscription, _ seq: UInt64) {
    if let index = last.firstIndex(where: { $0.one == one }) {
      last[index].seq = max(last[index].seq, seq)
    } else {
      last.append((one, seq))
    }
  }

  func isLast(_ one: Subscription, _ seq: UInt64) -> Bool {
    last.first { $0.one == one }.map { $0.seq <= seq } ?? true
  }

  mutating func add(_ one: Subscription) {
    if !all.contains(one) { all.append(one) }
  }

  mutating func remove(_ one: Subscription) {
    all.removeAll { $0 == one }
    due.removeAll { $0 == one }
  }

  mutating func connect() {
    due = all
    notBeforeMs = .min
    attempts = 0
  }

  mutating func disconnect() {
    due = []
  }

  mutating func takeDue() -> Subscription? {
    due.isEmpty ? nil : due.removeFirst()
  }

  /// Once more, later.
  mutating func again(_ one: Subscription, _ later: (_ attempt: Int) -> Int64) {
    guard all.contains(one), !due.contains(one) else { return }
    due.append(one)
    attempts += 1
    notBeforeMs = later(attempts)
  }
}

extension Core {
  /// Asks what is due; false while other work is to wait for it.
  func sendSubscriptions(_ now: Instant) -> Bool {
    if subscriptions.notBeforeMs <= now.monotonicMs {
      while exchange.hasRoom, let one = subscriptions.takeDue() {
        stats.requests += 1
        let request = OperationRequest(
          verb: .subscribe, conversation: one.conversation, body: one.body)
        exchange.send(
          .operation(request), for: .subscription(one), issued: lastLSN, account: commander)
        hasNews = true
      }
      if !subscriptions.due.isEmpty { return false }
    }
    return !exchange.flights.contains { flight in
      if case .subscription = flight.purpose { true } else { false }
    }
  }

  func takeSubscription(_ one: Subscription, _ outcome: Outcome, _ now: Instant) {
    switch outcome {
    case .failed(.exists, _):
      break
    case .failed(.rateLimited, let retry), .failed(.unavailable, let retry):
      subscribeAgain(one, atLeast: retry ?? 0, now)
    case .failed(.other, let retry?):
      subscribeAgain(one, atLeast: retry, now)
    case .failed:
      subscriptions.remove(one)
      logLines.append((.warn, "the server refused a subscription"))
    default:
      break
    }
  }

  func subscribeAgain(_ one: Subscription, atLeast: Int64, _ now: Instant) {
    subscriptions.again(one) { attempt in
      now.monotonicMs + exchange.backoffMs(attempt: attempt, atLeast: atLeast)
    }
  }
}
