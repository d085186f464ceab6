/// A server in the test's own process, which answers with the texts that the test wrote.
import Foundation
import Tideline

/// What a test looks at of a request.
struct Request: Decodable {
  var type: String
  var requestId: String?
  var clientId: String?
  var afterTs: String?
  var offset: Int?
  var limit: Int?
  var messageIds: [String]?
  var payload: PayloadText?
}

/// A payload that is a text, or nil where it is something else.
struct PayloadText: Decodable, Equatable {
  var text: String?

  init(_ text: String) {
    self.text = text
  }

  init(from decoder: any Decoder) throws {
    text = try? decoder.singleValueContainer().decode(String.self)
  }
}

final class Server {
  /// JSON of what it answers a type of request with; without one it is an empty object.
  var data: [String: (Request) -> String] = [:]
  /// JSON of the error that the next request of a type is refused with.
  var errors: [String: String] = [:]

  /// A server with these messages, oldest first, of which none was ever deleted. It pages as the
  /// first form of the protocol does: from the newest back by `offset`, or all after a time.
  init(_ messages: [String] = []) {
    data["get_messages"] = { request in
      let newer = messages.filter { stamp(of: $0) > request.afterTs ?? "" }
      let page = newer.dropLast(request.offset ?? 0).suffix(request.limit ?? 50)
      return #"{"messages":[\#(page.joined(separator: ","))],"total_count":\#(messages.count)}"#
    }
    data["get_deleted_since"] = { _ in #"{"message_ids":[]}"# }
    data["get_conversations"] = { _ in #"{"conversations":[],"total_count":0}"# }
  }

  /// Takes messages too, each under the id `s-` and its client id.
  static func takingMessages() -> Server {
    let server = Server()
    server.data["send_message"] = { request in
      let id = request.clientId ?? ""
      return """
        {"message":{"message_id":"s-\(id)","conversation_id":"c","sender_id":"me",\
        "created_at":"2024-05-01T12:00:00","payload":"\(request.payload?.text ?? "")",\
        "client_id":"\(id)"}}
        """
    }
    return server
  }

  /// Takes frames and answers requests until there are no more. Gives what it was sent.
  @discardableResult
  func serve(_ client: Client) throws -> [Request] {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    var requests: [Request] = []
    while let frame = try client.nextFrame() {
      let request = try decoder.decode(Request.self, from: Data(frame.json.utf8))
      try client.sent(frame.id)
      requests.append(request)
      guard let id = request.requestId else { continue }
      let head = #""type":"\#(request.type)","request_id":"\#(id)""#
      if let error = errors.removeValue(forKey: request.type) {
        try client.receive(#"{\#(head),"status":"error","error":\#(error)}"#)
      } else {
        let data = data[request.type]?(request) ?? "{}"
        try client.receive(#"{\#(head),"status":"ok","data":\#(data)}"#)
      }
    }
    return requests
  }
}

/// A message of somebody else in the conversation "c", written in the given minute.
func message(_ minute: Int, id: String? = nil, payload: String = #""ahoj""#) -> String {
  let stamp = String(format: "2024-05-01T%02d:%02d:00", 10 + minute / 60, minute % 60)
  return """
    {"message_id":"\(id ?? "m\(minute)")","conversation_id":"c","sender_id":"you",\
    "created_at":"\(stamp)","payload":\(payload),"read_by":[]}
    """
}

/// The time that a message was written at.
private func stamp(of message: String) -> String {
  String(message.split(separator: #""created_at":""#)[1].prefix { $0 != "\"" })
}

/// A push of a message.
func push(_ message: String) -> String {
  #"{"type":"message_new","conversation_id":"c","message":\#(message)}"#
}

/// A client in memory that knows some messages of the conversation "c", caught up and connected.
func caughtUp(_ messages: [String], _ options: Client.Options = Client.Options()) throws -> Client {
  let client = try Client(options)
  try client.connected()
  try client.sync("c")
  try Server(messages).serve(client)
  return client
}

/// Runs `body` with the path of a file in a folder of its own, which is removed after it.
func withFile<Result>(_ body: (String) throws -> Result) throws -> Result {
  let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  defer { try? FileManager.default.removeItem(at: folder) }
  return try body(folder.appending(path: "a.tideline").path)
}

let key = (0..<32).map(UInt8.init)
