/// A storage of the host's own, in Swift: a class whose methods the library calls.
///
/// The table's context is a retained reference that its drop function releases, so a storage lives
/// as long as the clients on it.
import CTidelineShared

/// Why a call on a storage failed.
public enum StorageFailure: Error {
  /// The number is not the newest any more; nothing has changed.
  case lost
  case full
  case failed
}

/// Which name a call is about, by whom, and which of its objects.
public struct Stored: Sendable {
  public let name: String
  public let fence: UInt64
  public let object: Int

  fileprivate init(_ stored: tl_stored) {
    name = stored.name.string
    fence = stored.fence
    object = Int(stored.object)
  }
}

/// What a host has to say. Calls come from several threads, under locks of the client.
public protocol Storage: AnyObject, Sendable {
  func acquire(_ name: String) throws(StorageFailure) -> UInt64
  func release(_ at: Stored)
  /// Fewer bytes only where the object ends.
  func read(_ at: Stored, _ offset: Int, _ count: Int) throws(StorageFailure) -> [UInt8]
  func write(_ at: Stored, _ offset: Int, _ bytes: [UInt8]) throws(StorageFailure)
  func truncate(_ at: Stored, _ size: Int) throws(StorageFailure)
  func size(_ at: Stored) throws(StorageFailure) -> Int
  func sync(_ at: Stored) throws(StorageFailure)
  func remove(_ at: Stored) throws(StorageFailure)
}

private final class StorageContext {
  let storage: any Storage

  init(_ storage: any Storage) {
    self.storage = storage
  }
}

private func answer(
  _ context: UnsafeMutableRawPointer?, _ body: (any Storage) throws(StorageFailure) -> Void
) -> tl_status {
  guard let context else { return tl_status(TL_E_STORAGE) }
  do throws(StorageFailure) {
    try body(Unmanaged<StorageContext>.fromOpaque(context).takeUnretainedValue().storage)
    return tl_status(TL_OK)
  } catch {
    switch error {
    case .lost: return tl_status(TL_E_LOCKED)
    case .full: return tl_status(TL_E_FULL)
    case .failed: return tl_status(TL_E_STORAGE)
    }
  }
}

/// The table of a storage, with a reference that its `drop` gives back.
func table(_ storage: any Storage) -> tl_storage {
  var table = tl_storage()
  table.struct_size = size(tl_storage.self)
  table.context = Unmanaged.passRetained(StorageContext(storage)).toOpaque()
  table.drop = { context in
    guard let context else { return }
    Unmanaged<StorageContext>.fromOpaque(context).release()
  }
  table.acquire = { context, name, fence in
    answer(context) { storage throws(StorageFailure) in
      fence?.pointee = try storage.acquire(name?.pointee.string ?? "")
    }
  }
  table.release = { context, at in
    answer(context) { storage in if let at { storage.release(Stored(at.pointee)) } }
  }
  table.read = { context, at, offset, out, count, got in
    answer(context) { storage throws(StorageFailure) in
      guard let at, let out, let got else { throw .failed }
      let bytes = try storage.read(Stored(at.pointee), Int(offset), count).prefix(count)
      UnsafeMutableRawBufferPointer(start: out, count: count).copyBytes(from: bytes)
      got.pointee = bytes.count
    }
  }
  table.write = { context, at, offset, view in
    answer(context) { storage throws(StorageFailure) in
      guard let at, let view else { throw .failed }
      let bytes = UnsafeBufferPointer(start: view.pointee.data, count: view.pointee.size)
      try storage.write(Stored(at.pointee), Int(offset), Array(bytes))
    }
  }
  table.truncate = { context, at, size in
    answer(context) { storage throws(StorageFailure) in
      guard let at else { throw .failed }
      try storage.truncate(Stored(at.pointee), Int(size))
    }
  }
  table.size = { context, at, size in
    answer(context) { storage throws(StorageFailure) in
      guard let at else { throw .failed }
      size?.pointee = UInt64(try storage.size(Stored(at.pointee)))
    }
  }
  table.sync = { context, at in
    answer(context) { storage throws(StorageFailure) in
      guard let at else { throw .failed }
      try storage.sync(Stored(at.pointee))
    }
  }
  table.remove = { context, at in
    answer(context) { storage throws(StorageFailure) in
      guard let at else { throw .failed }
      try storage.remove(Stored(at.pointee))
    }
  }
  return table
}
