/// When the index of words is merged, and how much of it at a time.
///
/// Rule protected: it takes a little of the host's thread at a time and no more than a fraction of
/// it, whatever there is to do.
internal import Base
internal import Store

/// How much work fits into a time, by what it took before.
struct SliceSize {
  private static let least: Int64 = 16
  /// So much text takes a fifth of a second at most, should nothing before have been as slow.
  private static let most: Int64 = 1_024

  /// What is done in a millisecond.
  private var rate: Int64 = 8

  func size(aim milliseconds: Int64) -> Int64 {
    min(max(rate &* milliseconds, Self.least), Self.most)
  }

  /// So much was done, and took so long. What was slow is believed at once, and what was fast by
  /// doubling: a clock that gives milliseconds often says that it took none. Where nothing was done
  /// nothing is known.
  mutating func note(_ size: Int64, tookMs: Int64) {
    if size <= 0 { return }
    let seen = max(size / max(tookMs, 1), 1)
    rate = min(seen, rate &* 2, Self.most)
  }
}

/// The index is merged while the host lets time act, a little at a time.
struct IndexUpkeep {
  /// What a slice is to take, and the pause after it.
  static let sliceMs: Int64 = 2
  static let pauseMs: Int64 = 25
  /// After one that found nothing to do.
  static let restMs: Int64 = 250
  /// After one that failed.
  static let troubleMs: Int64 = 60_000
  /// All is merged to one segment this often at most, since it writes the whole index anew.
  static let allMs: Int64 = 600_000

  private var size = SliceSize()
  /// What was last looked at; nil before the first look at the file.
  private var changes: UInt64?
  private var notBeforeMs = Int64.min
  private var allNotBeforeMs = Int64.min
  private var isDue = true
  private var allIsDue = false

  /// What is to be done now; nil where nothing is.
  mutating func next(_ nowMs: Int64, changes: UInt64) -> SearchSlice? {
    if self.changes != changes || allIsDue && nowMs >= allNotBeforeMs { isDue = true }
    self.changes = changes
    guard isDue, nowMs >= notBeforeMs else { return nil }
    return SearchSlice(
      size.size(aim: Self.sliceMs), builds: false, mergesAll: nowMs >= allNotBeforeMs)
  }

  /// A slice was done, or failed, which ended at a time.
  mutating func note(
    _ done: (rest: SearchSlice.Rest, size: Int64, tookMs: Int64)?, _ nowMs: Int64
  ) {
    guard let done else {
      notBeforeMs = nowMs &+ Self.troubleMs
      isDue = true
      return
    }
    size.note(done.size, tookMs: done.tookMs)
    allIsDue = done.rest == .due
    isDue = done.rest == .more || done.rest == .begun
    notBeforeMs = nowMs &+ (isDue ? Self.pauseMs : Self.restMs)
    if done.rest == .begun { allNotBeforeMs = nowMs &+ Self.allMs }
  }

  /// Milliseconds until something is to be done; nil where nothing is.
  func waitMs(_ nowMs: Int64) -> Int64? {
    if isDue { return max(notBeforeMs &- nowMs, 0) }
    return allIsDue ? max(allNotBeforeMs &- nowMs, 0) : nil
  }
}

extension SearchService {
  /// Merges a little of the index where that is due; milliseconds until there is more to do, or
  /// something else is due, which -1 says of nothing.
  func keepIndex(_ nowMs: Int64, before waitMs: Int64) throws(Failure) -> Int64 {
    guard let upkeepMs = try keepIndex(nowMs) else { return waitMs }
    return waitMs < 0 ? upkeepMs : min(waitMs, upkeepMs)
  }

  private func keepIndex(_ nowMs: Int64) throws(Failure) -> Int64? {
    let changes = client.store.indexChanges
    let slice = client.upkeep.withLock { $0.next(nowMs, changes: changes) }
    guard let slice else { return client.upkeep.withLock { $0.waitMs(nowMs) } }
    var done: (rest: SearchSlice.Rest, size: Int64, tookMs: Int64)?
    do throws(Failure) {
      let (one, tookMs) = try work(slice)
      done = (one.rest, one.size, tookMs)
    } catch .closed {
      throw .closed
    } catch .internal(let text) {
      throw .internal(text)
    } catch {
      // It is no input: nothing is lost where it failed, and it is tried again later.
    }
    return client.upkeep.withLock {
      $0.note(done, nowMs &+ (done?.tookMs ?? 0))
      return $0.waitMs(nowMs)
    }
  }
}
