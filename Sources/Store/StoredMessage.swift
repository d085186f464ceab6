/// A stored message, and how a copy of it that the server gave is merged in.
///
/// Rule protected: the newer side wins, never the cached one for being there. The
/// content goes by server version, then by edit time, then by the stamp of the
/// request (the sequence number at which it was issued): a copy that was asked
/// for before the stored one cannot put it back. Reactions and pins carry no
/// version, so they go by the stamp alone. Who has read a message only grows.
struct StoredMessage: Equatable {
  var message: IncomingMessage
  var number: UInt64
  /// The commit that last changed the row.
  var lsn: UInt64
  /// Stamp of the request that brought the content.
  var issued: UInt64
  /// Stamp of the request that brought reactions and pins.
  var marked: UInt64

  init(
    _ message: IncomingMessage, number: UInt64, lsn: UInt64, issued: UInt64, marked: UInt64
  ) {
    self.message = message
    self.number = number
    self.lsn = lsn
    self.issued = issued
    self.marked = marked
  }

  /// The row that `copy` makes of this one. `isLost` says that the row belongs
  /// to an epoch that the server lost: nothing in it outranks the copy then.
  func merged(with copy: IncomingMessage, issued stamp: UInt64, isLost: Bool) -> StoredMessage {
    var result = self
    if isLost || isContentOlder(than: copy, issued: stamp) {
      result.takeContent(of: copy, issued: stamp, isLost: isLost)
    }
    if isLost || stamp >= marked {
      result.message.reactions = copy.reactions
      result.message.flags.replace(.marks, from: copy.flags)
      result.marked = stamp
    }
    result.message.flags.formUnion(copy.flags.intersection(.growing))
    result.message.readBy = ReaderList.union(message.readBy, copy.readBy)
    return result
  }

  private func isContentOlder(than copy: IncomingMessage, issued stamp: UInt64) -> Bool {
    if let mine = message.version, let theirs = copy.version, mine != theirs {
      return mine < theirs
    }
    if let mine = message.editedUs, let theirs = copy.editedUs, mine != theirs {
      return mine < theirs
    }
    return issued <= stamp
  }

  private mutating func takeContent(
    of copy: IncomingMessage, issued stamp: UInt64, isLost: Bool
  ) {
    let old = message
    message = copy
    // A copy without a version says nothing against the one that is known.
    if !isLost { message.version = copy.version ?? old.version }
    message.reactions = old.reactions
    message.flags.replace(.marks, from: old.flags)
    message.flags.formUnion(old.flags.intersection(.growing))
    issued = isLost ? stamp : Swift.max(issued, stamp)
  }
}

extension RowFlags {
  /// Takes the bits in `mask` from `other`.
  fileprivate mutating func replace(_ mask: RowFlags, from other: RowFlags) {
    subtract(mask)
    formUnion(other.intersection(mask))
  }
}
