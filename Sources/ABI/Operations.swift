// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Section "Act" of the header: operations, what the user does and the server is told.
internal import Base
public import CTideline
internal import Engine

/// What the header says of a request and of the attachment in it.
private let requestExcess: Failure = .tooLarge("a request is over 1 MiB")

@implementation @_cdecl("tl_client_perform")
public func tl_client_perform(
  _ client: OpaquePointer?, _ request: tl_view, _ flags: UInt32,
  _ operation: UnsafeMutablePointer<UInt64>?, _ number: UnsafeMutablePointer<UInt64>?
) -> tl_status {
  unsafe perform(client, operation, number) { client throws(Failure) in
    let json = try unsafe request.bytes(
      "request", atMost: Limits.requestBytesMax, or: requestExcess)
    return try client.perform(json, PerformOptions(flags))
  }
}

@implementation @_cdecl("tl_client_send")
public func tl_client_send(
  _ client: OpaquePointer?, _ send: UnsafePointer<tl_send>?,
  _ operation: UnsafeMutablePointer<UInt64>?, _ number: UnsafeMutablePointer<UInt64>?
) -> tl_status {
  unsafe perform(client, operation, number) { client throws(Failure) in
    let send = try unsafe read(send, zero: tl_send())
    return try unsafe client.send(Outgoing(send), PerformOptions(send.flags))
  }
}

private func perform(
  _ client: OpaquePointer?, _ operation: UnsafeMutablePointer<UInt64>?,
  _ number: UnsafeMutablePointer<UInt64>?,
  _ body: (Client) throws(Failure) -> (operation: UInt64, number: UInt64)
) -> tl_status {
  unsafe operation?.pointee = 0
  unsafe number?.pointee = 0
  return unsafe boundary(client) { client throws(Failure) in
    let performed = try body(client)
    unsafe operation?.pointee = performed.operation
    unsafe number?.pointee = performed.number
    return status(TL_OK)
  }
}

extension PerformOptions {
  fileprivate init(_ flags: UInt32) throws(Failure) {
    let upload = UInt32(truncatingIfNeeded: TL_PERFORM_UPLOAD)
    guard flags & ~upload == 0 else { throw .invalid("flags has an unknown flag of an operation") }
    self.init(awaitsUpload: flags & upload != 0)
  }
}

extension Outgoing {
  fileprivate init(_ send: tl_send) throws(Failure) {
    self.init(
      conversation: try unsafe send.conversation.id("conversation", mayBeTooLarge: true),
      payload: try unsafe send.payload.bytes(
        "payload", atMost: Limits.requestBytesMax, or: requestExcess))
    attachment = try unsafe send.attachment.object("attachment")
    metadata = try unsafe send.metadata.object("metadata")
    if unsafe send.reply_to.size != 0 {
      replyTo = try unsafe send.reply_to.id("reply_to", mayBeTooLarge: true)
    }
    if unsafe send.client_id.size != 0 {
      clientID = try unsafe send.client_id.id("client_id", mayBeTooLarge: true)
    }
  }
}

extension tl_view {
  /// What may only be a JSON object, or nothing; that it is JSON is seen by who reads it.
  fileprivate func object(_ name: StaticString) throws(Failure) -> [UInt8] {
    let json = try unsafe bytes(name, atMost: Limits.requestBytesMax, or: requestExcess)
    let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
    guard json.isEmpty || json.first(where: { !blanks.contains($0) }) == UInt8(ascii: "{")
    else { throw .invalid(StaticText(name, "is not a JSON object")) }
    return json
  }
}

@implementation @_cdecl("tl_client_operations")
public func tl_client_operations(
  _ client: OpaquePointer?, _ query: UnsafePointer<tl_operation_query>?,
  _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    let zero = unsafe tl_operation_query()
    let query = try unsafe query == nil ? zero : read(query, zero: zero)
    let page = try client.operations(unsafe OperationQuery(query))
    if page.rows.isEmpty { return nil }
    return unsafe try Batch.new(page)
  }
}

