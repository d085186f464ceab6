/// Merging lists of messages without a client of the host's.
///
/// The rules are a client's because it is one that runs them: a client in memory takes
/// both lists as updates and gives back what it holds. Each message's whole object is
/// kept as its payload, so what comes out is the newer copy verbatim, with the marks
/// that both copies agree on.
package import Base
internal import Store
internal import Timeline
internal import Wire

/// - Parameter more: later copies, or with `areDeltas` frames that tell changes.
package func merged(
  _ base: [UInt8], with more: [UInt8], areDeltas: Bool
) throws(Failure) -> (bytes: [UInt8], left: StaticText?) {
  let first = try MergeList(base)
  let second = try MergeList(more)
  var config = ClientConfig(file: .memory, account: [], user: [0])
  config.seed = 1
  config.open = { sealed in
    .plain(Array(sealed.frame[sealed.message]), control: false, event: false)
  }
  if areDeltas { config.account = second.account }
  let client = try Client.open(config)
  defer { client.close() }
  try client.connected()
  // Why the first of those that were left out was.
  var left: StaticText?
  func apply(_ frame: [UInt8]) throws(Failure) {
    do throws(Failure) {
      let (receipt, reason) = try client.take(frame)
      if receipt != .applied { left = left ?? reason ?? "an item is of no use" }
    } catch .frame(let reason) {
      left = left ?? reason
    } catch .mismatch(let reason) {
      left = left ?? reason
    } catch .tooLarge(let reason) {
      left = left ?? reason
    }
  }
  // A message may leave its conversation to what it came in.
  let conversation = first.conversation ?? second.conversation ?? [UInt8(ascii: "-")]
  for frame in first.updates("a", in: conversation) { try apply(frame) }
  for frame in areDeltas ? second.elements : second.updates("b", in: conversation) {
    try apply(frame)
  }
  if try client.stats().waitingDropped > 0 {
    left = left ?? "over 10,000 changes came before their messages"
  }
  return (try client.mergedList(), left)
}

/// A JSON array of the host's.
private struct MergeList {
  private let document: Document
  private let ranges: [Range<Int>]

  init(_ bytes: [UInt8]) throws(Failure) {
    do throws(WireFailure) {
      document = try Document(bytes)
    } catch {
      let text = error.text(of: "a list")
      throw error == .tooLarge ? .tooLarge(text) : .frame(text)
    }
    guard document.kind(document.root) == .array else {
      throw .frame("a list is not a JSON array")
    }
    var ranges: [Range<Int>] = []
    var child = document.firstChild(of: document.root)
    while let element = child {
      ranges.append(document.range(element))
      child = document.next(after: element, in: document.root)
    }
    self.ranges = ranges
  }

  var elements: [[UInt8]] { ranges.map { Array(document.bytes[$0]) } }

  /// The account that its frames name, empty where none does.
  var account: [UInt8] {
    var child = document.firstChild(of: document.root)
    while let element = child {
      if document.kind(element) == .object,
        let named = document.member(Array("account".utf8), of: element),
        let account = document.string(named), !account.isEmpty
      {
        return account
      }
      child = document.next(after: element, in: document.root)
    }
    return []
  }

  /// The first conversation that an element names.
  var conversation: [UInt8]? {
    var child = document.firstChild(of: document.root)
    while let element = child {
      if let named = named(element) { return named }
      child = document.next(after: element, in: document.root)
    }
    return nil
  }

  private func named(_ element: Document.Node) -> [UInt8]? {
    guard document.kind(element) == .object else { return nil }
    return document.member(Array("conversation_id".utf8), of: element).flatMap {
      document.string($0)
    }
  }

