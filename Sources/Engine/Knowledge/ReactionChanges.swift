/// What single users have reacted, on servers that do not tell the whole set.
///
/// Rule protected: a page that was asked for before such a change came may show the set without
/// it, so the change is laid over what that page shows. A page asked for later has it already.
internal import Base
internal import Store
internal import Wire

struct ReactionChanges {
  private struct Change {
    let told: UserReaction
    /// The commit that took it in.
    let lsn: UInt64
  }

  /// Of each message, in the order of their coming.
  private var changes: [PushedID: [Change]] = [:]
  private(set) var count = 0

  var isFull: Bool { count >= Limits.pushesRemembered }

  /// Whether a newer change of the same reaction came before.
  func isOutdated(_ told: UserReaction, of message: PushedID) -> Bool {
    guard let version = told.version, let known = changes[message] else { return false }
    return known.contains {
      $0.told.user == told.user && $0.told.reaction == told.reaction
        && $0.told.version.map { $0 > version } ?? false
    }
  }

  mutating func insert(_ told: UserReaction, of message: PushedID, lsn: UInt64) {
    if isFull { removeAll() }
    changes[message, default: []].append(Change(told: told, lsn: lsn))
    count &+= 1
  }

  mutating func removeAll() {
    changes = [:]
    count = 0
  }

  /// The set of a copy with all that came after it was asked for; without `issued`, with all.
  func laid(
    over set: [UInt8]?, of message: PushedID, version: Int64?, issued: UInt64?
  ) -> [UInt8]? {
    guard count > 0, let known = changes[message] else { return set }
    var set = set
    for change in known where issued.map({ change.lsn > $0 }) ?? true {
      if let version, let told = change.told.version, told <= version { continue }
      set = ReactionSet.with(
        change.told.reaction, by: change.told.user, isAdded: change.told.isAdded, in: set)
    }
    return set
  }
}
