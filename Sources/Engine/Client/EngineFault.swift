/// Faults that tests plant in the engine, one for each rule that a fault can break: each must be
/// found. A release has none.

package enum EngineFault: String, CaseIterable, Sendable {
  /// What the server may have forgotten is sent again without a look.
  case forgottenSendRepeated
  /// So is what it recognises for a while, however long ago it was sent.
  case expiredSendRepeated
  /// A send is found by its payload only where the server prints the same bytes.
  case printedAnewIsAnother
  /// No connection waits, however many have ended with a request.
  case connectionsNotPaused
  /// Nor does a sync end with them.
  case syncNeverGivenUp
  /// An edit by another than the sender counts.
  case otherEditsCount
  /// An edit that was confirmed without its result is not written.
  case confirmedEditLost
  /// Nor is a reaction.
  case confirmedReactionLost
  /// What was deleted stays away, whatever a later answer shows.
  case returnedStaysAway
  /// A page offers no message for a notification.
  case pageOffersNothing
  /// An answer without items counts though it says that there are some.
  case contradictionsCount
  /// An answer about a conversation counts, whatever was pushed since it was requested.
  case olderAnswerReplaces
  /// An operation whose answer came stays open, though the log tells of it.
  case answeredStaysOpen
}

extension Profile {
  #if DEBUG
    func isPlanted(_ fault: EngineFault) -> Bool { planted == fault }
  #else
    @inline(__always) func isPlanted(_ fault: EngineFault) -> Bool { false }
  #endif
}

extension UpdateApplier {
  func isPlanted(_ fault: EngineFault) -> Bool { memory.server.profile.isPlanted(fault) }
}