  /// The elements as messages of updates, many in each but not too many bytes. One that
  /// names no conversation is a push in `conversation`.
  func updates(_ name: String, in conversation: [UInt8]) -> [[UInt8]] {
    var frames: [[UInt8]] = []
    var items = JSONList()
    var (count, size) = (0, 0)
    func end() {
      guard count > 0 else { return }
      var payload = JSONObject()
      payload.add("entity", bytes("message"))
      payload.add("items", json: items.closed())
      var update = JSONObject()
      update.add("ref", [1] + Array("\(name)\(frames.count)".utf8))
      update.add("action", bytes("new"))
      update.add("payload", json: payload.closed())
      var frame = JSONObject()
      frame.add("type", bytes("update"))
      frame.add("payload", json: update.closed())
      frames.append(frame.closed())
      items = JSONList()
      (count, size) = (0, 0)
    }
    var child = document.firstChild(of: document.root)
    while let element = child {
      child = document.next(after: element, in: document.root)
      let item = document.bytes[document.range(element)]
      if document.kind(element) == .object, named(element) == nil {
        end()
        var push = JSONObject()
        push.add("type", Array("message_new".utf8))
        push.add("conversation_id", conversation)
        push.add("message", json: Array(item))
        frames.append(push.closed())
        continue
      }
      items.add(json: item)
      count += 1
      size += item.count
      if count == 500 || size > 4 << 20 { end() }
    }
    end()
    return frames
  }
}

extension Client {
  /// Messages with these local numbers, in their order.
  package func messages(
    conversation: [UInt8], numbers: ClosedRange<UInt64>, limit: Int
  ) throws(Failure) -> MessagePage {
    try check(conversation)
    return try reading { rx throws(Failure) in
      try rx.page(conversation: conversation, numbers: numbers, limit: limit)
    }
  }

  /// Everything that this client holds, as messages of one array.
  fileprivate func mergedList() throws(Failure) -> [UInt8] {
    var conversations: [[UInt8]] = []
    var last: Int64 = .min
    while true {
      let summaries = try reading { reading throws(Failure) in
        try reading.storing { rx throws(StoreFailure) in
          try rx.summaries(after: last, limit: Limits.readRowsMax)
        }
      }
      guard let end = summaries.last?.cid else { break }
      conversations += summaries.map(\.id)
      last = end
    }
    var found: [(position: Position, object: [UInt8])] = []
    for conversation in conversations {
      var from = MessageQuery.From.oldest
      while true {
        let page = try messages(
          MessageQuery(conversation: conversation, from: from, limit: Limits.readRowsMax))
        let rows = page.rows
        if rows.isEmpty { break }
        for row in rows {
          let position = Position(time: row.timeUs, id: page[row.id])
          found.append((position, try mergedObject(row, page: page)))
          from = .after(row.number)
        }
      }
    }
    found.sort { $0.position < $1.position }
    var list = JSONList()
    for item in found { list.add(json: item.object) }
    return list.closed()
  }

  /// The newer copy of a message, with the marks of both.
  private func mergedObject(_ row: MessageRow, page: MessagePage) throws(Failure) -> [UInt8] {
    var object = JSONObject()
    let marks = ["reactions", "pinned", "read_by", "delivered_by", "listened_by"]
    try eachChild(page[row.payload]) { document, key, value in
      let name = document.string(key).map { String(decoding: $0, as: UTF8.self) }
      if let name, marks.contains(name) { return }
      object.add(
        members: document.bytes[
          document.range(key).lowerBound..<document.range(value).upperBound])
    }
    if !row.reactions.isEmpty { object.add("reactions", json: page[row.reactions]) }
    if row.flags & MessageFlags.pinned != 0 { object.add("pinned", json: bytes("true")) }
    let lists: [(StaticString, Range<Int>)] = [
      ("read_by", row.readBy), ("delivered_by", row.deliveredBy),
      ("listened_by", row.listenedBy),
    ]
    for (name, range) in lists where !range.isEmpty {
      var users = JSONList()
      try eachChild(page[range]) { document, user, _ in
        var reader = JSONObject()
        reader.add("user_id", json: Array(document.bytes[document.range(user)]))
        users.add(json: reader.closed())
      }
      object.add(name, json: users.closed())
    }
    return object.closed()
  }

  /// The members of an object as key and value, or the elements of an array, twice each.
  private func eachChild(
    _ bytes: [UInt8], _ body: (Document, Document.Node, Document.Node) -> Void
  ) throws(Failure) {
    let document: Document
    do throws(WireFailure) {
      document = try Document(bytes)
    } catch {
      // One of its pages is older than the others.
      throw .damaged
    }
    let isObject = document.kind(document.root) == .object
    var child = document.firstChild(of: document.root)
    while let first = child {
      let last = isObject ? document.next(after: first, in: document.root) ?? first : first
      body(document, first, last)
      child = document.next(after: last, in: document.root)
    }
  }
}
