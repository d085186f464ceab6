/// Fuzzes everything that reads a frame, a payload, a stored set of readers or a
/// request that a host gave.
///
/// A trap is a finding, and so is a value that breaks its promise: a message whose
/// ranges hold no JSON, or text that is not UTF-8.
import Base
import Wire

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  let bytes = Array(UnsafeBufferPointer(start: data, count: count))
  if let frame = try? Frame(bytes, zoneOffsetMinutes: (count % 64 - 32) * 60) { check(frame) }
  if let account = try? frameAccount(of: bytes) { _ = bytes[account] }
  checkReaders(bytes)
  checkOperation(bytes)
  return 0
}

/// What a host asks for goes out as one good line, and what was stored of it says
/// the same when it is read again.
private func checkOperation(_ bytes: [UInt8]) {
  let changed = operationBody(bytes, setting: "reply_to", to: quoted(bytes))
  _ = operationText("reply_to", in: changed)
  _ = operationValue("reply_to", in: bytes)
  _ = operationFlag("distinct", in: bytes)
  guard let operation = try? parseOperation(bytes) else { return }
  for id in [operation.conversation, operation.message, operation.clientID] {
    if let id { checkID(id) }
  }
  for id in operation.messageIDs { checkID(id) }
  let line = Request.operation(operation).encoded(id: Array("r".utf8))
  demand(isJSON(line[...]), "a request is a JSON value")
  demand((try? parseOperation(line)) == operation, "what went out is what was asked for")
  let value = quoted(Array("m".utf8))
  let body = operationBody(operation.body, setting: "reply_to", to: value)
  demand(operationText("reply_to", in: body) == Array("m".utf8), "a member is set")
  demand(operationValue("reply_to", in: body) == value, "it is as it was given")
  let without = operationBody(body, setting: "reply_to", to: nil)
  demand(operationValue("reply_to", in: without) == nil, "a member is taken out")
}

private func check(_ conversation: WireConversation, _ frame: Frame) {
  checkID(conversation.id)
  demand(isJSON(frame.bytes[conversation.body]), "a body is a JSON value")
  demand(conversation.unreadCount ?? 0 >= 0, "a count is not negative")
  if let id = conversation.lastReadMessage { checkID(id) }
  if let last = conversation.lastMessage { check(last, frame) }
}

private func check(_ frame: Frame) {
  switch frame.body {
  case .response(let response):
    switch response.outcome {
    case .page(let page): for item in page.items { check(item, frame) }
    case .changed(let page):
      for item in page.items { check(item, frame) }
      if let since = page.nextSince { checkID(since) }
    case .deleted(let page): for id in page.ids { checkID(id) }
    case .message(let item): check(item, frame)
    case .conversation(let conversation): check(conversation, frame)
    case .conversations(let all, let bad, _):
      for conversation in all { check(conversation, frame) }
      for range in bad { demand(isJSON(frame.bytes[range]), "a bad item is a JSON value") }
    case .receipts(let receipts): for receipt in receipts { checkID(receipt.user) }
    case .counts(let messages, let conversations):
      demand(messages >= 0 && conversations ?? 0 >= 0, "a count is not negative")
    case .subscribed(let epoch): if let epoch { checkID(epoch) }
    case .done, .entries, .failed, .malformed: break
    }
    if let data = response.data { demand(isJSON(frame.bytes[data]), "data is a JSON value") }
    if let refusal = response.refusal {
      demand(refusal.text.count <= 1_024, "a refusal is short")
      demand(String(validating: refusal.text, as: UTF8.self) != nil, "a refusal is text")
    }
  case .push(let push):
    demand(!push.effects.isEmpty, "a push has an effect")
    for effect in push.effects { check(effect, frame) }
  case .update(let update):
    checkID(update.ref)
    demand(isJSON(frame.bytes[update.raw]), "an update is a JSON value")
    demand(!update.isBroken || update.effects.isEmpty, "what is broken has no effect")
    demand(!update.isBroken || !update.isKnown, "what is broken is not known")
    let reply = encodedReply(ref: update.ref, account: frame.account)
    demand(isJSON(reply[...]), "a reply is a JSON value")
    if let account = frame.account, let again = try? Frame(reply, zoneOffsetMinutes: 0) {
      demand(again.account == account, "a reply names the same account")
    }
    for effect in update.effects { check(effect, frame) }
  case .entries, .unknown:
    break
  }
  for entry in entryPayloads(frameEntries(frame)?.items ?? []) {
    checkID(entry.id)
    demand(isJSON(frame.bytes[entry.payload]), "a payload is a JSON value")
  }
  for found in frameMessages(frame) {
    let (conversation, message) = (found.conversation, found.message)
    let isNamed = conversation.isEmpty || message.conversation ?? conversation == conversation
    demand(isNamed, "a message is of the conversation that its frame names")
  }
}

