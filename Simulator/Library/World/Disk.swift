/// What happens to the files of a world: images of kills, and what a loss of power would leave.
internal import Base
internal import Foundation
internal import TestSupport

/// The files as they are for sure on the disk, and what was written since the last sync of each.
struct DiskShadow {
  private var synced: DiskImage
  private var pending: [(number: Int, event: DiskEvent)] = []
  /// Writes so far.
  private(set) var written = 0

  /// A planted fault: no sync does anything.
  private let lies: Bool

  init(_ image: DiskImage, lies: Bool = false) {
    synced = image
    self.lies = lies
  }

  mutating func note(_ event: DiskEvent) {
    switch event.change {
    case .write, .truncate:
      written += 1
      pending.append((written, event))
    case .sync:
      if lies { return }
      pending.removeAll { waiting in
        guard waiting.event.path == event.path else { return false }
        synced.apply(waiting.event)
        return true
      }
    case .delete:
      pending.removeAll { $0.event.path == event.path }
      synced.apply(event)
    }
  }

  /// The first write to a file that is not on the disk for sure; nil where all are.
  func firstPending(_ end: String) -> Int? {
    pending.first { $0.event.path.hasSuffix(end) }?.number
  }

  /// The same disk under another name: what a killed process wrote is not synced for that.
  mutating func move(from old: String, to new: String) {
    func moved(_ path: String) -> String {
      path.hasPrefix(old) ? new + path.dropFirst(old.count) : path
    }
    var files: [String: [UInt8]] = [:]
    for (path, bytes) in synced.files { files[moved(path)] = bytes }
    synced.files = files
    for index in pending.indices { pending[index].event.path = moved(pending[index].event.path) }
  }

  /// Of what was not synced, any part arrived.
  func afterPowerCut(_ dice: inout Random) -> DiskImage {
    synced.afterPowerCut(pending.map(\.event)[...], &dice)
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
  /// The disk when the image was taken.
  private(set) var shadowTaken: DiskShadow?

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
    shadowTaken = nil
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
    shadowTaken = shadow
    isTaken = true
  }
}

/// The fault disks are registered for the life of the process, so they are used again.
enum VFSPool {
  /// With `SIM_STORAGE` in the environment files are reached as a storage of the host's is.
  static let isStorage = ProcessInfo.processInfo.environment["SIM_STORAGE"] != nil
  /// With `SIM_REST` a client rests before each turn.
  static let rests = ProcessInfo.processInfo.environment["SIM_REST"] != nil
  private static let free = Lock<[FaultVFS]>([])

  static func take() -> FaultVFS {
    free.withLock { $0.popLast() } ?? FaultVFS()
  }

  static func giveBack(_ disk: FaultVFS) {
    disk.reset()
    free.withLock { $0.append(disk) }
  }
}
