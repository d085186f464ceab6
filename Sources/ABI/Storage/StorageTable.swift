/// A storage of the host's: the functions of a `tl_storage` as Vault calls them.
///
/// What they answer is checked like anything else that comes from outside.
internal import Base
internal import CTideline
internal import Engine

// The context belongs to the host, which promises that its functions may be called from any
// thread that calls the library; `drop` runs when no call is left.
@safe final class StorageTable: HostStorage, @unchecked Sendable {
  private let table: tl_storage

  /// Nil for no storage.
  init?(_ pointer: UnsafePointer<tl_storage>?) throws(Failure) {
    guard unsafe pointer != nil else { return nil }
    unsafe table = try ABI.read(pointer, zero: tl_storage())
  }

  /// Refuses what cannot be called.
  func check() throws(Failure) {
    guard unsafe table.flags & ~UInt32(TL_STORAGE_BUFFERS) == 0 else {
      throw .invalid("flags of the storage has an unknown one")
    }
    let isWhole =
      unsafe table.acquire != nil && table.release != nil && table.read != nil
      && table.write != nil && table.truncate != nil && table.size != nil && table.sync != nil
      && table.remove != nil
    guard isWhole else { throw .invalid("a function of the storage is NULL") }
  }

  func drop() {
    if let drop = unsafe table.drop { unsafe drop(table.context) }
  }

  func acquire(_ name: [UInt8], _ fence: inout UInt64) -> StorageAnswer {
    guard let call = unsafe table.acquire else { return .failed }
    return unsafe name.withUnsafeBufferPointer { bytes in
      var view = unsafe tl_view(data: bytes.baseAddress, size: bytes.count)
      return unsafe answer(call(table.context, &view, &fence))
    }
  }

  func release(_ lease: StorageLease) {
    guard let call = unsafe table.release else { return }
    _ = unsafe with(lease, .main) { at in unsafe call(table.context, at) }
  }

  func read(
    _ lease: StorageLease, _ object: StorageObject, at offset: UInt64,
    into out: UnsafeMutableRawBufferPointer, _ got: inout Int
  ) -> StorageAnswer {
    guard let call = unsafe table.read,
      let start = unsafe out.baseAddress?.assumingMemoryBound(to: UInt8.self)
    else { return .failed }
    return unsafe with(lease, object) { at in
      unsafe call(table.context, at, offset, start, out.count, &got)
    }
  }

  func write(
    _ lease: StorageLease, _ object: StorageObject, at offset: UInt64,
    _ bytes: UnsafeRawBufferPointer
  ) -> StorageAnswer {
    guard let call = unsafe table.write else { return .failed }
    let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    var view = unsafe tl_view(data: start, size: bytes.count)
    return unsafe with(lease, object) { at in unsafe call(table.context, at, offset, &view) }
  }

  func truncate(
    _ lease: StorageLease, _ object: StorageObject, to size: UInt64
  ) -> StorageAnswer {
    guard let call = unsafe table.truncate else { return .failed }
    return unsafe with(lease, object) { at in unsafe call(table.context, at, size) }
  }

  func size(
    _ lease: StorageLease, _ object: StorageObject, _ size: inout UInt64
  ) -> StorageAnswer {
    guard let call = unsafe table.size else { return .failed }
    return unsafe with(lease, object) { at in unsafe call(table.context, at, &size) }
  }

  func sync(_ lease: StorageLease, _ object: StorageObject) -> StorageAnswer {
    guard let call = unsafe table.sync else { return .failed }
    return unsafe with(lease, object) { at in unsafe call(table.context, at) }
  }

  func remove(_ lease: StorageLease, _ object: StorageObject) -> StorageAnswer {
    guard let call = unsafe table.remove else { return .failed }
    return unsafe with(lease, object) { at in unsafe call(table.context, at) }
  }

  /// Lends a place to `call`, as the host sees it.
  private func with(
    _ lease: StorageLease, _ object: StorageObject,
    _ call: (UnsafePointer<tl_stored>) -> tl_status
  ) -> StorageAnswer {
    unsafe lease.name.withUnsafeBufferPointer { name in
      var at = unsafe tl_stored(
        name: tl_view(data: name.baseAddress, size: name.count), fence: lease.fence,
        object: object.rawValue, reserved: 0)
      return unsafe answer(call(&at))
    }
  }

  private func answer(_ status: tl_status) -> StorageAnswer {
    switch Int(status) {
    case TL_OK: .done
    case TL_E_FULL: .full
    case TL_E_LOCKED: .lost
    default: .failed
    }
  }
}
