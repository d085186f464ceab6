/// Catch-ups of the library's own that read more than what is new.
internal import Base
internal import Timeline

extension SyncEngine {
  /// A catch-up beside those that were asked for, of which all down to a place is wanted,
  /// gaps below the newest page included; its number.
  func startLook(_ conversation: [UInt8], downTo floor: Position) -> UInt64 {
    let id = nextSync
    nextSync += 1
    var job = SyncJob(id: id, request: SyncRequest(conversation: conversation))
    job.floor = floor
    job.isBounded = floor == .min
    jobs.append(job)
    return id
  }

  /// A catch-up that reads everything from a place on once more.
  func startRecheck(_ conversation: [UInt8], from lowest: Position) {
    guard jobs.count < Limits.syncsMax else { return }
    var job = SyncJob(id: nextSync, request: SyncRequest(conversation: conversation))
    nextSync += 1
    job.recheckFrom = lowest
    jobs.append(job)
  }
}
