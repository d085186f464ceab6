/// A copy of the file, made in steps while the client goes on; what is left of a damaged one; and a
/// new data key.
internal import Base
internal import Store
internal import Vault

package struct Backup {
  private let client: Client

  package init(_ client: Client) { self.client = client }

  /// The work that copies what the file has now into a new one.
  package func start(_ path: String) throws(Failure) -> Work {
    try client.ensureOpen()
    do throws(StoreFailure) {
      if let copy = try client.store.copy(to: path) {
        return Work(client, BackupWork(client, copy))
      }
    } catch {
      throw Failure(error)
    }
    throw .unsupported("a client in memory has no file")
  }
}

private final class BackupWork: WorkBody {
  private let client: Client
  private let copy: VaultCopy

  init(_ client: Client, _ copy: VaultCopy) {
    self.client = client
    self.copy = copy
  }

  deinit {
    client.store.end(copy)
  }

  func step() throws(Failure) -> Bool {
    try client.ensureOpen()
    do throws(StoreFailure) { return try client.store.step(copy) } catch { throw Failure(error) }
  }

  func progress() throws(Failure) -> WorkProgress {
    let (done, total, isDone) = copy.progress
    return WorkProgress(done: done, total: total, isDone: isDone)
  }
}

/// The work that reads what is left of a file, which may not open, into a new one. No client has
/// the file meanwhile.
package enum Salvaging {
  package static func start(
    _ config: ClientConfig, to path: String
  ) throws(Failure) -> Work {
    if case .memory = config.file { throw .unsupported("a client in memory has no file") }
    do throws(StoreFailure) {
      let body = SalvageBody(try SalvagedFile(config.storeConfig, to: path))
      return Work(body, clock: config.clock)
    } catch {
      throw Failure(error)
    }
  }
}

private final class SalvageBody: WorkBody {
  private let file: SalvagedFile

  init(_ file: SalvagedFile) { self.file = file }

  func step() throws(Failure) -> Bool {
    do throws(StoreFailure) { return try file.step() } catch { throw Failure(error) }
  }

  func progress() throws(Failure) -> WorkProgress {
    let (done, total, isDone) = file.progress
    return WorkProgress(done: done, total: total, isDone: isDone)
  }
}

// MARK: - A new data key

/// A new data key for the file, and the erasing of a conversation by it.
///
/// Rule protected: what is erased goes before the first page gets the new key, from tables and
/// index, and the old key is destroyed at the end: what file, log, unused pages or earlier blocks
/// of the disk have of it is opened by no key.
package struct Rekeying {
  private let client: Client

  package init(_ client: Client) { self.client = client }

  /// Erases a conversation, unless its id is empty, and gives the work that does the rest.
  package func start(erasing conversation: [UInt8]) throws(Failure) -> Work {
    try client.ensureOpen()
    if !conversation.isEmpty { try client.check(conversation) }
    let canRotate: Bool
    do throws(StoreFailure) { canRotate = try client.store.canRotate() } catch {
      if error == .vault(.exists) {
        throw .invalid("the name that the new file needs is that of another one; move it away")
      }
      throw Failure(error)
    }
    if !canRotate {
      throw .unsupported("a client in memory has no file to seal anew")
    }
    var erased = Erased()
    if !conversation.isEmpty {
      let found = try client.input { engine, now throws(Failure) in
        try engine.healing { () throws(StoreFailure) in try engine.erase(conversation, at: now) }
      }
      guard let found else { throw .noConversation }
      erased = found
    }
    return Work(client, RekeyWork(client, erased))
  }
}

private final class RekeyWork: WorkBody {
  private enum Stage {
    /// Words of what went leave the index.
    case index(isFirst: Bool)
    case pages
    case done(fileBytes: UInt64)
  }

  private static let slice: Int64 = 64

  private let client: Client
  private let erased: Erased
  private let stage: Lock<Stage>
  /// Where this work copies pages.
  private let begun = Lock<MessageStore?>(nil)

  init(_ client: Client, _ erased: Erased) {
    self.client = client
    self.erased = erased
    stage = Lock(erased == Erased() ? .pages : .index(isFirst: true))
  }

  deinit {
    begun.withLock { $0 }?.endRotation()
  }

  func step() throws(Failure) -> Bool {
    try client.ensureOpen()
    switch stage.withLock({ $0 }) {
    case .index(let isFirst):
      var slice = SearchSlice(Self.slice)
      slice.beginsAll = isFirst
      let rest = try SearchService(client).work(slice).done.rest
      stage.withLock { $0 = rest == .nothing ? .pages : .index(isFirst: false) }
    case .pages:
      let store = client.store
      let known = begun.withLock { $0 }
      // The file was given up since, which has ended it.
      if let known, known !== store { throw .storage(4) }
      if known == nil, store.lacksOwnWork {
        // What is kept beside the file is under the key that goes.
        try client.input { engine, _ throws(Failure) in
          try engine.storing { () throws(StoreFailure) in try engine.commit { _ in } }
        }
      }
      do throws(StoreFailure) {
        if known == nil {
          _ = try store.beginRotation()
          begun.withLock { $0 = store }
          return false
        }
        guard try store.stepRotation() else { return false }
      } catch {
        begun.withLock { $0 = nil }
        throw Failure(error)
      }
      begun.withLock { $0 = nil }
      stage.withLock { $0 = .done(fileBytes: store.fileBytes) }
      return true
    case .done: return true
    }
    return false
  }

  func progress() throws(Failure) -> WorkProgress {
    if case .done(let bytes) = stage.withLock({ $0 }) {
      return WorkProgress(done: bytes, total: bytes, isDone: true)
    }
    let (done, total) = client.store.rotationProgress ?? (0, client.store.fileBytes)
    return WorkProgress(done: done, total: total, isDone: false)
  }

  var receipt: RekeyReceipt? {
    guard case .done(let bytes) = stage.withLock({ $0 }) else { return nil }
    return RekeyReceipt(
      conversations: erased.conversations, messages: erased.messages,
      operations: erased.operations, items: erased.items, bytes: erased.bytes, fileBytes: bytes)
  }
}
