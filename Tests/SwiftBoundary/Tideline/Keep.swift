/// Budgets, from Swift.
import CTidelineShared

extension Client {
  /// Keeps so many messages in all and of each conversation; nil keeps all.
  public func retain(messages: Int?, each: Int = 0) throws {
    guard let messages else {
      try check(tl_client_retain(handle, nil))
      return
    }
    var budget = tl_budget()
    budget.struct_size = size(tl_budget.self)
    budget.messages = UInt64(messages)
    budget.messages_each = UInt64(each)
    try check(tl_client_retain(handle, &budget))
  }

  public func purge() throws -> Work {
    var out: OpaquePointer?
    try check(tl_client_purge(handle, &out))
    return Work(try handed(out))
  }

  /// What is stored of a conversation, or of all of them.
  public func room(_ conversation: String = "") throws -> tl_room {
    var out = tl_room()
    out.struct_size = size(tl_room.self)
    try withViews([conversation]) { views in
      try check(tl_client_room(handle, views[0], &out))
    }
    return out
  }
}
