/// The read marker of a conversation whose server keeps a log: it is of a message, whatever becomes
/// of its place.
import Base
import Engine
import LogSupport
import Testing

@Suite struct LogMarkerTests {
  /// The newest ten of sixty messages, of which three are unread.
  private func host(_ change: (inout LogServerKind) -> Void = { _ in }) throws -> LogHost {
    var kind = LogServerKind()
    kind.hasStream = true
    change(&kind)
    let host = try LogHost(kind, pageLimit: 10)
    for _ in 0..<60 { host.post() }
    try host.client.connected()
    try host.sync()
    try mark("m57", host)
    #expect(try badge(host).unread == 3)
    return host
  }

  private func mark(_ id: String, _ host: LogHost) throws {
    let request =
      #"{"type":"mark_last_read","conversation_id":"room","message_id":"\#(id)"}"#
    _ = try host.client.perform(Array(request.utf8))
    try host.run()
  }

  private func badge(_ host: LogHost) throws -> (unread: Int, flagged: Int) {
    let row = try #require(try host.client.conversation(Array("room".utf8)).rows.first)
    let page = try host.page()
    return (row.unread, page.rows.count { $0.flags & MessageBit.unread != 0 })
  }

  /// Protects: where the message at the marker leaves the log, what was unread stays so and
  /// nothing else becomes it, wherever older pages put what is stored.
  @Test(arguments: ["m57", "m51"])
  func whatIsUnreadOutlivesTheMessageAtTheMarker(_ id: String) throws {
    let host = try host { $0.leaves = true }
    if id == "m51" {
      host.client.close()
      host.client = try Client.open(host.config)
      try host.client.connected()
      try host.sync()
      try mark(id, host)
    }
    let before = try badge(host)
    #expect(before == (id == "m57" ? (3, 3) : (9, 9)))
    var late: String?
    host.alter = { request, answer in
      guard late == nil, request.contains("get_entries") else { return answer }
      late = answer
      return nil
    }
    try host.sync(.older, want: 20)
    host.alter = { $1 }
    host.change(.delete, of: id, pushes: true)
    try host.run()
    #expect(try badge(host) == before)
    if let late { try host.hand(late) }
    try host.run()
    #expect(try badge(host) == before)
    try host.sync(.older, want: 100)
    #expect(try badge(host) == before)
  }

  /// Protects: a cache that is made anew counts from the message at the marker.
  @Test(arguments: [false, true], [2, 30])
  func aNewCacheCountsFromTheMessageAtTheMarker(_ isDropped: Bool, _ new: Int) throws {
    let host = try host()
    if isDropped {
      try host.client.drop(conversation: Array("room".utf8), id: [])
    } else {
      try host.client.clear()
    }
    for _ in 0..<new { host.post() }
    try host.sync()
    try host.sync(.older, want: 100)
    #expect(try badge(host) == (3 + new, 3 + new))
  }

  /// Protects: a deletion of a message that is not stored may be of one that the server counted.
  @Test(arguments: [true, false]) func aDeletionOfWhatIsNotStoredIsAnEstimate(
    _ isPushed: Bool
  ) throws {
    var kind = LogServerKind()
    kind.hasStream = true
    let host = try LogHost(kind, pageLimit: 10)
    for _ in 0..<60 { host.post() }
    try host.client.connected()
    try host.sync()
    (host.readTo, host.unread) = ("m20", 40)
    _ = try host.client.sync(SyncRequest(conversation: [], kind: .conversations))
    try host.run()
    func unread() throws -> (Int, Bool) {
      let row = try #require(try host.client.conversation(Array("room".utf8)).rows.first)
      return (row.unread, row.flags & ConversationFlags.unreadExact != 0)
    }
    let before = try unread()
    #expect(before.0 == 40)
    #expect(before.1)
    host.change(.delete, of: "m30", pushes: isPushed)
    if isPushed { try host.run() } else { try host.sync() }
    #expect(try !unread().1)
  }
}
