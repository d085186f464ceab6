/// Reading what the host hands in, before anything else looks at it.
///
/// Views become arrays, structs of any version become structs of this one. A
/// size, a flag or an enumeration that the header does not allow ends here, so
/// that nothing behind the boundary can trap on it.
internal import Base
internal import CTideline
internal import Engine

/// No struct of this interface will ever be longer; a greater size is rubbish,
/// and must not be followed through memory.
private let structBytesMax = 4_096

/// Reads a struct that begins with `struct_size`: the missing tail of a shorter
/// one is zero, a longer one is accepted while its unknown tail is zero.
func read<Value>(
  _ pointer: UnsafePointer<Value>?, zero: Value
) throws(Failure) -> Value {
  guard let pointer = unsafe pointer else { throw .invalid("a struct is NULL") }
  let size = try unsafe checkedSize(UnsafeRawPointer(pointer), of: Value.self)
  var value = zero
  unsafe withUnsafeMutableBytes(of: &value) { target in
    let source = unsafe UnsafeRawBufferPointer(start: pointer, count: min(size, target.count))
    unsafe target.copyMemory(from: source)
  }
  return value
}

/// Writes a struct that begins with `struct_size`, as much of it as the host's
/// version has. On failure all of it but the size is zero.
func write<Value>(
  _ pointer: UnsafeMutablePointer<Value>?, _ make: () throws(Failure) -> Value
) throws(Failure) {
  guard let pointer = unsafe pointer else { throw .invalid("out is NULL") }
  let size = try unsafe checkedSize(UnsafeRawPointer(pointer), of: Value.self)
  let prefix = MemoryLayout<UInt32>.size
  let known = min(size, MemoryLayout<Value>.size)
  let target = unsafe UnsafeMutableRawBufferPointer(start: pointer, count: known)
  unsafe UnsafeMutableRawBufferPointer(rebasing: target[prefix...]).initializeMemory(
    as: UInt8.self, repeating: 0)
  var value = try make()
  unsafe withUnsafeBytes(of: &value) { source in
    unsafe UnsafeMutableRawBufferPointer(rebasing: target[prefix...])
      .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[prefix..<known]))
  }
}

/// The `struct_size` at the start of a struct, once it and the tail are sound.
private func checkedSize<Value>(
  _ pointer: UnsafeRawPointer, of type: Value.Type
) throws(Failure) -> Int {
  guard Int(bitPattern: pointer) & (MemoryLayout<Value>.alignment - 1) == 0 else {
    throw .invalid("a struct is not aligned")
  }
  let size = unsafe Int(pointer.load(as: UInt32.self))
  guard size >= 2 * MemoryLayout<UInt32>.size, size <= structBytesMax,
    size % MemoryLayout<Value>.alignment == 0
  else { throw .invalid("struct_size is not the size of a struct") }
  let known = MemoryLayout<Value>.size
  if size > known {
    let tail = unsafe UnsafeRawBufferPointer(start: pointer + known, count: size - known)
    guard unsafe tail.allSatisfy({ $0 == 0 }) else {
      throw .tooNew("a struct is of a later version")
    }
  }
  return size
}

extension tl_view {
  /// The bytes, or nil when the pointer is NULL though the size is not 0.
  func copied() -> [UInt8]? {
    if unsafe size == 0 { return [] }
    guard unsafe size > 0, let data = unsafe data else { return nil }
    return unsafe Array(UnsafeBufferPointer(start: data, count: size))
  }

  /// Borrowed bytes of at most `limit`; what is over it throws `excess`.
  func bytes(
    _ name: StaticString, atMost limit: Int, or excess: Failure
  ) throws(Failure) -> [UInt8] {
    guard unsafe size >= 0, unsafe size <= limit else { throw excess }
    guard let bytes = unsafe copied() else {
      throw .invalid(StaticText(name, "is NULL but not empty"))
    }
    return bytes
  }

  /// UTF-8 text of at most `limit` bytes.
  func text(
    _ name: StaticString, atMost limit: Int, or excess: Failure
  ) throws(Failure) -> [UInt8] {
    let bytes = try unsafe bytes(name, atMost: limit, or: excess)
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw .invalid(StaticText(name, "is not UTF-8"))
    }
    return bytes
  }

  /// An id: one to 512 bytes of UTF-8. A longer one is too large where the header lists that.
  func id(_ name: StaticString, mayBeTooLarge: Bool = false) throws(Failure) -> [UInt8] {
    let long = StaticText(name, "is over 512 bytes")
    let bytes = try unsafe text(
      name, atMost: Limits.idBytesMax, or: mayBeTooLarge ? .tooLarge(long) : .invalid(long))
    guard !bytes.isEmpty else { throw .invalid(StaticText(name, "is empty")) }
    return bytes
  }
}

/// A count that the host gave: zero stands for `fallback`, and there is a bound.
func count(
  _ value: UInt32, zero fallback: Int, atMost limit: Int, _ name: StaticText
) throws(Failure) -> Int {
  guard let value = Int(exactly: value), value <= limit else { throw .invalid(name) }
  return value == 0 ? fallback : value
}

/// Refuses what must be zero in this version.
func mustBeZero(_ value: UInt32, _ excess: StaticText) throws(Failure) {
  if value != 0 { throw .invalid(excess) }
}
