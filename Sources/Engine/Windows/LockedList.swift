/// A list of conversations, as it lies behind its lock.
///
/// Rule protected: as in `LockedWindow`, nothing here can reach a hook of the host's.
internal import Base
internal import Store
internal import Timeline

final class LockedList: Sendable {
  private let live: LiveQuery<ListState>
  private var core: Core { live.core }

  init(_ core: Core, number: UInt64, config: ListConfig) {
    live = LiveQuery(core, number: number, seen: ListState(config))
  }

  /// False where it was shut.
  func shut() -> Bool { live.shut() }

  var work: Int { live.work }

  /// Moves to the newest committed state; nil where nothing changed.
  /// - Parameter choice: what the host's function says; nil where it is not asked.
  func poll(
    at now: Instant, _ choice: PolicyChoice?, logging lines: inout LogLines
  ) throws(Failure) -> WindowDiff? {
    var diff: WindowDiff?
    var isEarlier = false
    defer { if isEarlier { core.signal.set() } }
    try live.inside { screen throws(Failure) in
      let from = screen.list.version
      let number = live.number
      if let choice { screen.choose(choice) }
      core.snapshot.withLock { screen.observe(&$0, number: number) }
      screen.pass(at: now)
      isEarlier = core.hold(screen.fetchPolicy, of: number)
      if screen.mustReportChoice { try reportChoice(&screen, at: now, &lines) }
      let ops = try core.reading { reading throws(Failure) in
        try reading.storing { rx throws(StoreFailure) in try screen.look(rx) }
      }
      if !ops.isEmpty { diff = WindowDiff(from: from, list: screen.list, ops: ops) }
    }
    return diff
  }

  /// Tells the core what the host's function says. Where it cannot ask now a later poll tells it.
  private func reportChoice(
    _ screen: inout ListState, at now: Instant, _ lines: inout LogLines
  ) throws(Failure) {
    let (number, choice) = (live.number, screen.config.choice)
    do throws(Failure) {
      try core.input(at: now, logging: &lines) { engine, now throws(Failure) in
        try engine.choose(number, choice, at: now)
      }
      screen.noteReported()
      if case .full = screen.trouble { screen.trouble = nil }
    } catch {
      guard case .full = error else { throw error }
      screen.trouble = error
    }
  }

  /// Whether the host's function is to be asked.
  func asksHost() throws(Failure) -> Bool {
    var asksHost = false
    try live.inside { screen in asksHost = screen.config.asksHost }
    return asksHost
  }

  /// Rows as of the last poll with content as it is now; nil where no row is there.
  func rows(first: Int, count: Int) throws(Failure) -> ConversationPage? {
    guard first >= 0, (1...Limits.readRowsMax).contains(count) else {
      throw .invalid("rows are asked for that no list has")
    }
    var page: ConversationPage?
    try live.inside { screen throws(Failure) in
      let (end, overflow) = first.addingReportingOverflow(count)
      let items = screen.list.items(min(first, overflow ? first : end)..<(overflow ? first : end))
      guard !items.isEmpty else { return }
      let typing = core.snapshot.withLock { $0.typing.users }
      page = try core.reading { reading throws(Failure) in
        try reading.conversations(items.map { Int64(clamping: $0.number) }, typing: typing)
      }
    }
    return page
  }

  /// The row of a conversation, by its id or the name that this user gave it.
  func find(_ id: [UInt8]) throws(Failure) -> Int? {
    var found: Int?
    try live.inside { screen throws(Failure) in
      found = screen.list.row(ofID: id)
      if found != nil { return }
      let cid = try core.reading { reading throws(Failure) in
        try reading.storing { rx throws(StoreFailure) in try rx.conversation(id)?.cid }
      }
      found = cid.flatMap { screen.list.row(ofNumber: UInt64(clamping: $0)) }
    }
    return found
  }

  func state() throws(Failure) -> ListStatus {
    var status = ListStatus()
    try live.inside { screen in status = screen.status }
    return status
  }
}
