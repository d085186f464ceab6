/// A stored message, and how a copy of it that the server gave is merged in.
///
/// Rule protected: the newer side wins, never the cached one for being there. The
/// content goes by server version, then by edit time, then by the stamp of the
/// request (the sequence number at which it was issued): a copy that was asked
/// for before the stored one cannot put it back, nor can a first copy that was pushed
/// and says nothing of an edit, where the stored one does. Reactions go by the version and
/// the stamp at which they were as they are, since they also come on their own. A
/// pin carries no version and goes by its own stamp. An edit by another user than the sender is
/// ignored, also where it came first, unless users of this server edit messages of others. Receipts
/// only grow. What was opened once stays open: of two copies of one content the open one is kept.
internal import Base

struct StoredMessage: Equatable {
  var message: IncomingMessage
  var number: UInt64
  /// The commit that last changed the row.
  var lsn: UInt64
  /// Stamp of the request that brought the content.
  var issued: UInt64
  /// Stamp of the request that brought the reactions, and of the one that brought
  /// the pin.
  var marked: UInt64
  var pinIssued: UInt64
  /// The server's version when the reactions were as they are.
  var reactionsVersion: Int64?
}

extension StoredMessage {
  init(
    _ message: IncomingMessage, number: UInt64, lsn: UInt64, issued: UInt64
  ) {
    self.init(
      message: message, number: number, lsn: lsn, issued: issued, marked: issued,
      pinIssued: issued, reactionsVersion: message.version)
  }

  /// The row that `copy` makes of this one. A row whose lsn is below `restored` belongs
  /// to an epoch that the server lost: nothing in it outranks the copy then, but marks
  /// that came on their own since.
  func merged(
    with other: IncomingMessage, issued stamp: UInt64, restored: UInt64, saysMarks: Bool = true,
    isFirst: Bool = false, isEdit: Bool = false, othersEdit: Bool = false
  ) -> StoredMessage {
    var result = self
    var copy = other
    let isLost = lsn < restored
    let isAuthors = isLost || othersEdit ? nil : isAuthors(copy, isEdit: isEdit)
    if isAuthors == nil, message.isSealed != copy.isSealed, isSameContent(copy, isLost: isLost) {
      if copy.isSealed { copy.takeOpen(from: message) } else { result.message.takeOpen(from: copy) }
    }
    if isLost || isAuthors ?? isContentOlder(than: copy, issued: stamp, isFirst: isFirst) {
      result.takeContent(of: copy, issued: stamp, isLost: isLost || isAuthors ?? false)
    }
    let areLost = reactionsAreLost(restored)
    if saysMarks, areLost || reactionsYield(to: copy.version, issued: stamp) {
      result.message.reactions = copy.reactions
      result.marked = areLost ? stamp : Swift.max(marked, stamp)
      result.reactionsVersion = areLost ? copy.version : copy.version ?? reactionsVersion
    }
    if saysMarks, pinIsLost(restored) || stamp >= pinIssued {
      result.message.flags.replace(.marks, from: copy.flags)
      result.pinIssued = stamp
    }
    result.message.flags.formUnion(copy.flags.intersection(.growing))
    // What the server shows it has.
    if !copy.flags.contains(.imported) { result.message.flags.remove(.imported) }
    result.message.readBy = ReaderList.union(message.readBy, added: copy.readBy)
    result.message.deliveredBy = ReaderList.union(message.deliveredBy, added: copy.deliveredBy)
    result.message.listenedBy = ReaderList.union(message.listenedBy, added: copy.listenedBy)
    return result
  }

  /// Whether a copy under the same id contradicts this one: no server changes when a message was
  /// sent, or by whom. An import, an edit by another user and a placeholder say neither.
  func isAnother(than copy: IncomingMessage) -> Bool {
    guard message.flags.isDisjoint(with: [.imported, .forgotten]) else { return false }
    let (earlier, later) = (min(message.timeUs, copy.timeUs), max(message.timeUs, copy.timeUs))
    if later.saturating(minus: earlier) > Self.sameTimeUs { return true }
    return message.sender != copy.sender && !message.isEdited && !copy.isEdited
  }

