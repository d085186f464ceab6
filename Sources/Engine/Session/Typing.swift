/// Who is typing where, as far as it was heard.
///
/// Nothing of it is kept: it lives as long as the connection, each sign of typing for
/// ten seconds of the device's monotonic clock, whatever time the server prints. Rule
/// protected: pushes that overtake each other do not bring back who has finished, so a
/// user's sign that is older than his last one is ignored, and the last one is
/// remembered for as long as it could be contradicted.

internal import Base
internal import Wire

struct Typing {
  /// How long a sign is believed.
  static let lifeMs: Int64 = 10_000
  /// Users and conversations that are followed; those that were heard of first go.
  static let usersMax = 64
  static let conversationsMax = 1_024

  private struct Typist {
    var user: [UInt8]
    var isTyping: Bool
    /// When he made it, by his or the server's clock.
    var atUs: Int64?
    var endMs: Int64
  }

  /// By conversation, in the order in which users began.
  private var signs: [[UInt8]: [Typist]] = [:]

  /// Takes a sign. True where who types has changed. One that the server stamped long
  /// before the newest of its times, `serverUs`, comes too late.
  mutating func receive(
    _ event: TypingEvent, of user: [UInt8], in conversation: [UInt8], atUs: Int64?,
    serverUs: Int64?, nowMs: Int64
  ) -> Bool {
    if event == .other { return false }
    if let atUs, let serverUs, atUs < serverUs.saturating(minus: Self.lifeMs * 1_000) {
      return false
    }
    var known = signs[conversation] ?? []
    if signs[conversation] == nil, signs.count >= Self.conversationsMax { return false }
    let (end, overflow) = nowMs.addingReportingOverflow(Self.lifeMs)
    let new = Typist(
      user: user, isTyping: event == .begin, atUs: atUs, endMs: overflow ? .max : end)
    var wasTyping = false
    if let place = known.firstIndex(where: { $0.user == user }) {
      if let last = known[place].atUs, let atUs, atUs < last { return false }
      wasTyping = known[place].isTyping
      if wasTyping == new.isTyping {
        known[place] = new
      } else {
        known.remove(at: place)
        known.append(new)
      }
    } else {
      known.append(new)
      if known.count > Self.usersMax { known.removeFirst() }
    }
    signs[conversation] = known
    return wasTyping != new.isTyping
  }

  /// A message of his came, so he has finished it. True where that is news.
  mutating func spoke(_ user: [UInt8], in conversation: [UInt8]) -> Bool {
    guard let place = signs[conversation]?.firstIndex(where: { $0.user == user && $0.isTyping })
    else { return false }
    signs[conversation]?[place].isTyping = false
    return true
  }

  /// Lets go what nobody repeated in time. Gives the conversations that changed.
  mutating func expire(nowMs: Int64) -> [[UInt8]] {
    var changed: [[UInt8]] = []
    for (conversation, known) in signs {
      let kept = known.filter { $0.endMs > nowMs }
      if kept.count == known.count { continue }
      signs[conversation] = kept.isEmpty ? nil : kept
      if known.contains(where: { $0.isTyping && $0.endMs <= nowMs }) {
        changed.append(conversation)
      }
    }
    return changed
  }

  /// The connection is over, and with it whatever was heard. Gives where that is seen.
  mutating func clear() -> [[UInt8]] {
    let changed = signs.filter { $0.value.contains(where: \.isTyping) }.map(\.key)
    signs = [:]
    return changed
  }

  /// Who types, in the order in which they began.
  func users(_ conversation: [UInt8]) -> [[UInt8]] {
    (signs[conversation] ?? []).filter(\.isTyping).map(\.user)
  }

  /// When the next sign ends that anybody sees.
  var deadlineMs: Int64? {
    var next: Int64?
    for known in signs.values {
      for sign in known where sign.isTyping { next = min(next ?? .max, sign.endMs) }
    }
    return next
  }
}
