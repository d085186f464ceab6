/// A copy of the file, made in steps while the client goes on; and what is left of a damaged one.
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