extension OperationQuery {
  fileprivate init(_ query: tl_operation_query) throws(Failure) {
    let open = UInt32(truncatingIfNeeded: TL_OPERATIONS_OPEN)
    let flags = unsafe query.flags
    guard flags & ~open == 0 else { throw .invalid("flags has an unknown flag of a query") }
    try mustBeZero(unsafe query.reserved, "reserved is not zero")
    let isOfAll = unsafe query.conversation.size == 0
    self.init(
      conversation: isOfAll ? nil : try unsafe query.conversation.id("conversation"),
      openOnly: flags & open != 0, after: unsafe query.after,
      limit: try count(
        unsafe query.limit, zero: 256, atMost: Limits.readRowsMax, "limit is over 10,000"))
  }
}

@implementation @_cdecl("tl_client_operation")
public func tl_client_operation(
  _ client: OpaquePointer?, _ operation: UInt64, _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> tl_status {
  unsafe boundary(client, out) { client throws(Failure) in
    unsafe try Batch.new(client.operation(operation))
  }
}

@implementation @_cdecl("tl_batch_operations")
public func tl_batch_operations(
  _ batch: OpaquePointer?, _ count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<tl_operation>? {
  unsafe Batch.contents(batch, .operations, count)
}

/// Runs `body`; false is "there was nothing to do".
private func change(
  _ client: OpaquePointer?, _ body: (Client) throws(Failure) -> Bool
) -> tl_status {
  unsafe boundary(client) { client throws(Failure) in
    try body(client) ? status(TL_OK) : status(TL_NONE)
  }
}

@implementation @_cdecl("tl_operation_retry")
public func tl_operation_retry(_ client: OpaquePointer?, _ operation: UInt64) -> tl_status {
  unsafe change(client) { client throws(Failure) in try client.retry(operation) }
}

@implementation @_cdecl("tl_operation_cancel")
public func tl_operation_cancel(_ client: OpaquePointer?, _ operation: UInt64) -> tl_status {
  unsafe change(client) { client throws(Failure) in try client.cancel(operation: operation) }
}

@implementation @_cdecl("tl_operation_edit")
public func tl_operation_edit(
  _ client: OpaquePointer?, _ operation: UInt64, _ request: tl_view
) -> tl_status {
  unsafe change(client) { client throws(Failure) in
    let json = try unsafe request.bytes(
      "request", atMost: Limits.requestBytesMax, or: requestExcess)
    return try client.editOperation(operation, json)
  }
}

@implementation @_cdecl("tl_operation_progress")
public func tl_operation_progress(
  _ client: OpaquePointer?, _ operation: UInt64, _ permille: UInt32
) -> tl_status {
  unsafe change(client) { client throws(Failure) in
    guard permille <= 1_000 else { throw .invalid("permille is over 1,000") }
    return try client.uploadProgress(operation, permille: permille)
  }
}

@implementation @_cdecl("tl_operation_uploaded")
public func tl_operation_uploaded(
  _ client: OpaquePointer?, _ operation: UInt64, _ attachment: tl_view
) -> tl_status {
  unsafe change(client) { client throws(Failure) in
    try client.uploaded(operation, attachment: unsafe attachment.object("attachment"))
  }
}

@implementation @_cdecl("tl_operation_upload_failed")
public func tl_operation_upload_failed(
  _ client: OpaquePointer?, _ operation: UInt64, _ reason: tl_view
) -> tl_status {
  unsafe change(client) { client throws(Failure) in
    let reason = try unsafe reason.text(
      "reason", atMost: Limits.refusalBytesMax, or: .tooLarge("a reason is over 1,024 bytes"))
    return try client.uploadFailed(operation, reason: reason)
  }
}

@implementation @_cdecl("tl_client_reopen_payloads")
public func tl_client_reopen_payloads(
  _ client: OpaquePointer?, _ conversation: tl_view, _ count: UnsafeMutablePointer<UInt64>?
) -> tl_status {
  unsafe count?.pointee = 0
  return unsafe boundary(client) { client throws(Failure) in
    let isOfAll = unsafe conversation.size == 0
    let opened = try client.reopenPayloads(
      conversation: isOfAll ? nil : unsafe conversation.id("conversation"))
    unsafe count?.pointee = UInt64(clamping: opened)
    return opened > 0 ? status(TL_OK) : status(TL_NONE)
  }
}
