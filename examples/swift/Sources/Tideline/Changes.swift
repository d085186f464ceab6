/// The change feed as an asynchronous sequence.
import CTideline

/// One commit's changes of one conversation.
public struct Change: Sendable, Equatable {
  public let seq: UInt64
  public let kind: Int32
  public let first: UInt64
  public let last: UInt64
  public let conversation: String

  /// Whether messages were inserted.
  public var isInsertion: Bool { kind == Int32(TL_CHANGE_INSERTED) }

  init(_ entry: tl_change) {
    seq = entry.seq
    kind = entry.kind
    first = entry.first
    last = entry.last
    conversation = String(entry.conversation)
  }
}

/// Changes without end: it ends where its task is cancelled, and fails with `TL_RESYNC` where
/// entries that were not read are not kept any more. Then read anew, and go on from the newest.
public struct Changes: AsyncSequence, Sendable {
  public typealias Element = Change
  public typealias Failure = Tideline.Failure

  let client: Client
  let seq: UInt64

  public func makeAsyncIterator() -> Iterator {
    Iterator(client: client, seq: seq, news: client.news().makeAsyncIterator())
  }

  public struct Iterator: AsyncIteratorProtocol {
    public typealias Failure = Tideline.Failure

    let client: Client
    var seq: UInt64
    var news: AsyncStream<Void>.Iterator
    var read: ArraySlice<Change> = []

    public mutating func next() async throws(Tideline.Failure) -> Change? {
      try await next(isolation: nil)
    }

    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(Tideline.Failure) -> Change? {
      while read.isEmpty {
        read = try pull()[...]
        if read.isEmpty, await news.next(isolation: actor) == nil { return nil }
      }
      let change = read.removeFirst()
      seq = change.seq
      return change
    }

    private func pull() throws(Tideline.Failure) -> [Change] {
      var batch: OpaquePointer?
      let status = try check(tl_client_changes(client.handle, seq, 0, &batch))
      defer { tl_batch_free(batch) }
      guard status != Int32(TL_RESYNC) else {
        throw Failure(status: status, reason: "changes after \(seq) are not kept any more")
      }
      var count = 0
      let entries = tl_batch_changes(batch, &count)
      return UnsafeBufferPointer(start: entries, count: count).map(Change.init)
    }
  }
}
