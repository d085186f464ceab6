/// The served world: the model, its file, its clock and who is connected.
///
/// Confined to the one event loop. Each request is handled whole: clock, model,
/// file, and only then the answer and the pushes.

import Glibc
import NIOCore
import ReferenceServer

final class World {
  /// The account of who names none.
  static let account = "personal"

  let server: ReferenceServer
  let options: WorldOptions
  private let knobs: ServerKnobs
  private let loop: any EventLoop
  private let file: ServerFile?
  private var connections: [ObjectIdentifier: Connection] = [:]
  /// How far the server's clock is ahead of the machine's.
  private var aheadUs: Int64 = 0
  var dice: ServerDice
  private var liveDue = 0.0
  private var ticker: RepeatedTask?
  var backup: ReferenceServer.Snapshot?

  init(options: WorldOptions, knobs: ServerKnobs, loop: any EventLoop) throws {
    self.options = options
    self.knobs = knobs
    self.loop = loop
    dice = ServerDice(seed: options.seed ^ 0x7469_6465)
    server = ReferenceServer(knobs: knobs, seed: options.seed)
    file = try options.file.map { [server] in try ServerFile(path: $0, server: server) }
    if file?.isEmpty ?? true {
      let end = options.until.flatMap { ServerTime.parse($0) } ?? World.machineUs()
      var set = DataSet(seed: options.seed)
      set.messages = options.messages
      set.conversations = options.conversations
      set.fill(server, untilUs: end)
      try file?.save()
    }
    // A world may end in the future; its clock runs backwards only where it is told to.
    aheadUs = max(0, server.nowUs - World.machineUs())
  }

  private static func machineUs() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1_000
  }

  func moveClock() {
    server.nowUs = max(server.nowUs, World.machineUs() + aheadUs)
  }

  /// Lets time pass for the server at once.
  func advance(us: Int64) {
    aheadUs += us
    server.nowUs += us
  }

  /// Sets the server's clock back: what comes next is stamped earlier.
  func stepBack(us: Int64) {
    aheadUs -= us
    server.stepBack(us: us)
  }

  // MARK: Running

  /// Starts what happens by itself: live messages and late commits.
  func start() {
    let isLate = knobs.commitLatenessMaxUs > 0 || knobs.deletionLatenessMaxUs > 0
    guard isLate || options.live > 0 else { return }
    let everyMs: Int64 = 20
    let me = NIOLoopBound(self, eventLoop: loop)
    ticker = loop.scheduleRepeatedTask(
      initialDelay: .milliseconds(everyMs), delay: .milliseconds(everyMs)
    ) { _ in me.value.pass(seconds: Double(everyMs) / 1_000) }
  }

  private func pass(seconds: Double) {
    moveClock()
    liveDue += options.live * seconds
    while liveDue >= 1, !server.conversationIDs.isEmpty {
      liveDue -= 1
      postOne(server.conversationIDs[dice.below(server.conversationIDs.count)])
    }
    settle()
  }

  func stop() throws {
    ticker?.cancel()
    try file?.save()
    for connection in connections.values { connection.close() }
  }

  /// A message of anybody but the data set's reader.
  @discardableResult
  func postOne(_ conversation: String, isSilent: Bool = false, backUs: Int64 = 0) -> String {
    let members = server.participants(of: conversation)
    let others = (members.isEmpty ? DataSet.users : members).filter { $0 != DataSet.reader }
    let sender = others.isEmpty ? DataSet.reader : others[dice.below(others.count)]
    let languages = Phrases.Language.allCases
    let payload = Phrases.payload(languages[dice.below(languages.count)], &dice)
    return server.post(
      conversation: conversation, sender: sender, payload: payload,
      stampUs: backUs > 0 ? server.nowUs - backUs : nil, isSilent: isSilent)
  }

  // MARK: Connections

  func join(_ connection: Connection) {
    connections[ObjectIdentifier(connection)] = connection
  }

  func leave(_ connection: Connection) {
    connections[ObjectIdentifier(connection)] = nil
    for queue in connection.queues { server.unsubscribe(queue.token) }
    connection.queues = []
  }

  func closeOthers(than connection: Connection) {
    for other in connections.values where other !== connection { other.close() }
  }

  /// Ties a connection to a user's account; pushes start here. A connection may
  /// carry several accounts of one user.
  func login(_ connection: Connection, _ user: String, _ account: String) {
    connection.user = user
    guard !connection.queues.contains(where: { $0.account == account }) else { return }
    connection.queues.append((account, server.subscribe(user: user, account: account)))
  }

  /// Handles one frame of a connection.
  func receive(_ frame: [UInt8], from connection: Connection) {
    moveClock()
    let outer = Request(frame)
    let request = outer?.type == "command" ? outer?.command : outer
    let answers: [[UInt8]]
    if let request, request.type == "hello" {
      answers = [hello(request, connection, outer?.account)]
    } else if connection.user == nil {
      let failure = ServerFailure("forbidden", "the first frame says hello and names the user")
      answers = [server.answer(request ?? .unreadable, failure: failure)]
    } else if let request, request.type.hasPrefix("admin_") {
      answers = [admin(request, connection)]
    } else {
      // What comes in an envelope is answered in one by the model itself.
      let account = outer?.account ?? World.account
      let queue = connection.queues.first { $0.account == account } ?? connection.queues.first
      let made = server.handle(frame, user: connection.user ?? "", from: queue?.token)
      guard save() else { return }
      for answer in made { send(answer, to: connection) }
      return settle()
    }
    guard save() else { return }
    let account = outer?.type == "command" ? outer?.account : nil
    for answer in answers {
      sendSurely(account.map { server.wrap(answer, $0) } ?? answer, to: connection)
    }
    settle()
  }

  private func hello(
    _ request: Request, _ connection: Connection, _ envelope: String?
  ) -> [UInt8] {
    let account = request.account ?? envelope ?? World.account
    guard let user = request.user, !user.isEmpty, user.utf8.count <= 256,
      !account.isEmpty, account.utf8.count <= 256, connection.queues.count < 16,
      connection.user == nil || connection.user == user
    else {
      return server.answer(
        request, failure: ServerFailure("invalid", "user or account is missing or another"))
    }
    login(connection, user, account)
    let data = "{\"user\":\(ServerJSON.quote(user)),\"epoch\":\"\(server.epoch)\"}"
    return server.answer(request, data: Array(data.utf8))
  }

  /// Writes the file and sends the pushes that have come up.
  private func settle() {
    guard save() else { return }
    for connection in connections.values {
      for queue in connection.queues {
        for frame in server.drain(queue.token) {
          if knobs.pushIsLossless {
            sendSurely(frame, to: connection)
          } else {
            send(frame, to: connection)
          }
        }
      }
    }
  }

  /// A server that cannot keep what it confirms confirms nothing more.
  private func save() -> Bool {
    do {
      try file?.save()
      return true
    } catch {
      let words = "tideline-server: the file cannot be written: \(error)\n"
      _ = words.withCString { Glibc.write(2, $0, strlen($0)) }
      for connection in connections.values { connection.close() }
      return false
    }
  }

  private func send(_ frame: [UInt8], to connection: Connection) {
    if knobs.dropRate > 0, dice.chance(knobs.dropRate) { return }
    sendSurely(frame, to: connection)
  }

  private func sendSurely(_ frame: [UInt8], to connection: Connection) {
    connection.send(frame, afterMs: knobs.latencyMs)
  }
}
