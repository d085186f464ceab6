// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Keys" of the header: who opens a file.
internal import Base
public import CTideline
internal import Engine

@implementation @_cdecl("tl_key_add")
public func tl_key_add(
  _ client: OpaquePointer?, _ key: UnsafePointer<tl_key>?, _ slot: UnsafeMutablePointer<UInt32>?
) -> tl_status {
  unsafe slot?.pointee = 0
  return unsafe boundary(client) { client throws(Failure) in
    let number = try unsafe put(key, client, replacing: nil)
    unsafe slot?.pointee = UInt32(truncatingIfNeeded: number)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_key_change")
public func tl_key_change(
  _ client: OpaquePointer?, _ slot: UInt32, _ key: UnsafePointer<tl_key>?
) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    _ = try unsafe put(key, client, replacing: Int(slot))
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_key_remove")
public func tl_key_remove(_ client: OpaquePointer?, _ slot: UInt32) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try KeySlots(client).remove(Int(slot))
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_keys_read")
public func tl_keys_read(
  _ path: tl_view, _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe out?.pointee = nil
  return boundary { () throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    let slots = try KeySlots.read(unsafe filePath(path))
    if slots.isEmpty { return status(TL_NONE) }
    unsafe out.pointee = try Batch.new(slots)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_keys")
public func tl_client_keys(
  _ client: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    unsafe try Batch.new(KeySlots(client).all())
  }
}

@implementation @_cdecl("tl_batch_key_slots")
public func tl_batch_key_slots(
  _ batch: OpaquePointer?, _ count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<tl_key_slot>? {
  unsafe Batch.contents(batch, .keySlots, count)
}

@implementation @_cdecl("tl_key_code")
public func tl_key_code(_ out: UnsafeMutablePointer<UInt8>?, _ size: Int) -> tl_status {
  boundary { () throws(Failure) in
    guard let out = unsafe out else { throw .invalid("out is NULL") }
    guard size < 0 || size >= RecoveryCode.printedBytes else {
      throw .invalid("size is under 35 bytes")
    }
    guard unsafe RecoveryCode.make(out) else { throw .internal("there is no random source") }
    return status(TL_OK)
  }
}

/// The path of a file that a view is.
func filePath(_ path: tl_view) throws(Failure) -> String {
  let path = try unsafe path.text(
    "path", atMost: Limits.pathBytesMax, or: .invalid("path is over 1,024 bytes"))
  guard !path.isEmpty, !path.contains(0) else { throw .invalid("path is empty or has a NUL") }
  return String(decoding: path, as: UTF8.self)
}

/// The secret that a view is, checked as far as its kind allows.
func secret(_ view: tl_view, _ kind: tl_key_kind) throws(Failure) -> HostKey {
  let count = unsafe view.size
  guard unsafe count == 0 || view.data != nil else { throw .invalid("key is NULL but not empty") }
  let bytes = unsafe UnsafeRawBufferPointer(start: view.data, count: max(0, count))
  switch Int(kind) {
  case TL_KEY_RAW:
    guard count == Int(TL_KEY_BYTES) else { throw .invalid("key is not 32 bytes") }
    return unsafe HostKey(copying: bytes)
  case TL_KEY_PASSPHRASE:
    guard (1...Limits.passphraseBytesMax).contains(count) else {
      throw .invalid("a passphrase is not 1 to 1,024 bytes")
    }
    return unsafe HostKey(copying: bytes, as: .passphrase)
  case TL_KEY_CODE:
    guard (0...Limits.passphraseBytesMax).contains(count), let key = unsafe RecoveryCode.read(bytes)
    else { throw .code }
    return key
  default: throw .invalid("the kind of the key is not a known value")
  }
}

private func put(
  _ pointer: UnsafePointer<tl_key>?, _ client: Client, replacing slot: Int?
) throws(Failure) -> Int {
  let config = try unsafe read(pointer, zero: tl_key())
  let key = try unsafe secret(config.key, config.kind)
  defer { key.wipe() }
  var new = NewSlot(
    key,
    label: try unsafe config.label.text(
      "label", atMost: Limits.slotLabelBytesMax, or: .invalid("label is over 48 bytes")))
  guard !new.label.contains(0) else { throw .invalid("label has a NUL") }
  try unsafe mustBeZero(config.reserved, "reserved is not zero")
  let (operations, memory) = unsafe (config.operations, config.memory_bytes)
  guard key.kind == .passphrase || operations == 0 && memory == 0 else {
    throw .invalid("operations or memory_bytes, and the key is no passphrase")
  }
  if operations != 0 { new.operations = operations }
  if memory != 0 { new.memoryBytes = memory }
  guard Limits.operationsRange.contains(new.operations) else {
    throw .invalid("operations is over 16")
  }
  guard Limits.hashBytesRange.contains(new.memoryBytes) else {
    throw .invalid("memory_bytes is not 1 MiB to 256 MiB")
  }
  return try KeySlots(client).put(new, replacing: slot)
}

extension Batch {
  /// Puts key slots into a new batch.
  fileprivate static func new(_ slots: [SlotView]) throws(Failure) -> OpaquePointer {
    // Nothing of a file that was not opened is proven, and a text of the interface is UTF-8.
    let (block, views) = unsafe try records(
      .keySlots, of: tl_key_slot.self,
      slots.map { [String(validating: $0.label, as: UTF8.self) == nil ? [] : $0.label] })
    let target = unsafe start(of: block).bindMemory(to: tl_key_slot.self, capacity: slots.count)
    for (index, slot) in slots.enumerated() {
      var record = unsafe tl_key_slot()
      unsafe record.slot = UInt32(truncatingIfNeeded: slot.number)
      // The file counts kinds from 1 on, where 0 is an empty slot.
      unsafe record.kind = tl_key_kind(clamping: slot.kind &- 1)
      unsafe record.label = views[index]
      unsafe record.memory_bytes = slot.memoryBytes
      unsafe record.operations = slot.operations
      unsafe (target + index).initialize(to: record)
    }
    return OpaquePointer(block)
  }
}
