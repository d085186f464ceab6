/// The protocol pages are what servers are written from, so their frames are read too.
import Foundation
import Testing
import Wire

@Suite struct PageTests {
  @Test func everyFrameOfThePagesIsTaken() throws {
    let docs = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../docs/reference")
    let page = try ["protocol.md", "protocol-verbs.md", "protocol-log.md"].map { name in
      try String(contentsOf: docs.appendingPathComponent(name), encoding: .utf8)
    }.joined(separator: "\n")
    var frames: [String] = []
    for (index, part) in page.components(separatedBy: "```").enumerated() where index % 2 == 1 {
      guard part.hasPrefix("json\n") else { continue }
      for line in part.dropFirst(5).split(separator: "\n") {
        if line.hasPrefix("{") { frames.append("") }
        frames.append((frames.popLast() ?? "") + line)
      }
    }
    var answers: [String] = []
    var pushes: [String] = []
    var entities: Set<String> = []
    var unread: [String] = []
    var entries = 0
    for json in frames where !json.contains("<") {
      switch try frame(json).body {
      case .response(let response):
        answers.append(response.verb.map { "\($0.name)" } ?? "")
        if case .malformed = response.outcome { Issue.record("malformed: \(json)") }
      case .push(let push):
        pushes.append(text(push.name))
        check(push.effects, json)
      case .update(let update):
        if update.isKnown { entities.insert(text(update.entity)) }
        #expect(update.fault == nil && !update.effects.isEmpty, "\(json)")
        check(update.effects, json)
      case .entries(let push):
        entries += push.items.count
        for case .unreadable(_, _, let reason) in push.items { Issue.record("\(reason): \(json)") }
        for case .hole(_, let reason) in push.items { Issue.record("\(reason): \(json)") }
      case .unknown:
        unread.append(json)
      }
    }
    let verbs = Verb.allCases.map { "\($0.name)" }
    #expect(Set(answers) == Set(verbs))
    #expect(
      pushes == [
        "message_new", "message_edited", "message_deleted", "messages_read",
        "messages_delivered", "messages_listened", "message_reacted", "message_reacted",
        "message_pinned", "message_unpinned", "conversation_updated", "conversation_deleted",
        "typing",
      ])
    #expect(entries == 2)
    #expect(
      entities == [
        "message", "conversation", "receipt", "reaction", "pin", "typing", "member", "profile",
      ])
    // What this side sends is not taken as if the server had sent it.
    for json in unread {
      let isRequest = verbs.contains { json.hasPrefix(#"{"type":"\#($0)""#) }
      let isEnvelope = json.contains(#""type":"command""#) || json.contains(#""type":"reply""#)
      #expect(isRequest || isEnvelope, "unknown: \(json)")
    }
    for verb in verbs {
      #expect(unread.contains { $0.hasPrefix(#"{"type":"\#(verb)""#) }, "\(verb)")
    }
  }

  private func check(_ effects: [Effect], _ json: String) {
    for effect in effects {
      switch effect {
      case .bad, .message(_, .bad, _): Issue.record("bad: \(json)")
      default: break
      }
    }
  }
}