  /// Two prints of one time differ by less.
  private static let sameTimeUs: Int64 = 60_000_000

  /// Whether the reactions are those of a lost epoch: also of a row that came again since in
  /// a copy which says nothing of them.
  func reactionsAreLost(_ restored: UInt64) -> Bool { marked < restored }

  func pinIsLost(_ restored: UInt64) -> Bool { pinIssued < restored }

  /// Whether other reactions outrank those of the row. Of two with one stamp the
  /// later received wins, which is the other one, mostly.
  func reactionsYield(
    to version: Int64?, issued stamp: UInt64, isTieNewer: Bool = true
  ) -> Bool {
    if let mine = reactionsVersion, let version, mine != version { return mine < version }
    return isTieNewer ? marked <= stamp : marked < stamp
  }

  /// Whether two copies have one payload, though only one of them could be opened. An
  /// edit says of itself that it is one.
  private func isSameContent(_ copy: IncomingMessage, isLost: Bool) -> Bool {
    if let mine = message.digest, mine == copy.digest { return true }
    if isLost { return false }
    if let mine = message.version, let theirs = copy.version { return mine == theirs }
    return !message.isEdited && !copy.isEdited
  }

  /// Whether a copy is the author's and this row is an edit by another user, or the other way
  /// round; nil where both name one sender, or neither is an edit. Of two versions the later one
  /// is.
  private func isAuthors(_ copy: IncomingMessage, isEdit: Bool) -> Bool? {
    // An import may name its senders in another way.
    guard copy.sender != message.sender, !message.flags.contains(.imported) else { return nil }
    if copy.isEdited || isEdit { return false }
    if message.isEdited { return true }
    guard let mine = message.version, let theirs = copy.version, mine != theirs else { return nil }
    return mine > theirs
  }

  private func isContentOlder(
    than copy: IncomingMessage, issued stamp: UInt64, isFirst: Bool
  ) -> Bool {
    if let mine = message.version, let theirs = copy.version, mine != theirs {
      return mine < theirs
    }
    if let mine = message.editedUs, let theirs = copy.editedUs, mine != theirs {
      return mine < theirs
    }
    // What tells a message as new, and no edit of it, is older than what does.
    if isFirst, !copy.isEdited {
      if message.isEdited || copy.version == nil && message.version != nil { return false }
    }
    return issued <= stamp
  }

  private mutating func takeContent(
    of copy: IncomingMessage, issued stamp: UInt64, isLost: Bool
  ) {
    let old = message
    message = copy
    // Copies say nothing of the order within one time.
    if copy.order == old.order { message.rank = old.rank }
    // A copy without a version says nothing against the one that is known.
    if !isLost { message.version = copy.version ?? old.version }
    message.reactions = old.reactions
    message.flags.replace(.marks, from: old.flags)
    message.flags.formUnion(old.flags.intersection(RowFlags.growing.union(.derived)))
    issued = isLost ? stamp : Swift.max(issued, stamp)
  }
}

extension IncomingMessage {
  var isSealed: Bool { flags.contains(.sealed) }

  fileprivate var isEdited: Bool { flags.contains(.edited) || editedUs != nil }

  /// Takes what another copy of the same content was opened to.
  fileprivate mutating func takeOpen(from other: IncomingMessage) {
    payload = other.payload
    raw = nil
    searchable = other.searchable
    digest = digest ?? other.digest
    flags.replace([.sealed, .control], from: other.flags)
    flags.formUnion(other.flags.intersection(.event))
  }

  /// Shows a text in place of what cannot be opened.
  mutating func show(_ text: [UInt8]) {
    payload = text
    raw = nil
    flags.remove(.sealed)
  }
}

extension RowFlags {
  /// Takes the bits in `mask` from `other`.
  mutating func replace(_ mask: RowFlags, from other: RowFlags) {
    subtract(mask)
    formUnion(other.intersection(mask))
  }
}
