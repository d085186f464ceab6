/// Faults that tests plant in a log, one for each rule that a fault can break: each must be found.
/// A release has none.

package enum LogFault: String, CaseIterable, Sendable {
  /// 2: a page is at the present where it has no more than was asked.
  case shortIsPresent
  /// 3: an empty answer to a token claims for the whole range, whatever was pushed behind it.
  case tokenStandsAtEnd
  /// 4: of two tokens the first one is kept.
  case firstTokenStays
  /// 5: a token counts on a later connection.
  case oldTokenCounts
  /// 6: a token that is unknown is given up, and the outer part stays proven.
  case outerPartStays
  /// 6: where a token is unknown its entry stands for the end of the range, grown since or not.
  case tokenStaysEnd
  /// 6: what came since an entry was asked for in vain goes with the range.
  case laterGoesAlong
  /// 7: a page with a gap continues from the token.
  case gapIgnored
  /// 7: a page from the start of the log continues from the token.
  case startIgnored
  /// 8: what a page shows between two entries is put between them.
  case splitForgotten
  /// 8: a part that was split off is never dropped.
  case partStays
  /// 9: an entry that a page does not show between two of its own stays.
  case absentStays
  /// 9: what came after a page was asked for is gone as well.
  case laterIsGone
  /// 9: the claim of the present is that of the page, not that of the empty one before it.
  case carriedIsNew
  /// 10: nothing is refuted by a log that is read from end to end.
  case nothingRefuted
  /// 11: an empty page with a token is the start.
  case emptyIsStart
  /// 11: answers without progress go on for ever.
  case endlessWalk
  /// 12: an empty page asked with an old token is the start.
  case oldTokenStart
  /// 12: a start is not looked at again.
  case startStays
  /// 13: what reached the present goes by time.
  case presentByTime
  /// 13: a change may stand below what it changes.
  case changeBelow
  /// 14: a range grows over its neighbour.
  case neighbourStays
  /// 16: a deletion of a change is no deletion.
  case changeNotDeleted
  /// 18: changes of another range are put before the message's own.
  case otherRangeFirst
  /// 19: an edit shown in place never counts.
  case inPlaceIgnored
  /// 19: one shown in place counts for ever.
  case inPlaceStays
  /// 19: which edit the page that reached the present shows in place is not looked for.
  case inPlaceUnnamed
  /// 18: an edit by another user than the sender counts.
  case otherEdits
  /// 19, 25: an older copy takes the place of a later one.
  case olderCopyWins
  /// 20: trimming goes on at a change of what stays.
  case trimsChanges
  /// 20: the token below what was trimmed is kept.
  case trimmedClaims
  /// 21: a push behind anything is adjacent to the newest.
  case pushAdjacent
  /// 22: a send that a page lacks is reported as lost, whenever the page was requested.
  case lostTooEarly
  /// 23: what lies below a proven start stays.
  case purgedStays
  /// 24: what a lost entry had deleted is claimed at once.
  case restoredIsClaimed
  /// 25: a mark in place is never taken away.
  case markStays
  /// 26: a new epoch changes nothing.
  case epochIgnored
  /// 28: ranges that are put together are one that is proven.
  case boundedClaims
}

extension LogBook {
  #if DEBUG
    func isPlanted(_ fault: LogFault) -> Bool { planted == fault }
  #else
    @inline(__always) func isPlanted(_ fault: LogFault) -> Bool { false }
  #endif
}
