/// The host's functions with their contexts, as closures for the engine.
///
/// A context travels with its `drop`, which runs exactly once: when the client
/// is freed or its opening failed. What a hook answers is checked like anything
/// else that comes from outside.
internal import Base
internal import CTideline
internal import Engine

// The contexts belong to the host, which promises that its hooks may be called
// from any thread that calls the library; `drop` runs when no call is left.
@safe final class Hooks: @unchecked Sendable {
  private let config: tl_client_config
  private let storage: StorageTable?

  init(_ config: tl_client_config, _ storage: StorageTable?) {
    unsafe self.config = config
    self.storage = storage
  }

  /// Releases the contexts. Called once: by the handle that is freed, or by the
  /// opening that failed and so has made no handle.
  func drop() {
    if let drop = unsafe config.open_drop { unsafe drop(config.open_context) }
    if let drop = unsafe config.seal_drop { unsafe drop(config.seal_context) }
    if let drop = unsafe config.choose_drop { unsafe drop(config.choose_context) }
    if let drop = unsafe config.log_drop { unsafe drop(config.log_context) }
    storage?.drop()
  }

  /// Puts those hooks that the host gave into an engine's configuration.
  func install(in target: inout ClientConfig) {
    target.storage = storage
    if unsafe config.open != nil {
      target.open = { [self] sealed in opened(sealed) }
    }
    if unsafe config.seal != nil {
      target.seal = { [self] payload in sealed(payload) }
    }
    if unsafe config.choose != nil {
      target.choose = { [self] question in chosen(question) }
    }
    if unsafe config.log != nil {
      target.log = { [self] level, text in log(level, text) }
    }
    if unsafe config.clock != nil {
      target.clock = { [self] in now() }
    }
  }

  private func log(_ level: LogLevel, _ text: String) {
    guard let log = unsafe config.log else { return }
    var text = text
    text.withUTF8 { bytes in
      var view = unsafe tl_view(data: bytes.baseAddress, size: bytes.count)
      unsafe log(config.log_context, level.rawValue, &view)
    }
  }

  /// With the host's clock the device's wall clock is not asked, so that a run
  /// can be replayed.
  private func now() -> Instant {
    guard let clock = unsafe config.clock else { return SystemClock.now() }
    return unsafe Instant(monotonicMs: clock(config.clock_context))
  }

  /// What the host chooses; what is none of the policies chooses nothing.
  private func chosen(_ question: PolicyQuestion) -> PolicyChoice {
    guard let choose = unsafe config.choose else { return PolicyChoice() }
    var choice = tl_policy_choice()
    let isWindow = question.isWindow ? UInt32(truncatingIfNeeded: TL_POLICY_WINDOW) : 0
    let kind: Int =
      switch question.kind {
      case .conversations: TL_SYNC_CONVERSATIONS
      case .all: TL_SYNC_ALL
      case .live: TL_SYNC_LIVE
      case .older: TL_SYNC_OLDER
      case .latest, .below, .above, .at, .marker, .near, .time, .refresh, .count: TL_SYNC_LATEST
      }
    unsafe lend(question.conversation) { conversation in
      var asked = unsafe tl_policy_question(
        conversation: conversation, kind: tl_sync_kind(kind), flags: isWindow)
      unsafe choose(config.choose_context, &asked, &choice)
    }
    do {
      return try PolicyChoice(
        choice.policy, min(choice.limit_ms, UInt32(clamping: Limits.policyLimitMsMax)),
        max(choice.age_us, 0))
    } catch {
      return PolicyChoice()
    }
  }

  private func opened(_ sealed: borrowing Sealed) -> Opened {
    guard let open = unsafe config.open else { return .notYet }
    var answer = unsafe tl_opened()
    let status = unsafe withViews(sealed) { view in
      var view = unsafe view
      return unsafe open(config.open_context, &view, &answer)
    }
    if status == ABI.status(TL_NONE) { return .notYet }
    guard status == ABI.status(TL_OK) else { return .failed }
    return unsafe Opened(answer)
  }

  private func sealed(_ unsealed: borrowing Sealable) -> SealAnswer {
    guard let seal = unsafe config.seal else { return .notYet }
    var answer = unsafe tl_opened()
    let status = unsafe withViews(unsealed) { view in
      var view = unsafe view
      return unsafe seal(config.seal_context, &view, &answer)
    }
    if status == ABI.status(TL_NONE) { return .notYet }
    guard status == ABI.status(TL_OK), unsafe answer.flags == 0, unsafe answer.reserved == 0,
      unsafe answer.payload.size <= Limits.messageBytesMax, unsafe answer.searchable.size == 0,
      let bytes = unsafe answer.payload.copied(), !bytes.isEmpty
    else { return .failed }
    return .sealed(bytes)
  }

  /// Lends a payload of this user to `body` as the host sees it.
  private func withViews(
    _ unsealed: borrowing Sealable, _ body: (tl_unsealed) -> tl_status
  ) -> tl_status {
    let (client, message) = (unsealed.clientID, unsealed.message)
    let payload = unsealed.payload
    return unsafe lend(unsealed.conversation) { conversation in
      unsafe lend(client) { client in
        unsafe lend(message) { message in
          unsafe lend(payload) { payload in
            unsafe body(
              tl_unsealed(
                conversation: conversation, client_id: client, message: message,
                payload: payload))
          }
        }
      }
    }
  }

  /// Lends a message to `body` as the host sees it.
  private func withViews(
    _ sealed: borrowing Sealed, _ body: (tl_sealed) -> tl_status
  ) -> tl_status? {
    let frame = sealed.frame
    let whole = frame.indices
    let (payload, message) = (sealed.payload, sealed.message)
    guard whole.contains(payload), whole.contains(message) else { return nil }
    return unsafe lend(sealed.conversation) { conversation in
      unsafe lend(sealed.id) { id in
        unsafe lend(sealed.sender) { sender in
          unsafe frame.withUnsafeBufferPointer { bytes in
            unsafe body(
              tl_sealed(
                conversation: conversation, id: id, sender: sender,
                payload: part(bytes, payload), message: part(bytes, message)))
          }
        }
      }
    }
  }
}

/// Lends bytes to `body` as a view.
private func lend<Result>(_ bytes: [UInt8], _ body: (tl_view) -> Result) -> Result {
  unsafe bytes.withUnsafeBufferPointer { buffer in
    unsafe body(part(buffer, 0..<buffer.count))
  }
}

/// A part of some bytes as a view; the caller has checked the range.
private func part(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> tl_view {
  guard let base = bytes.baseAddress else { return unsafe tl_view() }
  return unsafe view(UnsafeRawPointer(base), range)
}

extension Opened {
  /// What the hook answered, copied; anything it should not say is a failure.
  fileprivate init(_ answer: tl_opened) {
    let known = UInt32(TL_PAYLOAD_CONTROL | TL_PAYLOAD_EVENT)
    let flags = unsafe answer.flags
    let size = unsafe answer.payload.size
    guard flags & ~known == 0, unsafe answer.reserved == 0, size <= Limits.messageBytesMax,
      unsafe answer.searchable.size <= Limits.messageBytesMax,
      let bytes = unsafe answer.payload.copied(),
      let searchable = unsafe answer.searchable.copied()
    else {
      self = .failed
      return
    }
    self = .plain(
      bytes, control: flags & UInt32(TL_PAYLOAD_CONTROL) != 0,
      event: flags & UInt32(TL_PAYLOAD_EVENT) != 0,
      searchable: searchable.isEmpty ? nil : searchable)
  }
}
