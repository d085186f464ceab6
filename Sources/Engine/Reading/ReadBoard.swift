/// What a read has to know beside the file.
internal import Store

/// A class, because to copy a dictionary the process needs its type, which looks through all
/// conformances: that was 13 % of the first read of a process.
final class ReadBoard: Sendable {
  /// Where all marks were verified on this connection.
  let fresh: FreshRanges
  /// By operation, how much of its attachment is uploaded.
  let permille: [UInt64: UInt32]
  let scheme: PositionScheme
  let store: MessageStore

  init(
    fresh: FreshRanges, permille: [UInt64: UInt32], scheme: PositionScheme, store: MessageStore
  ) {
    self.fresh = fresh
    self.permille = permille
    self.scheme = scheme
    self.store = store
  }
}
