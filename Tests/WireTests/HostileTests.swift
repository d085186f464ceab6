/// Frames that were cut or changed on the way: an error or a sound value, never a trap.
import Base
import Testing
import Wire

@Suite struct HostileTests {
  private static let samples: [[UInt8]] = [
    bytes(
      #"{"type":"get_messages","request_id":"r","status":"ok","data":{"messages":["#
        + message("m1", #","read_by":[{"user_id":"a"}],"reactions":{"👍":["u"]},"version":12"#) + ","
        + message(
          "m\\u0032",
          #","kind":"event","metadata":{"k":[1.5,-2e3,"é\ud83d\ude00"]},"#
            + #""edited_at":"2026-02-15T22:15:45.123Z""#
        )
        + #"],"total_count":123,"server_time":"2026-02-15 22:15:46+01:00","has_more":false}}"#),
    bytes(
      #"{"type":"get_deleted_since","status":"ok","#
        + #""data":{"message_ids":["a","b\\"],"next_since":"x"}}"#
    ),
    bytes(
      #"{"type":"get_messages","status":"error","#
        + #""error":{"code":"rate_limited","retry_after_ms":1e3}}"#
    ),
    bytes(
      #"{"type":"message_new","conversation_id":"c","#
        + #""message":\#(message("m", #","reply_to":"q""#))}"#
    ),
    bytes(
      #"{"account":"p","type":"messages_read","conversation_id":"c","#
        + #""user_id":"u","message_ids":["a"]}"#
    ),
  ]

  @Test func aCutFrameIsNeverTaken() {
    for sample in HostileTests.samples {
      #expect((try? Frame(sample, zoneOffsetMinutes: 0)) != nil)
      for length in 0..<sample.count {
        let cut = Array(sample[..<length])
        #expect(throws: WireFailure.self) { try Frame(cut, zoneOffsetMinutes: 0) }
        #expect(throws: WireFailure.self) { try frameAccount(of: cut) }
        #expect(!hasControlMember(cut))
      }
    }
  }

  @Test func aChangedFrameIsAnErrorOrSound() throws {
    var random = Random(seed: 1)
    var taken = 0
    var messages = 0
    for _ in 0..<20_000 {
      var json = HostileTests.samples[random.below(HostileTests.samples.count)]
      for _ in 0...random.below(4) { mutate(&json, &random) }
      guard let frame = try? Frame(json, zoneOffsetMinutes: random.below(3_000) - 1_500) else {
        continue
      }
      taken += 1
      messages += try check(frame)
    }
    #expect(taken > 2_000 && messages > 1_000)
  }

  private func mutate(_ json: inout [UInt8], _ random: inout Random) {
    let pieces = [
      "\"", "\\", "{", "}", "[", "]", ",", ":", "null", "-", "e9", "\\ud800", "9999999999999999999",
      "\u{0}", "é", "[[[[", "\"type\":", "\"status\":\"ok\",", "T", "24",
    ].map { bytes($0) }
    let at = random.below(json.count)
    let end = min(json.count, at + random.below(24))
    switch random.below(6) {
    case 0: json[at] = UInt8(random.below(256))
    case 1: json[at] ^= 1 << UInt8(random.below(8))
    case 2: json.removeSubrange(at..<end)
    case 3: json.insert(contentsOf: pieces[random.below(pieces.count)], at: at)
    case 4: json.insert(contentsOf: json[at..<end], at: random.below(json.count))
    default: json[at] = UInt8(ascii: "0") + UInt8(random.below(10))
    }
    if json.isEmpty { json = [0x7B] }
  }

  /// What was taken keeps its promises; gives how many messages it held.
  private func check(_ frame: Frame) throws -> Int {
    let items: [PageItem]
    switch frame.body {
    case .response(let response):
      guard case .page(let page) = response.outcome else { return 0 }
      items = page.items
    case .push(.messageNew(_, let item)), .push(.messageEdited(_, let item)):
      items = [item]
    default:
      return 0
    }
    var count = 0
    for item in items {
      guard case .message(let message) = item else { continue }
      count += 1
      #expect(failure(Array(frame.bytes[message.payload])) == nil)
      #expect(failure(Array(frame.bytes[message.object])) == nil)
      #expect(message.rest.isEmpty || failure(message.rest) == nil)
      #expect((1...Limits.idBytesMax).contains(message.id.count))
      #expect(String(validating: message.id, as: UTF8.self) != nil)
      let floor = message.stamp.printed(message.stamp.timeUs)
      #expect(floor.count == message.stamp.text.count)
    }
    return count
  }
}
