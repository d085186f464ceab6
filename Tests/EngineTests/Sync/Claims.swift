/// What a page claims, held against the server.
///
/// Everything goes through what a host can see: the rows, their flags and the
/// gaps. A range without a gap is a promise: the server's messages are there, and
/// no others. Printed times are all that gaps are told in, so a message stamped
/// exactly at the edge of a gap counts as being in it.
import Engine
import Foundation
import ReferenceServer

extension World {
  /// Every broken promise, in words; empty where all hold.
  ///
  /// `hidden` are messages that the cache may keep from view.
  func lies(in conversation: String? = nil, hidden: Set<String> = []) throws -> [String] {
    let name = conversation ?? room
    let page = try client.messages(
      MessageQuery(conversation: Array(name.utf8), from: .oldest, limit: 10_000))
    let ids = page.rows.map { String(decoding: page[$0.id], as: UTF8.self) }
    var found: [String] = []
    let places = zip(page.rows, ids).map { ($0.timeUs, $1) }
    let isOrdered = zip(places, places.dropFirst()).allSatisfy {
      ordersByPages ? $0.0 <= $1.0 && $0.1 != $1.1 : $0 < $1
    }
    if !isOrdered { found.append("out of order") }
    let gaps = page.coverage.gaps
    let top = max(page.coverage.contentAsOfUs, page.rows.last?.timeUs ?? .min)
    func isClaimed(_ time: Int64) -> Bool {
      time <= top && page.coverage.contentAsOfUs != 0
        && !gaps.contains { $0.lowUs <= time && time <= $0.highUs }
    }
    let truth = server.truth(name)
    let known = Set(ids)
    for row in truth where isClaimed(row.stampUs) && !known.contains(row.id) {
      if row.flaw == .none, !hidden.contains(row.id) { found.append("lacks \(row.payload)") }
    }
    let real = Set(truth.map(\.id))
    for (row, id) in zip(page.rows, ids) {
      if isClaimed(row.timeUs), !real.contains(id) { found.append("still shows \(id)") }
      if row.flags & MessageBit.unverified != 0, isClaimed(row.timeUs) {
        found.append("\(id) is unverified in a range without a gap")
      }
    }
    return found
  }

  /// What is wrong with the newest `count` messages, where the cache should hold the
  /// server's newest ones without a break: these at least, perhaps more.
  func tailFaults(
    _ count: Int, in conversation: String? = nil, but hidden: Set<String> = []
  ) throws -> [String] {
    let cached = try cached(in: conversation)
    let truth = truth(in: conversation).filter { !hidden.contains($0) }
    var found: [String] = []
    if cached.count < count { found.append("\(cached.count) of \(count) messages") }
    if cached != Array(truth.suffix(cached.count)) {
      let missing = Set(truth.suffix(count)).subtracting(cached)
      let extra = Set(cached).subtracting(truth)
      found.append("not the server's newest: lacks \(missing.count), has \(extra.count) too many")
    }
    return found
  }

  /// Whether nothing is missing above the tick of the oldest row, of which a cut page
  /// can never say that it was shown whole.
  func isWhole() throws -> Bool {
    let page = try page()
    return page.rows.count > 2
      && !page.coverage.gaps.contains { (2..<page.rows.count).contains($0.beforeRow) }
  }

  /// Requests of one verb since the last `reset`.
  func asked(_ verb: String) -> [String] {
    requests.filter { $0.contains("\"type\":\"\(verb)\"") }
  }

  /// Message bodies received since the last `reset`.
  var bodies: [String] {
    answers.flatMap { answer in
      answer.components(separatedBy: "{\"message_id\":\"").dropFirst().compactMap { piece in
        piece.split(separator: "\"", maxSplits: 1).first.map(String.init)
      }
    }
  }

  /// The payload of a cached message; nil where it is not shown.
  func payload(_ id: String) throws -> String? {
    let page = try page()
    return page.rows.first { String(decoding: page[$0.id], as: UTF8.self) == id }
      .map { String(decoding: page[$0.payload], as: UTF8.self) }
  }

  /// Posts one message, stamped `agoMs` before now and visible `lateMs` from now.
  @discardableResult
  func put(
    _ payload: String = "\"one\"", agoMs: Int64 = 0, lateMs: Int64 = 0, id: String? = nil,
    sender: String = "you", flaw: ServerMessage.Flaw = .none, in conversation: String? = nil
  ) -> String {
    server.post(
      conversation: conversation ?? room, sender: sender, payload: payload, id: id,
      stampUs: server.nowUs - agoMs * 1_000, lateUs: lateMs * 1_000, flaw: flaw)
  }

  /// Goes offline while `count` messages are posted, then online again.
  func missing(_ count: Int, everyMs: Int64 = 1_000) throws {
    try client.disconnected()
    post(count, everyMs: everyMs)
    try client.connected()
    reset()
  }

  /// Hands the client what the server pushes while `body` runs, and nothing else.
  func push(_ body: () throws -> Void) throws {
    let token = server.subscribe(user: "me")
    defer { server.unsubscribe(token) }
    try body()
    for frame in server.drain(token) { _ = try client.receive(frame) }
  }

  /// Lets time pass and the client look at its deadlines, until it waits for nothing.
  func settle(stepMs: Int64 = 1_000, steps: Int = 400) throws {
    for _ in 0..<steps {
      let wait = try client.advance()
      guard try wait >= 0 || client.state().framesWaiting > 0 else { return }
      try run()
      advance(ms: stepMs)
    }
  }
}

/// `TL_MESSAGE_` flags that tests look at.
enum MessageBit {
  static let mine: UInt32 = 1 << 0
  static let unread: UInt32 = 1 << 1
  static let sealed: UInt32 = 1 << 6
  static let unverified: UInt32 = 1 << 7
}