private func check(_ effect: Effect, _ frame: Frame) {
  switch effect {
  case .message(let conversation, let item, _):
    checkID(conversation)
    check(item, frame)
  case .messagesDeleted(let conversation, let ids):
    for id in [conversation] + ids { checkID(id) }
  case .receipts(let conversation, _, let user, let ids):
    for id in [conversation, user] + ids { checkID(id) }
  case .reactions(let conversation, let id, let reactions, _):
    for id in [conversation, id] { checkID(id) }
    let set = frame.bytes[reactions]
    demand(set.isEmpty || isJSON(set) && set.first == 0x7B, "reactions are a JSON object")
  case .reacted(let conversation, let id, let change):
    for id in [conversation, id, change.user, change.reaction] { checkID(id) }
  case .pin(let conversation, let id, _):
    for id in [conversation, id] { checkID(id) }
  case .typing(let conversation, let user, _, _, let body):
    for id in [conversation, user] { checkID(id) }
    demand(isJSON(frame.bytes[body]), "a body is a JSON value")
  case .entity(_, let conversation, let id, let body, let known):
    checkID(id)
    if let conversation { checkID(conversation) }
    demand(isJSON(frame.bytes[body]), "a body is a JSON value")
    if let known { check(known, frame) }
  case .entityDeleted(_, let conversation, let id, let body):
    checkID(id)
    if let conversation { checkID(conversation) }
    demand(isJSON(frame.bytes[body]), "a body is a JSON value")
  case .unknown(let name, let body):
    checkID(name)
    demand(isJSON(frame.bytes[body]), "a body is a JSON value")
  case .skipped(let range, let list):
    demand(isJSON(frame.bytes[range]), "what is skipped is a JSON value")
    for id in list.conversations ?? [] { checkID(id) }
  case .bad(let range, _):
    demand(isJSON(frame.bytes[range]), "a bad item is a JSON value")
  }
}

private func check(_ item: PageItem, _ frame: Frame) {
  switch item {
  case .bad(let range, _):
    demand(isJSON(frame.bytes[range]), "a bad item is a JSON value")
  case .message(let message):
    demand(isJSON(frame.bytes[message.object]), "an object is a JSON value")
    demand(isJSON(frame.bytes[message.payload]), "a payload is a JSON value")
    demand(message.rest.isEmpty || isJSON(message.rest[...]), "the rest is a JSON value")
    if let reactions = message.reactions {
      demand(isJSON(frame.bytes[reactions]), "reactions are a JSON value")
    }
    checkID(message.id)
    checkID(message.sender)
    demand(message.sequence?.value ?? 0 >= 0, "a number is not negative")
    if let previous = message.previousID { checkID(previous) }
    for readBy in [message.readBy, message.deliveredBy, message.listenedBy] {
      guard let readBy else { continue }
      let stored = mergedReadBy(stored: nil, adding: readBy)
      demand(Set(userIDs(inReadBy: stored)) == Set(readBy), "readers survive being stored")
    }
    let request = Request.getDeletedSince(conversation: message.id, since: message.stamp.text)
    demand(isJSON(request.encoded(id: message.sender)[...]), "a request is a JSON value")
    let command = request.encoded(id: message.sender, account: frame.account ?? [])
    demand(isJSON(command[...]), "a command is a JSON value")
    _ = hasControlMember(Array(frame.bytes[message.payload]))
  }
}

private func checkReaders(_ bytes: [UInt8]) {
  let control = hasControlMember(bytes)
  demand(!control || isJSON(bytes[...]), "a control payload is a JSON value")
  let added = Array("\"new\\".utf8)
  let merged = mergedReadBy(stored: bytes, adding: [added])
  let users = userIDs(inReadBy: merged)
  demand(users.contains(added), "an added reader is there")
  demand(Set(userIDs(inReadBy: bytes)).isSubset(of: users), "no reader is lost")
  demand(mergedReadBy(stored: merged, adding: [added]) == merged, "a second time changes nothing")
}

private func checkID(_ id: [UInt8]) {
  demand(!id.isEmpty && id.count <= 512, "an id has its length")
  demand(String(validating: id, as: UTF8.self) != nil, "an id is text")
}

private func isJSON(_ bytes: ArraySlice<UInt8>) -> Bool {
  (try? Document(Array(bytes))) != nil
}

private func demand(_ condition: Bool, _ text: StaticString) {
  if !condition { fatalError("broken promise: \(text)") }
}
