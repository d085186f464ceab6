/// What the user did to messages, laid over what the server said of them.
///
/// Each row says by its flags whether anything lies over it, so rows without cost
/// nothing. Only what may still come true is laid over: what the server refused is not.
internal import Base

extension ReadTransaction {
  /// Lays pins, edits and reactions over the rows of a page.
  ///
  /// - Parameter first: the first row of this conversation.
  func lay(
    over page: inout RowBuilder, from first: Int = 0, in cid: Int64
  ) throws(StoreFailure) {
    guard !page.flags.isDisjoint(with: .laidOver) else { return }
    for index in first..<page.count {
      let flags = page[index]
      if flags.contains(.pinQueued) { page[index].insert(.pinned) }
      if flags.contains(.unpinQueued) { page[index].remove(.pinned) }
      if flags.contains(.overlaid) { try layContent(over: &page, index: index, in: cid) }
    }
  }

  private func layContent(
    over page: inout RowBuilder, index: Int, in cid: Int64
  ) throws(StoreFailure) {
    let row = try connection.statement(Queries.contentOn, cid, page.id(of: index))
    var reactions: [UInt8]?
    while try row.step() {
      switch OperationVerb(rawValue: row.int(0)) {
      case .editMessage:
        guard !row.isNull(1) else { continue }
        page.setPayload(of: index, to: row, column: 1)
        page[index].insert(.edited)
        page[index].remove(.sealed)
      case .reactMessage:
        let known = reactions ?? page.reactions(of: index)
        reactions = ReactionSet.adding(row.bytes(1), by: try userID(), to: known)
      case .unreactMessage:
        let known = reactions ?? page.reactions(of: index)
        reactions = ReactionSet.removing(row.bytes(1), by: try userID(), from: known)
      default: continue
      }
    }
    if let reactions { page.setReactions(of: index, to: reactions) }
  }

  func userID() throws(StoreFailure) -> [UInt8] {
    let row = try connection.statement("SELECT user FROM meta WHERE one = 1")
    return try row.step() ? row.bytes(0) : []
  }
}
