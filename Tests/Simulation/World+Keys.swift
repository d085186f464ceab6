/// Payloads that are sealed before they go out, and keys that come and go.
///
/// Rule protected: nothing leaves unsealed, what was sealed once is sent again as it is, and a
/// payload without a key waits and goes when the key is there.
internal import Base
internal import Engine

/// The host's keys. Used by the world's one thread.
final class SimKeys: @unchecked Sendable {
  var isThere = true
  private var count = 0

  static let start = Array("{\"sealed\":".utf8)
  static let middle = Array(",\"in\":".utf8)

  /// No two are the same, so that one that is sealed anew can be told.
  func seal(_ payload: [UInt8]) -> SealAnswer {
    guard isThere else { return .notYet }
    count += 1
    return .sealed(Self.start + Array("\(count)".utf8) + Self.middle + payload + [0x7D])
  }

  func open(_ payload: [UInt8]) -> Opened {
    let isControl = Frames.find(Array("\"_control\":true".utf8), in: payload, from: 0) != nil
    return .plain(Self.opened(payload), control: isControl, event: false)
  }

  /// What was sealed; anything else as it is.
  static func opened(_ payload: [UInt8]) -> [UInt8] {
    guard payload.starts(with: start), let at = Frames.find(middle, in: payload, from: 0) else {
      return payload
    }
    return Array(payload[(at + middle.count)..<(payload.count - 1)])
  }
}

extension World {
  /// What waits for a key lets others pass.
  var hasNoKey: Bool { knobs.operations.seals && probe?.keys.isThere == false }

  /// The key comes, or goes.
  func turnKey() throws {
    guard knobs.operations.seals, let keys = probe?.keys else { return }
    if keys.isThere {
      trace.note(nowUs, "host: has no key")
      keys.isThere = false
    } else {
      try bringKey()
    }
  }

  /// With the key everything can go.
  func bringKey() throws {
    guard let probe, !probe.keys.isThere else { return }
    trace.note(nowUs, "host: has a key")
    probe.keys.isThere = true
    if try input({ try probe.reopenPayloads() }) == nil { try probe.reopenPayloads() }
    if let one = try probe.allOperations().first(where: { $0.waiting == .seal }) {
      throw Violation("operation \(one.seq) waits for a key, which is there")
    }
    try pump()
  }

  /// What leaves is sealed, and the same at each try.
  func judgeSealed(_ type: String, _ request: [UInt8]) throws {
    guard knobs.operations.seals, type == "send_message" || type == "edit_message" else { return }
    guard let mark = Ledger.mark(request),
      let start = Frames.find(SimKeys.start, in: request, from: 0),
      let end = Frames.find(
        SimKeys.middle + ledger.posted[mark.serial].payloads[mark.version - 1] + [0x7D],
        in: request, from: start)
    else { throw Violation("a payload leaves and is not sealed: \(Frames.brief(request))") }
    let name = Frames.string("client_id", request) ?? Frames.string("message_id", request) ?? ""
    let sealed = Array(request[start..<end])
    let before = acts.sealed.updateValue(sealed, forKey: "\(type) \(name) \(mark.version)")
    if let before, before != sealed {
      throw Violation("\(name) was sealed anew: \(Self.text(before)), \(Self.text(sealed))")
    }
  }
}
