/// What a `tl_client`, a `tl_window`, a `tl_items`, a `tl_list`, a `tl_work` or a `tl_viewport`
/// pointer points to.
///
/// A small block of plain memory that begins with a magic word, so that NULL, a
/// batch or any other readable memory is refused before it is taken for an
/// object. The block holds one reference to its object; the object of a window or a
/// list keeps its client, so they may be freed in any order.
///
/// Rule protected: an object is used by the process that made it alone. In a child that was
/// forked from it each call is refused before a lock is taken, because a thread that is not
/// there may hold it, and a free touches nothing: to close a copy of the client would remove
/// the log that the parent writes to.
internal import Base
internal import CTideline
internal import Engine

@safe struct Handle {
  /// "tideline" in ASCII, read as a number.
  private static let client: UInt64 = 0x656E_696C_6564_6974
  /// "a window" in ASCII, read as a number.
  private static let window: UInt64 = 0x776F_646E_6977_2061
  /// "the list" in ASCII, read as a number.
  private static let list: UInt64 = 0x7473_696C_2065_6874
  /// "viewport" in ASCII, read as a number.
  private static let viewport: UInt64 = 0x7472_6F70_7765_6976

  /// "an items" in ASCII, read as a number.
  private static let items: UInt64 = 0x736D_6574_6920_6E61

  /// "the work" in ASCII, read as a number.
  private static let work: UInt64 = 0x6B72_6F77_2065_6874

  private var word: UInt64
  private var object: Unmanaged<AnyObject>
  /// In which process it was made.
  private var forks: UInt32
  /// In a child the handle of the parent that was given up before this one.
  private var left: UnsafeMutableRawPointer?

  /// A client with what must be released after it.
  private final class Occupant {
    let client: Client
    let hooks: Hooks

    init(client: Client, hooks: Hooks) {
      self.client = client
      self.hooks = hooks
    }
  }

  /// Items with what must be released after them.
  private final class ItemsOccupant {
    let items: Items
    let hook: FoldHook

    init(items: Items, hook: FoldHook) {
      self.items = items
      self.hook = hook
    }
  }

  /// Puts items behind a new handle.
  static func new(_ items: Items, _ hook: FoldHook) -> OpaquePointer {
    unsafe new(Self.items, ItemsOccupant(items: items, hook: hook))
  }

  /// Puts a client behind a new handle.
  static func new(_ client: Client, _ hooks: Hooks) -> OpaquePointer {
    unsafe new(Self.client, Occupant(client: client, hooks: hooks))
  }

  /// Puts a window behind a new handle.
  static func new(_ window: Window) -> OpaquePointer {
    unsafe new(Self.window, window)
  }

  /// Puts work behind a new handle.
  static func new(_ work: Work) -> OpaquePointer {
    unsafe new(Self.work, work)
  }

  /// Puts a list behind a new handle.
  static func new(_ list: ConversationList) -> OpaquePointer {
    unsafe new(Self.list, list)
  }

  /// Puts a viewport behind a new handle.
  static func new(_ viewport: LockedViewport) -> OpaquePointer {
    unsafe new(Self.viewport, viewport)
  }

  private static func new(_ word: UInt64, _ object: AnyObject) -> OpaquePointer {
    let block = UnsafeMutablePointer<Handle>.allocate(capacity: 1)
    unsafe block.initialize(
      to: Handle(word: word, object: .passRetained(object), forks: Forks.count))
    return OpaquePointer(block)
  }

  /// The client behind a handle. Inlined, its ways to fail are 380 bytes in each function.
  @inline(never)
  static func client(_ handle: OpaquePointer?) throws(Failure) -> Client {
    let wrong: StaticText = "client is not a client"
    guard let occupant = unsafe try object(handle, client, or: wrong) as? Occupant else {
      throw .invalid(wrong)
    }
    return occupant.client
  }

  /// The window behind a handle.
  @inline(never)
  static func window(_ handle: OpaquePointer?) throws(Failure) -> Window {
    let wrong: StaticText = "window is not a window"
    guard let window = unsafe try object(handle, window, or: wrong) as? Window else {
      throw .invalid(wrong)
    }
    return window
  }

