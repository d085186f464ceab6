/// What the host of a world of operations asks for itself: conversations, people, counts.
///
/// Rule protected: such an answer comes late or twice or not at all, and harms nothing. What it
/// brings is judged like all else that the device has.

extension World {
  private static let fetches: Set<String> = [
    "subscribe", "unsubscribe", "get_conversation", "get_conversations", "get_receipts",
    "get_unread_count", "get_total_unread_count", "get_user_channel", "delete_user_channels",
  ]

  /// Whether a verb asks and changes nothing that others see, so that it has no turn.
  static func isFetch(_ verb: String) -> Bool { fetches.contains(verb) }

  func askSomething() throws {
    let room = ",\"conversation_id\":\"\(someRoom())\""
    let newest = actDice.chance(0.6) ? ",\"include_last_message\":true" : ""
    let (verb, more) =
      switch actDice.below(8) {
      case 0..<2: ("get_conversation", room + newest)
      case 2: ("get_conversations", ",\"limit\":\(1 + actDice.below(5)),\"offset\":0" + newest)
      case 3: ("get_unread_count", room)
      case 4: ("get_total_unread_count", "")
      case 5: (actDice.chance(0.7) ? "get_user_channel" : "delete_user_channels", "")
      default: try aboutReceipts() ?? ("get_unread_count", room)
      }
    var act = Act(seq: try perform("{\"type\":\"\(verb)\"\(more)}").seq, verb: verb, room: "")
    // It ends with the process, and with the conversation that it is about.
    act.mayGo = true
    _ = acts.add(act)
    try pump()
  }

  private func aboutReceipts() throws -> (String, String)? {
    guard let (room, id) = try someMessage() else { return nil }
    return (
      "get_receipts", ",\"conversation_id\":\"\(room)\",\"message_id\":\"\(id)\""
    )
  }
}
