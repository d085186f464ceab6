/// A book for each conversation, fed with the frames that the engine takes.
///
/// It asks nothing itself: a page is what an answer to the engine's request shows. What came
/// another way it reads off the rows that the engine shows.
internal import Base
internal import Book
internal import BookSupport
internal import Foundation
internal import ReferenceServer
internal import Timeline

final class Shadow {
  /// One request for messages that is under way.
  struct Asked {
    var conversation: String
    var number: Int
    /// The server's time.
    var atUs: Int64
    var limit: Int
    var offset: Int
    var after: Int64?
    var before: Int64?
    var hasID: Bool
    var isAround: Bool
  }

  final class Room {
    let pager: PagingClient
    var names: [String: Int] = [:]
    var ids: [Int: String] = [:]
    /// All that is new is pushed, and the newest was known.
    var isLive = false
    /// Pages that were requested up to then make nothing live.
    var doubted = 0
    var isDirty = true
    var refused = 0

    init(_ pager: PagingClient) { self.pager = pager }

    func name(_ id: String) -> Int {
      if let name = names[id] { return name }
      let name = names.count + 1
      (names[id], ids[name]) = (name, id)
      return name
    }
  }

  let knobs: Knobs
  var rooms: [String: Room] = [:]
  private var asked: [String: Asked] = [:]
  /// Ids of requests that are under way, in their order.
  private var order: [String] = []
  private var deletionsAsked: [String: String] = [:]
  /// Requests to subscribe, and what this connection is told of.
  private var subscribing: [String: String] = [:]
  private var subscribed: Set<String> = []
  /// The new messages that the last frame pushed.
  private(set) var pushed: Set<String> = []
  private var largestPage = 0
  var figures = ShadowFigures()
  /// Requests of the pagers for a sync that is under way, and the engine's before it.
  var syncs: [UInt64: (pagers: Int, before: Int)] = [:]
  /// Of a test.
  var faults: BookFaults = []
  /// Told of the first difference of each kind.
  var story: ((String) -> Void)?

  func note(_ name: String, _ detail: @autoclosure () -> String) {
    if figures.classes[name] == nil { story?("\(name): \(detail())") }
    figures.note(name)
  }

  init(_ knobs: Knobs) { self.knobs = knobs }

  func room(_ conversation: String) -> Room {
    if let room = rooms[conversation] { return room }
    var kind = PageServerKind()
    kind.isNumbered = knobs.sequence
    kind.hasBefore = knobs.before
    var disk = PagingDisk()
    disk.book.faults = faults
    let pager = PagingClient(
      kind, disk, overlap: overlap, fetch: { _ in ([], false) }, fetchDeleted: { _ in [] })
    let room = Room(pager)
    rooms[conversation] = room
    return room
  }

  // MARK: Requests

  private func time(_ name: String, _ bytes: [UInt8]) -> Int64? {
    Frames.string(name, bytes).flatMap { time($0) }
  }

  private func time(_ text: String) -> Int64? {
    ServerTime.parse(text, zoneMinutes: 0)
  }

  func note(asking request: [UInt8], nowUs: Int64) {
    guard let type = Frames.type(request),
      let conversation = Frames.string("conversation_id", request)
    else { return }
    let id = Frames.string("request_id", request) ?? ""
    switch type {
    case "get_deleted_since": deletionsAsked[id] = conversation
    case "subscribe": subscribing[id] = conversation
    case "unsubscribe":
      subscribed.remove(conversation)
      doubt(room(conversation))
    default: break
    }
    guard type == "get_messages" else { return }
    let after = time("after_ts", request)
    asked[id] = Asked(
      conversation: conversation, number: room(conversation).pager.tick(), atUs: nowUs,
      limit: Frames.number("limit", request) ?? 50, offset: Frames.number("offset", request) ?? 0,
      // Everything of a key is above its mark.
      after: after.map { knobs.afterIsInclusive ? $0 : $0 + 1 }, before: time("before_ts", request),
      hasID: Frames.string("before_id", request) != nil,
      isAround: Frames.string("around_id", request) != nil
        || Frames.string("around_ts", request) != nil)
    order.append(id)
    figures.requests += 1
  }

  func connectionEnded() {
    (asked, order, deletionsAsked, subscribing, subscribed) = ([:], [], [:], [:], [])
    for room in rooms.values {
      doubt(room)
      room.isDirty = true
    }
  }

