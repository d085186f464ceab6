/// When the server was last asked for all that is new of a conversation, by the device's clock.
///
/// Rule protected: "as of" is a lower bound. It is the time at which a catch-up began that then
/// ended well, and no later one; where no clock tells how long ago that was, it was too long ago.
internal import Base

struct AskedTimes {
  /// What is asked for as a whole.
  enum Subject: Hashable {
    case conversation([UInt8])
    case list
    case all

    init(_ request: SyncRequest) {
      switch request.kind {
      case .conversations: self = .list
      case .all: self = .all
      default: self = .conversation(request.conversation)
      }
    }
  }

  struct Time: Equatable {
    /// By the device's wall clock, or by the only one that the host gives.
    var us: Int64
    /// By the clock of this process; nil where an earlier one has asked.
    var monotonicMs: Int64? = nil
  }

  /// What is known, nil for what was looked for in the file and is not there.
  private(set) var known: [Subject: Time?] = [:]
  /// Times are kept in the file; nil until that was looked up.
  var isKept: Bool?
  /// What the device's clocks show to the input that is being taken.
  var now = Instant(monotonicMs: 0)

  mutating func note(_ time: Time?, of subject: Subject) {
    known.updateValue(time, forKey: subject)
  }

  mutating func removeAll() { known = [:] }
}

extension AskedTimes.Time {
  /// It began at a moment of this process's clock.
  init(beganMs: Int64, now: Instant) {
    let sinceUs = max(0, now.monotonicMs.saturating(minus: beganMs)) &* 1_000
    us = (now.wallUs ?? now.monotonicMs &* 1_000).saturating(minus: sinceUs)
    monotonicMs = beganMs
  }

  /// Whether it is no longer ago than that. Nothing is so for an age of zero, which is none.
  func isWithin(_ ageUs: Int64, at now: Instant) -> Bool {
    guard ageUs > 0 else { return false }
    if let monotonicMs {
      return now.monotonicMs.saturating(minus: monotonicMs) <= ageUs / 1_000
    }
    guard let wall = now.wallUs else { return false }
    return us <= wall && wall.saturating(minus: us) <= ageUs
  }
}
