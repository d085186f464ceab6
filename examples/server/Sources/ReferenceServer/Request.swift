/// One request frame, read strictly: a known member of the wrong type makes the
/// frame invalid, an unknown member is stepped over.
public struct Request: Sendable {
  public var type = ""
  /// The JSON text of the id, to be echoed as it came; empty where absent.
  public var requestID: [UInt8] = []
  public var conversation: String?
  public var limit: Int?
  public var offset: Int?
  public var before: String?
  public var after: String?
  public var afterTs: String?
  public var beforeTs: String?
  public var beforeID: String?
  public var aroundTs: String?
  public var aroundID: String?
  public var since: String?
  public var messageIDs: [String]?
  public var messageID: String?
  public var reaction: String?
  public var event: String?
  public var user: String?
  public var count: Int?
  public var overSeconds: Int?
  /// How long ago it was said.
  public var backSeconds: Int?
  public var title: String?
  public var name: String?
  public var entity: String?
  public var action: String?
  public var isSilent: Bool?
  /// JSON text of a list, as it came.
  public var items: [UInt8]?
  /// The account that an envelope names.
  public var account: String?
  /// JSON text, as it came: what an envelope holds, or a new payload.
  public var payload: [UInt8]?
  public var ref: String?
  public var clientID: String?
  public var replyTo: String?
  public var channel: String?
  /// JSON text, as it came.
  public var attachment: [UInt8]?
  public var metadata: [UInt8]?
  public var userIDs: [String]?
  public var participantIDs: [String]?
  public var adminIDs: [String]?
  public var isDistinct: Bool?
  public var isDirect: Bool?
  public var includesLastMessage: Bool?

  /// Stands for a frame whose type could not be read.
  public static let unreadable: Request = {
    var request = Request()
    request.type = "error"
    return request
  }()

  private init() {}

  public init?(_ frame: [UInt8]) {
    self.init(frame, needsType: true)
  }

  private init?(_ frame: [UInt8], needsType: Bool) {
    var cursor = JSONCursor(frame)
    var request = Request()
    guard cursor.object({ request.read(&$0, $1) }) else { return nil }
    cursor.skipSpace()
    guard cursor.isAtEnd, !needsType || !request.type.isEmpty else { return nil }
    self = request
  }

  /// The request that a command's envelope holds.
  public var command: Request? { payload.flatMap { Request($0) } }

  /// The ref that a reply's envelope holds.
  public var repliedRef: String? {
    payload.flatMap { Request($0, needsType: false) }?.ref
  }

  private mutating func read(_ cursor: inout JSONCursor, _ key: String) -> Bool {
    // Only a payload may be `null`.
    if key != "type", key != "payload", cursor.peek == 0x6E { return cursor.skip() != nil }
    switch key {
    case "type":
      guard let text = cursor.string() else { return false }
      type = text
    case "request_id":
      guard let bytes = cursor.skip() else { return false }
      requestID = Array(bytes)
    case "conversation_id": return Request.text(&cursor, &conversation)
    case "before": return Request.text(&cursor, &before)
    case "after": return Request.text(&cursor, &after)
    case "after_ts": return Request.text(&cursor, &afterTs)
    case "before_ts": return Request.text(&cursor, &beforeTs)
    case "before_id": return Request.text(&cursor, &beforeID)
    case "around_ts": return Request.text(&cursor, &aroundTs)
    case "around_id": return Request.text(&cursor, &aroundID)
    case "message_id": return Request.text(&cursor, &messageID)
    case "reaction": return Request.text(&cursor, &reaction)
    case "event": return Request.text(&cursor, &event)
    case "title": return Request.text(&cursor, &title)
    case "name": return Request.text(&cursor, &name)
    case "entity": return Request.text(&cursor, &entity)
    case "action": return Request.text(&cursor, &action)
    case "account": return Request.text(&cursor, &account)
    case "ref": return Request.text(&cursor, &ref)
    case "items": return cursor.peek == 0x5B && Request.bytes(&cursor, &items)
    case "payload": return Request.bytes(&cursor, &payload)
    case "silent": return Request.flag(&cursor, &isSilent)
    case "since": return Request.text(&cursor, &since)
    case "user": return Request.text(&cursor, &user)
    case "limit": return Request.number(&cursor, &limit)
    case "offset": return Request.number(&cursor, &offset)
    case "count": return Request.number(&cursor, &count)
    case "over_s": return Request.number(&cursor, &overSeconds)
    case "back_s": return Request.number(&cursor, &backSeconds)
    default: return readOfSends(&cursor, key)
    }
    return true
  }

  private mutating func readOfSends(_ cursor: inout JSONCursor, _ key: String) -> Bool {
    switch key {
    case "client_id": return Request.text(&cursor, &clientID)
    case "reply_to": return Request.text(&cursor, &replyTo)
    case "channel": return Request.text(&cursor, &channel)
    case "attachment": return Request.bytes(&cursor, &attachment)
    case "metadata": return Request.bytes(&cursor, &metadata)
    case "message_ids": return Request.texts(&cursor, &messageIDs)
    case "user_ids": return Request.texts(&cursor, &userIDs)
    case "participant_ids": return Request.texts(&cursor, &participantIDs)
    case "admin_ids": return Request.texts(&cursor, &adminIDs)
    case "distinct": return Request.flag(&cursor, &isDistinct)
    case "direct": return Request.flag(&cursor, &isDirect)
    case "include_last_message": return Request.flag(&cursor, &includesLastMessage)
    default: return cursor.skip() != nil
    }
  }

  private static func texts(_ cursor: inout JSONCursor, _ value: inout [String]?) -> Bool {
    value = cursor.strings()
    return value != nil
  }

  private static func flag(_ cursor: inout JSONCursor, _ value: inout Bool?) -> Bool {
    value = cursor.bool()
    return value != nil
  }

  private static func text(_ cursor: inout JSONCursor, _ value: inout String?) -> Bool {
    value = cursor.string()
    return value != nil
  }

  private static func bytes(_ cursor: inout JSONCursor, _ value: inout [UInt8]?) -> Bool {
    value = cursor.skip().map { Array($0) }
    return value != nil
  }

  private static func number(_ cursor: inout JSONCursor, _ value: inout Int?) -> Bool {
    value = cursor.integer()
    return value != nil
  }
}
