/// Servers that differ in what they can do beyond paging by offset.
///
/// Whatever is reached on one of them must be reached on all, in more requests on some.
import Engine
import ReferenceServer
import Testing

struct CapableKind: Sendable, CustomTestStringConvertible {
  var name: String
  var capabilities: Profile.Capabilities
  var keepsOldest = false
  /// Several messages share one printed time.
  var everyMs: Int64 = 1_000

  /// The order of its pages is not that of positions.
  var hasTies: Bool { everyMs < 1_000 && !capabilities.contains(.sequence) }

  var testDescription: String { name }

  static let all: [CapableKind] = [
    CapableKind(name: "offset", capabilities: []),
    CapableKind(name: "offset, ties", capabilities: [], everyMs: 300),
    CapableKind(name: "offset, keeps oldest", capabilities: [], keepsOldest: true),
    CapableKind(name: "before", capabilities: [.before]),
    CapableKind(name: "before, ties", capabilities: [.before], everyMs: 120),
    CapableKind(name: "around", capabilities: [.around], everyMs: 700),
    CapableKind(name: "before and around", capabilities: [.before, .around]),
    CapableKind(name: "sequence", capabilities: [.sequence], everyMs: 300),
    CapableKind(name: "sequence and before", capabilities: [.sequence, .before]),
    CapableKind(name: "sequence and around", capabilities: [.sequence, .around]),
    CapableKind(
      name: "before, around, keeps oldest", capabilities: [.before, .around], keepsOldest: true),
  ]

  func world(
    limit: Int = 20, knobs change: (inout ServerKnobs) -> Void = { _ in },
    profile tune: (inout Profile) -> Void = { _ in },
    config alter: (inout ClientConfig) -> Void = { _ in }
  ) throws -> World {
    var knobs = ServerKnobs()
    knobs.takesBefore = capabilities.contains(.before)
    knobs.takesAround = capabilities.contains(.around)
    knobs.tellsChanges = capabilities.contains(.changedSince)
    knobs.numbersMessages = capabilities.contains(.sequence)
    knobs.truncates = keepsOldest ? .oldest : .newest
    knobs.ties = .arrival
    knobs.hostMembers = false
    change(&knobs)
    var profile = Profile()
    profile.pageLimit = limit
    profile.capabilities = capabilities
    profile.truncates = keepsOldest ? .oldest : .newest
    tune(&profile)
    return try World(knobs: knobs, profile: profile, change: alter)
  }
}

extension World {
  /// The server's messages in the order of this kind of server.
  func order() -> [String] {
    config.profile.capabilities.contains(.sequence)
      ? server.truth(room).map(\.id) : truth()
  }

  /// Between which neighbours of the cache there is a gap, by the id above it.
  func splits() throws -> [String] {
    let page = try client.messages(
      MessageQuery(conversation: Array(room.utf8), from: .oldest, limit: 10_000))
    return page.coverage.gaps.compactMap { gap in
      guard gap.beforeRow > 0, gap.beforeRow < page.rows.count else { return nil }
      return String(decoding: page[page.rows[gap.beforeRow].id], as: UTF8.self)
    }
  }

  /// Neighbours of the cache without a gap between them that are none on the server.
  func breaks() throws -> [String] {
    let page = try client.messages(
      MessageQuery(conversation: Array(room.utf8), from: .oldest, limit: 10_000))
    let ids = page.rows.map { String(decoding: page[$0.id], as: UTF8.self) }
    let gaps = Set(page.coverage.gaps.map(\.beforeRow))
    var place: [String: Int] = [:]
    for (index, id) in order().enumerated() { place[id] = index }
    return ids.indices.dropFirst().compactMap { row in
      if gaps.contains(row) { return nil }
      if let high = place[ids[row]], let low = place[ids[row - 1]], high == low + 1 { return nil }
      return "\(ids[row - 1]) and \(ids[row])"
    }
  }

  /// Runs a sync until it ends, and gives how it ended.
  func reach(
    _ kind: SyncRequest.Kind, want: Int = 0, isUrgent: Bool = false
  ) throws -> SyncStatus {
    let id = try client.sync(
      SyncRequest(
        conversation: Array(room.utf8), kind: kind, want: want, isUrgent: isUrgent))
    try run()
    return try client.syncStatus(id)
  }
}
