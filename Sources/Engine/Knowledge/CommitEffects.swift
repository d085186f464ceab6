/// What a transaction changes in memory beside what it learns, as a value.
///
/// Rule protected: memory follows the disk. This is applied once the transaction is committed, and
/// dropped with a rollback; what it has learned (`SyncMemory.Learned`) is taken back then.
struct CommitEffects {
  /// How often the server was found restored.
  var restores = 0
  /// How often its count was found to differ where everything is claimed.
  var mismatches = 0
  /// Conversations that may not be called live any more.
  var doubted: [[UInt8]] = []
  /// Those of which nothing is claimed any more: what their syncs were about to join is gone.
  var unclaimed: [[UInt8]] = []
  /// Those in which another catch-up is to follow.
  var pending: [[UInt8]] = []
  /// Those in which an earlier process doubted rows that are to be looked at.
  var checks: [RestoreDetection.Check] = []
  /// Messages whose deletion was pushed, or answered to this user.
  var deleted: [PushedID] = []

  var isEmpty: Bool {
    restores == 0 && mismatches == 0 && doubted.isEmpty && unclaimed.isEmpty && pending.isEmpty
      && checks.isEmpty && deleted.isEmpty
  }
}
