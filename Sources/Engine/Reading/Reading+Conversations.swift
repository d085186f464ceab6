/// Rows of a conversation list with their contents, all bytes of a page in one arena.
///
/// Only what is asked for is read. The conversation object is the host's: its title
/// and how many take part are read off it, the rest goes out as it came.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension Reading {
  /// The rows of these conversations; one that is not listed any more keeps its place.
  /// `isNamed` shows it all the same.
  func conversations(
    _ cids: [Int64], typing: [[UInt8]: [[UInt8]]], isNamed: Bool = false
  ) throws(Failure) -> ConversationPage {
    try storing { rx throws(StoreFailure) in
      var page = ConversationPage()
      page.rows.reserveCapacity(cids.count)
      var lasts: [Last] = []
      lasts.reserveCapacity(cids.count)
      for (index, cid) in cids.enumerated() {
        var row = ConversationRow()
        row.number = UInt64(clamping: cid)
        if let entry = try rx.entry(cid: cid), entry.summary.isListed || isNamed {
          fill(&row, entry: entry, typing: typing[entry.summary.id] ?? [], arena: &page.bytes)
          if let last = Last(entry, row: index) { lasts.append(last) }
        }
        page.rows.append(row)
      }
      try addMessages(lasts, to: &page)
      return page
    }
  }

  /// The newest message of a row that is to be shown.
  private struct Last {
    let row: Int
    let cid: Int64
    let position: Position
    let isVerified: Bool
    let marker: Position?

    init?(_ entry: ConversationEntry, row: Int) {
      guard let newest = entry.summary.newest else { return nil }
      self.row = row
      cid = entry.summary.cid
      position = newest.position
      isVerified = entry.summary.isVerified
      marker = entry.marker
    }
  }

  private func addMessages(
    _ lasts: [Last], to page: inout ConversationPage
  ) throws(StoreFailure) {
    if lasts.isEmpty { return }
    let found = try rx.messages(at: lasts.map { ($0.cid, $0.position) })
    for (last, message) in zip(lasts, found.rows) {
      guard let message else { continue }
      let isForgotten =
        last.isVerified ? false : try rx.unverified(last.cid).holds(last.position)
      let bits = RowAnnotator.bits(
        isAboveMarker: last.marker.map { $0 < last.position } ?? true,
        isVerified: last.isVerified,
        isStale: isForgotten || !fresh(last.cid).holds(last.position))
      page.rows[last.row].last = message
      unsafe found.page.withRows { rows in
        unsafe mark(&rows[message], RowAnnotator.flags(rows[message].rowFlags, bits))
        unsafe page.rows[last.row].activityUs = rows[message].timeUs
      }
    }
    page.messages = found.page
  }

  private func fill(
    _ row: inout ConversationRow, entry: ConversationEntry, typing: [[UInt8]],
    arena: inout [UInt8]
  ) {
    func add(_ bytes: [UInt8]?) -> Range<Int> {
      guard let bytes, !bytes.isEmpty else { return 0..<0 }
      let start = arena.count
      arena += bytes
      return start..<arena.count
    }
    let summary = entry.summary
    row.unread = summary.unread.count
    if summary.isPending { row.flags |= ConversationFlags.pending }
    if summary.unread.isExact { row.flags |= ConversationFlags.unreadExact }
    if entry.hasPending { row.flags |= ConversationFlags.hasPending }
    if entry.hasStuck { row.flags |= ConversationFlags.hasStuck }
    row.id = add(summary.id)
    if let body = entry.body ?? entry.made {
      row.body = add(body)
      // Who makes a conversation takes part in it, named or not.
      let maker = entry.body == nil ? entry.user : nil
      let shown = shownOfConversation(body, maker: maker)
      row.title = add(entry.savedTitle ?? shown.title)
      row.memberCount = shown.memberCount
    }
    row.clientID = add(entry.clientID)
    row.lastRead = add(entry.marker?.id)
    row.draft = add(entry.draft?.body)
    row.draftReplyTo = add(entry.draft?.replyTo)
    if !typing.isEmpty { row.typing = add(JSONList(typing).closed()) }
    if summary.newest == nil {
      row.activityUs = max(0, summary.isPending ? 0 : summary.activity)
    }
  }
}

extension ConversationEntry {
  /// The title that the user gave it and the server has not confirmed.
  fileprivate var savedTitle: [UInt8]? {
    saved.flatMap { operationText("title", in: Array($0.dropFirst().dropLast())) }
  }
}

/// What a list shows of a conversation object.
private func shownOfConversation(
  _ body: [UInt8], maker: [UInt8]?
) -> (title: [UInt8], memberCount: Int) {
  do {
    let document = try Document(body)
    let title = document.member(Array("title".utf8), of: document.root)
    let people = participants(document, user: maker)
    let count = (people?.count ?? 0) + (maker == nil || people?.hasUser == true ? 0 : 1)
    return (title.flatMap { document.string($0) } ?? [], count)
  } catch {
    // What is stored was once parsed; a damaged file shows nothing of it.
    return ([], 0)
  }
}

/// How many take part in a conversation, by its object, and whether one of them is `user`;
/// nil where it does not say.
func participants(
  _ document: Document, user: [UInt8]?
) -> (count: Int, hasUser: Bool)? {
  guard let members = document.member(Array("participant_ids".utf8), of: document.root),
    document.kind(members) == .array
  else { return nil }
  var found = (count: 0, hasUser: false)
  var child = document.firstChild(of: members)
  while let member = child {
    found.count += 1
    if let user, !found.hasUser { found.hasUser = document.string(member) == user }
    child = document.next(after: member, in: members)
  }
  return found
}
