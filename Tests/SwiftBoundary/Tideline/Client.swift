/// One account's encrypted copy, from Swift.
///
/// The class owns its handle: `deinit` frees it, so it is freed once and after every user of it.
/// A window keeps its client, as it does inside the library.
import CTidelineShared

/// The library may be called from any thread, and so may this class.
public final class Client: @unchecked Sendable {
  let handle: OpaquePointer
  private let context: HookContext

  /// How to open one.
  public struct Options {
    /// The file, or nil to keep everything in memory.
    public var path: String?
    public var key: [UInt8] = []
    public var keyKind = Int(TL_KEY_RAW)
    public var account = ""
    public var user = "me"
    /// Flags such as `TL_OPEN_EXISTING`.
    public var flags = 0
    public var profile = tl_profile()
    public var hooks = Hooks()
    /// Keeps the bytes in the place of a file, under the name that `path` is.
    public var storage: (any Storage)?

    public init(path: String? = nil, key: [UInt8] = []) {
      self.path = path
      self.key = key
    }
  }

  public init(_ options: Options = Options()) throws {
    let context = HookContext(options.hooks)
    self.context = context
    var profile = options.profile
    profile.struct_size = size(tl_profile.self)
    let texts = [options.path ?? "", options.account, options.user].map { Array($0.utf8) }
    handle = try withViews(texts + [options.key]) { views in
      try withUnsafePointer(to: profile) { profile in
        var config = tl_client_config()
        config.struct_size = size(tl_client_config.self)
        config.flags = UInt32(options.flags | (options.path == nil ? TL_OPEN_MEMORY : 0))
        config.path = views[0]
        config.account = views[1]
        config.user_id = views[2]
        config.key = views[3]
        config.key_kind = tl_key_kind(options.keyKind)
        config.profile = profile
        context.install(in: &config)
        var out: OpaquePointer?
        guard let storage = options.storage else {
          try context.keeping { _ = try check(tl_client_open(&config, &out)) }
          return try handed(out)
        }
        // The library copies the table, and drops its context also where the opening fails.
        try withUnsafePointer(to: table(storage)) { table in
          config.storage = table
          try context.keeping { _ = try check(tl_client_open(&config, &out)) }
        }
        return try handed(out)
      }
    }
  }

  deinit {
    tl_client_free(handle)
  }

  /// Ends the client while others may still hold it: each later call on it throws.
  public func close() {
    tl_client_close(handle)
  }

  /// Closes the files until a call needs them; false where nothing was closed.
  @discardableResult
  public func rest() throws -> Bool {
    try check(tl_client_rest(handle)) == Status(TL_OK)
  }

  /// Gives the file up for another process; false where that was done before.
  @discardableResult
  public func release() throws -> Bool {
    try check(tl_client_release(handle)) == Status(TL_OK)
  }

  /// Opens the file again; false where it was not given up.
  @discardableResult
  public func reacquire() throws -> Bool {
    try check(tl_client_reacquire(handle)) == Status(TL_OK)
  }

  /// Destroys its data for good.
  public func wipe() throws {
    try check(tl_client_wipe(handle))
  }
}

/// What a call gave that succeeded.
func handed<Value>(_ out: Value?) throws -> Value {
  guard let out else { throw TidelineError(status: .none, reason: "there is nothing") }
  return out
}

// MARK: - What happened, and what is to be sent

extension Client {
  public func connected() throws {
    try context.keeping { _ = try check(tl_client_connected(handle)) }
  }

  public func disconnected() throws {
    try check(tl_client_disconnected(handle))
  }

  /// Says that nothing sent on an earlier connection reaches the server any more.
  public func connectionIsDead() throws {
    try check(tl_client_connection_dead(handle))
  }

  /// Hands in one frame from the server.
  @discardableResult
  public func receive(_ frame: String) throws -> Status {
    try context.keeping {
      try withViews([frame]) { try check(tl_client_receive(handle, $0[0])) }
    }
  }

