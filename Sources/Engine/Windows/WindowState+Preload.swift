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
    if isReplaced || kept != nil || making.isUnmade { return false }
    let near = max(1, config.count / 2)
    let known = wishes.count
    if rows.lowerBound < near, !isAtStart, let edge = list.first?.position,
      edge != preloaded.above, !edge.isPending
    {
      if add(PendingLoad(.older(edge), want: config.count, atGap: .ask)) { preloaded.above = edge }
    }
    if rows.upperBound >= list.count - near, !isAtEnd, let edge = list.last?.position,
      edge != preloaded.below, !edge.isPending
    {
      let wish = PendingLoad(.newer(edge.successor), want: config.count, atGap: .ask)
      if add(wish) { preloaded.below = edge }
    }
    return wishes.count > known
  }

  /// A wish of the library's own never takes the place of one of the host's.
  private mutating func add(_ wish: PendingLoad) -> Bool {
    let isPlace = wishes.contains { if case .place = $0.aim { true } else { false } }
    if isPlace || wishes.contains(where: { $0.isLike(wish) }) { return false }
    wishes.append(wish)
    return true
  }
}
