/// Asks the reference server the way a client does, and reads the answers with
/// a JSON reader that is not the server's own.

import Foundation

@testable import ReferenceServer

let hour: Int64 = 3_600_000_000
/// 2026-02-15T22:15:45 UTC.
let start: Int64 = 1_771_193_745_000_000

struct Answer {
  let frame: [UInt8]
  let object: [String: Any]

  init(_ frame: [UInt8]) {
    self.frame = frame
    object =
      (try? JSONSerialization.jsonObject(with: Data(frame))) as? [String: Any] ?? [:]
  }

  var data: [String: Any] { object["data"] as? [String: Any] ?? [:] }
  var code: String { (object["error"] as? [String: Any])?["code"] as? String ?? "" }
  var messages: [[String: Any]] { data["messages"] as? [[String: Any]] ?? [] }
  var ids: [String] { messages.compactMap { $0["message_id"] as? String } }
  var stamps: [String] { messages.compactMap { $0["created_at"] as? String } }
  var deleted: [String] { data["message_ids"] as? [String] ?? [] }
}

extension ReferenceServer {
  func ask(_ type: String, user: String = "eva", _ members: [String: Any] = [:]) -> Answer {
    var object = members
    object["type"] = type
    object["request_id"] = "r1"
    if object["conversation_id"] == nil { object["conversation_id"] = "c" }
    let frame = (try? JSONSerialization.data(withJSONObject: object)) ?? Data()
    return Answer(handle(Array(frame), user: user).first ?? [])
  }

  func page(_ members: [String: Any]) -> Answer { ask("get_messages", members) }

  /// Posts messages `0..<count`, one every `everyUs`, with their number as id.
  func fill(_ count: Int, everyUs: Int64 = 1_000_000) {
    nowUs = start
    for number in 0..<count {
      post(conversation: "c", sender: "jan", payload: "\"\(number)\"", id: "\(1000 + number)")
      nowUs += everyUs
    }
  }

  func stamp(_ number: Int, everyUs: Int64 = 1_000_000) -> String {
    ServerTime.text(start + Int64(number) * everyUs, knobs)
  }
}

func server(_ set: (inout ServerKnobs) -> Void = { _ in }) -> ReferenceServer {
  var knobs = ServerKnobs()
  set(&knobs)
  return ReferenceServer(knobs: knobs, seed: 7)
}

func names(_ range: Range<Int>) -> [String] { range.map { "\(1000 + $0)" } }
