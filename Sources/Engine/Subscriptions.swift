/// What the host has subscribed to: asked again on each connection, before other work,
/// so that a catch-up that follows leaves nothing between them.
internal import Base
internal import Store
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
  /// Those that had trouble on it, and when they are asked once more. They hold up no other.
  private var troubled: [(one: Subscription, notBeforeMs: Int64)] = []
  private var attempts = 0

  /// When the next of those is asked; nil for none.
  var nextMs: Int64? { troubled.map(\.notBeforeMs).min() }

  mutating func add(_ one: Subscription) {
    if !all.contains(one) { all.append(one) }
  }

  mutating func remove(_ one: Subscription) {
    all.removeAll { $0 == one }
    due.removeAll { $0 == one }
    troubled.removeAll { $0.one == one }
  }

  mutating func connect() {
    due = all
    troubled = []
    attempts = 0
  }

  mutating func disconnect() {
    due = []
    troubled = []
  }

  /// Lets those be asked whose time has come.
  mutating func wake(_ nowMs: Int64) {
    due += troubled.filter { $0.notBeforeMs <= nowMs }.map(\.one)
    troubled.removeAll { $0.notBeforeMs <= nowMs }
  }

  mutating func takeDue() -> Subscription? {
    due.isEmpty ? nil : due.removeFirst()
  }

  /// Once more, later.
  mutating func again(_ one: Subscription, _ later: (_ attempt: Int) -> Int64) {
    guard all.contains(one), !due.contains(one), !troubled.contains(where: { $0.one == one })
    else { return }
    attempts += 1
    troubled.append((one, later(attempts)))
  }
}

extension Core {
  /// Asks what is due; false while other work is to wait for it.
  func sendSubscriptions(_ now: Instant) -> Bool {
    subscriptions.wake(now.monotonicMs)
    while exchange.hasRoom, let one = subscriptions.takeDue() {
      stats.requests += 1
      let request = OperationRequest(
        verb: .subscribe, conversation: one.conversation, body: one.body)
      exchange.send(
        .operation(request), for: .subscription(one), issued: lastLSN, account: commander)
      hasNews = true
    }
    if !subscriptions.due.isEmpty { return false }
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

/// The last word about a subscription counts: what was asked before it is not asked again.
extension OperationRecord {
  private var isSubscription: Bool { verb == .subscribe || verb == .unsubscribe }

  /// Whether the host has asked something later about the same subscription.
  func isOutdated(_ rx: ReadTransaction) throws(StoreFailure) -> Bool {
    guard isSubscription else { return false }
    let later = try rx.operations(
      OperationFilter(cid: cid, after: seq, limit: Limits.readRowsMax))
    return later.contains { $0.isSubscription && $0.body == body }
  }

  /// Drops what waits about the same subscription.
  func outdate(_ waiting: [OpenOperation], _ tx: WriteTransaction) throws(StoreFailure) {
    guard isSubscription else { return }
    for one in waiting where one.seq < seq && one.state == .queued && one.cid == cid {
      guard let other = try tx.operation(one.seq), other.isSubscription, other.body == body
      else { continue }
      try tx.removeOperation(one.seq)
    }
  }
}
