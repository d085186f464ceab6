/// What the user does, from Swift.
import CTidelineShared

extension Client {
  public func operations(
    in conversation: String = "", after: UInt64 = 0, openOnly: Bool = false
  ) throws -> [Operation] {
    try withViews([conversation]) { views in
      var query = tl_operation_query()
      query.struct_size = size(tl_operation_query.self)
      query.flags = openOnly ? UInt32(TL_OPERATIONS_OPEN) : 0
      query.conversation = views[0]
      query.after = after
      var out: OpaquePointer?
      try check(tl_client_operations(handle, &query, &out))
      guard let out else { return [] }
      return Batch(out).operations
    }
  }

  public func operation(_ id: UInt64) throws -> Operation {
    var out: OpaquePointer?
    try check(tl_client_operation(handle, id, &out))
    return try handed(Batch(try handed(out)).operations.first)
  }

  public func retry(_ operation: UInt64) throws -> Bool {
    try check(tl_operation_retry(handle, operation)) == .ok
  }

  public func cancel(operation: UInt64) throws -> Bool {
    try check(tl_operation_cancel(handle, operation)) == .ok
  }

  public func progress(_ operation: UInt64, permille: UInt32) throws -> Bool {
    try check(tl_operation_progress(handle, operation, permille)) == .ok
  }

  public func uploaded(_ operation: UInt64, attachment: String = "") throws -> Bool {
    try withViews([attachment]) {
      try check(tl_operation_uploaded(handle, operation, $0[0])) == .ok
    }
  }

  public func uploadFailed(_ operation: UInt64, reason: String) throws -> Bool {
    try withViews([reason]) {
      try check(tl_operation_upload_failed(handle, operation, $0[0])) == .ok
    }
  }

  /// False where it is not connected.
  public func typing(_ conversation: String, _ event: Int = TL_TYPING_BEGIN) throws -> Bool {
    try withViews([conversation]) {
      try check(tl_client_typing(handle, $0[0], tl_typing(event))) == .ok
    }
  }

  public func draft(_ conversation: String, _ text: String, replyTo: String = "") throws {
    try withViews([conversation, text, replyTo]) { views in
      var draft = tl_draft()
      draft.struct_size = size(tl_draft.self)
      (draft.conversation, draft.text, draft.reply_to) = (views[0], views[1], views[2])
      _ = try check(tl_client_draft(handle, &draft))
    }
  }

  public func markRead(_ conversation: String, _ ids: [String]) throws {
    try withViews([conversation] + ids) { views in
      let rest = Array(views.dropFirst())
      try check(tl_client_mark_read(handle, views[0], rest, rest.count))
    }
  }

  public func markDelivered(_ conversation: String, _ ids: [String]) throws {
    try withViews([conversation] + ids) { views in
      let rest = Array(views.dropFirst())
      try check(tl_client_mark_delivered(handle, views[0], rest, rest.count))
    }
  }

  public func markListened(_ conversation: String, _ ids: [String]) throws {
    try withViews([conversation] + ids) { views in
      let rest = Array(views.dropFirst())
      try check(tl_client_mark_listened(handle, views[0], rest, rest.count))
    }
  }

  public func forget(_ conversation: String, _ id: String) throws {
    try withViews([conversation, id]) { views in
      _ = try check(tl_client_forget(handle, views[0], views[1]))
    }
  }

  /// Takes a message, or all of the conversation, out of the cache, so that it may come anew.
  public func drop(_ conversation: String, _ id: String = "") throws {
    try withViews([conversation, id]) { views in
      _ = try check(tl_client_drop(handle, views[0], views[1]))
    }
  }
}
