/// How many pages the book's own pagers would ask for.
internal import Base
internal import BookSupport
internal import ReferenceServer

extension Shadow {
  /// A catch-up by the pagers, on a copy of the book and with answers of now; each answer says
  /// whether there is more.
  func begin(sync number: UInt64, _ conversation: String, _ server: ReferenceServer) throws {
    // Windows ask as well, and nothing tells their requests from those of a sync.
    if knobs.screens > 0 || knobs.conversations > 1 || knobs.pageSizesVary { return }
    let room = room(conversation)
    var rows: [BookMessage] = []
    for row in server.truth(conversation) {
      rows.append(
        BookMessage(
          name: room.name(row.flaw == .none ? row.id : "? \(row.id)"), time: row.stampUs,
          number: row.number, isUnreadable: row.flaw != .none))
    }
    var kind = PageServerKind()
    kind.isNumbered = knobs.sequence
    kind.hasBefore = knobs.before
    let size = min(knobs.pageCap, knobs.pageLimit)
    let keepsOldest = knobs.keepsOldest
    let pager = PagingClient(
      kind, room.pager.disk, overlap: max(5_000_000, knobs.resolutionUs),
      fetch: { request in
        let found = rows.filter { row in
          request.after.map { row.time > $0 } ?? true
            && request.before.map { row.time < $0 } ?? true
        }
        if request.after != nil, keepsOldest {
          let page = Array(found.dropFirst(request.offset).prefix(size))
          return (page, request.offset + size < found.count)
        }
        let end = max(0, found.count - request.offset)
        return (Array(found[max(0, end - size)..<end]), end > size)
      }, fetchDeleted: { _ in [] })
    try pager.catchUp(false)
    syncs[number] = (pager.pageRequests, figures.requests)
  }

  func end(sync number: UInt64, isGood: Bool) {
    guard let sync = syncs.removeValue(forKey: number), isGood else { return }
    figures.syncs += 1
    figures.pagerRequests += sync.pagers
    figures.syncRequests += figures.requests - sync.before
  }
}
