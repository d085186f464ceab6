/// Payloads that are sealed before they go out, and keys that come and go.
///
/// Rule protected: nothing leaves unsealed, what was sealed once is sent again as it is, and a
/// payload without a key waits and goes when the key is there. What cannot be opened keeps its
/// place and is shown as it came; what was opened once stays open.
internal import Base
internal import Engine

/// The host's keys. Used by the world's one thread.
final class SimKeys: @unchecked Sendable {
  var isThere = true
  /// All that was stored has been offered since the key came.
  var isSettled = true
  /// Nothing opens without the key, and some of it not at once.
  let opens: Bool
  private var count = 0
  private var refusedOnce: Set<[UInt8]> = []

  init(opens: Bool) { self.opens = opens }

  static let start = Array("{\"sealed\":".utf8)
  static let middle = Array(",\"in\":".utf8)

  /// No two are the same, so that one that is sealed anew can be told.
  func seal(_ payload: [UInt8]) -> SealAnswer {
    guard isThere else { return .notYet }
    count += 1
    return .sealed(Self.start + Array("\(count)".utf8) + Self.middle + payload + [0x7D])
  }

  func open(_ payload: [UInt8]) -> Opened {
    if opens, !isThere || Self.isSlow(payload) && refusedOnce.insert(payload).inserted {
      return .notYet
    }
    return .plain(Self.opened(payload), control: Self.isControl(payload), event: false)
  }

  /// One in four opens only at the second time.
  static func isSlow(_ payload: [UInt8]) -> Bool {
    payload.starts(with: start) && payload.count % 4 == 0 && !isControl(payload)
  }

  private static func isControl(_ payload: [UInt8]) -> Bool {
    Frames.find(Array("\"_control\":true".utf8), in: payload, from: 0) != nil
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
      keys.isSettled = false
    } else {
      try bringKey()
    }
  }

  /// With the key everything can go.
  func bringKey() throws {
    guard knobs.operations.seals, let probe else { return }
    trace.note(nowUs, "host: has a key")
    // What opens may be none that is to be read.
    eyes.free()
    probe.keys.isThere = true
    // The second time for what needs two.
    for _ in 0..<2 {
      if try input({ try probe.reopenPayloads() }) == nil { try probe.reopenPayloads() }
    }
    probe.keys.isSettled = true
    for index in conversations.indices {
      let page = try client.page(conversations[index].bytes, limit: 10_000)
      try checkShape(index, page)
      if let row = page.rows.first(where: \.isSealed) {
        throw Violation("\(Self.text(row.id)) was offered with the key, and is not open")
      }
    }
    if let one = try probe.allOperations().first(where: { $0.waiting == .seal }) {
      throw Violation("operation \(one.seq) waits for a key, which is there")
    }
    try pump()
  }

  /// A payload as others send it.
  func onServer(_ payload: [UInt8]) -> String {
    guard knobs.operations.opens else { return Self.text(payload) }
    acts.sealings += 1
    let start = SimKeys.start + Array("-\(acts.sealings)".utf8) + SimKeys.middle
    return Self.text(start + payload + [0x7D])
  }

  /// What is in a payload that is shown sealed.
  func opened(_ row: SimRow) throws -> [UInt8] {
    guard knobs.operations.opens, row.payload.starts(with: SimKeys.start) else {
      throw Violation("\(Self.text(row.id)) is called sealed, and is not")
    }
    return SimKeys.opened(row.payload)
  }

  /// Nothing is sealed for which there was a key, and nothing that was open.
  func judgeOpening(_ row: SimRow, _ mark: Ledger.Mark) throws {
    guard knobs.operations.opens, let keys = probe?.keys else { return }
    let id = Self.text(row.id)
    guard row.isSealed else {
      acts.opened[id] = max(acts.opened[id] ?? 0, mark.version)
      return
    }
    if keys.isSettled, !SimKeys.isSlow(row.payload) {
      throw Violation("\(id) is sealed, and the key is there")
    }
    // What was left is read anew; an edit that was taken back too late is not known as one.
    if conversations[ledger.posted[mark.serial].conversation].wasLeft || acts.vague.contains(id) {
      return
    }
    if acts.opened[id] == mark.version { throw Violation("\(id) was open, and is sealed") }
  }

  /// A loss of power may take what was opened.
  func forgetOpened() {
    acts.opened = [:]
    probe?.keys.isSettled = false
  }

  /// Offers what is stored once more, where some of it may be sealed.
  func openRest() throws {
    if knobs.operations.opens, probe?.keys.isThere == true { try bringKey() }
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
