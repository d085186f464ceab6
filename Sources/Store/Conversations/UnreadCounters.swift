/// The number of unread messages of a conversation, and the rule by which it changes.
///
/// Rule protected: the number is the one that the server told last, moved by one for each thing
/// that is seen to happen since. It is exact while all that was seen is surely after the count, and
/// asked for again when something is seen of which the count may or may not know.
internal import Base
internal import Timeline

/// What is kept of a conversation to count its unread messages.
struct UnreadCounters: Equatable {
  /// The last message that was read, by this user's marker.
  var marker: Position?
  /// A message that is named as read and is not stored yet.
  var named: [UInt8]?
  /// Unread rows above the marker.
  var here: Int64 = 0
  /// Nil until the server sends a count: the number is `here` then.
  var number: Int64?
  /// The newest message that `number` knows of; nil where a count came without it.
  var top: Position?
  /// Twice the commit of the last count of the server, and 1 more while the number is exact.
  var counted: UInt64 = 0
  /// The last commits in which an unread row went or was read, and in which one came.
  var went: UInt64 = 0
  var came: UInt64 = 0

  /// The commit that took the last count of the server; 0 where there was none.
  var countedLSN: UInt64 { counted >> 1 }

  var isExact: Bool {
    get { counted & 1 != 0 }
    set { counted = counted & ~1 | (newValue ? 1 : 0) }
  }

  func isAboveMarker(_ position: Position) -> Bool { marker.map { $0 < position } ?? true }

  /// Where a row stands against `top`; nil where that is not known. An order of one time does not
  /// say what came later.
  func side(of position: Position) -> UnreadSide? {
    top.map { position.time > $0.time ? .above : position.time < $0.time ? .below : .level }
  }
}

enum UnreadSide { case above, level, below }

/// How a change became known.
enum UnreadSource {
  /// This user did it here: it happens now.
  case own
  /// A push of a connection that has lost none since the count was told; another push.
  case sure, push
  /// A page or an answer on the connection of the count, which is newer than what is missing, where
  /// no push is lost; the same where some may be; one on a later connection.
  case counted, doubtful, shown
}

/// What a change does to the exactness of the number; the greater of two goes.
enum UnreadEffect: Int {
  /// Nothing.
  case settle
  /// A row came below `top`: no more may be here than were counted, from where that is known.
  case came
  /// A row went below `top`, by the user or otherwise: as many have to be here as are counted.
  case wentHere, went
  /// It is exact no more; and the server is asked for it.
  case inexact, unsure
}

extension UnreadCounters {
  /// An unread row came, or is unread again.
  mutating func take(
    isNew: Bool, _ side: UnreadSide?, from source: UnreadSource
  ) -> UnreadEffect {
    guard let number else { return .settle }
    let isPush = source == .push || source == .sure
    // More are here than were counted: this one came later, or another one was read or is gone.
    let isMore = here > number && named == nil && (marker != nil || top == nil)
    if !isNew || isPush || side == .above || isMore { self.number = number &+ 1 }
    if !isNew { return source == .own ? .wentHere : source == .sure ? .went : .unsure }
    // A push is news, wherever its time puts it.
    if isPush { return side == .below ? .unsure : source == .sure ? .settle : .inexact }
    guard let side, side != .above else { return .inexact }
    return side == .level || isMore ? .unsure : .came
  }

  /// An unread row was read, or went.
  mutating func lose(_ side: UnreadSide?, from source: UnreadSource) -> UnreadEffect {
    guard let number else { return .settle }
    if side != .above, source == .counted { return side == .level ? .unsure : .settle }
    if side != .above, source == .doubtful { return .unsure }
    self.number = max(0, number &- 1)
    if source == .own { return side == .above ? .settle : .wentHere }
    return source != .sure ? .unsure : side == .above ? .settle : .went
  }

  /// The marker moved up over so many unread rows; `here` is without them.
  mutating func pass(
    _ passed: Int64, isAtTop: Bool, isOrderKnown: Bool, from source: UnreadSource
  ) -> UnreadEffect {
    guard let number else { return .settle }
    let doubt = source == .own ? UnreadEffect.inexact : .unsure
    if isAtTop {
      self.number = here
      return top != nil && isOrderKnown ? .settle : doubt
    }
    let less = number &- passed
    self.number = max(less, min(number, here))
    return self.number != less || !isOrderKnown ? doubt : source == .own ? .wentHere : .went
  }

  /// The end of a commit. `isWhole`: it leaves everything from the marker to the present here.
  /// `isAnswer`: it takes an answer, and the number was not told on this connection; otherwise the
  /// number stays, and the server is asked for it.
  mutating func settle(
    _ effect: UnreadEffect, isWhole: Bool, isAnswer: Bool, newest: Position?
  ) -> UnreadEffect {
    guard let number else { return .settle }
    let agrees =
      effect == .came
      ? here <= number || !isWhole && marker == nil
      : effect == .settle || isWhole && here == number
    if isExact, agrees { return .settle }
    let isNews = isExact && effect != .wentHere
    isExact = false
    if isWhole, isAnswer || countedLSN == 0 && here == number {
      self.number = countedLSN == 0 ? nil : here
      top = newest
    }
    return isNews ? .unsure : .inexact
  }
}

extension RowFlags {
  /// What makes a row none that is to be read: nobody reads an event, or what was deleted.
  static let notUnread: RowFlags = notUnreadThere.union([.readQueued, .deleting])
  /// The same as the server has it, which has not heard of what waits.
  static let notUnreadThere: RowFlags =
    hidden.subtracting(.deleting).union([.mine, .readByMe, .deleted, .event])
  /// What changes only because this user does something on this device.
  static let ownDoing: RowFlags = derived.union(.forgotten)
}

extension RowState {
  var isUnread: Bool { flags.isDisjoint(with: .notUnread) && !position.isPending }

  var isUnreadThere: Bool { flags.isDisjoint(with: .notUnreadThere) && !position.isPending }
}
