/// Answers that are older than what is known, and answers that leave something out.
///
/// Rule protected: the newer of two copies wins, whichever arrives last, and what an
/// answer does not show is not therefore gone.
import Engine
import Foundation
import ReferenceServer
import Testing

@Suite struct TrapsStale {
  /// Every page of the walk is on its way while one of its messages is deleted.
  @Test(arguments: ServerKind.all)
  func t10_aStalePageDoesNotResurrect(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    var gone: [String] = []
    world.alter = { request, answer in
      guard request.contains("get_messages") else { return answer }
      let ids = Self.ids(in: answer).filter { !gone.contains($0) }
      let victim = ids[ids.count / 2]
      gone.append(victim)
      do {
        try world.push { world.server.delete(conversation: world.room, ids: [victim]) }
      } catch {
        Issue.record(error)
      }
      return answer
    }
    // Not even until the question for deletions.
    world.before = { _, _ in
      #expect((try? Set(world.cached()).isDisjoint(with: gone)) == true)
    }
    try world.sync()
    world.alter = { $1 }
    world.before = { _, _ in }
    #expect(gone.count >= 3)
    #expect(try Set(world.cached()).isDisjoint(with: gone))
    try world.sync()
    #expect(try Set(world.cached()).isDisjoint(with: gone))
    #expect(try world.tailFaults(130 - gone.count) == [])
    #expect(try world.lies() == [])
  }

  /// A page asked for before an edit and taken after it shows the old text. Without
  /// versions only the stamp of the request can tell.
  @Test(arguments: ServerKind.all)
  func t10_aStalePageDoesNotUndoAnEdit(_ kind: ServerKind) throws {
    let world = try kind.world(knobs: { $0.hostMembers = false })
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    // Below the overlap, so that no later answer puts it right.
    let target = world.server.newestIDs(world.room, 40)[35]
    func unversioned(_ text: String) -> String {
      text.replacingOccurrences(
        of: #","version":\d+(,"edited_at":"[^"]*")?"#, with: "", options: .regularExpression)
    }
    var isEdited = false
    world.alter = { request, answer in
      if answer.contains(target), !isEdited {
        isEdited = true
        let token = world.server.subscribe(user: "me")
        world.server.edit(conversation: world.room, id: target, payload: "\"edited\"")
        for frame in world.server.drain(token) {
          let text = unversioned(String(decoding: frame, as: UTF8.self))
          do { _ = try world.client.receive(Array(text.utf8)) } catch { Issue.record(error) }
        }
        world.server.unsubscribe(token)
      }
      return unversioned(answer)
    }
    try world.sync()
    #expect(isEdited)
    #expect(try world.payload(target) == "\"edited\"")
    try world.sync()
    #expect(try world.payload(target) == "\"edited\"")
    #expect(try world.tailFaults(140) == [])
  }

  /// One answer leaves out a message that the server has; it comes to no harm.
  @Test(arguments: ServerKind.all)
  func t12_absenceIsNotDeletion(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    try world.sync()
    world.post(2)
    let spared = world.server.newestIDs(world.room, 5)[4]
    var left = 1
    world.alter = { request, answer in
      guard request.contains("get_messages"), left > 0 else { return answer }
      left -= 1
      return Self.without(spared, answer)
    }
    world.reset()
    let id = try world.client.sync(SyncRequest(conversation: Array(world.room.utf8)))
    world.before = { index, _ in
      guard index == 1 else { return }
      #expect((try? world.cached().contains(spared)) == true)
    }
    try world.run()
    #expect(try world.client.syncStatus(id).phase == .ended)
    #expect(left == 0)
    #expect(try world.cached().contains(spared))
    #expect(try world.tailFaults(kind.pageSize) == [])
    #expect(try world.lies() == [])
  }

  /// A server without a log of deletions: absence from a whole answer deletes where
  /// the profile says so, and only in the range that the answer covers.
  @Test(arguments: ServerKind.all, [true, false])
  func t12_absenceDeletesOnlyWhereTheProfileSaysSo(
    _ kind: ServerKind, _ isDeletion: Bool
  ) throws {
    let world = try kind.world(profile: { $0.absenceIsDeletion = isDeletion })
    world.post(60)
    try world.connect()
    try world.sync()
    try world.missing(130)
    try world.sync()
    world.post(2)
    let ids = world.server.newestIDs(world.room, 100)
    let near = ids[3]
    let far = ids[90]
    world.alter = { request, answer in
      if request.contains("get_deleted_since") { return answer }
      return Self.without(far, Self.without(near, answer))
    }
    let status = try world.sync()
    if !isDeletion {
      // One answer takes nothing away.
      #expect(try world.cached().contains(near))
      try world.lookOnceMore()
    }
    #expect(try !world.cached().contains(near))
    if isDeletion {
      #expect(status.removed == 1)
      #expect(try world.client.stats().restores == 0)
      #expect(try world.cached().contains(far))
    } else {
      // Nothing explains it but a restore, after which everything is in question.
      #expect(try world.client.stats().restores == 1)
    }
  }

  /// Message ids of an answer, in its order.
  static func ids(in answer: String) -> [String] {
    answer.components(separatedBy: "{\"message_id\":\"").dropFirst().compactMap { piece in
      piece.split(separator: "\"", maxSplits: 1).first.map(String.init)
    }
  }

  /// An answer as if the message were not there.
  static func without(_ id: String, _ answer: String) -> String {
    let key = "{\"message_id\":\"" + id + "\""
    guard let start = answer.range(of: key)?.lowerBound else { return answer }
    var depth = 0
    var end = start
    for index in answer[start...].indices {
      if answer[index] == "{" { depth += 1 }
      if answer[index] == "}" { depth -= 1 }
      if depth == 0 {
        end = answer.index(after: index)
        break
      }
    }
    var head = answer[..<start]
    var tail = answer[end...]
    if tail.first == "," {
      tail = tail.dropFirst()
    } else if head.last == "," {
      head = head.dropLast()
    }
    return String(head + tail)
  }
}
