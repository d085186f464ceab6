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
    let work = Work(client)
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

/// Long work in steps. What is done stays done; who lets go of it ends it.
package final class Work: Sendable {
  package let client: Client

  fileprivate init(_ client: Client) {
    self.client = client
  }

  /// Works for about so many milliseconds, at least a little.
  package func step(milliseconds: Int64) throws(Failure) -> WorkProgress {
    let start = client.now().monotonicMs
    var isDone = false
    while !isDone {
      isDone = try Finder(client).changingIndex { control throws(StoreFailure) in
        try control.build { true }
      }
      if client.now().monotonicMs &- start >= milliseconds { break }
    }
    return try progress()
  }

  package func progress() throws(Failure) -> WorkProgress {
    let state = try client.reading { rx throws(Failure) in
      try rx.storing { rx throws(StoreFailure) in try rx.searchState() }
    }
    guard let state else { throw .notFound("search is not switched on") }
    let left = min(state.unbuilt, state.total)
    return WorkProgress(done: state.total &- left, total: state.total, isDone: state.isDone)
  }
}
