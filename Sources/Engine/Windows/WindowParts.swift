/// What a window's state is made of. Each part owns what changes together, and is begun anew in
/// one place.
internal import Base
internal import Store
internal import Timeline

/// How far a window has followed the store.
struct FeedCursor {
  /// The conversation's number, once it is known.
  var cid: Int64?
  /// The newest entry of the change feed that the list stands for.
  var seq: UInt64 = 0
  /// Entries and keys read so far.
  var read = 0
}

/// How the connection and the conversation stand, as the board said at the last look.
struct WindowConnection {
  private(set) var isUp = false
  private(set) var isSilent = false
  /// A catch-up of the conversation is due or under way.
  private(set) var isHealing = false
  /// When that is asked for; in the past where it is under way.
  private(set) var healsFromMs = Int64.min
  /// Whether the newest range was caught up on this connection.
  private(set) var isCaughtUp = false
  private(set) var number: UInt64 = 0
  /// The connection for which the present was asked.
  var liveAsked: UInt64?
  /// Whether the core was told that this window shows the present.
  var isFollowing: Bool

  init(isFollowing: Bool) { self.isFollowing = isFollowing }

  /// True where it is another connection than before.
  mutating func observe(_ snapshot: borrowing SharedSnapshot, _ conversation: [UInt8]) -> Bool {
    isUp = snapshot.isUp
    isSilent = snapshot.isSilent
    isHealing = snapshot.catchingUp[conversation] != nil
    healsFromMs = snapshot.catchingUp[conversation] ?? .min
    isCaughtUp = snapshot.caughtUp.contains(conversation)
    defer { number = snapshot.connections }
    return number != snapshot.connections
  }

  var isLiveAsked: Bool { liveAsked == number }

  mutating func noteLiveAsked() { liveAsked = number }
}

/// What a window is to load: what the host wished for, and the window itself.
struct WindowLoads {
  var wishes: [PendingLoad] = []
  /// What is to stay loaded from the next look on.
  var kept: SpanSet?
  /// All that is loaded is to be let go at the next look.
  var isReplaced = false

  /// A new connection.
  mutating func beginAgain() {
    for index in wishes.indices { wishes[index].beginAgain() }
  }

  /// Nothing of what the host last wished for is to be done.
  mutating func cancelAll() { self = WindowLoads() }

  /// A new wish takes the place of one like it, and is where the user is now.
  mutating func replace(_ wish: PendingLoad) {
    wishes.removeAll { $0.isLike(wish) }
    for index in wishes.indices { wishes[index].leads = false }
    wishes.append(wish)
  }
}

/// What a window has asked of the network, and what became of it.
struct WindowRequests {
  /// Requests without an end, by their number.
  private(set) var open: [(sync: UInt64, request: SyncRequest)] = []
  /// Why the last one failed, until the same goes well or the host wishes anew.
  var trouble: Failure?
  /// What it was that failed.
  private(set) var troubled: SyncRequest.Kind?

  var isLivePending: Bool { open.contains { $0.request.kind == .live } }

  mutating func add(_ sync: UInt64, _ request: SyncRequest) {
    if open.contains(where: { $0.sync == sync }) { return }
    open.append((sync, request))
  }

  /// It is wanted no more.
  mutating func remove(_ sync: UInt64) {
    open.removeAll { $0.sync == sync }
  }

  /// A sync ended; gives what was asked by it.
  mutating func take(_ end: SharedSnapshot.End) -> [SyncRequest] {
    let ended = open.filter { $0.sync == end.sync }.map(\.request)
    for request in ended {
      if let failure = end.trouble, failure != .cancelled {
        trouble = failure
        troubled = request.kind
      } else if request.kind == troubled {
        trouble = nil
      }
    }
    remove(end.sync)
    return ended
  }
}

/// What of the conversation is not to be taken as it is, and what was verified.
struct WindowTrust {
  /// Ranges whose deletions are not known any more.
  var unverified = SpanSet()
  /// Where all marks were verified on this connection, as of the last look.
  var fresh = SpanSet()
  /// What was refreshed for what is on the screen, on this connection.
  var refreshed = SpanSet()
  /// Places of items that could not be read.
  var quarantined: [SpanSet.Span] = []

  /// A new connection.
  mutating func beginAgain() {
    fresh = SpanSet()
    refreshed = SpanSet()
  }
}

/// Where the user is.
struct WindowView {
  /// What the user sees.
  var shown: SpanSet.Span?
  /// Where too many rows must leave, those farthest from here go first.
  var focus: Position?
  /// The number of the row that the window was opened at.
  var anchor: UInt64 = 0
  /// It shows the newest messages in the place of the first unread one.
  var isMarkerUnknown = false
}

/// What lies beyond the first and the last row, and what was done about it.
struct WindowEnds {
  /// Whether messages may be missing beside the first and the last row, as of the last look.
  var gaps = Edges()
  /// A place in the midst of its rows, while it had any.
  var stood: Position?
  var refilled: Refill?
  /// Whether the last message stood at the end when this look began.
  var stoodAtEnd = false
  /// The ends from which a page was loaded ahead on this connection.
  var preloaded: (above: Position?, below: Position?)
  /// Gaps that opened below the newest messages, and are not loaded until they are whole.
  var opened = SpanSet()
  /// Positions are places in a log, where what is pushed is a range of its own.
  var isOfLog = false

  /// A new connection.
  mutating func beginAgain() { preloaded = (nil, nil) }
}

/// Whether messages may be missing beside the first and the last row.
struct Edges {
  var before = false
  var behind = false
}

/// For what a window asked by itself: at a new connection, or elsewhere, it may again.
struct Refill: Equatable {
  var connection: UInt64
  var place: Position
  var isEmpty: Bool
}
