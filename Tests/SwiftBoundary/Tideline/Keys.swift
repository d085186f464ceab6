/// Who opens a file, from Swift.
import CTidelineShared

/// A key of a file, without the key.
public struct KeySlot: Equatable {
  public var slot: Int
  public var kind: Int
  public var label: String

  public init(slot: Int, kind: Int, label: String) {
    self.slot = slot
    self.kind = kind
    self.label = label
  }
}

/// Lists the keys of a file, open or not.
public func keys(of path: String) throws -> [KeySlot] {
  var out: OpaquePointer?
  try withViews([path]) { views in _ = try check(tl_keys_read(views[0], &out)) }
  return slots(try handed(out))
}

/// Makes a recovery code to print.
public func recoveryCode() throws -> String {
  var bytes = [UInt8](repeating: 0, count: Int(TL_KEY_CODE_BYTES))
  try check(tl_key_code(&bytes, bytes.count))
  return String(decoding: bytes, as: UTF8.self)
}

extension Client {
  public func keys() throws -> [KeySlot] {
    var out: OpaquePointer?
    try check(tl_client_keys(handle, &out))
    return slots(try handed(out))
  }

  /// Adds a key, or puts it in the place of that in a slot.
  @discardableResult
  public func put(
    key: String, kind: Int, label: String = "", replacing slot: Int? = nil
  ) throws -> Int {
    var number: UInt32 = 0
    try withViews([key, label]) { views in
      var told = tl_key()
      told.struct_size = size(tl_key.self)
      told.kind = tl_key_kind(kind)
      told.key = views[0]
      told.label = views[1]
      if let slot {
        number = UInt32(slot)
        _ = try check(tl_key_change(handle, number, &told))
      } else {
        _ = try check(tl_key_add(handle, &told, &number))
      }
    }
    return Int(number)
  }

  public func removeKey(_ slot: Int) throws {
    try check(tl_key_remove(handle, UInt32(slot)))
  }
}

private func slots(_ batch: OpaquePointer) -> [KeySlot] {
  defer { tl_batch_free(batch) }
  var count = 0
  let records = tl_batch_key_slots(batch, &count)
  return UnsafeBufferPointer(start: records, count: count).map { record in
    let label = UnsafeBufferPointer(start: record.label.data, count: record.label.size)
    return KeySlot(
      slot: Int(record.slot), kind: Int(record.kind), label: String(decoding: label, as: UTF8.self))
  }
}
