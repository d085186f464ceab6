/// One request frame, read strictly: a known member of the wrong type makes the
/// frame invalid, an unknown member is stepped over.
public struct Request: Sendable {
  public var type = ""
  /// The JSON text of the id, to be echoed as it came; empty where absent.
  public var requestID: [UInt8] = []
  public var conversation: String?
  public var limit: Int?
  public var offset: Int?
  public var afterTs: String?
  public var since: String?
  public var messageIDs: [String]?
  public var user: String?
  public var count: Int?
  public var overSeconds: Int?

  /// Stands for a frame whose type could not be read.
  public static let unreadable: Request = {
    var request = Request()
    request.type = "error"
    return request
  }()

  private init() {}

  public init?(_ frame: [UInt8]) {
    var cursor = JSONCursor(frame)
    var request = Request()
    guard cursor.object({ request.read(&$0, $1) }) else { return nil }
    cursor.skipSpace()
    guard cursor.isAtEnd, !request.type.isEmpty else { return nil }
    self = request
  }

  private mutating func read(_ cursor: inout JSONCursor, _ key: String) -> Bool {
    if key != "type", cursor.peek == 0x6E { return cursor.skip() != nil }
    switch key {
    case "type":
      guard let text = cursor.string() else { return false }
      type = text
    case "request_id":
      guard let bytes = cursor.skip() else { return false }
      requestID = Array(bytes)
    case "conversation_id": return Request.text(&cursor, &conversation)
    case "after_ts": return Request.text(&cursor, &afterTs)
    case "since": return Request.text(&cursor, &since)
    case "user": return Request.text(&cursor, &user)
    case "limit": return Request.number(&cursor, &limit)
    case "offset": return Request.number(&cursor, &offset)
    case "count": return Request.number(&cursor, &count)
    case "over_s": return Request.number(&cursor, &overSeconds)
    case "message_ids":
      guard let ids = cursor.strings() else { return false }
      messageIDs = ids
    default: return cursor.skip() != nil
    }
    return true
  }

  private static func text(_ cursor: inout JSONCursor, _ value: inout String?) -> Bool {
    value = cursor.string()
    return value != nil
  }

  private static func number(_ cursor: inout JSONCursor, _ value: inout Int?) -> Bool {
    value = cursor.integer()
    return value != nil
  }
}
