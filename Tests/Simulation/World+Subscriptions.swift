/// What a user wants to be told of: asked again on each connection, before other work.
internal import Base

extension World {
  /// Wants to be told of a conversation, or no longer.
  func subscribeSomething() throws {
    let name = conversations[actDice.below(knobs.conversations)].name
    let isOn = actDice.chance(0.65)
    let verb = isOn ? "subscribe" : "unsubscribe"
    let made = try perform("{\"type\":\"\(verb)\",\"conversation_id\":\"\(name)\"}")
    acts.wishes[name] = (made.seq, isOn)
    acts.mustAsk.remove(name)
    try pump()
  }

  /// What went well is asked again on a new connection.
  func noteConnection() throws {
    acts.mustAsk = []
    acts.mustAskUntilUs = nowUs + knobs.timeoutMs * 1_000
    guard knobs.operations.subscribes, let probe else { return }
    let done = Set(try probe.allOperations().filter { $0.standing == .done }.map(\.seq))
    for (name, wish) in acts.wishes where wish.isOn && done.contains(wish.seq) {
      acts.mustAsk.insert(name)
    }
  }

  /// Subscriptions go first, and none that nobody wants.
  func judgeSubscription(_ type: String, _ request: [UInt8]) throws {
    guard knobs.operations.subscribes else { return }
    if type == "subscribe" {
      let name = Frames.string("conversation_id", request) ?? ""
      if acts.wishes[name]?.isOn != true { throw Violation("nobody wants to hear of \(name)") }
      acts.mustAsk.remove(name)
    } else if type != "typing", nowUs < acts.mustAskUntilUs, let name = acts.mustAsk.min() {
      throw Violation("\(type) is asked before the subscription to \(name)")
    }
  }

  /// The server tells this connection of what the user wants, and of nothing else.
  func checkSubscriptions() throws {
    guard knobs.operations.subscribes, let token = link.subscription else { return }
    let heard = server.subscriptions(token)
    for (name, wish) in acts.wishes where heard.contains(name) != wish.isOn {
      throw Violation("at rest the server tells of \(name): \(!wish.isOn)")
    }
  }
}