  /// Something new may not have been pushed, or was not taken.
  private func doubt(_ room: Room) {
    room.isLive = false
    room.doubted = room.pager.disk.clock
  }

  // MARK: Answers

  /// An answer that the engine did not take, as its sync was cancelled: its request is answered.
  func note(ignored bytes: [UInt8]) {
    pushed = []
    let answer = Frames.answer(bytes)
    guard Frames.type(answer) == "get_messages",
      let id = Frames.string("request_id", answer) ?? order.first
    else { return }
    asked[id] = nil
    order.removeAll { $0 == id }
  }

  /// A frame that the engine took.
  func note(received bytes: [UInt8], tookNs: Int64, nowUs: Int64) {
    for room in rooms.values { room.isDirty = true }
    let answer = Frames.answer(bytes)
    notePush(bytes)
    switch Frames.type(answer) {
    case "get_messages":
      // Without ids one request is under way at a time.
      let id = Frames.string("request_id", answer) ?? order.first ?? ""
      guard let asked = asked.removeValue(forKey: id) else { return }
      order.removeAll { $0 == id }
      // An empty page that says that there are more tells nothing.
      if Frames.isContradicted(bytes) { return }
      guard Frames.string("status", answer) == "ok" else { return }
      figures.engineNs += tookNs
      take(answer, asked, nowUs)
    case "get_deleted_since":
      let id = Frames.string("request_id", answer) ?? deletionsAsked.keys.first ?? ""
      guard let conversation = deletionsAsked.removeValue(forKey: id),
        Frames.string("status", answer) == "ok"
      else { return }
      bury(Frames.strings("message_ids", answer), in: conversation)
    case "subscribe":
      let id = Frames.string("request_id", answer) ?? subscribing.keys.first ?? ""
      guard let conversation = subscribing.removeValue(forKey: id),
        Frames.string("status", answer) == "ok"
      else { return }
      // What was new before it was not pushed.
      if subscribed.insert(conversation).inserted { doubt(room(conversation)) }
    case "message_deleted":
      guard let conversation = Frames.string("conversation_id", answer) else { return }
      bury(Frames.strings("message_ids", answer), in: conversation)
    default: break
    }
  }

  /// What a push says is new. A list that is too long is not taken.
  private func notePush(_ bytes: [UInt8]) {
    pushed = []
    if Frames.hasLongList(bytes) {
      for room in rooms.values { doubt(room) }
      return
    }
    guard let object = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
    else { return }
    let frame = object["action"] == nil ? object["payload"] as? [String: Any] ?? object : object
    if frame["type"] as? String == "message_new" {
      let id = (frame["message"] as? [String: Any])?["message_id"] as? String
      pushed = id.map { [$0] } ?? []
    } else if frame["action"] as? String == "new", let body = frame["payload"] as? [String: Any],
      body["entity"] as? String == "message", let items = body["items"] as? [Any]
    {
      pushed = Set(items.compactMap { ($0 as? [String: Any])?["message_id"] as? String })
    }
  }

  private func bury(_ ids: [String], in conversation: String) {
    let room = room(conversation)
    room.pager.bury(ids.compactMap { room.names[$0] })
    figures.deletions += ids.count
  }

  private func take(_ answer: [UInt8], _ asked: Asked, _ nowUs: Int64) {
    guard let object = try? JSONSerialization.jsonObject(with: Data(answer)) as? [String: Any],
      let data = object["data"] as? [String: Any], let list = data["messages"] as? [Any]
    else { return }
    let room = room(asked.conversation)
    var below = ""
    let page = list.map { item -> BookMessage in
      guard let message = read(item, room) else {
        // Items that are no objects look alike; their neighbour tells them apart.
        let text = (item as? [String: Any]).flatMap { $0["payload"] }.map { "\($0)" } ?? below
        return BookMessage(name: room.name("? \(text)"), time: 0, isUnreadable: true)
      }
      below = room.ids[message.name] ?? ""
      return message
    }
    let isReadable = !page.contains(where: \.isUnreadable)
    let isSelected = asked.after != nil || asked.before != nil || asked.isAround
    let counted =
      isSelected ? nil : (data["total_count"] as? Int).map { Int64(max(0, $0 - asked.offset)) }
    let isWhole = Joining.isWhole(
      items: page.count, asked: asked.limit, largestPage: largestPage,
      sizesVary: knobs.declaresVarying, hasMore: data["has_more"] as? Bool, counted: counted,
      areReadable: isReadable)
    largestPage = max(largestPage, page.count)
    figures.pages += 1
    let begun = Self.cpuNs()
    if asked.isAround {
      takeAround(page, asked, data, room)
    } else {
      take(page, asked, isWhole, room, nowUs)
    }
    figures.takeNs += Self.cpuNs() - begun
    let refused = room.pager.disk.book.refused
    if refused > room.refused {
      note("page refused", "\(asked), \(page)")
      room.refused = refused
    }
  }

