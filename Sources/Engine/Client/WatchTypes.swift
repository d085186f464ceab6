/// The values of windows, events and entities that cross the engine's border.
///
/// They mirror the structs of the header one to one, without pointers.
package import Base

/// Where a window opens, and what a load is around.
package enum At: Equatable, Sendable {
  case latest
  case unread
  case message([UInt8])
  case time(Int64)
}

/// How to open a window.
package struct WindowConfig: Equatable, Sendable {
  package var conversation: [UInt8]
  package var at: At
  package var count: Int
  /// Messages in memory at most.
  package var rowsMax: Int
  /// Where what it shows may come from.
  package var choice = PolicyChoice()
  /// The host's function chooses, at each poll.
  package var asksHost = false
  /// Leave stale rows on screen as they are.
  package var leavesStale = false
  /// The next page is loaded where the screen comes near an end of the list.
  package var preloads = false
  /// For how long a split that a request under way will settle is not drawn.
  package var holdMs: Int64 = 1_000

  package init(
    conversation: [UInt8], at: At = .latest, count: Int = 50, rowsMax: Int = 2_000
  ) {
    self.conversation = conversation
    self.at = at
    self.count = count
    self.rowsMax = rowsMax
  }

  /// Never ask the network.
  package var isCacheOnly: Bool {
    get { choice.policy == .cacheOnly }
    set { choice.policy = newValue ? .cacheOnly : .cacheThenNetwork }
  }

  /// Whether it asks for the present at each connection.
  var follows: Bool {
    !isCacheOnly && (at == .latest || at == .unread || choice.waitsForNetwork)
  }
}

/// What to load into a window.
package struct Load: Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    case initial
    /// Older than the row with this number, or than the first row for 0.
    case before(UInt64)
    /// Newer than the row with this number, or than the last row for 0.
    case after(UInt64)
    case around(At)
    case last
  }

  package var kind: Kind
  package var count: Int
  /// Go on beyond a gap at once.
  package var isPastGaps: Bool

  package init(_ kind: Kind, count: Int = 50, isPastGaps: Bool = false) {
    self.kind = kind
    self.count = count
    self.isPastGaps = isPastGaps
  }
}

/// The difference between two versions of a window.
package struct WindowDiff: Equatable, Sendable {
  package var from: UInt64
  package var to: UInt64
  package var checksum: UInt64
  package var rowCount: Int
  package var ops: [DiffOp]
}

/// What a window waits for.
package enum Waiting: Int32, Sendable {
  case nothing = 0
  case connection
  case present
  case place
  case older
  case newer
  case refresh
}

/// How a window stands.
package struct WindowStatus: Equatable, Sendable {
  package var isAtStart = false
  package var isAtEnd = false
  package var hasGapBefore = false
  package var hasGapAfter = false
  /// It was to open at the first unread message, and nobody knows where that is.
  package var isMarkerUnknown = false
  package var version: UInt64 = 0
  package var checksum: UInt64 = 0
  package var rowCount = 0
  package var splitCount = 0
  package var waiting = Waiting.nothing
  package var trouble: Failure?
  package var anchor: UInt64 = 0
  package var basis = Basis.cache
  /// As that of a sync.
  package var asOfUs: Int64 = 0
}

/// Something the server reported that is not a message.
package struct EventView: Equatable, Sendable {
  package var seq: UInt64
  /// `TL_EVENT_` kind and `TL_ACTION_` of the header.
  package var kind: Int32
  package var action: Int32
  package var isSilent: Bool
  package var conversation: [UInt8]
  package var entity: [UInt8]
  package var body: [UInt8]
  package var id: [UInt8]
}

package enum EventPage: Equatable, Sendable {
  case none
  case resync
  case events([EventView])
}

/// The values are those of the header.
package enum EntityRole: Int32, Sendable {
  case conversation = 1
  case member
  case profile
}

/// Which entities to read.
package struct EntityQuery: Sendable {
  package var role: EntityRole
  /// Whose members; nil for those of all conversations.
  package var conversation: [UInt8]?
  /// Only the one with this id.
  package var id: [UInt8]?
  /// The last one of the page before, and its conversation, empty for the first page.
  package var afterConversation: [UInt8]
  package var afterID: [UInt8]
  package var limit: Int

  package init(
    _ role: EntityRole, conversation: [UInt8]? = nil, id: [UInt8]? = nil,
    afterConversation: [UInt8] = [], afterID: [UInt8] = [], limit: Int = 256
  ) {
    self.role = role
    self.conversation = conversation
    self.id = id
    self.afterConversation = afterConversation
    self.afterID = afterID
    self.limit = limit
  }
}

/// A small thing beside messages, as it came.
package struct EntityView: Equatable, Sendable {
  package var role: EntityRole
  package var conversation: [UInt8]
  package var id: [UInt8]
  package var body: [UInt8]
}
