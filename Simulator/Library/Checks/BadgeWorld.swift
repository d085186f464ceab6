/// A small world of one conversation, one device and one server, for the number of unread messages.
///
/// Rule protected: an exact number is the one of the server, as far as the device can know it, and
/// each change has a cause that a person could name. The other worlds judge what must never be;
/// these count how often a number is wrong.
package import Base
internal import Engine
internal import ReferenceServer

/// Which server and which host it is.
package struct BadgeKind: Sendable {
  package enum Group: String, CaseIterable, Sendable {
    case sureList = "no push is lost, a list is open"
    case sure = "no push is lost, no list"
    case lossyList = "pushes are lost, a list is open"
    case lossy = "pushes are lost, no list"
    case lags = "counts lag"
    case noCounts = "no counts are told"
    case noMarker = "no marker is told"
    case noNewest = "no newest message is told"
  }

  package let group: Group
  let isLossless: Bool
  let hasList: Bool
  let tellsReads: Bool
  let otherDevice: Bool
  let readsOne: Bool
  let lossShare: Double
  let pageLimit: Int

  init(_ dice: inout Random) {
    let drawn = dice.below(12)
    isLossless = drawn == 10 || drawn == 11 ? dice.chance(0.5) : drawn < 5
    hasList = dice.chance(0.7)
    switch drawn {
    case 8: group = .lags
    case 9: group = .noCounts
    case 10: group = .noMarker
    case 11: group = .noNewest
    default:
      group = isLossless ? (hasList ? .sureList : .sure) : (hasList ? .lossyList : .lossy)
    }
    // A push of which none is lost tells reads, too.
    tellsReads = dice.chance(0.7) || isLossless
    otherDevice = dice.chance(0.7)
    readsOne = dice.chance(0.4)
    lossShare = [0.05, 0.15, 0.3][dice.below(3)]
    pageLimit = [3, 5, 8][dice.below(3)]
  }
}

/// What was counted.
package struct BadgeFigures: Sendable {
  package var worlds = 0
  package var inputs = 0
  package var changes = 0
  package var causeless = 0
  package var rests = 0
  package var restsWrong = 0
  package var restsExact = 0
  package var looksExact = 0
  package var exactWrong = 0
  package var asked = 0

  package init() {}

  package mutating func add(_ other: BadgeFigures) {
    worlds += other.worlds
    inputs += other.inputs
    changes += other.changes
    causeless += other.causeless
    rests += other.rests
    restsWrong += other.restsWrong
    restsExact += other.restsExact
    looksExact += other.looksExact
    exactWrong += other.exactWrong
    asked += other.asked
  }
}

