/// A window on a conversation that is made here, where it is not made after all.
///
/// Rule protected: a screen is told that what it shows is gone. It has no rows then, says that the
/// conversation was not found, and asks nobody of a name that only this device ever used.
internal import Base
internal import Store
internal import Timeline

/// How the making of a window's conversation stands, as of the last look.
struct PendingConversation {
  /// It is made here, and the server does not know it yet.
  var isPending = false
  /// The commit at which it was last removed.
  var deletedLSN: UInt64 = 0
  /// It was made here and taken back.
  var isUnmade = false
}

extension WindowState {
  /// Whether the conversation was made here and is not made after all. Where it is made once more
  /// under its name, the window begins anew.
  mutating func notesUnmade(
    _ record: ConversationRecord?, _ rx: ReadTransaction
  ) throws(StoreFailure) -> Bool {
    let was = pendingConversation
    pendingConversation.isPending = record?.isPending ?? false
    pendingConversation.deletedLSN = record?.deletedLSN ?? 0
    if was.isUnmade {
      guard let record else { return true }
      // A draft is kept under the name, and makes no conversation.
      if !record.isPending, try !rx.summary(record).isListed { return true }
      pendingConversation.isUnmade = false
      feed.cid = nil
      connection.liveAsked = nil
      requested.trouble = nil
      loads.wishes = [.newest(config.count)]
      return false
    }
    guard was.isPending, !pendingConversation.isPending else { return false }
    pendingConversation.isUnmade = record.map { $0.deletedLSN > was.deletedLSN } ?? true
    return pendingConversation.isUnmade
  }

  /// All rows leave.
  mutating func letGo(_ nowMs: Int64) -> [DiffOp] {
    loads.cancelAll()
    requested.trouble = .noConversation
    ends.gaps = Edges()
    view.anchor = 0
    guard !list.isEmpty || !list.loaded.isEmpty else { return [] }
    var change = WindowChange()
    change.isWhole = true
    change.loaded = SpanSet()
    change.spans = SpanSet()
    hold(&change, nowMs)
    return list.apply(change)
  }
}
