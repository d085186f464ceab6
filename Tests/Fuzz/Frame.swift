/// Fuzzes everything that reads a frame, a payload or a stored set of readers.
///
/// A trap is a finding, and so is a value that breaks its promise: a message whose
/// ranges hold no JSON, or text that is not UTF-8.
import Wire

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  let bytes = Array(UnsafeBufferPointer(start: data, count: count))
  if let frame = try? Frame(bytes, zoneOffsetMinutes: (count % 64 - 32) * 60) { check(frame) }
  if let account = try? frameAccount(of: bytes) { _ = bytes[account] }
  checkReaders(bytes)
  return 0
}

private func check(_ frame: Frame) {
  switch frame.body {
  case .response(let response):
    switch response.outcome {
    case .page(let page): for item in page.items { check(item, frame) }
    case .deleted(let page): for id in page.ids { checkID(id) }
    case .done, .failed, .malformed: break
    }
  case .push(.messageNew(let conversation, let item)),
    .push(.messageEdited(let conversation, let item)):
    checkID(conversation)
    check(item, frame)
  case .push(.messageDeleted(let conversation, let ids)):
    for id in [conversation] + ids { checkID(id) }
  case .push(.messagesRead(let conversation, let user, let ids)):
    for id in [conversation, user] + ids { checkID(id) }
  case .unknown:
    break
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
    if let readBy = message.readBy {
      let stored = mergedReadBy(stored: nil, adding: readBy)
      demand(Set(userIDs(inReadBy: stored)) == Set(readBy), "readers survive being stored")
    }
    let request = Request.getDeletedSince(conversation: message.id, since: message.stamp.text)
    demand(isJSON(request.encoded(id: message.sender)[...]), "a request is a JSON value")
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
