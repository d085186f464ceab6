/// Starting to bring the log to the disk before its sync is asked for.
///
/// Where the host has each commit made durable, the sync comes a little after the
/// write: the answers are made and windows look in between. The disk can write
/// meanwhile, and the sync then waits for the rest alone: 10 % of an update that is synced.
///
/// It is a hint: what it starts is not known to be on disk, and a system without the call
/// goes without. A failure is found by the sync, but for one that the file system tells at
/// once: what it could not write may be dropped, so no later sync is believed.
internal import Support
internal import Synchronization

/// So many steps in a row have to be synced one by one before the next is started early.
private let stepsNeeded: Int32 = 2

extension UnsafeMutablePointer where Pointee == tideline_file {
  /// Notes that a step is about to be written: whether all before it were synced.
  func noteStep() {
    let follows = unsafe withVault { core in core.isAllSynced } ?? false
    unsafe pointee.synced_steps = follows ? min(pointee.synced_steps &+ 1, stepsNeeded) : 0
  }

  /// Starts to write out what a step has just put into the log.
  func startWrite(_ at: Int64, _ count: Int) {
    guard unsafe pointee.synced_steps >= stepsNeeded else { return }
    if unsafe pointee.hint == 0, let name = unsafe pointee.name {
      // No lock lies on the log, so that closing this descriptor drops none.
      let opened = unsafe tideline_open_hint(name)
      unsafe pointee.hint = opened < 0 ? -1 : opened &+ 1
    }
    guard unsafe pointee.hint > 0 else { return }
    guard unsafe tideline_start_write(pointee.hint &- 1, at, Int64(count)) != 0 else { return }
    _ = unsafe withVault { core in core.logBroken.store(true, ordering: .releasing) }
  }

  /// Gives back what the hint needed.
  func endEarlyWrites() {
    if unsafe pointee.hint > 0 { unsafe tideline_close_hint(pointee.hint &- 1) }
    unsafe pointee.hint = 0
  }
}
