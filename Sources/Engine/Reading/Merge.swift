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
    var items: [UInt8] = []
    var count = 0
    func end() {
      guard count > 0 else { return }
      let head =
        #"{"type":"update","payload":{"ref":"\u0001\#(name)\#(frames.count)","action":"new","#
        + #""payload":{"entity":"message","items":["#
      frames.append(Array(head.utf8) + items + Array("]}}}".utf8))
      items = []
      count = 0
    }
    var child = document.firstChild(of: document.root)
    while let element = child {
      child = document.next(after: element, in: document.root)
      let bytes = document.bytes[document.range(element)]
      if document.kind(element) == .object, named(element) == nil {
        end()
        frames.append(
          Array(#"{"type":"message_new","conversation_id":"#.utf8) + quoted(conversation)
            + Array(#","message":"#.utf8) + bytes + [UInt8(ascii: "}")])
        continue
      }
      if count > 0 { items.append(UInt8(ascii: ",")) }
      items += bytes
      count += 1
      if count == 500 || items.count > 4 << 20 { end() }
    }
    end()
    return frames
  }
}

extension Client {
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
    var list = [UInt8(ascii: "[")]
    for (index, item) in found.enumerated() {
      if index > 0 { list.append(UInt8(ascii: ",")) }
      list += item.object
    }
    return list + [UInt8(ascii: "]")]
  }

  /// The newer copy of a message, with the marks of both.
  private func mergedObject(_ row: MessageRow, page: MessagePage) throws(Failure) -> [UInt8] {
    var object = [UInt8(ascii: "{")]
    func add(_ member: some Sequence<UInt8>) {
      if object.count > 1 { object.append(UInt8(ascii: ",")) }
      object += member
    }
    let marks = ["reactions", "pinned", "read_by", "delivered_by", "listened_by"]
    try eachChild(page[row.payload]) { document, key, value in
      let name = document.string(key).map { String(decoding: $0, as: UTF8.self) }
      if let name, marks.contains(name) { return }
      add(document.bytes[document.range(key).lowerBound..<document.range(value).upperBound])
    }
    if !row.reactions.isEmpty { add(Array(#""reactions":"#.utf8) + page[row.reactions]) }
    if row.flags & MessageFlags.pinned != 0 { add(Array(#""pinned":true"#.utf8)) }
    for (name, range) in zip(marks[2...], [row.readBy, row.deliveredBy, row.listenedBy])
    where !range.isEmpty {
      var users: [UInt8] = []
      try eachChild(page[range]) { document, user, _ in
        if !users.isEmpty { users.append(UInt8(ascii: ",")) }
        users += Array(#"{"user_id":"#.utf8) + document.bytes[document.range(user)]
        users.append(UInt8(ascii: "}"))
      }
      add(Array("\"\(name)\":[".utf8) + users + [UInt8(ascii: "]")])
    }
    return object + [UInt8(ascii: "}")]
  }

  /// The members of an object as key and value, or the elements of an array, twice each.
  private func eachChild(
    _ bytes: [UInt8], _ body: (Document, Document.Node, Document.Node) -> Void
  ) throws(Failure) {
    let document: Document
    do throws(WireFailure) {
      document = try Document(bytes)
    } catch {
      throw .internal("a stored value is not JSON")
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
