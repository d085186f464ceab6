/// What the host has subscribed to: asked again on each connection, before other work, so
/// that a catch-up that follows leaves nothing between them.
///
/// Rules protected: nobody waits for one that had trouble; what a late one may have missed
/// is asked for anew.
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
  private struct SubscriptionState {
    let one: Subscription
    /// It is still to be asked for the first time on this connection.
    var isDue = false
    /// Tries in vain; while there are any, other work does not wait for it.
    var attempts = 0
    /// When it is asked once more; nil while it is asked, or has been.
    var notBeforeMs: Int64?
    /// No answer came in time the last time it was asked, also on an earlier connection.
    var isSilent = false
  }

  /// In the order asked; lost with the process.
  private var all: [SubscriptionState] = []

  var areDue: Bool { all.contains(where: \.isDue) }

  /// When the last of those in trouble was asked, and until when the others leave the place
  /// to other work.
  private var askedMs: Int64 = .max
  private var restMs: Int64 = .min
  /// Longer than that no request is waited for, but by a device that slept.
  private static let restMaxMs: Int64 = 300_000

  /// When the next of those in trouble is asked; nil for none.
  var nextMs: Int64? { all.compactMap(\.notBeforeMs).min().map { max($0, restMs) } }

  /// Whether one that covers a conversation, or any, is in trouble.
  func areInTrouble(_ conversation: [UInt8]? = nil) -> Bool {
    all.contains { $0.attempts > 0 && $0.one.covers(conversation) }
  }

  /// Whether other work waits for its answer: for the first one of a connection.
  func holdsUp(_ one: Subscription) -> Bool {
    all.contains { $0.one == one && $0.attempts == 0 }
  }

  /// One that went well, as the host asked it; who asked it besides is not waited for.
  mutating func add(_ one: Subscription) {
    askedMs = .max
    if !confirm(one), !all.contains(where: { $0.one == one }) {
      all.append(SubscriptionState(one: one))
    }
  }

  mutating func remove(_ one: Subscription) {
    all.removeAll { $0.one == one }
  }

  /// Whoever gave no answer the last time is asked beside other work, or a connection that
  /// it takes down would never see any.
  mutating func connect(_ later: (_ attempt: Int) -> Int64) {
    askedMs = .max
    restMs = .min
    for index in all.indices {
      all[index].isDue = !all[index].isSilent
      all[index].attempts = all[index].isSilent ? all[index].attempts : 0
      all[index].notBeforeMs = all[index].isSilent ? later(all[index].attempts) : nil
    }
  }

  mutating func disconnect() {
    for index in all.indices {
      all[index].isDue = false
      all[index].notBeforeMs = nil
    }
  }

  mutating func takeDue() -> Subscription? {
    guard let index = all.firstIndex(where: \.isDue) else { return nil }
    all[index].isDue = false
    return all[index].one
  }

  /// Of those in trouble the one whose time came first.
  mutating func takeTroubled(_ nowMs: Int64) -> Subscription? {
    guard let next = nextMs, next <= nowMs, let first = all.compactMap(\.notBeforeMs).min(),
      let index = all.firstIndex(where: { $0.notBeforeMs == first })
    else { return nil }
    all[index].notBeforeMs = nil
    askedMs = nowMs
    return all[index].one
  }

  /// An answer came, or none in time: other work has the place for as long as it took, also
  /// where one request at a time goes out.
  mutating func rest(_ nowMs: Int64) {
    guard askedMs <= nowMs else { return }
    restMs = nowMs + min(nowMs - askedMs, Self.restMaxMs)
    askedMs = .max
  }

  /// Once more, later.
  mutating func again(
    _ one: Subscription, isSilent: Bool, _ later: (_ attempt: Int) -> Int64
  ) {
    guard let index = all.firstIndex(where: { $0.one == one }) else { return }
    all[index].attempts += 1
    all[index].notBeforeMs = later(all[index].attempts)
    all[index].isSilent = isSilent
    guard isSilent else { return }
    // Those behind it could keep all else waiting for as long, one after another.
    for index in all.indices where all[index].isDue {
      all[index].isDue = false
      all[index].attempts = 1
      all[index].notBeforeMs = .min
    }
  }

  /// It went well. Whether it had trouble before.
  mutating func confirm(_ one: Subscription) -> Bool {
    guard let index = all.firstIndex(where: { $0.one == one }) else { return false }
    defer { all[index] = SubscriptionState(one: one) }
    return all[index].attempts > 0
  }
}

extension Subscription {
  func covers(_ name: [UInt8]?) -> Bool {
    conversation == nil || name == nil || conversation == name
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
  func outdate(_ waiting: [OpenOperation], in tx: WriteTransaction) throws(StoreFailure) {
    guard isSubscription else { return }
    for one in waiting where one.seq < seq && one.state == .queued && one.cid == cid {
      guard let other = try tx.operation(one.seq), other.isSubscription, other.body == body
      else { continue }
      try tx.operationTable.removeOperation(one.seq)
    }
  }
}
