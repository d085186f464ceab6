/// Catching up with all conversations, a few at a time.
///
/// Rule protected: however many conversations there are, two of its syncs are open at most, what a
/// screen waits for goes before them, and one that is refused does not stop the others.
internal import Base
internal import Store

struct CatchUpAll {
  static let syncsMax = 2

  var id: UInt64
  /// How many asked for it, and whether each connection does.
  var holders = 1
  var isOwn = false
  /// Its syncs mark what they bring.
  var marksRead: Bool
  /// Whose turn is still to come, the next one last; nil until there is a connection.
  var left: [[UInt8]]?
  /// Its syncs that have not ended.
  var syncs: Set<UInt64> = []
  var isIncomplete = false
  /// The server has said of one of them what there is.
  var isAnswered = false
  /// When the first of them was asked for, at the latest.
  var beganMs = Int64.min
  var status = SyncStatus()

  /// One of its syncs is over.
  mutating func take(_ ended: SyncStatus, trouble: Failure?) {
    status.done += 1
    status.requests += ended.requests
    status.received += ended.received
    status.inserted += ended.inserted
    status.removed += ended.removed
    if trouble == nil, ended.basis == .network { isAnswered = true }
    switch trouble {
    case nil, .refused, .notFound, .unsupported, .cancelled: break
    default: isIncomplete = true
    }
  }
}
