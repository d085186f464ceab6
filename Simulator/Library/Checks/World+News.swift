/// What a host may notify of: each message that came after the first fetch of its conversation is
/// offered once, whichever request brought it.
///
/// Judged at rest. A first fetch is over where a sync ended well: what came while it was under way
/// may be part of it.
internal import Engine
internal import ReferenceServer

extension World {
  /// A sync of a conversation ended well.
  func noteFirstFetch(_ conversation: Int) {
    guard knobs.looksAtOffers, offers.there[conversation] == nil else { return }
    offers.there[conversation] = Set(server.truth(conversations[conversation].name).map(\.id))
  }

  func checkNews() throws {
    guard knobs.looksAtOffers, !knobs.retention.mirrors, let probe, offers.losses == 0,
      findings.powerCuts + findings.diskFailures + findings.restores == 0
    else { return }
    try lookAtOffers()
    for index in present where !conversations[index].isGone {
      guard let there = offers.there[index] else { continue }
      for row in server.truth(conversations[index].name) where !there.contains(row.id) {
        guard let posted = ledger.posted.first(where: { $0.id == row.id }), !posted.mine,
          !posted.control, !posted.late, !posted.isQuarantined, !posted.isLongListed,
          !offers.silenced.contains(row.id), !strangers.returned.contains(row.id),
          let stored = try probe.row(conversations[index].bytes, Array(row.id.utf8)),
          stored.unread
        else { continue }
        let count = offers.ids[row.id] ?? 0
        if count != 1 { throw Violation("\(row.id) is new, and is offered \(count) times") }
      }
    }
  }
}
