/// One conversation: its rows in the server's order and its deletion log.
///
/// The order is kept at all times, so a page is a slice, found by bisection.
final class ConversationState {
  let id: String
  var title: String
  /// Who may see it; empty for everybody.
  var participants: [String]
  /// Who may change who takes part; empty for all who do.
  var admins: [String] = []
  /// JSON text, kept as it is.
  var metadata: String?
  var createdUs: Int64 = 0
  var updatedUs: Int64?
  /// The one conversation of two people, or of these people.
  var isDirect = false
  var isDistinct = false
  /// How far each user has read, as told; it only moves on.
  private(set) var markers: [String: ReadMarker] = [:]
  /// The client id under which each user made it, or was given it; of several, the last.
  var names: [String: String] = [:]
  /// What each send with a client id made, as it was first answered; it is kept
  /// when the message is deleted, so that nothing comes back by a late repetition.
  var sent: [SendKey: [UInt8]] = [:]
  private(set) var rows: [Row] = []
  private(set) var deletions: [ServerDeletion] = []
  private var places: [String: Place] = [:]
  /// The last place that a message ever had, also where it is gone.
  private(set) var lastPlace: Place?
  /// The last version of what was deleted, so that a re-created id goes on.
  private(set) var deadVersions: [String: Int] = [:]
  /// What was deleted, by its id, for who takes a deletion back.
  var deleted: [String: ServerMessage] = [:]
  /// Who changed when, the oldest first. An entry whose message has changed
  /// again or is gone counts no more.
  private var changes: [ServerEntry] = []
  private var changedUs: [String: Int64] = [:]
  /// Grows with each change of the rows.
  private(set) var revision = 0
  /// All that happened, where the server keeps it so.
  var log = EntryLog()

  init(id: String, title: String, participants: [String]) {
    self.id = id
    self.title = title
    self.participants = participants
  }

  func copy() -> ConversationState {
    let twin = ConversationState(id: id, title: title, participants: participants)
    twin.admins = admins
    twin.metadata = metadata
    twin.createdUs = createdUs
    twin.updatedUs = updatedUs
    twin.isDirect = isDirect
    twin.isDistinct = isDistinct
    twin.markers = markers
    twin.names = names
    twin.sent = sent
    twin.rows = rows
    twin.deletions = deletions
    twin.places = places
    twin.lastPlace = lastPlace
    twin.deadVersions = deadVersions
    twin.deleted = deleted
    twin.changes = changes
    twin.changedUs = changedUs
    twin.revision = revision
    twin.log = log
    return twin
  }

  func admits(_ user: String) -> Bool {
    participants.isEmpty || participants.contains(user)
  }

  /// Whether a user may change who takes part, or delete what others wrote.
  func isAdmin(_ user: String) -> Bool {
    admins.contains(user)
  }

  /// The place of a message, where it is there.
  func place(_ id: String) -> Place? {
    places[id]
  }

  /// Moves a user's marker; false where it stands there already, or further on.
  func moveMarker(of user: String, to marker: ReadMarker, _ ties: ServerKnobs.Ties) -> Bool {
    if let old = markers[user], !old.place.isBefore(marker.place, ties) { return false }
    markers[user] = marker
    return true
  }

  /// The messages of others that a user has not read, one by one or by the marker.
  func unread(of user: String, _ ties: ServerKnobs.Ties) -> [Row] {
    let marker = markers[user]
    let first = marker.map { marker in firstIndex { marker.place.isBefore($0.place, ties) } } ?? 0
    return rows[first...].filter { row in
      row.message.sender != user && !row.message.readBy.contains(user)
    }
  }

  func unreadCount(of user: String, _ ties: ServerKnobs.Ties) -> Int {
    unread(of: user, ties).count
  }

  /// When anything last happened in it.
  var activityUs: Int64 {
    rows.last?.place.tickUs ?? createdUs
  }

  func contains(_ id: String) -> Bool {
    places[id] != nil
  }

  func message(_ id: String, _ ties: ServerKnobs.Ties) -> ServerMessage? {
    places[id].map { rows[index(of: $0, ties)].message }
  }

  /// The first row that is not before `place`.
  private func index(of place: Place, _ ties: ServerKnobs.Ties) -> Int {
    firstIndex { !$0.place.isBefore(place, ties) }
  }