package final class BadgeWorld {
  private enum Frame {
    case push([UInt8], Made)
    case answer([UInt8], Made)
  }

  /// What was unread on the server when a frame was made, and how many had been posted.
  private typealias Made = (unread: Set<String>, posted: Int)

  private static let name = "c0"
  package let kind: BadgeKind
  private var dice: Random
  private let clock = VirtualClock(skewUs: 0)
  private let server: ReferenceServer
  private let client: Client
  private var list: ConversationList?
  private var nowUs: Int64 = 0
  private var isUp = false
  private var listsLeft = 0
  private var subscription: Int?
  private var requests: [[UInt8]] = []
  private var down: [Frame] = []
  package private(set) var figures = BadgeFigures()
  /// Told what happens, line by line.
  package var story: ((String) -> Void)?

  // What the device has been told.
  private var posted: [String] = []
  private var own: Set<String> = []
  private var pastCounts = [0]
  private var told: (unread: Set<String>, posted: Int)?
  private var received: Set<String> = []
  private var over: Set<String> = []
  /// Own marks that wait, and the requests that tell some.
  private var marks: [(id: String, operation: UInt64)] = []
  private var marksSent: [String: String] = [:]
  /// What this device shows as read by marks that the server does not have.
  private var refused: Set<String> = []
  private var last: (unread: Int, isExact: Bool) = (0, true)
  private var rows: [String: Bool] = [:]

  package init(seed: UInt64) throws {
    dice = Random(seed: seed ^ 0x6261_6467_6573_0000)
    kind = BadgeKind(&dice)
    var knobs = ServerKnobs()
    knobs.pushIsLossless = kind.isLossless
    knobs.timeResolutionUs = 1_000
    server = ReferenceServer(knobs: knobs, seed: seed)
    server.nowUs = World.epochUs
    server.createConversation(Self.name, participants: [World.me, "u"])
    var config = ClientConfig(
      file: .memory, account: Array("simulated".utf8), user: Array(World.me.utf8))
    config.profile.pushIsLossless = kind.isLossless
    config.profile.pageLimit = kind.pageLimit
    config.seed = max(1, seed)
    let clock = clock
    config.clock = { clock.instant() }
    client = try Client.open(config)
    if kind.hasList { list = try client.openList(ListConfig()) }
  }

  package func run() throws -> BadgeFigures {
    figures.worlds = 1
    for _ in 0..<dice.below(12) { post() }
    for _ in 0..<110 {
      pass(us: 1_000 + Int64(dice.below(3_000_000)))
      try step()
    }
    try rest()
    client.close()
    return figures
  }

  private func pass(us: Int64) {
    nowUs += us
    clock.move(to: nowUs)
    server.nowUs = World.epochUs + nowUs
  }

  // MARK: What happens

  private func step() throws {
    switch dice.below(100) {
    case 0..<22: post()
    case 22..<27: if let id = someID(0.25) { server.delete(conversation: Self.name, ids: [id]) }
    case 27..<33:
      if kind.otherDevice, let id = someID(0.4) {
        _ = server.moveReadMarker(conversation: Self.name, id: id, user: World.me)
      }
    case 33..<36:
      if kind.otherDevice, kind.readsOne, let id = someID(0.3) {
        _ = server.markRead(conversation: Self.name, ids: [id], user: World.me)
      }
    case 36..<43:
      if isUp, dice.chance(0.5) { try disconnect() } else if !isUp { try connect() }
    case 43..<60: serve()
    case 60..<80: try deliver()
    case 80..<84: try act("mark_last_read")
    case 84..<86: if kind.readsOne { try act("mark_read") }
    case 86..<92: if isUp { try sync() }
    default: try rest()
    }
    collect()
    pastCounts.append(server.unread(Self.name, of: World.me).count)
  }

  private func post() {
    let isOwn = dice.chance(0.15)
    let id = server.post(
      conversation: Self.name, sender: isOwn ? World.me : "u", payload: "\"p\"", id: nil,
      stampUs: nil, lateUs: nil)
    posted.append(id)
    if isOwn { own.insert(id) }
    pass(us: 1_000_000)
  }

  private func someID(_ share: Double) -> String? {
    let rows = server.truth(Self.name)
    if rows.isEmpty { return nil }
    var back = 0
    while back < rows.count - 1, !dice.chance(share) { back += 1 }
    return rows[rows.count - 1 - back].id
  }

  private func connect() throws {
    story?("connect")
    isUp = true
    listsLeft = kind.hasList ? 1 : 0
    subscription = server.subscribe(user: World.me, account: "simulated")
    try client.connected()
    if dice.chance(0.7) { try sync() }
    try look(.free)
  }

  private func disconnect() throws {
    isUp = false
    if let subscription { server.unsubscribe(subscription) }
    (subscription, requests, down) = (nil, [], [])
    try client.disconnected()
    try look(.free)
  }

  private func sync() throws {
    let isDeep = dice.chance(0.4)
    _ = try client.sync(
      SyncRequest(
        conversation: Array(Self.name.utf8), kind: isDeep ? .older : .latest,
        want: isDeep ? 10 : 0))
    try takeRequests()
  }

  private func act(_ verb: String) throws {
    story?("act \(verb)")
    let page = try client.messages(MessageQuery(conversation: Array(Self.name.utf8), limit: 10_000))
    let ids = page.rows.suffix(8).map { String(decoding: page[$0.id], as: UTF8.self) }
    guard !ids.isEmpty else { return }
    let id = dice.chance(0.6) ? ids[ids.count - 1] : ids[dice.below(ids.count)]
    if verb == "mark_last_read" {
      let mark = try client.perform(
        Array(
          #"{"type":"mark_last_read","conversation_id":"c0","message_id":"\#(id)"}"#.utf8))
      marks.append((id, mark.operation))
    } else {
      try client.markRead(conversation: Array(Self.name.utf8), ids: [Array(id.utf8)])
      over.insert(id)
    }
    try takeRequests()
    try look(.acted)
  }

  private func readUpTo(_ id: String) { over.formUnion(upTo(id)) }

  private func upTo(_ id: String) -> ArraySlice<String> {
    posted.firstIndex(of: id).map { posted[...$0] } ?? []
  }

  /// The server has taken an own mark.
  private func noteMark(_ answer: [UInt8]) {
    guard let request = Frames.string("request_id", answer),
      let id = marksSent.removeValue(forKey: request), Frames.string("status", answer) == "ok"
    else { return }
    readUpTo(id)
  }

  /// What this device shows as read without the server: by marks that wait, or were refused.
  private func readHere() throws -> Set<String> {
    for mark in marks {
      let state = try? client.operation(mark.operation).rows.first?.standing
      // It may have been told for a message below.
      if state == .refused || state == .done { refused.formUnion(upTo(mark.id)) }
      if state == .refused || state == .done || state == nil {
        marks.removeAll { $0.operation == mark.operation }
      }
    }
    return Set(marks.flatMap { upTo($0.id) })
  }

  // MARK: The network

  private func takeRequests() throws {
    while let frame = try client.nextFrame() {
      _ = try client.frameSent(frame.id)
      if isUp { requests.append(frame.bytes) }
      story?("send \(isUp) \(String(decoding: frame.bytes, as: UTF8.self))")
      switch Frames.type(frame.bytes) {
      case "mark_last_read":
        if let request = Frames.string("request_id", frame.bytes) {
          marksSent[request] = Frames.string("message_id", frame.bytes)
        }
      case "get_conversation": figures.asked += 1
      case "get_conversations":
        if listsLeft > 0 { listsLeft -= 1 } else { figures.asked += 1 }
      default: break
      }
    }
  }

  private func collect() {
    guard let subscription else { return }
    for push in server.drain(subscription) {
      let type = Frames.type(push)
      let isRead = type == "messages_read" || type == "conversation_updated"
      if isRead, !kind.tellsReads { continue }
      if !kind.isLossless, dice.chance(kind.lossShare) { continue }
      down.append(.push(push, (server.unread(Self.name, of: World.me), posted.count)))
    }
  }

  private func serve() {
    collect()
    guard !requests.isEmpty else { return }
    var request = requests.removeFirst()
    if kind.group == .noNewest {
      request = replaced("\"include_last_message\":true", "\"include_last_message\":false", request)
    }
    let unread = server.unread(Self.name, of: World.me)
    for answer in server.handle(request, user: World.me, from: subscription) {
      down.append(.answer(answer, (unread, posted.count)))
    }
    collect()
  }

  private func replaced(_ old: String, _ new: String, _ bytes: [UInt8]) -> [UInt8] {
    Array(String(decoding: bytes, as: UTF8.self).replacing(old, with: new).utf8)
  }

  private func without(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    while let at = Frames.find(Array(",\"\(name)\":".utf8), in: bytes, from: 0) {
      let end = bytes[(at + 1)...].firstIndex { $0 == 0x2C || $0 == 0x7D } ?? bytes.count
      bytes.removeSubrange(at..<end)
    }
    return bytes
  }

  private func deliver() throws {
    guard isUp, !down.isEmpty else { return }
    var place = 0
    if !kind.isLossless, down.count > 1, dice.chance(0.2), case .push = down[1] { place = 1 }
    var (bytes, made): ([UInt8], Made) =
      switch down.remove(at: place) {
      case .push(let bytes, let made), .answer(let bytes, let made): (bytes, made)
      }
    if kind.group == .noCounts { bytes = without("unread_count", bytes) }
    if kind.group == .noMarker { bytes = without("last_read_message_id", bytes) }
    let tellsCount = Frames.number("unread_count", bytes)
    if kind.group == .lags, let now = tellsCount, dice.chance(0.5) {
      let past = pastCounts[max(0, pastCounts.count - 2 - dice.below(3))]
      bytes = replaced("\"unread_count\":\(now)", "\"unread_count\":\(past)", bytes)
    }
    story?("receive \(String(decoding: bytes, as: UTF8.self))")
    _ = try client.receive(bytes)
    for id in Frames.all("message_id", bytes) { received.insert(id) }
    if let type = Frames.type(bytes), ["message_deleted", "get_deleted_since"].contains(type) {
      over.formUnion(Frames.strings("message_ids", bytes))
    }
    if Frames.type(bytes) == "messages_read", Frames.string("user_id", bytes) == World.me {
      over.formUnion(Frames.strings("message_ids", bytes))
    }
    for id in Frames.all("last_read_message_id", bytes) { readUpTo(id) }
    noteMark(bytes)
    if tellsCount != nil { told = made }
    try takeRequests()
    try look(tellsCount != nil ? .free : .frame(bytes))
  }

  // MARK: Looks

  private enum Input {
    /// A count was told, or the connection came or went.
    case free
    case acted
    case frame([UInt8])
  }

  /// What is unread as far as the device can know it: as the server counted, and what it received.
  private func known(without readHere: Set<String>) -> Set<String>? {
    guard let told else { return nil }
    let later = posted[told.posted...].filter { received.contains($0) && !own.contains($0) }
    return told.unread.union(later).subtracting(over).subtracting(readHere)
  }

  private func look(_ input: Input) throws {
    figures.inputs += 1
    _ = try list?.poll()
    try takeRequests()
    guard
      let row = try? client.conversation(Array(Self.name.utf8)).rows.first
    else { return }
    let page = try client.messages(MessageQuery(conversation: Array(Self.name.utf8), limit: 10_000))
    var now: [String: Bool] = [:]
    for row in page.rows {
      now[String(decoding: page[row.id], as: UTF8.self)] = row.flags & 2 != 0
    }
    // What it has stored and shows as read, or has no more, it knows to be over.
    for (id, isUnread) in rows where now[id] == nil && isUnread { over.insert(id) }
    let readHere = try readHere()
    let own = refused.union(readHere)
    for (id, isUnread) in now where !isUnread && !own.contains(id) { over.insert(id) }
    let badge = (unread: row.unread, isExact: row.flags & ConversationFlags.unreadExact != 0)
    if badge.unread != last.unread {
      figures.changes += 1
      if !hasCause(badge.unread, input, now) { figures.causeless += 1 }
    }
    let known = known(without: readHere)
    story?(
      """
      \(badge.unread)\(badge.isExact ? "" : "?"), \
      unread here \(now.filter(\.value).keys.sorted()), \
      on the server \(server.unread(Self.name, of: World.me).sorted()), \
      as far as is known \(known?.sorted() ?? [])
      """)
    if badge.isExact, let known {
      figures.looksExact += 1
      if known.count != badge.unread {
        story?("this is exact and wrong")
        figures.exactWrong += 1
      }
    }
    (last, rows) = (badge, now)
  }

  private func hasCause(_ unread: Int, _ input: Input, _ now: [String: Bool]) -> Bool {
    var (rise, fall) = (0, 0)
    for (id, isUnread) in now where isUnread && rows[id] != true { rise += 1 }
    for (id, wasUnread) in rows where wasUnread && now[id] != true { fall += 1 }
    switch input {
    case .free, .acted: return true
    case .frame(let bytes):
      if Frames.find(Array("last_read_message_id".utf8), in: bytes, from: 0) != nil { return true }
      let type = Frames.type(bytes) ?? ""
      if type.hasPrefix("message") { (rise, fall) = (rise + 1, fall + 1) }
      if type.hasPrefix("get_"), unread == now.count(where: \.value) { return true }
    }
    return (last.unread - fall...last.unread + rise).contains(unread)
  }

  // MARK: At rest

  private func rest() throws {
    guard isUp else { return }
    for _ in 0..<6 {
      for _ in 0..<200 where !requests.isEmpty || !down.isEmpty {
        serve()
        while !down.isEmpty { try deliver() }
      }
      collect()
      let wait = try client.advance()
      try takeRequests()
      if requests.isEmpty, down.isEmpty {
        if wait < 0 || wait > 70_000 { break }
        pass(us: max(1, wait) * 1_000)
        _ = try client.advance()
        try takeRequests()
      }
    }
    guard let row = try? client.conversation(Array(Self.name.utf8)).rows.first else { return }
    figures.rests += 1
    if row.flags & ConversationFlags.unreadExact != 0 { figures.restsExact += 1 }
    if row.unread != server.unread(Self.name, of: World.me).count { figures.restsWrong += 1 }
  }
}
