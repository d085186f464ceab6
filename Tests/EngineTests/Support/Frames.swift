/// Frames as a server writes them, for tests that play the server themselves.
import Base
import Engine
import Foundation
import ReferenceServer

enum Frames {
  /// A message as JSON; `more` is appended to its members.
  static func message(
    _ id: String, atUs: Int64, payload: String = "\"text\"", sender: String = "you",
    more: String = ""
  ) -> String {
    """
    {"message_id":"\(id)","conversation_id":"room","sender_id":"\(sender)",\
    "created_at":"\(time(atUs))","payload":\(payload)\(more)}
    """
  }

  /// A printed time with microseconds.
  static func time(_ us: Int64) -> String {
    var seconds = time_t(us / 1_000_000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    return String(
      format: "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", Int(parts.tm_year) + 1900,
      Int(parts.tm_mon) + 1, Int(parts.tm_mday), Int(parts.tm_hour), Int(parts.tm_min),
      Int(parts.tm_sec), Int(us % 1_000_000))
  }

  static func update(
    _ ref: String, _ entity: String, silent: Bool = false, account: String = "personal",
    _ items: [String]
  ) -> String {
    update(ref, entity, "new", silent: silent, account: account, items)
  }

  static func update(
    _ ref: String, _ entity: String, _ action: String, silent: Bool = false,
    account: String = "personal", _ items: [String]
  ) -> String {
    """
    {"account":"\(account)","type":"update","payload":{"ref":"\(ref)","silent":\(silent),\
    "action":"\(action)","payload":{"entity":"\(entity)",\
    "items":[\(items.joined(separator: ","))]}}}
    """
  }

  static func push(_ message: String) -> String {
    "{\"type\":\"message_new\",\"conversation_id\":\"room\",\"message\":\(message)}"
  }

  static func edit(_ message: String) -> String {
    "{\"type\":\"message_edited\",\"conversation_id\":\"room\",\"message\":\(message)}"
  }

  /// The ref that a reply names; nil for another frame.
  static func ref(ofReply frame: [UInt8]) -> String? {
    let text = String(decoding: frame, as: UTF8.self)
    guard text.contains("\"type\":\"reply\"") else { return nil }
    return text.components(separatedBy: "\"ref\":\"")[1].components(separatedBy: "\"")[0]
  }
}

extension World {
  @discardableResult
  func hand(_ frame: String) throws -> Receipt {
    try client.receive(Array(frame.utf8))
  }

  /// Takes all frames: requests go to the server and are answered, the refs of replies
  /// are given back. `report` says whether the sending of a reply is reported.
  @discardableResult
  func replies(report: Bool = true) throws -> [String] {
    var refs: [String] = []
    while let frame = try client.nextFrame() {
      if let ref = Frames.ref(ofReply: frame.bytes) {
        refs.append(ref)
        if report { _ = try client.frameSent(frame.id) }
        continue
      }
      for answer in server.handle(frame.bytes, user: "me") { _ = try client.receive(answer) }
    }
    return refs
  }

  /// What the host would show of a cached message; nil where it is not shown.
  func shown(_ id: String) throws -> (view: MessageRow, page: MessagePage)? {
    let page = try page()
    return page.rows.first { String(decoding: page[$0.id], as: UTF8.self) == id }
      .map { ($0, page) }
  }

  func reactions(_ id: String) throws -> String? {
    try shown(id).map { String(decoding: $0.page[$0.view.reactions], as: UTF8.self) }
  }

  func isPinned(_ id: String) throws -> Bool {
    try shown(id).map { $0.view.flags & (1 << 4) != 0 } ?? false
  }

  func readers(_ id: String) throws -> String? {
    try shown(id).map { String(decoding: $0.page[$0.view.readBy], as: UTF8.self) }
  }

  /// A server that loses and reorders no push.
  static func lossless(
    file: ClientConfig.File = .memory, change: (inout ClientConfig) -> Void = { _ in }
  ) throws -> World {
    var profile = Profile()
    profile.pushIsLossless = true
    return try World(profile: profile, file: file, change: change)
  }
}
