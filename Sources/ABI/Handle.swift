/// What a `tl_client` pointer points to.
///
/// A small block of plain memory that begins with a magic word, so that NULL, a
/// batch or any other readable memory is refused before it is taken for an
/// object. The block holds the only reference to the client and its hooks.
internal import CTideline
internal import Engine

@safe struct Handle {
  /// "tideline" in ASCII, read as a number.
  private static let magic: UInt64 = 0x656E_696C_6564_6974

  private var word: UInt64
  private var occupant: Unmanaged<Occupant>

  /// A client with what must be released after it.
  private final class Occupant {
    let client: Client
    let hooks: Hooks

    init(client: Client, hooks: Hooks) {
      self.client = client
      self.hooks = hooks
    }
  }

  /// Puts a client behind a new handle.
  static func new(_ client: Client, _ hooks: Hooks) -> OpaquePointer {
    let block = UnsafeMutablePointer<Handle>.allocate(capacity: 1)
    let occupant = Occupant(client: client, hooks: hooks)
    unsafe block.initialize(to: Handle(word: magic, occupant: .passRetained(occupant)))
    return OpaquePointer(block)
  }

  /// The client behind a handle.
  static func client(_ handle: OpaquePointer?) throws(Failure) -> Client {
    guard let block = unsafe block(handle) else { throw .invalid("client is not a client") }
    return unsafe block.pointee.occupant.takeUnretainedValue().client
  }

  /// Closes the client, lets its hooks go, and gives the memory back.
  static func free(_ handle: OpaquePointer?) {
    guard let block = unsafe block(handle) else { return }
    let occupant = unsafe block.pointee.occupant.takeRetainedValue()
    unsafe block.pointee.word = 0
    unsafe block.deinitialize(count: 1)
    unsafe block.deallocate()
    occupant.client.close()
    occupant.hooks.drop()
  }

  private static func block(_ handle: OpaquePointer?) -> UnsafeMutablePointer<Handle>? {
    guard let handle = unsafe handle, unsafe isAligned(handle) else { return nil }
    let block = unsafe UnsafeMutablePointer<Handle>(handle)
    return unsafe block.pointee.word == magic ? block : nil
  }
}

/// Tells whether a pointer of the host may be read as one of our blocks.
func isAligned(_ pointer: OpaquePointer) -> Bool {
  Int(bitPattern: pointer) & 7 == 0
}
