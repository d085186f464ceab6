/// The host's hooks run while no window is locked, also where a poll meets a purge.
///
/// Rule protected: a hook that looks at a window hangs nothing, and no read on another thread waits
/// until a hook is over.
import Base
import Engine
import Foundation
import Testing

/// A clock hook that looks at a window, on another thread and on its own one.
private final class LookingClock: @unchecked Sendable {
  /// Set while no other thread is inside.
  var window: Window?
  private let counts = Lock((reads: 0, waits: 0))

  var reads: Int { counts.withLock { $0.reads } }
  /// How often the read on another thread had to wait for the hook.
  var waits: Int { counts.withLock { $0.waits } }

  func look() {
    guard let window else { return }
    counts.withLock { $0.reads += 1 }
    let isRead = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      _ = try? window.state()
      isRead.signal()
    }
    // It is over at once, but where the window is locked; a look from here would never end then.
    if isRead.wait(timeout: .now() + 2) == .timedOut {
      counts.withLock { $0.waits += 1 }
    } else {
      _ = try? window.state()
    }
  }
}

/// Polls a window beside a slice of a purge, which has begun and has taken nothing yet.
private final class PollBesideSlice: CommitWatch, @unchecked Sendable {
  /// What is polled, once; set while no other thread is inside.
  var target: (client: Client, window: Window, room: [UInt8])?
  private let isDone = DispatchSemaphore(value: 0)
  private let found = Lock<WindowDiff?>(nil)

  func diff() -> WindowDiff? {
    isDone.wait()
    return found.withLock { $0 }
  }

  func begins(_ engine: AnyObject) -> Bool {
    guard let (client, window, room) = target else { return false }
    target = nil
    Thread.detachNewThread { [self] in
      let diff = try? window.poll()
      found.withLock { $0 = diff }
      isDone.signal()
    }
    // Once it has pinned what it read it knows of the slice, and is to look once more.
    while client.pinned(room).isEmpty { sched_yield() }
    return false
  }

  func failed(_ engine: AnyObject) {}
}

@Suite struct HookLocks {
  @Test func aPollBesideAPurgeCallsNoHookUnderTheLock() throws {
    let (watch, hook) = (PollBesideSlice(), LookingClock())
    let world = try World { config in
      config.commits = watch
      let clock = config.clock
      config.clock = {
        hook.look()
        return clock()
      }
    }
    world.post(300)
    try world.connect()
    try world.sync(.older, want: 300)
    // While a window waits for the network nothing of its conversation is purged.
    try world.client.disconnected()
    try world.keep { $0.messages = 100 }
    let window = try world.client.openWindow(
      WindowConfig(conversation: Array(world.room.utf8), at: .latest, count: 20))
    let work = try world.keeper.purge()
    watch.target = (world.client, window, Array(world.room.utf8))
    hook.window = window
    while try !work.step(milliseconds: 0).isDone {}
    #expect(watch.diff()?.rowCount == 20)
    #expect(hook.reads > 1 && hook.waits == 0)
    hook.window = nil
    // What stands near the window stays.
    #expect(try world.keeper.room(nil).purgedMessages > 0)
  }
}
