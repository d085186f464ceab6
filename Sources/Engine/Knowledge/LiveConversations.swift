/// Which conversations follow the present on this connection.
///
/// Rule protected: one is live from the end of a catch-up until something makes what was
/// claimed of it unverified. It is remembered then that it was, for it catches up anew by itself.
internal import Base

struct LiveConversations {
  /// Those whose catch-up ended well on this connection.
  private(set) var caughtUp = IDSet()
  /// Those that were live until a sync dropped what was claimed of them.
  private var doubted: Set<[UInt8]> = []
  /// The newest commit when what is pushed on this connection began to be received whole; nil
  /// while there is none.
  private(set) var receivedSince: UInt64?
  /// The newest commit when this connection began.
  private(set) var beganLSN: UInt64 = 0

  func isLive(_ conversation: [UInt8]) -> Bool { caughtUp.contains(conversation) }

  func isDoubted(_ conversation: [UInt8]) -> Bool { doubted.contains(conversation) }

  /// Whether it was live on this connection, doubted since or not.
  func wasLive(_ conversation: [UInt8]) -> Bool {
    caughtUp.contains(conversation) || doubted.contains(conversation)
  }

  mutating func connect(at lsn: UInt64) {
    self = LiveConversations()
    receivedSince = lsn
    beganLSN = lsn
  }

  mutating func disconnect() {
    caughtUp = IDSet()
    receivedSince = nil
  }

  /// A subscription took hold: what came before was not pushed.
  mutating func noteCommitted(from lsn: UInt64) {
    if receivedSince != nil { receivedSince = lsn }
  }

  /// Its catch-up ended well.
  mutating func markLive(_ conversation: [UInt8]) {
    caughtUp.insert(conversation)
    doubted.remove(conversation)
  }

  /// What was claimed of it holds no more.
  mutating func doubt(_ conversation: [UInt8]) {
    if caughtUp.remove(conversation) { doubted.insert(conversation) }
  }

  /// Nothing more is asked of it.
  mutating func leave(_ conversation: [UInt8]) {
    caughtUp.remove(conversation)
    doubted.remove(conversation)
  }

  /// Nothing of them is stored any more.
  mutating func removeAll() {
    caughtUp = IDSet()
    doubted = []
  }
}