  /// The first row whose tick lies behind `us`, or at it where that counts.
  func start(after us: Int64, inclusive: Bool) -> Int {
    firstIndex { inclusive ? $0.place.tickUs >= us : $0.place.tickUs > us }
  }

  /// Where a message stands, if it is there.
  func index(_ id: String, _ ties: ServerKnobs.Ties) -> Int? {
    places[id].map { index(of: $0, ties) }
  }

  func firstIndex(where isBehind: (Row) -> Bool) -> Int {
    var low = 0
    var high = rows.count
    while low < high {
      let middle = (low + high) / 2
      if isBehind(rows[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// Puts a message at its place, or in the place of its earlier version.
  func put(_ message: ServerMessage, _ knobs: ServerKnobs) {
    let row = Row(message, knobs)
    revision += 1
    logChange(message)
    if let known = places[message.id] {
      rows[index(of: known, knobs.ties)] = row
      return
    }
    rows.insert(row, at: index(of: row.place, knobs.ties))
    places[message.id] = row.place
    if lastPlace.map({ $0.isBefore(row.place, knobs.ties) }) ?? true { lastPlace = row.place }
    if deadVersions.removeValue(forKey: message.id) != nil {
      deletions.removeAll { $0.id == message.id }
    }
  }

  /// Takes a message away and logs it; false where there is none.
  func remove(_ deletion: ServerDeletion, _ knobs: ServerKnobs) -> Bool {
    if knobs.keepsDeleted {
      guard let kept = message(deletion.id, knobs.ties), deadVersions[deletion.id] == nil
      else { return false }
      log(deletion, version: kept.version + 1, knobs)
      return true
    }
    guard let place = places.removeValue(forKey: deletion.id) else { return false }
    revision += 1
    let gone = rows.remove(at: index(of: place, knobs.ties))
    deleted[deletion.id] = gone.message
    if changedUs.removeValue(forKey: deletion.id) != nil {
      changes.removeAll { $0.id == deletion.id }
    }
    log(deletion, version: gone.message.version + 1, knobs)
    return true
  }

  /// Takes a message away without a word, as a purge does.
  func forget(_ id: String, _ ties: ServerKnobs.Ties) {
    guard let place = places.removeValue(forKey: id) else { return }
    revision += 1
    rows.remove(at: index(of: place, ties))
    if changedUs.removeValue(forKey: id) != nil { changes.removeAll { $0.id == id } }
  }

  private func logChange(_ message: ServerMessage) {
    guard let us = message.changedUs, changedUs[message.id] != us else { return }
    var at = changes.count
    while at > 0, changes[at - 1].us > us { at -= 1 }
    changes.insert(ServerEntry(us: us, id: message.id), at: at)
    changedUs[message.id] = us
    if changes.count > 2 * changedUs.count + 64 {
      changes = changes.filter { changedUs[$0.id] == $0.us }
    }
  }

  /// The messages that changed at or after a time, each once, the first to
  /// change first.
  func changed(since us: Int64) -> [ServerEntry] {
    var first = changes.count
    while first > 0, changes[first - 1].us >= us { first -= 1 }
    return changes[first...].filter { changedUs[$0.id] == $0.us }
  }

  /// Adds an entry to the log, which is sorted by printed time, then arrival.
  func log(_ deletion: ServerDeletion, version: Int, _ knobs: ServerKnobs) {
    let unit = knobs.timeResolutionUs
    let tick = ServerTime.tick(deletion.deletedUs, resolutionUs: unit)
    var at = deletions.count
    while at > 0, ServerTime.tick(deletions[at - 1].deletedUs, resolutionUs: unit) > tick {
      at -= 1
    }
    deletions.insert(deletion, at: at)
    deadVersions[deletion.id] = version
  }
}

/// How far a user has read: a message and where it stood, should it go.
struct ReadMarker: Equatable {
  let id: String
  let place: Place
}

/// What names a send: client ids are the device's own and may meet those of others.
struct SendKey: Hashable {
  let user: String
  let clientID: String
}

/// One entry of the log of changes.
struct ServerEntry: Equatable {
  let us: Int64
  let id: String
}
