/// Faults planted between the library and the host on purpose: each must be found.
///
/// They are what a broken library would do. A rule that no planted fault ever breaks shows nothing.

package enum PlantedFault: String, CaseIterable, Sendable {
  /// The last step of a difference is missing.
  case lostStep
  /// New rows are put in one row too early.
  case shiftedStep
  case wrongChecksum
  /// Gaps are not shown.
  case hiddenSplit
  /// Splits that heal are drawn at once where the host wants them held back.
  case flashingSplit
  /// The state does not tell the gap before the first row, or the one behind the last.
  case hiddenGapBefore, hiddenGapAfter
  /// The last row is set away, and the window says that it follows the present all the same.
  case lostEnd
  /// A row keeps the content it was first read with.
  case oldContent
  /// After some polls a window says that nothing ever changes.
  case deafWindow
  /// An update is replied to and thrown away.
  case replyWithoutEffect
  /// An update takes effect once for each time that it comes.
  case doubledUpdate
  /// Deletions are not told to the client.
  case lostDeletions
  /// What was synced is not on the disk when the power goes.
  case lyingDisk
  /// A conversation of which nothing was fetched is called whole.
  case wholeUnknown
  /// What a list told that is too long is not asked for.
  case lostList
  /// A gap inside a conversation is not told: what stands on both sides of it is called whole.
  case falseWhole
  /// An empty page that says there is more is believed, and the rows go.
  case blankedCache
  /// An opening that is refused writes the log into the file all the same.
  case touchedFile
  /// What cannot be read is called damaged.
  case readAsDamage
  /// Messages of one time stand by their ids, the other way round, or the newest first.
  case tiesByID, tiesReversed, tiesTurned
  /// They stand the other way round when they are first read after a frame, and then right.
  case tiesTurnedForAMoment
  /// At times the newest row of a window is away for one poll.
  case flickeringRow
  /// A split that heals is drawn a minute late.
  case endlessHold
  /// Each split is said to heal.
  case endlessHealing
  /// At times a badge is one too low, for one look.
  case fallingBadge
  /// A count that is called exact is one too high at the first look after a frame.
  case unexactForAMoment
  /// A message is offered for a notification again when it changes.
  case offeredTwice
  /// So is one that was told in silence, or that a page showed whose update is still to come.
  case silentOffered, fetchedOffered
  /// At times a new message is not offered.
  case lostOffer
  /// What is pushed counts as read.
  case markedByPush
  /// A client that is offline asks to be woken again and again.
  case restlessOffline
  /// After the first marks of a connection no more are told.
  case endlessMarkWait
  /// After a purge a row in the midst is away, and no gap is told.
  case purgedInRange
  /// After a purge a row that a window shows is away.
  case purgedOnScreen
  /// A part of what came is not told to who follows the feed.
  case untoldMessages
  /// At times a change is told as a new message.
  case toldTwice
  /// After a purge a badge is lower by what went.
  case badgeFollowsPurge

  /// The worlds in which it is looked for.
  package var worlds: Knobs.Worlds {
    switch self {
    case .lostStep, .shiftedStep, .wrongChecksum, .hiddenSplit, .flashingSplit, .hiddenGapBefore,
      .hiddenGapAfter, .lostEnd, .oldContent, .deafWindow, .flickeringRow, .endlessHold,
      .endlessHealing:
      .screens
    case .purgedOnScreen: [.screens, .retention]
    case .purgedInRange, .untoldMessages, .toldTwice, .badgeFollowsPurge: [.all, .retention]
    case .replyWithoutEffect, .doubledUpdate, .lostDeletions, .lyingDisk, .wholeUnknown,
      .lostList, .falseWhole, .blankedCache, .touchedFile, .readAsDamage, .tiesByID, .tiesReversed,
      .tiesTurned, .tiesTurnedForAMoment, .fallingBadge, .unexactForAMoment,
      .offeredTwice, .silentOffered, .fetchedOffered, .lostOffer, .markedByPush,
      .restlessOffline, .endlessMarkWait:
      .all
    }
  }
}