  static func cpuNs() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  private func read(_ item: Any, _ room: Room) -> BookMessage? {
    guard let item = item as? [String: Any], let id = item["message_id"] as? String,
      let text = item["created_at"] as? String, let us = time(text)
    else { return nil }
    let number = (item["seq"] as? NSNumber)?.int64Value ?? 0
    return BookMessage(name: room.name(id), time: us, number: number)
  }

  private func takeAround(
    _ page: [BookMessage], _ asked: Asked, _ data: [String: Any], _ room: Room
  ) {
    // What is above it is as of another moment than the newest page: no claim up to the present.
    let isStart = (data["has_more_before"] as? Bool) == false
    room.pager.learn(page, .other, asked: asked.number, low: isStart ? .start : nil)
  }

  /// Section 5 of the design: the ends that the request drew, and what is settled by it.
  private func take(
    _ page: [BookMessage], _ asked: Asked, _ isWhole: Bool, _ room: Room, _ nowUs: Int64
  ) {
    let pager = room.pager
    if let after = asked.after {
      if knobs.sequence { return takeNumbered(page, asked, isWhole, room) }
      guard isWhole && asked.offset == 0 || knobs.declaresTruncates else {
        return pager.add(page, asked: asked.number)
      }
      let isLow = isWhole || knobs.keepsOldest && asked.offset == 0
      let isHigh = isWhole || !knobs.keepsOldest
      let reachesPresent = isHigh && asked.offset == 0
      if reachesPresent { settle(above: isLow ? after : nil, room) }
      pager.learn(
        page, .after, asked: asked.number, low: isLow ? .mark(after) : nil,
        high: reachesPresent ? .present : nil)
      if reachesPresent { noteTop(page, room, asked, nowUs) }
      return
    }
    let isStart = isWhole && !(page.isEmpty && asked.offset > 0)
    if let before = asked.before {
      let isDrawn = asked.offset == 0 && !asked.hasID && !knobs.sequence
      pager.learn(
        page, .other, asked: asked.number, low: isStart ? .start : nil,
        high: isDrawn ? .mark(before) : nil)
      return
    }
    let isNewest = asked.offset == 0
    if isNewest, !knobs.sequence { settle(above: nil, room) }
    pager.learn(
      page, .other, asked: asked.number, low: isStart ? .start : nil,
      high: isNewest ? .present : nil)
    if isNewest { noteTop(page, room, asked, nowUs) }
  }

  /// Before the present is read: what is above the settled boundary and not on the page is as of
  /// an older request.
  private func settle(above low: Int64?, _ room: Room) {
    guard let settled = room.pager.disk.book.settled else { return }
    if let low, low <= settled { return }
    room.pager.disk.book.unsettle(above: settled)
  }

  private func takeNumbered(
    _ page: [BookMessage], _ asked: Asked, _ isWhole: Bool, _ room: Room
  ) {
    let pager = room.pager
    let top = pager.disk.book.settled.map { $0 - 1 }
    let isTail = isWhole && asked.offset == 0
    let isNewest = isTail && top.map { pager.goesOn(page.map(\.number), from: $0) } ?? false
    pager.learn(page, .after, asked: asked.number, high: isNewest ? .present : nil)
    if isNewest { pager.noteTop(page) }
  }

  /// Stamps far ahead of the server's clock settle nothing.
  private func noteTop(
    _ page: [BookMessage], _ room: Room, _ asked: Asked, _ nowUs: Int64
  ) {
    room.pager.noteTop(page.filter { knobs.sequence || $0.time <= nowUs })
    let isCovered = !knobs.operations.subscribes || subscribed.contains(asked.conversation)
    if isCovered, asked.number > room.doubted { room.isLive = true }
    guard !knobs.sequence, let top = room.pager.disk.watermark else { return }
    // Decision 092: when the page was asked for, nothing more could be committed below its top.
    if asked.atUs - overlap >= top { room.pager.disk.book.settled = top }
  }

  private var overlap: Int64 { max(5_000_000, knobs.resolutionUs) }
}
