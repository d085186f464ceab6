/// A look at each page of the file, in steps while the client goes on.
///
/// Rule protected: nothing is lost by the look. Healing keeps each sound page, and what was lost is
/// a gap.
internal import Base
internal import Store
internal import Vault

package enum Checking {
  /// The work that decrypts each page, and heals the file if `heals`.
  package static func start(_ client: Client, heals: Bool) throws(Failure) -> Work {
    try client.ensureOpen()
    let check: PageCheck?
    do throws(StoreFailure) { check = try client.store.pageCheck() } catch { throw Failure(error) }
    guard let check else { throw .unsupported("a client in memory has no file") }
    if heals, !client.store.isFile {
      throw .unsupported("what is on a storage is not healed")
    }
    return Work(client, CheckWork(client, check, heals: heals))
  }
}

private final class CheckWork: WorkBody {
  private struct State {
    var store: MessageStore
    var check: PageCheck
    /// Begun when all pages were read.
    var rows: RowCheck?
    var found: FileCheck?
  }

  private let client: Client
  private let heals: Bool
  private let state: Lock<State>

  init(_ client: Client, _ check: PageCheck, heals: Bool) {
    self.client = client
    self.heals = heals
    state = Lock(State(store: client.store, check: check))
  }

  func step() throws(Failure) -> Bool {
    try client.ensureOpen()
    guard let check = try unfinished() else { return true }
    var found: FileCheck
    let concerned: Contradictions
    do throws(StoreFailure) {
      guard let contradictions = try contradictions(check) else { return false }
      found = FileCheck(
        pages: check.progress.total, damaged: check.damaged,
        contradictions: contradictions.count)
      concerned = contradictions
    } catch {
      throw Failure(error)
    }
    let isDamaged = found.damaged > 0 || found.contradictions > 0
    if heals, isDamaged || client.core.metDamage.withLock({ $0 }) {
      let kept = try client.heal(isDamaged ? concerned : nil)
      found.isHealed = true
      (found.messages, found.operations) = (kept.messages, kept.operations)
    }
    state.withLock { $0.found = found }
    return true
  }

  /// A slice of the pages, or of the rows where all pages are sound; nil until the end.
  private func contradictions(_ check: PageCheck) throws(StoreFailure) -> Contradictions? {
    guard var rows = state.withLock({ $0.rows }) else {
      guard try client.store.step(check) else { return nil }
      if check.damaged > 0 { return Contradictions() }
      state.withLock { $0.rows = RowCheck() }
      return nil
    }
    do throws(StoreFailure) {
      let isDone = try client.store.step(&rows)
      state.withLock { $0.rows = rows }
      return isDone ? rows.found : nil
    } catch .damaged {
      // Nothing can be read.
      return rows.foundAll
    }
  }

  /// The walk that goes on, or a new one where the client has let go of the file since; nil at the
  /// end.
  private func unfinished() throws(Failure) -> PageCheck? {
    let store = client.store
    let known = state.withLock { $0 }
    if known.found != nil { return nil }
    if known.store === store { return known.check }
    let check: PageCheck?
    do throws(StoreFailure) { check = try store.pageCheck() } catch { throw Failure(error) }
    guard let check else { throw .closed }
    state.withLock { $0 = State(store: store, check: check) }
    return check
  }

  func progress() throws(Failure) -> WorkProgress {
    state.withLock { state in
      let (done, total) = state.check.progress
      return WorkProgress(done: done, total: total, isDone: state.found != nil)
    }
  }

  var checked: FileCheck? { state.withLock { $0.found } }
}
