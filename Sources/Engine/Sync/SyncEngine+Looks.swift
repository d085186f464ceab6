/// Catch-ups of the library's own that read more than what is new.
internal import Base
internal import Timeline

extension SyncEngine {
  /// A catch-up beside those that were asked for, of which all down to a place is wanted,
  /// gaps below the newest page included; its number.
  func startLook(_ conversation: [UInt8], downTo floor: Position) -> UInt64 {
    scheduler.add(SyncRequest(conversation: conversation)) { job in
      job.aim.floor = floor
      job.aim.isBounded = floor == .min
    }
  }

  /// A catch-up that reads everything from a place on once more.
  func startRecheck(_ conversation: [UInt8], from lowest: Position) {
    guard scheduler.hasRoom else { return }
    scheduler.add(SyncRequest(conversation: conversation)) { $0.aim.recheckFrom = lowest }
  }
}
