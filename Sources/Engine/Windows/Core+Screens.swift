/// What a locked window or list puts on the boards of the core.
internal import Base
internal import Store
internal import Timeline

extension Core {
  /// When a split that is held back is to be drawn; true where the host thinks that nothing is due
  /// by then.
  func hold(_ screen: WindowState, of number: UInt64) -> Bool {
    let until = [screen.list.heldUntilMs, screen.fetchPolicy.deadlineMs].compactMap { $0 }.min()
    if until == nil, !screen.holds, !screen.fetchPolicy.wasShut { return false }
    return snapshot.withLock { snapshot in
      let isNew = snapshot.holds[number] != until
      snapshot.holds[number] = until
      return isNew && until.map { $0 < snapshot.restsUntilMs } ?? false
    }
  }

  /// When one that waits for the network is to be looked at; true where the host thinks that
  /// nothing is due by then.
  func hold(_ fetchPolicy: FetchPolicyState, of number: UInt64) -> Bool {
    if fetchPolicy.deadlineMs == nil, !fetchPolicy.wasShut { return false }
    return snapshot.withLock { snapshot in
      let isNew = snapshot.holds[number] != fetchPolicy.deadlineMs
      snapshot.holds[number] = fetchPolicy.deadlineMs
      return isNew && fetchPolicy.deadlineMs.map { $0 < snapshot.restsUntilMs } ?? false
    }
  }

  /// While it is open, what its screen has loaded may not be purged.
  func pin(_ screen: WindowState, of number: UInt64) {
    let loaded = screen.list.loaded
    snapshot.withLock { $0.loaded[number] = (screen.config.conversation, loaded) }
  }

  /// Notes which rows are on the screen; true where the host thinks that nothing is due by the time
  /// at which they will have been seen.
  func see(
    first: Int, count: Int, of number: UInt64, _ screen: WindowState, at now: Instant
  ) -> Bool {
    guard config.autoMarkRead else { return false }
    let shown = min(count, screen.list.count - first, Limits.markReadMax)
    let items = screen.list.items(first..<first + shown)
    let (conversation, seenMs) = (screen.config.conversation, config.seenMs)
    return snapshot.withLock { snapshot in
      snapshot.seen.show(items, of: number, conversation, at: now.monotonicMs, for: seenMs)
      return snapshot.seen.deadlineMs(for: seenMs).map { $0 < snapshot.restsUntilMs } ?? false
    }
  }

  /// What went from the list is not on the screen any more.
  func unsee(_ screen: WindowState, of number: UInt64) {
    guard config.autoMarkRead else { return }
    snapshot.withLock { snapshot in
      snapshot.seen.keep(of: number) { screen.list.row(ofNumber: $0) != nil }
    }
  }

  /// A message that is not stored can be looked for by some servers only.
  func mustFind(_ id: [UInt8], _ config: WindowConfig) throws(Failure) {
    try check(id)
    if !config.isCacheOnly, canLookAround { return }
    let isStored = try reading { reading throws(Failure) in
      try reading.storing { rx throws(StoreFailure) in
        guard let record = try rx.conversation(config.conversation) else { return false }
        return try rx.place(ofID: id, in: record.cid) != nil
      }
    }
    if !isStored { throw .unsupported("the message is not stored, and cannot be looked for") }
  }

  /// Conversations of the cache, the last active first.
  func conversations(offset: Int, limit: Int) throws(Failure) -> ConversationPage {
    let typing = snapshot.withLock { $0.typing.users }
    // The order is kept: a page costs what changed since the last one, and itself.
    return try listed.withLock { listed throws(Failure) in
      try reading { reading throws(Failure) in
        _ = try reading.storing { rx throws(StoreFailure) in try listed.look(rx) }
        let first = min(offset, listed.list.count)
        let items = listed.list.items(first..<min(first + limit, listed.list.count))
        return try reading.conversations(
          items.map { Int64(clamping: $0.number) }, typing: typing)
      }
    }
  }
}
