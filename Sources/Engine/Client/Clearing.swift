/// Emptying the cache: all that the server can give again goes, the user's own stays.
///
/// Rule protected: what was proven about rows that are gone is forgotten with them, in
/// memory too, or a screen would call an empty conversation whole. What empties the file or gives
/// it away never fails because a page of it is damaged: what was lost becomes a gap.
internal import Base
internal import Store

extension Client {
  /// Drops what the server said. Operations, drafts, read markers, refs of updates and
  /// what was forgotten here stay; syncs begin again.
  package func clear() throws(Failure) {
    try input { engine, now throws(Failure) in try engine.clear(now) }
  }

  // MARK: Beside damage

  /// Writes what the sound pages of the file say over all of it. Nil: it was not looked for what
  /// contradicts something.
  @discardableResult func heal(_ known: Contradictions? = nil) throws(Failure) -> Salvaged {
    try input { engine, now throws(Failure) in
      let found = try engine.heal(known)
      core.metDamage.withLock { $0 = false }
      engine.pump(now)
      return found
    }
  }

  /// A read; where a page of the file is damaged the file is healed, and it is read once more.
  func readingHealed<Result>(
    _ body: (Reading) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    do throws(Failure) { return try reading(body) } catch {
      guard error == .damaged else { throw error }
    }
    try heal()
    return try reading(body)
  }
}
