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
    acts.unheardUs = []
    guard knobs.operations.subscribes, let probe else { return }
    let done = Set(try probe.allOperations().filter { $0.standing == .done }.map(\.seq))
    for (name, wish) in acts.wishes where wish.isOn && done.contains(wish.seq) {
      // One that was asked in vain the last time need not go first.
      if acts.unanswered[name] == nil { acts.mustAsk.insert(name) }
    }
  }

  /// Subscriptions go first, and none that nobody wants.
  func judgeSubscription(_ type: String, _ request: [UInt8]) throws {
    guard knobs.operations.subscribes else { return }
    if type == "subscribe" {
      let name = Frames.string("conversation_id", request) ?? ""
      if acts.wishes[name]?.isOn != true { throw Violation("nobody wants to hear of \(name)") }
      acts.mustAsk.remove(name)
      acts.lastQuestion = Frames.string("request_id", request) ?? ""
      acts.unanswered[name] = acts.lastQuestion
      // None is waited for any longer once it was not answered for this long.
      acts.mustAskUntilUs = min(acts.mustAskUntilUs, nowUs + 5_000_000)
    } else if type != "typing", nowUs < acts.mustAskUntilUs, let name = acts.mustAsk.min() {
      throw Violation("\(type) is asked before the subscription to \(name)")
    }
  }

  /// The client has taken an answer.
  func noteSubscribed(_ answer: [UInt8]) {
    guard knobs.operations.subscribes, Frames.type(answer) == "subscribe" else { return }
    // Without its id it answers the last question, for one at a time is asked.
    let id = Frames.string("request_id", answer) ?? acts.lastQuestion
    acts.unanswered = acts.unanswered.filter { $0.value != id }
  }

  /// Whether the server never answers; the host's own question it does, or that would be open
  /// for ever.
  func isDeaf(_ type: String, _ request: [UInt8]) throws -> Bool {
    let share = knobs.operations.deafShare
    guard type == "subscribe", share > 0, !isQuiet || share == 1 else { return false }
    let name = Frames.string("conversation_id", request) ?? ""
    let isOpen = try probe?.allOperations().contains {
      $0.verb == "subscribe" && $0.standing == .inFlight && $0.conversation == name
    }
    if isOpen == true || !networkDice.chance(share) { return false }
    trace.note(nowUs, "server: does not answer")
    acts.unheardUs.append(nowUs)
    return true
  }

  /// Whether something is under way that comes to an end.
  func isBusy() throws -> Bool {
    let state = try client.state()
    // None waits for longer than four times what is configured.
    let since = nowUs - 4_000 * knobs.timeoutMs
    let unheard = acts.unheardUs.count { $0 >= since }
    return state.busy && (unheard == 0 || state.syncsLeft > 0 || state.requests > unheard)
  }

  /// The server tells this connection of what the user wants, and of nothing else.
  func checkSubscriptions() throws {
    guard knobs.operations.subscribes else { return }
    // Those that had trouble are asked at last.
    try until("subscriptions are asked") {
      let names = link.subscription.map(server.subscriptions) ?? []
      return knobs.operations.deafShare == 1
        || acts.wishes.allSatisfy { !$0.value.isOn || names.contains($0.key) }
    }
    guard let token = link.subscription else { return }
    let names = server.subscriptions(token)
    for (name, wish) in acts.wishes where names.contains(name) != wish.isOn {
      if wish.isOn, knobs.operations.deafShare == 1 { continue }
      throw Violation("at rest the server tells of \(name): \(!wish.isOn)")
    }
  }
}
