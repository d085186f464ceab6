/// The values of retention that cross the engine's border.
/// They mirror the structs of the header one to one, without pointers.
internal import Store

/// How much may be kept; 0 is no bound.
package struct Budget: Equatable, Sendable {
  package var messages: Int64 = 0
  package var bytes: Int64 = 0
  /// The same of each conversation.
  package var messagesEach: Int64 = 0
  package var bytesEach: Int64 = 0
  /// What the server made longer ago goes.
  package var ageUs: Int64 = 0
  /// What the server made since stays, whatever the others say.
  package var youngUs: Int64 = 0
  /// Messages in entries of the feed that a subscriber has not read stay.
  package var keepsUntold = false

  package init() {}

  var bounds: Bool {
    messages > 0 || bytes > 0 || messagesEach > 0 || bytesEach > 0 || ageUs > 0
  }

  func allows(_ room: Room) -> Bool {
    (messages == 0 || room.rows <= messages) && (bytes == 0 || room.bytes <= bytes)
  }

  /// Bounds of each conversation, for who asks for those beyond.
  var each: (rows: Int64, bytes: Int64) {
    (messagesEach > 0 ? messagesEach : .max, bytesEach > 0 ? bytesEach : .max)
  }

  /// What is purged to, once something is: a little below the bound, so that not each message that
  /// comes is the cause of another purge.
  var target: Budget {
    var target = self
    target.messages = messages &- messages / 16
    target.bytes = bytes &- bytes / 16
    target.messagesEach = messagesEach &- messagesEach / 16
    target.bytesEach = bytesEach &- bytesEach / 16
    return target
  }
}

/// What is stored, and how the budget stands.
package struct RoomStatus: Equatable, Sendable {
  package var messages: UInt64 = 0
  package var bytes: UInt64 = 0
  package var purgedMessages: UInt64 = 0
  package var purgedBytes: UInt64 = 0
  /// Bytes of the file that hold nothing and are not given back yet.
  package var freeBytes: UInt64 = 0
  /// All that is stored is counted.
  package var isCounted = false
  /// As of the last purge: what is protected takes more than the budget.
  package var isOver = false

  package init() {}
}