  /// The list behind a handle.
  static func list(_ handle: OpaquePointer?) throws(Failure) -> ConversationList {
    let wrong: StaticText = "list is not a list"
    guard let list = unsafe try object(handle, list, or: wrong) as? ConversationList else {
      throw .invalid(wrong)
    }
    return list
  }

  /// The work behind a handle.
  static func work(_ handle: OpaquePointer?) throws(Failure) -> Work {
    let wrong: StaticText = "work is not work"
    guard let work = unsafe try object(handle, work, or: wrong) as? Work else {
      throw .invalid(wrong)
    }
    return work
  }

  /// The viewport behind a handle.
  static func viewport(_ handle: OpaquePointer?) throws(Failure) -> LockedViewport {
    let wrong: StaticText = "viewport is not a viewport"
    guard let viewport = unsafe try object(handle, viewport, or: wrong) as? LockedViewport else {
      throw .invalid(wrong)
    }
    return viewport
  }

  /// The items behind a handle.
  @inline(never)
  static func items(_ handle: OpaquePointer?) throws(Failure) -> Items {
    let wrong: StaticText = "items is not a list of items"
    guard let occupant = unsafe try object(handle, items, or: wrong) as? ItemsOccupant else {
      throw .invalid(wrong)
    }
    return occupant.items
  }

  /// Closes the items, lets their function go, and gives the memory back.
  static func freeItems(_ handle: OpaquePointer?) {
    guard let occupant = unsafe claim(handle, items) as? ItemsOccupant else { return }
    occupant.items.close()
    occupant.hook.drop()
  }

  /// Closes the client, lets its hooks go, and gives the memory back.
  static func freeClient(_ handle: OpaquePointer?) {
    guard let occupant = unsafe claim(handle, client) as? Occupant else { return }
    occupant.client.close()
    occupant.hooks.drop()
  }

  /// Closes the window and gives the memory back.
  static func freeWindow(_ handle: OpaquePointer?) {
    guard let window = unsafe claim(handle, window) as? Window else { return }
    window.close()
  }

  /// Closes the list and gives the memory back.
  static func freeList(_ handle: OpaquePointer?) {
    guard let list = unsafe claim(handle, list) as? ConversationList else { return }
    list.close()
  }

  /// Gives the memory of work back.
  static func freeWork(_ handle: OpaquePointer?) {
    _ = unsafe claim(handle, work)
  }

  /// Gives the memory of a viewport back.
  static func freeViewport(_ handle: OpaquePointer?) {
    _ = unsafe claim(handle, viewport)
  }

  private static func claim(_ handle: OpaquePointer?, _ word: UInt64) -> AnyObject? {
    guard let block = unsafe block(handle, word) else { return nil }
    guard unsafe block.pointee.forks == Forks.count else {
      unsafe leave(block)
      return nil
    }
    let object = unsafe block.pointee.object.takeRetainedValue()
    unsafe block.pointee.word = 0
    unsafe block.deinitialize(count: 1)
    unsafe block.deallocate()
    return object
  }

  /// Gives up the copy of a handle of the parent's, with all that lies behind it.
  private static func leave(_ block: UnsafeMutablePointer<Handle>) {
    unsafe block.pointee.word = 0
    unsafe block.pointee.left = Forks.leave(block)
  }

  /// The object behind a handle that was made in this process.
  private static func object(
    _ handle: OpaquePointer?, _ word: UInt64, or wrong: StaticText
  ) throws(Failure) -> AnyObject {
    guard let block = unsafe block(handle, word) else { throw .invalid(wrong) }
    guard unsafe block.pointee.forks == Forks.count else { throw .forked }
    return unsafe block.pointee.object.takeUnretainedValue()
  }

  private static func block(
    _ handle: OpaquePointer?, _ word: UInt64
  ) -> UnsafeMutablePointer<Handle>? {
    guard let handle = unsafe handle, unsafe isAligned(handle) else { return nil }
    let block = unsafe UnsafeMutablePointer<Handle>(handle)
    return unsafe block.pointee.word == word ? block : nil
  }
}

/// Tells whether a pointer of the host may be read as one of our blocks.
func isAligned(_ pointer: OpaquePointer) -> Bool {
  Int(bitPattern: pointer) & 7 == 0
}