  /// The next frame to send, or nil.
  public func nextFrame() throws -> Frame? {
    var out: UnsafeMutablePointer<tl_frame>?
    try check(tl_client_next_frame(handle, &out))
    guard let out else { return nil }
    return Frame(out)
  }

  /// Says that a frame was written to the transport; false where it is unknown.
  @discardableResult
  public func sent(_ frame: UInt64) throws -> Bool {
    try check(tl_client_frame_sent(handle, frame)) == .ok
  }

  /// Lets time act. Gives the milliseconds until it wants to be called again, or nil.
  @discardableResult
  public func advance() throws -> Int64? {
    var wait: Int64 = 0
    try context.keeping { _ = try check(tl_client_advance(handle, &wait)) }
    return wait < 0 ? nil : wait
  }

  /// A descriptor for `poll`, owned by the library.
  public func descriptor() throws -> Int32 {
    var out: Int32 = -1
    try check(tl_client_event_fd(handle, &out))
    return out
  }

  public func state() throws -> tl_state {
    var out = tl_state()
    out.struct_size = size(tl_state.self)
    try check(tl_client_state(handle, &out))
    return out
  }

  public func stats() throws -> tl_stats {
    var out = tl_stats()
    out.struct_size = size(tl_stats.self)
    try check(tl_client_stats(handle, &out))
    return out
  }
}

// MARK: - Syncs

extension Client {
  @discardableResult
  public func sync(
    _ conversation: String, kind: Int = TL_SYNC_LATEST, policy: Int = TL_POLICY_CACHE_THEN_NETWORK,
    limitMs: UInt32 = 0, ageUs: Int64 = 0
  ) throws -> UInt64 {
    try withViews([conversation]) { views in
      var request = tl_sync_request()
      request.struct_size = size(tl_sync_request.self)
      request.conversation = views[0]
      request.kind = tl_sync_kind(kind)
      request.policy = tl_policy(policy)
      request.limit_ms = limitMs
      request.age_us = ageUs
      var out: UInt64 = 0
      try check(tl_client_sync(handle, &request, &out))
      return out
    }
  }

  /// False where it had ended.
  public func cancel(sync: UInt64) throws -> Bool {
    try check(tl_client_cancel(handle, sync)) == .ok
  }

  public func status(ofSync sync: UInt64) throws -> tl_sync_status {
    var out = tl_sync_status()
    out.struct_size = size(tl_sync_status.self)
    try check(tl_client_sync_status(handle, sync, &out))
    return out
  }
}

// MARK: - Reading

extension Client {
  public func page(
    _ conversation: String, from: Int = TL_FROM_LATEST, number: UInt64 = 0, limit: UInt32 = 0
  ) throws -> Batch {
    let handle = try withViews([conversation]) { views in
      var query = tl_query()
      query.struct_size = size(tl_query.self)
      query.conversation = views[0]
      query.from = tl_from(from)
      query.number = number
      query.limit = limit
      var out: OpaquePointer?
      try check(tl_client_messages(self.handle, &query, &out))
      return try handed(out)
    }
    return Batch(handle)
  }

  public func message(_ conversation: String, _ id: String) throws -> Message {
    try withViews([conversation, id]) { views in
      var out: OpaquePointer?
      try check(tl_client_message(handle, views[0], views[1], &out))
      return try handed(Batch(try handed(out)).messages.first)
    }
  }

  /// Why a message is shown or is not: a JSON object.
  public func explain(_ conversation: String, _ id: String) throws -> String {
    try withViews([conversation, id]) { views in
      var out: UnsafeMutablePointer<tl_text>?
      try check(tl_client_explain(handle, views[0], views[1], 0, &out))
      return Text(try handed(out)).string
    }
  }

  public func numbered(
    _ conversation: String, _ numbers: ClosedRange<UInt64>, limit: UInt32 = 0
  ) throws -> [Message] {
    try withViews([conversation]) { views in
      var out: OpaquePointer?
      try check(
        tl_client_numbered(
          handle, views[0], numbers.lowerBound, numbers.upperBound, limit, &out))
      return Batch(try handed(out)).messages
    }
  }

  public func messages(_ conversation: String) throws -> [Message] {
    try page(conversation).messages
  }

