/// The next page, before the user comes to the end of what is loaded.
internal import Base
internal import Store
internal import Timeline

extension WindowState {
  /// Wishes for the next page where the screen is within half a page of an end of the list. For
  /// each end once a connection, so that a page that does not come is not asked for at each step
  /// of a scroll.
  mutating func preload(around rows: ClosedRange<Int>) -> Bool {
    // The list that is on the screen is about to go.
    if loads.isReplaced || loads.kept != nil || pendingConversation.isUnmade { return false }
    let near = max(1, config.count / 2)
    let known = loads.wishes.count
    if rows.lowerBound < near, !isAtStart, let edge = list.first?.position,
      edge != ends.preloaded.above, !edge.isPending
    {
      if add(PendingLoad(.older(edge), want: config.count, atGap: .ask)) {
        ends.preloaded.above = edge
      }
    }
    if rows.upperBound >= list.count - near, !isAtEnd, let edge = list.last?.position,
      edge != ends.preloaded.below, !edge.isPending
    {
      let wish = PendingLoad(.newer(edge.successor), want: config.count, atGap: .ask)
      if add(wish) { ends.preloaded.below = edge }
    }
    return loads.wishes.count > known
  }

  /// A wish of the library's own never takes the place of one of the host's.
  private mutating func add(_ wish: PendingLoad) -> Bool {
    let isPlace = loads.wishes.contains { if case .place = $0.aim { true } else { false } }
    if isPlace || loads.wishes.contains(where: { $0.isLike(wish) }) { return false }
    loads.wishes.append(wish)
    return true
  }
}
