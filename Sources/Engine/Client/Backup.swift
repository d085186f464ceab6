/// A copy of the file, made in steps while the client goes on.
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
