/// What the worlds of retention draw: a host that keeps less than it fetches.
///
/// They are the seeds of `Worlds.retention`, whose other bits say what else there is. What a
/// restore lost is found out by rows that are stored, which a purge may have taken: they leave
/// restores out.
internal import Base

package struct RetentionKnobs: Sendable {
  package var isOn = false
  package var messages: Int64 = 0
  package var messagesEach: Int64 = 0
  package var bytes: Int64 = 0
  package var ageUs: Int64 = 0
  /// How long the device is away once; all that it had is older than what the host keeps then.
  package var yearUs: Int64 = 0
  /// A subscriber mirrors the feed, and what it was not told of stays.
  package var mirrors = false
  /// How often the host purges by itself, beside what `advance` does.
  package var purgeShare = 0.0
}

extension Knobs {
  mutating func drawRetention() {
    var random = Random(seed: seed ^ 0x7265_7465_6E74_696F)
    restores = false
    retention.isOn = true
    let size = Int64(3 + random.below(120))
    switch random.below(5) {
    case 0: retention.messagesEach = size
    case 1: retention.bytes = size * 400
    case 2: retention.ageUs = Int64(10 + random.below(200)) * 1_000_000
    default: retention.messages = size
    }
    if random.chance(0.2) { retention.messages = size * 2 }
    // What a loss of power takes back a subscriber has seen.
    retention.mirrors = !powerCuts && random.chance(0.5)
    retention.purgeShare = random.chance(0.5) ? 0.4 : 0.1
    // Messages that can be opened once only are not to be purged.
    operations.seals = false
    operations.opens = false
    looksAtBadges = random.chance(0.6)
    if screens > 0 { looksAlways = random.chance(0.4) }
    if random.chance(0.2) {
      retention.ageUs = Int64(20 + random.below(60)) * 1_000_000
      retention.yearUs = retention.ageUs * 4
      screens = Swift.max(1, screens)
      futureStamp = false
    }
  }

  var retentionFlags: [(Bool, String)] {
    [
      (retention.isOn, "retention"), (retention.messages > 0, "keep=\(retention.messages)"),
      (retention.messagesEach > 0, "each=\(retention.messagesEach)"),
      (retention.bytes > 0, "bytes=\(retention.bytes)"),
      (retention.ageUs > 0, "age=\(retention.ageUs)us"), (retention.mirrors, "mirrors"),
      (retention.yearUs > 0, "YEAR"),
    ]
  }
}
