// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Keep" of the header: budgets.
internal import Base
public import CTideline
internal import Engine

@implementation @_cdecl("tl_client_retain")
public func tl_client_retain(
  _ client: OpaquePointer?, _ budget: UnsafePointer<tl_budget>?
) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    var wanted = Budget()
    if unsafe budget != nil { wanted = try Budget(unsafe read(budget, zero: tl_budget())) }
    try RetentionService(client).set(wanted)
    return status(TL_OK)
  }
}

@implementation @_cdecl("tl_client_purge")
public func tl_client_purge(
  _ client: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    unsafe Handle.new(try RetentionService(client).purge())
  }
}

@implementation @_cdecl("tl_client_room")
public func tl_client_room(
  _ client: OpaquePointer?, _ conversation: tl_view, _ out: UnsafeMutablePointer<tl_room>?
) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try unsafe write(out) { () throws(Failure) in
      let id = try unsafe conversation.size == 0 ? nil : conversation.id("conversation")
      return tl_room(try RetentionService(client).room(id))
    }
    return status(TL_OK)
  }
}

extension Budget {
  fileprivate init(_ budget: tl_budget) throws(Failure) {
    self.init()
    let untold = UInt32(truncatingIfNeeded: TL_RETAIN_UNTOLD)
    guard budget.flags & ~untold == 0 else {
      throw .invalid("flags has an unknown flag of a budget")
    }
    guard budget.age_us >= 0, budget.young_us >= 0 else { throw .invalid("an age is negative") }
    messages = Int64(clamping: budget.messages)
    bytes = Int64(clamping: budget.bytes)
    messagesEach = Int64(clamping: budget.messages_each)
    bytesEach = Int64(clamping: budget.bytes_each)
    ageUs = budget.age_us
    youngUs = budget.young_us
    keepsUntold = budget.flags & untold != 0
  }
}

extension tl_room {
  fileprivate init(_ room: RoomStatus) {
    let counted = room.isCounted ? UInt32(truncatingIfNeeded: TL_ROOM_COUNTED) : 0
    let over = room.isOver ? UInt32(truncatingIfNeeded: TL_ROOM_OVER) : 0
    self.init(
      struct_size: 0, flags: counted | over, messages: room.messages, bytes: room.bytes,
      purged_messages: room.purgedMessages, purged_bytes: room.purgedBytes,
      free_bytes: room.freeBytes)
  }
}
