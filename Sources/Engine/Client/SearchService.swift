/// Search: switched on and off, built in steps, asked.
///
/// Rule protected: work that takes long is done in slices, each a transaction of its own, so that
/// it goes on where it was after any end, and others come in between.
internal import Base
internal import Store

package struct SearchService {
  let client: Client

  package init(_ client: Client) {
    self.client = client
  }

  /// Switches search on or off; false where it was so.
  package func switchSearch(on isOn: Bool) throws(Failure) -> Bool {
    try changingIndex { control throws(StoreFailure) in
      isOn ? try control.switchOn() : try control.switchOff()
    }
  }

  package func search(_ query: SearchQuery) throws(Failure) -> HitPage {
    for id in [query.conversation, query.sender] { if let id { try client.check(id) } }
    if let behind = query.behind, behind.client != client.mark {
      throw .invalid("behind holds hits of another client")
    }
    var page = try client.reading { rx throws(Failure) in try rx.hits(query) }
    page.order?.client = client.mark
    return page
  }

  /// Conversations of which a search does not see all, behind a local number, or only one.
  package func unsearched(
    _ conversation: [UInt8]?, after number: UInt64, limit: Int
  ) throws(Failure) -> [UnsearchedView] {
    if let conversation { try client.check(conversation) }
    guard (1...Limits.readRowsMax).contains(limit) else {
      throw .invalid("limit is not between 1 and 10,000")
    }
    return try client.reading { rx throws(Failure) in
      try rx.unsearched(conversation, after: number, limit: limit)
    }
  }

  /// The work that builds the index and merges it.
  package func buildSearch() throws(Failure) -> Work {
    let work = Work(client, SearchBuild(client: client))
    _ = try work.progress()
    return work
  }

  /// The work that looks whether the index has what the messages say.
  package func checkSearch() throws(Failure) -> Work {
    let body = SearchCheckup(client: client)
    let work = Work(client, body)
    let state = try client.reading { rx throws(Failure) in
      try rx.storing { rx throws(StoreFailure) in try rx.searchReader.state() }
    }
    guard state != nil else { throw .notFound("search is not switched on") }
    return work
  }

  /// Throws the index away, to be built anew.
  fileprivate func rebuildSearch() throws(Failure) {
    try changingIndex { control throws(StoreFailure) in try control.rebuild() }
  }

  private func changingIndex<Result>(
    _ body: (SearchControl) throws(StoreFailure) -> Result
  ) throws(Failure) -> Result {
    try client.input { engine, _ throws(Failure) in
      try engine.storing { () throws(StoreFailure) in
        try engine.commit { tx throws(StoreFailure) in try body(try SearchControl(tx)) }
      }
    }
  }

  /// One slice, which changes nothing that a host would want to hear of; and how long it took.
  func work(_ slice: SearchSlice) throws(Failure) -> (done: SearchSlice.Done, tookMs: Int64) {
    let start = client.now().monotonicMs
    let done = try client.input { engine, _ throws(Failure) in
      try engine.storing { () throws(StoreFailure) in
        // By a commit that the engine follows.
        if engine.store.lacksOwnWork { try engine.commit { _ in } }
        let done = try engine.store.writeSlice { tx throws(StoreFailure) in
          try SearchControl(tx).work(slice)
        }
        engine.lastLSN = engine.store.lsn
        return done
      }
    }
    return (done, client.now().monotonicMs &- start)
  }
}

/// Brings what is stored into the index, and merges that.
private struct SearchBuild: WorkBody {
  /// What one slice of it is to take, in milliseconds.
  private static let sliceMs: Int64 = 5

  let client: Client
  private let size = Lock(SliceSize())
  private let hasBegun = Lock(false)

  init(client: Client) { self.client = client }

  func step() throws(Failure) -> Bool {
    var slice = SearchSlice(size.withLock { $0.size(aim: Self.sliceMs) })
    slice.beginsAll = hasBegun.withLock { hasBegun in
      defer { hasBegun = true }
      return !hasBegun
    }
    let (done, tookMs) = try SearchService(client).work(slice)
    size.withLock { $0.note(done.size, tookMs: tookMs) }
    return done.rest == .nothing
  }

  func progress() throws(Failure) -> WorkProgress {
    let state = try client.reading { rx throws(Failure) in
      try rx.storing { rx throws(StoreFailure) in try rx.searchReader.state() }
    }
    guard let state else { throw .notFound("search is not switched on") }
    let left = min(state.unbuilt, state.total)
    return WorkProgress(done: state.total &- left, total: state.total, isDone: state.isDone)
  }
}

/// Looks at what is in the index; one that is wrong is thrown away.
private struct SearchCheckup: WorkBody {
  private static let sliceMs: Int64 = 5

  let client: Client
  private let size = Lock(SliceSize())
  private let check = Lock(SearchCheck())

  init(client: Client) { self.client = client }

  func step() throws(Failure) -> Bool {
    let start = client.now().monotonicMs
    let asked = size.withLock { $0.size(aim: Self.sliceMs) }
    var check = check.withLock { $0 }
    let finding = try client.reading(takesLong: true) { rx throws(Failure) in
      try rx.storing { rx throws(StoreFailure) in try check.step(rx, size: asked) }
    }
    guard let finding else { throw .notFound("search is not switched on") }
    if finding == .behind {
      // It looks at what is indexed once that is what the messages say.
      _ = try SearchService(client).work(SearchSlice(asked, builds: false, mergesAll: false))
      return false
    }
    size.withLock { $0.note(asked, tookMs: client.now().monotonicMs &- start) }
    if finding == .wrong {
      self.check.withLock { $0 = SearchCheck() }
      try SearchService(client).rebuildSearch()
      throw .damaged
    }
    self.check.withLock { $0 = check }
    return finding == .right
  }

  func progress() throws(Failure) -> WorkProgress {
    let check = check.withLock { $0 }
    return WorkProgress(done: check.done, total: check.total, isDone: check.isDone)
  }
}
