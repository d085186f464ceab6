/// Swift closures as hooks of the library.
///
/// The library holds a retained reference as a hook's context and gives it back through the drop
/// hook, once: when the client is freed, or when its opening failed.
import CTidelineShared
import Synchronization

/// What an `open` hook makes of a payload.
public enum Opened: Sendable {
  case plain(String)
  /// The key has not come yet.
  case later
  case failed
}

/// What the host does for the library. Hooks run on the thread of the call that needs them, so
/// they may run on several threads at once.
public struct Hooks: Sendable {
  /// Opens a payload, given the id of its message and its JSON.
  public var open: (@Sendable (_ id: String, _ payload: String) -> Opened)?
  /// Seals a payload: gives the JSON value that goes to the server.
  public var seal: (@Sendable (_ payload: String) -> Opened)?
  public var log: (@Sendable (_ level: tl_log_level, _ line: String) -> Void)?
  public var clock: (@Sendable () -> Int64)?
  /// Told once, when the library has let go of all hooks.
  public var dropped: (@Sendable () -> Void)?

  public init() {}
}

/// The context of all hooks of one client.
final class HookContext: Sendable {
  let hooks: Hooks
  private let kept = Mutex(Kept())

  /// What the hooks made, which has to stay until the call that ran them has returned.
  private struct Kept: @unchecked Sendable {
    // Only touched under the mutex, and handed to no other thread.
    var calls = 0
    var blocks: [UnsafeMutableBufferPointer<UInt8>] = []
  }

  init(_ hooks: Hooks) {
    self.hooks = hooks
  }

  deinit {
    hooks.dropped?()
  }

  /// Runs a call that may run hooks.
  func keeping<Result>(_ call: () throws -> Result) rethrows -> Result {
    kept.withLock { $0.calls += 1 }
    defer {
      kept.withLock { kept in
        kept.calls -= 1
        if kept.calls == 0 {
          for block in kept.blocks { block.deallocate() }
          kept.blocks = []
        }
      }
    }
    return try call()
  }

  /// Hands a text to the library.
  func hand(_ text: String) -> tl_view {
    let block = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.utf8.count)
    _ = block.initialize(from: text.utf8)
    kept.withLock { $0.blocks.append(block) }
    return tl_view(data: UnsafePointer(block.baseAddress), size: block.count)
  }

  private func answer(_ opened: Opened, _ out: UnsafeMutablePointer<tl_opened>?) -> tl_status {
    switch opened {
    case .plain(let text):
      out?.pointee.payload = hand(text)
      return tl_status(TL_OK)
    case .later: return tl_status(TL_NONE)
    case .failed: return tl_status(TL_E_INVALID)
    }
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> HookContext? {
    context.map { Unmanaged<HookContext>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Writes the hooks into a configuration. Each context is a reference of its own, which the
  /// library gives back.
  func install(in config: inout tl_client_config) {
    let drop: tl_drop_hook = { context in
      guard let context else { return }
      Unmanaged<HookContext>.fromOpaque(context).release()
    }
    if hooks.open != nil {
      config.open_context = Unmanaged.passRetained(self).toOpaque()
      config.open_drop = drop
      config.open = { context, sealed, out in
        guard let box = HookContext.from(context), let open = box.hooks.open, let sealed else {
          return tl_status(TL_E_INVALID)
        }
        return box.answer(open(sealed.pointee.id.string, sealed.pointee.payload.string), out)
      }
    }
    if hooks.seal != nil {
      config.seal_context = Unmanaged.passRetained(self).toOpaque()
      config.seal_drop = drop
      config.seal = { context, unsealed, out in
        guard let box = HookContext.from(context), let seal = box.hooks.seal, let unsealed else {
          return tl_status(TL_E_INVALID)
        }
        return box.answer(seal(unsealed.pointee.payload.string), out)
      }
    }
    if hooks.log != nil {
      config.log_context = Unmanaged.passRetained(self).toOpaque()
      config.log_drop = drop
      config.log = { context, level, line in
        guard let line else { return }
        HookContext.from(context)?.hooks.log?(level, line.pointee.string)
      }
    }
    if hooks.clock != nil {
      // It needs no drop hook: the client keeps the context longer than the library does.
      config.clock_context = Unmanaged.passUnretained(self).toOpaque()
      config.clock = { context in HookContext.from(context)?.hooks.clock?() ?? 0 }
    }
  }
}
