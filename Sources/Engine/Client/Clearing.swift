/// Emptying the cache: all that the server can give again goes, the user's own stays.
///
/// Rule protected: what was proven about rows that are gone is forgotten with them, in
/// memory too, or a screen would call an empty conversation whole.
internal import Base
internal import Store

extension Client {
  /// Drops what the server said. Operations, drafts, read markers, refs of updates and
  /// what was forgotten here stay; syncs begin again.
  package func clear() throws(Failure) {
    try input { engine, now throws(Failure) in try engine.clear(now) }
  }
}
