/// What the process knows beside the file of the server and of its conversations. All of it can be
/// lost with the process.
internal import Base
internal import Store
internal import Timeline

final class SyncMemory {
  var server: ServerKnowledge
  /// How this server lists messages, as far as seen.
  var ties = TieLearner()
  var live = LiveConversations()
  var left = LeftWalks()
  /// At which offsets what is known stands on the server.
  var offsets = OffsetHints()
  /// What speaks for a server that was restored.
  var restores = RestoreDetection()
  /// Messages that came by push and that no page has shown yet.
  var pushed = PushedRows()
  /// Reactions of single users that came by push.
  var reacted = ReactionChanges()
  /// What they have linked, and no catch-up has gone over yet.
  var linked = LinkedRanges()
  /// Where a page or a push of this connection showed all marks.
  var fresh = FreshRanges()
  /// By conversation, what pages of this connection claimed where no message can come to be
  /// stamped any more.
  var settled: [Int64: SpanSet] = [:]
  /// When the server was last asked for all that is new.
  var asked = AskedTimes()
  /// What is known of logs beside the file.
  var logs = LogConnections()
  /// How much the host wants to be kept, and what of it is being purged.
  var retention = Retention()

  /// What the transaction under way changes beside, once it is committed.
  var effects = CommitEffects()

  init(_ server: ServerKnowledge) { self.server = server }

  /// What transactions change while they go on, since their later parts read what earlier ones
  /// have learned.
  struct Learned {
    fileprivate let server: ServerKnowledge
    fileprivate let ties: TieLearner
    fileprivate let left: LeftWalks
    fileprivate let offsets: OffsetHints
    fileprivate let restores: RestoreDetection
    fileprivate let retention: Retention
  }

  var learned: Learned {
    Learned(
      server: server, ties: ties, left: left, offsets: offsets, restores: restores,
      retention: retention)
  }

  /// A transaction was rolled back, and with it goes what it has learned.
  func takeBack(to before: Learned) {
    server = before.server
    ties = before.ties
    left = before.left
    offsets = before.offsets
    restores = before.restores
    retention = before.retention
    effects = CommitEffects()
  }

  /// A transaction is committed: what it changes beside.
  func takeEffects() -> CommitEffects {
    defer { effects = CommitEffects() }
    return effects
  }

  /// Nothing is known of what another connection showed.
  func connect(at lsn: UInt64, nowMs: Int64) {
    restores.connect(nowMs: nowMs)
    server.connect()
    pushed.connect()
    live.connect(at: lsn)
    offsets = OffsetHints()
    left = LeftWalks()
    fresh.empty()
    settled = [:]
    reacted.removeAll()
    logs.connect()
  }

  func disconnect() {
    live.disconnect()
    logs.disconnect()
    fresh.empty()
  }

  /// Nothing that the server said is stored any more.
  func clear() {
    live.removeAll()
    fresh.empty()
    offsets = OffsetHints()
    pushed.removeAll()
    reacted.removeAll()
    ties.removeTaught()
    left = LeftWalks()
    asked.removeAll()
    logs.removeAll()
  }

  /// Nothing of one conversation is stored any more.
  func drop(_ cid: Int64) {
    fresh.remove(cid)
    logs.remove(cid)
    offsets = OffsetHints()
  }
}
