/// Where sealed bytes live when the host keeps them itself.
///
/// ABI makes one of the host's functions, tests make their own; Vault alone calls it. What a
/// storage promises is in the header.

/// A byte object of a name.
package enum StorageObject: Int32, Sendable, CaseIterable {
  case main = 0
  case log = 1
  case own = 2
  /// Takes the place of the main one for a new data key, and gives it back at the next.
  case next = 3
}

/// How a call on a storage ended.
package enum StorageAnswer: Sendable, Equatable {
  case done
  /// There is no room.
  case full
  case failed
  /// Another holder has acquired the name: nothing has changed.
  case lost
}

/// A name with the number of its holder.
package struct StorageLease: Sendable, Equatable {
  package let name: [UInt8]
  package let fence: UInt64

  package init(name: [UInt8], fence: UInt64) {
    self.name = name
    self.fence = fence
  }
}

/// The host's functions.
package protocol HostStorage: AnyObject, Sendable {
  func acquire(_ name: [UInt8], _ fence: inout UInt64) -> StorageAnswer
  func release(_ lease: StorageLease)
  /// Fewer bytes than asked for come only where the object ends.
  func read(
    _ lease: StorageLease, _ object: StorageObject, at offset: UInt64,
    into out: UnsafeMutableRawBufferPointer, _ got: inout Int
  ) -> StorageAnswer
  func write(
    _ lease: StorageLease, _ object: StorageObject, at offset: UInt64,
    _ bytes: UnsafeRawBufferPointer
  ) -> StorageAnswer
  func truncate(_ lease: StorageLease, _ object: StorageObject, to size: UInt64) -> StorageAnswer
  func size(_ lease: StorageLease, _ object: StorageObject, _ size: inout UInt64) -> StorageAnswer
  func sync(_ lease: StorageLease, _ object: StorageObject) -> StorageAnswer
  func remove(_ lease: StorageLease, _ object: StorageObject) -> StorageAnswer
}
