/// A client: what the host says and asks, from any task.
import CTideline
import Dispatch
import Glibc
import Synchronization

/// One account. It opens no socket: call `run` with a function that sends frames, and `receive`
/// with each frame that arrives.
public final class Client: Sendable {
  /// The library takes calls from any thread.
  nonisolated(unsafe) let handle: OpaquePointer
  private let listeners = Mutex<[UInt64: AsyncStream<Void>.Continuation]>([:])
  private let queue = DispatchQueue(label: "tideline")

  /// Opens a client in memory.
  public init(user: String) throws(Failure) {
    handle = try user.lent { (user) throws(Failure) in
      var config = tl_client_config()
      config.struct_size = UInt32(MemoryLayout<tl_client_config>.size)
      config.flags = UInt32(TL_OPEN_MEMORY)
      config.user_id = user
      var out: OpaquePointer?
      try check(tl_client_open(&config, &out))
      guard let out else { throw Failure(status: Int32(TL_E_INTERNAL), reason: "no client") }
      return out
    }
  }

  deinit {
    tl_client_free(handle)
  }

  /// Says that a connection to the server stands.
  public func connected() throws(Failure) {
    try check(tl_client_connected(handle))
  }

  /// Hands in one frame from the server.
  public func receive(_ frame: String) throws(Failure) {
    try frame.lent { (view) throws(Failure) in _ = try check(tl_client_receive(handle, view)) }
  }

  /// Sends a message, whose payload is JSON; it is stored when this returns.
  public func send(_ conversation: String, payload: String) throws(Failure) {
    try conversation.lent { (conversation) throws(Failure) in
      try payload.lent { (payload) throws(Failure) in
        var send = tl_send()
        send.struct_size = UInt32(MemoryLayout<tl_send>.size)
        send.conversation = conversation
        send.payload = payload
        try check(tl_client_send(handle, &send, nil, nil))
      }
    }
  }

  /// The newest messages of a conversation, oldest first.
  public func messages(_ conversation: String, limit: UInt32 = 50) throws(Failure) -> [Message] {
    try conversation.lent { (conversation) throws(Failure) in
      var query = tl_query()
      query.struct_size = UInt32(MemoryLayout<tl_query>.size)
      query.conversation = conversation
      query.limit = limit
      var batch: OpaquePointer?
      try check(tl_client_messages(handle, &query, &batch))
      defer { tl_batch_free(batch) }
      var count = 0
      let rows = tl_batch_rows(batch, &count)
      return UnsafeBufferPointer(start: rows, count: count).map(Message.init)
    }
  }

  /// What was committed after an entry of the feed, and then each change as it is committed.
  public func changes(after seq: UInt64 = 0) -> Changes {
    Changes(client: self, seq: seq)
  }

  /// Carries frames and runs timers until the task is cancelled.
  public func run(send: @Sendable (String) async throws -> Void) async throws {
    var descriptor: Int32 = -1
    try check(tl_client_event_fd(handle, &descriptor))
    while !Task.isCancelled {
      // Taking the last frame is what clears the descriptor; then changes are pulled.
      while let frame = try next() {
        try await send(frame.bytes)
        try check(tl_client_frame_sent(handle, frame.id))
      }
      listeners.withLock { for listener in $0.values { listener.yield() } }
      var wait: Int64 = -1
      try check(tl_client_advance(handle, &wait))
      await readable(descriptor, milliseconds: wait)
    }
  }

  private func next() throws(Failure) -> (id: UInt64, bytes: String)? {
    var out: UnsafeMutablePointer<tl_frame>?
    try check(tl_client_next_frame(handle, &out))
    guard let frame = out else { return nil }
    defer { tl_frame_free(frame) }
    return (frame.pointee.id, String(frame.pointee.bytes))
  }

  /// Waits on a thread of its own; at most a tenth of a second, so that a cancel is seen.
  private func readable(_ descriptor: Int32, milliseconds: Int64) async {
    await withCheckedContinuation { waiting in
      queue.async {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&wanted, 1, Int32(milliseconds < 0 ? 100 : min(milliseconds, 100)))
        waiting.resume()
      }
    }
  }

  /// News for one listener, until it is let go of.
  func news() -> AsyncStream<Void> {
    let (stream, listener) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let id = listeners.withLock { all in
      let id = (all.keys.max() ?? 0) + 1
      all[id] = listener
      return id
    }
    listener.onTermination = { [weak self] _ in
      self?.listeners.withLock { $0[id] = nil }
    }
    return stream
  }
}

/// One message, as far as this example reads it.
public struct Message: Sendable, Equatable {
  public let number: UInt64
  public let id: String
  public let sender: String
  public let payload: String

  init(_ row: tl_message) {
    number = row.number
    id = String(row.id)
    sender = String(row.sender)
    payload = String(row.payload)
  }
}
