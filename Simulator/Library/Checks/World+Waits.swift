/// How long the client waits: a client that is offline rests, and what is pending it sends soon.
///
/// The second is judged in quiet: there everything comes to an end within ten minutes.
internal import ReferenceServer

/// What the judge of waits has seen.
struct Waits {
  /// How often time alone woke the client since it went offline, or was last told something.
  var wakes = 0

  /// A client may have so many limits of time pending that all end while it is offline.
  static let wakesMost = 40
}

extension World {
  /// Time alone woke the client.
  func noteWake() throws {
    waits.wakes = link.isUp ? 0 : waits.wakes + 1
    if waits.wakes > Waits.wakesMost {
      throw Violation("offline, and it has woken \(waits.wakes) times for nothing")
    }
  }

  /// Something else woke it.
  func noteInput() { waits.wakes = 0 }
}

extension TidelineClient {
  /// What a planted fault makes of how long it rests.
  func restless(_ wait: Int64) -> Int64 {
    fault == .restlessOffline && isOffline ? 1 : wait
  }

  package func isKeptBack(_ frame: [UInt8]) -> Bool {
    guard fault == .endlessMarkWait,
      Frames.type(Frames.request(frame))?.hasPrefix("mark_") ?? false
    else { return false }
    marksTaken += 1
    return marksTaken > 1
  }
}
