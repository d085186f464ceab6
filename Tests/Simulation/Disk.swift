/// What happens to the files of a world: images of kills, and what a loss of power would leave.
internal import Base
internal import Foundation
internal import VaultSupport

/// The files as they are for sure on the disk, and what was written since the last sync of each.
struct DiskShadow {
  private var synced: DiskImage
  private var pending: [DiskEvent] = []

  /// A planted fault: no sync does anything.
  private let lies: Bool

  init(_ image: DiskImage, lies: Bool = false) {
    synced = image
    self.lies = lies
  }

  mutating func note(_ event: DiskEvent) {
    switch event.change {
    case .write, .truncate:
      pending.append(event)
    case .sync:
      if lies { return }
      pending.removeAll { waiting in
        guard waiting.path == event.path else { return false }
        synced.apply(waiting)
        return true
      }
    case .delete:
      pending.removeAll { $0.path == event.path }
      synced.apply(event)
    }
  }

  /// Of what was not synced, any part arrived.
  func afterPowerCut(_ dice: inout Random) -> DiskImage {
    synced.afterPowerCut(pending[...], &dice)
  }
}

/// Which write call the image is taken at. Used by the world's one thread.
final class DiskPlan: @unchecked Sendable {
  private var writesLeft = 0
  private var source = ""
  private var target = ""
  private(set) var isTaken = false
  private(set) var trouble: String?
  var lies = false
  var shadow = DiskShadow(DiskImage())

  func arm(writes: Int, from source: String, to target: String) {
    writesLeft = writes
    self.source = source
    self.target = target
    isTaken = false
    trouble = nil
  }

  func disarm() {
    writesLeft = 0
    isTaken = false
  }

  /// Called before a write is done.
  func countWrite() {
    guard writesLeft > 0 else { return }
    writesLeft -= 1
    guard writesLeft == 0 else { return }
    do {
      try FileManager.default.copyItem(atPath: source, toPath: target)
    } catch {
      trouble = "\(error)"
    }
    isTaken = true
  }
}
