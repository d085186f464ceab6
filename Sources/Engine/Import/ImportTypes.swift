/// The values of imports and exports that cross the engine's border.

/// Where an import comes from.
package struct ImportSource: Sendable {
  /// By which it is known after a restart.
  package var name: [UInt8]
  /// Of messages that name none; empty where each has to name its own.
  package var conversation: [UInt8]
  /// One JSON array; else lines.
  package var isArray = false
  /// What others wrote is taken as read.
  package var isRead = false
  /// From its beginning, however far an import of this name is.
  package var beginsAnew = false
  /// How long it is; 0 where that is not known.
  package var size: UInt64 = 0
  /// Gives at most so many bytes from a place on; none at the end.
  package var read: @Sendable (UInt64, Int) throws(Failure) -> [UInt8]

  package init(
    name: [UInt8], conversation: [UInt8] = [],
    read: @escaping @Sendable (UInt64, Int) throws(Failure) -> [UInt8]
  ) {
    self.name = name
    self.conversation = conversation
    self.read = read
  }
}

/// How far an import is.
package struct ImportStatus: Equatable, Sendable {
  /// Lines or elements that were passed.
  package var lines: UInt64 = 0
  package var inserted: UInt64 = 0
  package var known: UInt64 = 0
  package var bad: UInt64 = 0
  /// Where its source goes on.
  package var offset: UInt64 = 0
  package var isDone = false
}
