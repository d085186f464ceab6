/// How far what happens on the server is pushed on this connection, as of an input.
///
/// Rule protected: a push joins the present only where everything new comes by push and nothing
/// else can.
internal import Base
internal import Store

struct PushReach {
  let isUp: Bool
  let isLossless: Bool
  let subscriptions: Subscriptions
  let open: [OpenOperation]
  let jobs: [SyncJob]

  /// Whether a catch-up of the conversation has not yet reached the present.
  func isCatchingUp(_ conversation: [UInt8]) -> Bool {
    jobs.contains { $0.request.conversation == conversation && $0.isCatchingUp }
  }

  /// Whether everything new of the conversation comes by push and nothing else can:
  /// a catch-up ended well on this connection, nothing became unverified since, and no
  /// subscription waits for an answer.
  func isLive(_ record: ConversationRecord, _ memory: SyncMemory) -> Bool {
    receivesAll(record) && memory.live.isLive(record.id)
      && record.fetch != nil && memory.server.time != nil && !memory.server.mustDistrust(record)
      && !isCatchingUp(record.id)
  }

  /// Whether whatever is committed in the conversation now comes by push.
  func receivesAll(_ record: ConversationRecord) -> Bool {
    isLossless && isUp && isPushed(record.id, in: record.cid)
  }

  /// Whether what happens in a conversation is surely pushed, as far as it was asked for.
  private func isPushed(_ conversation: [UInt8], in cid: Int64) -> Bool {
    !subscriptions.areInTrouble(conversation)
      && !open.contains {
        $0.verb == .subscribe && ($0.cid == cid || $0.cid == 0)
          && ($0.state == .queued || $0.state == .inFlight)
      }
  }
}
