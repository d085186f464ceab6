/// One device and one server in process, with a clock that only moves when told.
///
/// The harness carries frames; what a test does to the world it does by itself.
import Base
import Engine
import ReferenceServer

final class World {
  let server: ReferenceServer
  var client: Client
  var config: ClientConfig
  let clock: ManualClock
  /// Requests seen by the server since the last `reset`.
  private(set) var requests: [String] = []
  private(set) var bytesDown = 0
  /// Each answer as it was received, beside its request.
  private(set) var answers: [String] = []
  private(set) var receipts: [Receipt] = []
  /// What happens in the world before the server sees a request.
  var before: (_ index: Int, _ request: String) -> Void = { _, _ in }
  /// What becomes of an answer on its way; nil loses it.
  var alter: (_ request: String, _ answer: String) -> String? = { $1 }
  let room: String
  /// A page of the server's went both ways in time, so that none teaches an order.
  var listsBothWays = false
  /// Replies to updates that have reached the server.
  private(set) var replies: [String] = []
  /// The connection's queue of pushes, while the device listens.
  private var subscription: Int?

  final class ManualClock: Sendable {
    private let now = Lock(Instant(monotonicMs: 1_000, wallUs: World.epochUs))
    /// How far the device's wall clock is off; nil for a device without one.
    private let skew = Lock<Int64?>(0)

    func read() -> Instant {
      var instant = now.withLock { $0 }
      let off = skew.withLock { $0 }
      instant.wallUs = off.flatMap { off in instant.wallUs.map { $0 + off } }
      return instant
    }

    func setSkew(us: Int64?) { skew.withLock { $0 = us } }

    func move(ms: Int64) {
      now.withLock { instant in
        instant.monotonicMs += ms
        instant.wallUs = (instant.wallUs ?? 0) + ms * 1_000
      }
    }
  }

  static let epochUs: Int64 = 1_771_193_745_000_000

  init(
    room: String = "room", knobs: ServerKnobs = ServerKnobs(), profile: Profile = Profile(),
    seed: UInt64 = 1,
    file: ClientConfig.File = .memory, change: (inout ClientConfig) -> Void = { _ in }
  ) throws {
    self.room = room
    server = ReferenceServer(knobs: knobs, seed: seed)
    server.nowUs = Self.epochUs
    server.createConversation(room, participants: ["me", "you"])
    let clock = ManualClock()
    self.clock = clock
    var config = ClientConfig(file: file, account: Array("personal".utf8), user: Array("me".utf8))
    config.profile = profile
    config.seed = 7
    config.clock = { clock.read() }
    change(&config)
    self.config = config
    client = try Client.open(config)
  }

  /// Posts `count` messages, `everyMs` apart by the server's clock.
  @discardableResult
  func post(_ count: Int, everyMs: Int64 = 1_000, sender: String = "you") -> [String] {
    (0..<count).map { index in
      advance(ms: everyMs)
      return server.post(
        conversation: room, sender: sender, payload: "\"text \(index)\"", id: nil, stampUs: nil,
        lateUs: nil)
    }
  }

  /// Lets both clocks run.
  func advance(ms: Int64) {
    clock.move(ms: ms)
    server.nowUs += ms * 1_000
  }

  /// The client asks for ever.
  struct Endless: Error {}

  /// Carries frames until both sides are quiet; `drop` loses an answer.
  func run(drop: (Int, [UInt8]) -> Bool = { _, _ in false }) throws {
    var index = 0
    try takePushes()
    while let frame = try client.nextFrame() {
      let request = String(decoding: frame.bytes, as: UTF8.self)
      if subscription != nil, request.contains(Self.replyMark) {
        replies.append(request)
        _ = server.handle(frame.bytes, user: "me")
        _ = try client.frameSent(frame.id)
        continue
      }
      requests.append(request)
      _ = try client.frameSent(frame.id)
      before(index, request)
      for sent in server.handle(frame.bytes, user: "me", from: subscription) {
        guard let text = alter(request, String(decoding: sent, as: UTF8.self)) else { continue }
        let answer = Array(text.utf8)
        bytesDown += answer.count
        if drop(index, answer) { continue }
        answers.append(text)
        receipts.append(try client.receive(answer))
      }
      try takePushes()
      index += 1
      if index > 1_000 { throw Endless() }
    }
  }

  private static let replyMark = "\"type\":\"reply\""

  /// A new connection on which the server's pushes and updates come, too.
  func connectListening() throws {
    try client.connected()
    if let subscription { server.unsubscribe(subscription) }
    subscription = server.subscribe(
      user: "me", account: String(decoding: config.account, as: UTF8.self))
  }

  /// The connection breaks; what was on its way is lost.
  func disconnect() throws {
    if let subscription { server.unsubscribe(subscription) }
    subscription = nil
    try client.disconnected()
  }

  /// What the server has pushed never arrives.
  func losePushes() {
    if let subscription { _ = server.drain(subscription) }
  }

  private func takePushes() throws {
    guard let subscription else { return }
    for push in server.drain(subscription) { receipts.append(try client.receive(push)) }
  }

  @discardableResult
  func sync(
    _ kind: SyncRequest.Kind = .latest, want: Int = 0, in conversation: String? = nil,
    marksRead: Bool = false
  ) throws -> SyncStatus {
    var request = SyncRequest(
      conversation: Array((conversation ?? room).utf8), kind: kind, want: want)
    request.marksRead = marksRead
    let id = try client.sync(request)
    try run()
    return try client.syncStatus(id)
  }

  /// A kill and a restart on the same file.
  func reopen() throws {
    client.close()
    client = try Client.open(config)
    try client.connected()
  }

  func connect() throws { try client.connected() }

  /// Another connection, on which what one answer has put in doubt is looked at once more.
  func lookOnceMore() throws {
    try client.disconnected()
    try client.connected()
    try run()
  }

  func reset() {
    requests = []
    replies = []
    answers = []
    receipts = []
    bytesDown = 0
  }

  func page(limit: Int = 10_000, in conversation: String? = nil) throws -> MessagePage {
    try client.messages(
      MessageQuery(conversation: Array((conversation ?? room).utf8), limit: limit))
  }

  /// Ids of the cache, oldest first.
  func cached(in conversation: String? = nil) throws -> [String] {
    let page = try page(in: conversation)
    return page.rows.map { String(decoding: page[$0.id], as: UTF8.self) }
  }

  /// Ids of the server, in the client's order.
  func truth(in conversation: String? = nil) -> [String] {
    let rows = server.truth(conversation ?? room)
    if ordersByPages { return rows.map(\.id) }
    return rows.sorted { ($0.stampUs, $0.id) < ($1.stampUs, $1.id) }.map(\.id)
  }

  /// Messages of one time stand as the server's pages list them.
  var ordersByPages: Bool {
    config.profile.ties != .id && !config.profile.capabilities.contains(.sequence)
      && !server.knobs.numbersMessages && !listsBothWays
  }
}