  public func changes(after seq: UInt64 = 0) throws -> [Change] {
    var out: OpaquePointer?
    try check(tl_client_changes(handle, seq, 0, &out))
    guard let out else { return [] }
    return Batch(out).changes
  }

  public func events(after seq: UInt64 = 0) throws -> [Event] {
    var out: OpaquePointer?
    try check(tl_client_events(handle, seq, 0, &out))
    guard let out else { return [] }
    return Batch(out).events
  }

  public func quarantined(
    in conversation: String = "", after seq: UInt64 = 0
  ) throws -> [Quarantined] {
    try withViews([conversation]) { views in
      var out: OpaquePointer?
      try check(tl_client_quarantined(handle, views[0], seq, 0, &out))
      guard let out else { return [] }
      return Batch(out).quarantined
    }
  }

  public func entities(_ kind: Int, in conversation: String = "") throws -> [Entity] {
    try withViews([conversation]) { views in
      var query = tl_entity_query()
      query.struct_size = UInt32(MemoryLayout<tl_entity_query>.size)
      query.kind = tl_entity_kind(kind)
      query.conversation = views[0]
      var out: OpaquePointer?
      try check(tl_client_entities(handle, &query, &out))
      guard let out else { return [] }
      return Batch(out).entities
    }
  }

  public func conversations(offset: UInt32 = 0) throws -> [Conversation] {
    var out: OpaquePointer?
    try check(tl_client_conversations(handle, offset, 0, &out))
    guard let out else { return [] }
    return Batch(out).conversations
  }

  public func conversation(_ id: String) throws -> Conversation {
    try withViews([id]) { views in
      var out: OpaquePointer?
      try check(tl_client_conversation(handle, views[0], &out))
      return try handed(Batch(try handed(out)).conversations.first)
    }
  }

  /// Empties the cache: all that the server can give again.
  public func clear() throws {
    try check(tl_client_clear(handle))
  }
}

// MARK: - Acting, with hooks

extension Client {
  /// Does one thing for the user: a request of the protocol as JSON.
  @discardableResult
  public func perform(_ request: String) throws -> (operation: UInt64, number: UInt64) {
    try context.keeping {
      try withViews([request]) { views in
        var operation: UInt64 = 0
        var number: UInt64 = 0
        try check(tl_client_perform(handle, views[0], 0, &operation, &number))
        return (operation, number)
      }
    }
  }

  /// Sends a message whose payload is JSON.
  @discardableResult
  public func send(
    _ conversation: String, _ payload: String, id: String = "", attachment: String = "",
    flags: Int = 0
  ) throws -> (operation: UInt64, number: UInt64) {
    try context.keeping {
      try withViews([conversation, payload, id, attachment]) { views in
        var send = tl_send()
        send.struct_size = size(tl_send.self)
        send.flags = UInt32(flags)
        send.conversation = views[0]
        send.payload = views[1]
        send.client_id = views[2]
        send.attachment = views[3]
        var operation: UInt64 = 0
        var number: UInt64 = 0
        try check(tl_client_send(handle, &send, &operation, &number))
        return (operation, number)
      }
    }
  }

  /// Changes parameters of an operation; false where it is under way or sent.
  public func edit(_ operation: UInt64, _ request: String) throws -> Bool {
    try context.keeping {
      try withViews([request]) { try check(tl_operation_edit(handle, operation, $0[0])) == .ok }
    }
  }

  /// Offers payloads that no key was there for to the hooks again. Gives how many it opened.
  public func reopen(_ conversation: String = "") throws -> UInt64 {
    try context.keeping {
      try withViews([conversation]) { views in
        var count: UInt64 = 0
        try check(tl_client_reopen_payloads(handle, views[0], &count))
        return count
      }
    }
  }
}

/// A descriptor that can be read once somebody has let go of a file; the caller closes it.
public func fileWatch(_ path: String) throws -> Int32 {
  var out: Int32 = -1
  try withViews([path]) { views in _ = try check(tl_file_watch(views[0], &out)) }
  return out
}
