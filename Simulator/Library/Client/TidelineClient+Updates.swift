/// What the checks of updates look at, and the faults that are planted for them.
internal import Engine
internal import Foundation

extension TidelineClient {
  func suspectedRestores() throws -> UInt64 {
    try client.stats().restores
  }

  /// Everything beside messages, by kind, conversation and name.
  func things() throws -> [String: [UInt8]] {
    var found: [String: [UInt8]] = [:]
    for entity in try client.entities(EntityQuery(.conversation, limit: 10_000)) {
      found["conversation/\(World.text(entity.id))"] = entity.body
    }
    for entity in try client.entities(EntityQuery(.member, limit: 10_000)) {
      found["member/\(World.text(entity.conversation))/\(World.text(entity.id))"] = entity.body
    }
    for entity in try client.entities(EntityQuery(.profile, limit: 10_000)) {
      found["profile/\(World.text(entity.id))"] = entity.body
    }
    return found
  }

  /// One row as it is shown; nil where it is not.
  func row(_ conversation: [UInt8], _ id: [UInt8]) throws -> SimRow? {
    let page: MessagePage
    do {
      page = try client.message(conversation: conversation, id: id)
    } catch {
      if case .notFound = error { return nil }
      throw error
    }
    return page.rows.first.map { spoiled(Self.row($0, page, isSequence: isSequence)) }
  }

  /// How many writes the log has seen, and the first of them that may still be lost.
  var logWrites: Int { plan.shadow.written }
  var firstUnsynced: Int? { plan.shadow.firstPending("-wal") }

  // MARK: Planted faults

  /// What a planted fault makes of a frame; nil where it still reaches the client.
  func receive(_ bytes: inout [UInt8], with fault: UpdateFault) throws -> SimReceipt? {
    let type = Frames.type(bytes)
    if fault == .needlessRefetch, type == "message_new" || Self.isNewMessage(bytes) {
      let conversation = Frames.string("conversation_id", bytes) ?? ""
      let ask =
        "{\"type\":\"get_messages\",\"request_id\":\"x\",\"conversation_id\":\"\(conversation)\"}"
      forge(ask)
    }
    guard type == "update", let ref = Frames.string("ref", bytes) else { return nil }
    updatesSeen += 1
    switch fault {
    case .replyBeforeSync:
      let receipt = try take(bytes)
      if receipt == .applied { forgeReply(ref) }
      return receipt
    case .forgottenRefs:
      replace("\"\(ref)\"", "\"\(ref)#\(updatesSeen)\"", &bytes)
    case .droppedWaiting:
      if try marksOnlyUnknown(bytes) {
        let none =
          "{\"account\":\"simulated\",\"type\":\"update\",\"payload\":{\"ref\":\"\(ref)\","
          + "\"silent\":true,\"action\":\"new\",\"payload\":{\"entity\":\"receipt\",\"items\":[]}}}"
        bytes = Array(none.utf8)
      }
    case .foreignTaken:
      replace("\"account\":\"another\"", "\"account\":\"simulated\"", &bytes)
    case .inventedReply:
      if updatesSeen % 5 == 0 { forgeReply("u\(1_000_000 + updatesSeen)") }
    case .lostEffect:
      if updatesSeen % 5 == 0 {
        forgeReply(ref)
        return .applied
      }
    case .needlessRefetch: break
    }
    return nil
  }

  /// The reply to an update that was handed in under another name.
  func translated(_ frame: SimFrame) -> SimFrame {
    guard updateFault == .forgottenRefs, Frames.type(frame.bytes) == "reply",
      let ref = Frames.string("ref", frame.bytes), let end = ref.firstIndex(of: "#")
    else { return frame }
    var bytes = frame.bytes
    replace("\"\(ref)\"", "\"\(ref[..<end])\"", &bytes)
    return SimFrame(id: frame.id, bytes: bytes)
  }

  private static func isNewMessage(_ bytes: [UInt8]) -> Bool {
    Frames.string("entity", bytes) == "message" && Frames.string("action", bytes) == "new"
  }

  private func marksOnlyUnknown(_ bytes: [UInt8]) throws -> Bool {
    guard let entity = Frames.string("entity", bytes),
      ["receipt", "reaction", "pin"].contains(entity),
      let conversation = Frames.string("conversation_id", bytes),
      let id = Frames.string("message_id", bytes)
    else { return false }
    return try row(Array(conversation.utf8), Array(id.utf8)) == nil
  }

  private func replace(_ old: String, _ new: String, _ bytes: inout [UInt8]) {
    bytes = Array(World.text(bytes).replacingOccurrences(of: old, with: new).utf8)
  }

  private func forgeReply(_ ref: String) {
    forge("{\"account\":\"simulated\",\"type\":\"reply\",\"payload\":{\"ref\":\"\(ref)\"}}")
  }

  private func forge(_ text: String) {
    forged.append(SimFrame(id: 1 << 62, bytes: Array(text.utf8)))
  }
}

extension TidelineClient {
  /// A sync of the host's, which marks what it brings where the world says so.
  func marking(_ request: SyncRequest) -> SyncRequest {
    var request = request
    request.marksRead = marksRead
    return request
  }
}

extension TidelineClient {
  package func events(after seq: UInt64) throws -> [SimEvent]? {
    switch try client.events(after: seq, limit: 10_000) {
    case .none: []
    case .resync: nil
    case .events(let events): events.map { SimEvent(seq: $0.seq, body: $0.body) }
    }
  }

  package func profiles() throws -> [String: [UInt8]] {
    var found: [String: [UInt8]] = [:]
    for entity in try client.entities(EntityQuery(.profile, limit: 10_000)) {
      found[World.text(entity.id)] = entity.body
    }
    return found
  }
}
