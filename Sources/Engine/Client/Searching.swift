/// Search: switched on and off, built in steps, asked.
///
/// Rule protected: work that takes long is done in steps, each a transaction of its own, so that
/// it goes on where it was after any end.
internal import Base
internal import Store

package struct Finder {
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
    return try client.reading { rx throws(Failure) in try rx.hits(query) }
  }

  /// The work that builds the index.
  package func buildSearch() throws(Failure) -> Work {
    let work = Work(client, SearchBuild(client: client))
    _ = try work.progress()
    return work
  }

  fileprivate func changingIndex<Result>(
    _ body: (SearchControl) throws(StoreFailure) -> Result
  ) throws(Failure) -> Result {
    try client.input { engine, _ throws(Failure) in
      try engine.storing { () throws(StoreFailure) in
        try engine.commit { tx throws(StoreFailure) in try body(try SearchControl(tx)) }
      }
    }
  }
}

/// Brings what is stored into the index.
private struct SearchBuild: WorkBody {
  let client: Client

  func step() throws(Failure) -> Bool {
    try Finder(client).changingIndex { control throws(StoreFailure) in
      try control.build { true }
    }
  }

  func progress() throws(Failure) -> WorkProgress {
    let state = try client.reading { rx throws(Failure) in
      try rx.storing { rx throws(StoreFailure) in try rx.searchState() }
    }
    guard let state else { throw .notFound("search is not switched on") }
    let left = min(state.unbuilt, state.total)
    return WorkProgress(done: state.total &- left, total: state.total, isDone: state.isDone)
  }
}
