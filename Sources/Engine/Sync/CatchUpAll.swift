/// Catching up with all conversations, a few at a time.
///
/// Rule protected: however many conversations there are, two of its syncs are open at most, what a
/// screen waits for goes before them, and one that is refused does not stop the others.
internal import Base
internal import Store

struct CatchUpAll {
  static let syncsMax = 2

  let id: UInt64
  /// Its syncs mark what they bring.
  var marksRead: Bool
  /// Whose turn is still to come, the next one last; nil until there is a connection.
  var left: [[UInt8]]?
  /// Its syncs that have not ended.
  var syncs: Set<UInt64> = []
  var isIncomplete = false
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
    switch trouble {
    case nil, .refused, .notFound, .unsupported, .cancelled: break
    default: isIncomplete = true
    }
  }
}
