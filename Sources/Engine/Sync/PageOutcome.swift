/// What a page did for the sync that asked for it: whoever schedules decides what comes next.
internal import Timeline

enum PageOutcome {
  /// The content is whole up to the present; `isAllSeen` where all that is stored was read just
  /// now, so that deletions and changes are in it.
  case whole(isAllSeen: Bool)
  /// What is known has grown, or the place is nearer: the walk goes on like this.
  case extended(SyncStage)
  /// It shows nothing to go on from: the newest page is asked for.
  case mustSeeNewest
  /// Around the low end, or the high end, of a range: the way goes on from there.
  case reachedDown(to: Position)
  case reachedUp(to: Position)
  /// What the sync was about is there.
  case complete
  /// The message that it was asked for is not on it.
  case lacksMessage
  /// The walk leads nowhere.
  case stuck
}
