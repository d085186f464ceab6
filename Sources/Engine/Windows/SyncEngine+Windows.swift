/// What open windows and lists ask of the engine, and what it tells them.
internal import Base
internal import Store
internal import Timeline
internal import Wire

extension SyncEngine {
  /// Tells windows how the connection stands after an input.
  func postToWindows() {
    windows.post(
      memory, scheduler, list: list, permille: outbox.permille, isUp: tracker.isUp)
  }

  func openWindow(_ config: WindowConfig) throws(Failure) -> UInt64 {
    try windows.ensureRoom()
    let conversation = try storing { () throws(StoreFailure) in
      try canonical(config.conversation)
    }
    if config.choice.policy == .maximumAge || config.choice.waitsForNetwork || config.asksHost {
      try keepAskedTimes()
    }
    let number = windows.open(conversation, isFollowing: config.follows)
    windows.choose(number, config.choice, asksHost: config.asksHost)
    windows.note(asOfUs: asOfUs(.conversation(conversation)), conversation)
    return number
  }

  /// What only this window asked for is dropped.
  func closeWindow(_ number: UInt64, at now: Instant) {
    guard let known = windows.windows[number] else { return }
    if config.autoMarkRead {
      // It has nothing on a screen any more; what it had there for long enough was seen.
      windows.snapshot.withLock { snapshot in
        snapshot.seen.show(
          [], of: number, known.conversation, at: now.monotonicMs, for: config.seenMs)
      }
      markSeen(now)
    }
    guard let entry = windows.close(number) else { return }
    for sync in Array(entry.syncs).ascending() { release(sync, at: now) }
  }

  /// Asks for something on a window's account, before all other work.
  func ask(
    _ number: UInt64, _ request: SyncRequest, _ now: Instant
  ) throws(Failure) -> UInt64 {
    let sync = try sync(request, at: now)
    if scheduler.job(sync) != nil {
      windows.wait(number, for: sync)
    } else {
      // It had nothing to ask and ended at once.
      windows.postEnd(
        number, SharedSnapshot.End(sync: sync, trouble: try syncStatus(sync).trouble))
    }
    return sync
  }

  /// A window wants an unanswered request no more.
  func drop(_ number: UInt64, sync: UInt64, at now: Instant) {
    guard windows.leave(number, sync) else { return }
    release(sync, at: now)
  }

  /// The sync of the present that a window waits for on this connection.
  func askLive(_ number: UInt64, at now: Instant) throws(Failure) -> UInt64? {
    guard let entry = windows.windows[number], entry.isFollowing, !entry.isUnmade else {
      return nil
    }
    if let live = entry.live { return live }
    let choice = entry.choice
    if choice.policy == .cacheOnly { return nil }
    if choice.policy == .maximumAge,
      isYoung(.conversation(entry.conversation), choice.ageUs, at: now)
    {
      return nil
    }
    let request = SyncRequest(conversation: entry.conversation, kind: .live, isUrgent: true)
    let live = try ask(number, request, now)
    windows.setLive(number, live)
    return live
  }

  /// The same for one that looks; nil where the sync is over already, and wishes that waited for
  /// it are judged by another look.
  func askForPresent(_ number: UInt64, at now: Instant) throws(Failure) -> UInt64? {
    if let live = try askLive(number, at: now), scheduler.job(live) != nil { return live }
    report.tellHost()
    return nil
  }

  /// A new connection: what screens show comes first.
  func wakeWindows(_ now: Instant) {
    windows.snapshot.withLock { $0.connections += 1 }
    if !windows.windows.isEmpty { report.tellHost() }
    for number in Array(windows.windows.keys).ascending() {
      if let live = windows.windows[number]?.live, scheduler.job(live) != nil { continue }
      windows.setLive(number, nil)
      // Its next poll asks the host, and then the server.
      if windows.windows[number]?.asksHost ?? false { continue }
      do {
        _ = try askLive(number, at: now)
      } catch {
        report.logLines.append((.warn, "too many syncs wait for a window to ask for its own"))
      }
    }
  }

  /// A conversation was to be made here and is not: its windows ask nothing more.
  func unmake(_ conversation: [UInt8]) {
    windows.note(conversation, isUnmade: true)
    leave(conversation)
  }

  /// Marks what was on a screen for long enough.
  func markSeen(_ now: Instant) {
    guard config.autoMarkRead else { return }
    let groups = windows.snapshot.withLock { snapshot in
      snapshot.seen.take(at: now.monotonicMs, for: config.seenMs) { number in
        windows.windows[number]?.conversation
      }
    }
    for group in groups {
      do throws(Failure) {
        try mark(.read, in: group.conversation, ids: group.ids, at: now)
      } catch {
        windows.snapshot.withLock { $0.seen.putBack(group, at: now.monotonicMs) }
        report.logLines.append((.warn, "what was seen could not be marked yet"))
      }
    }
  }

  // MARK: Open lists

  func openList(_ config: ListConfig, at now: Instant) throws(Failure) -> UInt64 {
    if config.choice.policy == .maximumAge || config.choice.waitsForNetwork || config.asksHost {
      try keepAskedTimes()
    }
    let number = try windows.openList(asks: !config.isCacheOnly)
    windows.choose(number, config.choice, asksHost: config.asksHost)
    windows.noteList(asOfUs: asOfUs(.list))
    do throws(Failure) {
      if tracker.isUp { try askList(number, at: now) }
    } catch {
      closeWindow(number, at: now)
      throw error
    }
    return number
  }

  /// Asks for the server's list, where that is wanted and not young enough.
  private func askList(_ number: UInt64, at now: Instant) throws(Failure) {
    guard let entry = windows.windows[number], entry.conversation.isEmpty else { return }
    let choice = entry.choice
    let isYoung = choice.policy == .maximumAge && isYoung(.list, choice.ageUs, at: now)
    windows.setAsksList(number, choice.policy != .cacheOnly && !isYoung)
    guard choice.policy != .cacheOnly, !isYoung else { return }
    _ = try ask(number, SyncRequest(kind: .conversations, isUrgent: true), now)
  }

  /// The host's function says where what a list shows may come from.
  func choose(_ number: UInt64, _ choice: PolicyChoice, at now: Instant) throws(Failure) {
    guard let entry = windows.windows[number] else { return }
    windows.choose(number, choice, asksHost: true)
    if !tracker.isUp || list.isWhole || !entry.syncs.isEmpty {
      return windows.setAsksList(number, choice.policy != .cacheOnly)
    }
    try askList(number, at: now)
  }

  /// A new connection: open lists ask for theirs, all of them once.
  func wakeLists(_ now: Instant) {
    list.begin()
    for number in Array(windows.windows.keys).ascending() {
      // Its next poll asks the host, and then the server.
      if windows.windows[number]?.asksHost ?? false { continue }
      do {
        try askList(number, at: now)
      } catch {
        report.logLines.append((.warn, "too many syncs wait for a list to ask for its own"))
      }
    }
    askNeededList()
  }

  /// Requests the list of conversations after a push about them could not be read, also where
  /// nobody looks at it: nothing else would bring that.
  private func askNeededList() {
    guard memory.server.facts.needsList, tracker.isUp, scheduler.hasRoom, !scheduler.asksList
    else { return }
    scheduler.add(SyncRequest(kind: .conversations))
  }

  /// Asks for the counts that may be others, once all that may change more of them is done and the
  /// server has this user's marks: each conversation by itself, or the list where they are many.
  /// What waits for a conversation to be made asks nothing, for as long as the user likes.
  func recount(_ now: Instant) {
    guard tracker.isUp, !list.recounts.isEmpty,
      scheduler.jobs.allSatisfy({ outbox.isUnmade($0.request.conversation) })
    else { return list.recounts.wake() }
    guard list.recounts.rests(at: now.monotonicMs) else { return }
    let (due, asksAlone) = (list.recounts.due(at: now.monotonicMs), list.recounts.asksAlone)
    if due.isEmpty { return }
    let asksList = windows.asksList
    var free: [(cid: Int64, name: [UInt8])] = []
    do throws(StoreFailure) {
      try store.read { rx throws(StoreFailure) in
        for cid in due where asksList || free.count < Recounts.aloneMax {
          // Somebody looks at it, or it was synced on this connection.
          guard let name = try rx.conversation(cid: cid)?.id,
            asksList || asksAlone && memory.live.wasLive(name)
          else {
            list.recounts.putAside(cid)
            continue
          }
          if try !rx.unreadReader.hasQueued(cid) { free.append((cid, name)) }
        }
      }
    } catch {
      return
    }
    var withList = asksList && (free.count > Recounts.aloneMax || !asksAlone)
    // Where the list was asked for a minute ago, some are asked one by one.
    if asksAlone, !list.recounts.isListDue(at: now.monotonicMs) { withList = false }
    if !withList { free = Array(free.prefix(Recounts.aloneMax)) }
    guard !free.isEmpty,
      list.recounts.take(free.map(\.cid), at: now.monotonicMs, withList: withList)
    else { return }
    if withList {
      scheduler.add(SyncRequest(kind: .conversations))
    } else {
      for (_, name) in free { scheduler.add(SyncRequest(conversation: name, kind: .count)) }
    }
  }

  /// The server tells no count of a conversation; or of none by itself, but perhaps in the list.
  func noCount(of conversation: [UInt8], isNever: Bool) throws(StoreFailure) {
    if isNever {
      list.recounts.asksAlone = false
    } else if let cid = try store.read({ rx throws(StoreFailure) in
      try rx.conversation(conversation)?.cid
    }) {
      list.recounts.putAside(cid)
    }
  }

  // MARK: Typing

  /// Takes signs of typing after their delivery is committed.
  func applyTyping(_ signs: [UpdateApplier.TypingSignal], at now: Instant) {
    for sign in signs {
      let isNews =
        sign.event.map { event in
          typing.receive(
            event, of: sign.user, in: sign.conversation, atUs: sign.atUs,
            serverUs: memory.server.timeForSigns(at: now)?.us, nowMs: now.monotonicMs)
        } ?? typing.spoke(sign.user, in: sign.conversation)
      if isNews { postTyping(sign.conversation) }
    }
  }

  /// What was not repeated in time ends.
  func expireTyping(_ now: Instant) {
    for conversation in typing.expire(nowMs: now.monotonicMs) { postTyping(conversation) }
  }

  func clearTyping() {
    for conversation in typing.clear() { postTyping(conversation) }
  }

  private func postTyping(_ conversation: [UInt8]) {
    let users = typing.users(conversation)
    windows.snapshot.withLock { $0.typing.set(users, in: conversation) }
    report.tellHost()
  }

  // MARK: Hand-over

  /// The file was let go of, and with it the connection to the server.
  func letGo(_ now: Instant) {
    disconnected(now)
    rememberSent()
    scheduler.beginAgain()
    report.logLines.append((.info, "the file was given up"))
  }

  /// Goes on from one whose file was let go of: another process may have written since.
  func takeOver(_ old: SyncEngine) {
    memory.retention.set(old.memory.retention.budget)
    memory.asked.now = old.memory.asked.now
    // What the board has of them is of the time before.
    memory.fresh.empty()
    report.logLines.append((.info, "the file was taken again"))
    report.tellHost()
  }

  /// What windows show of the time of the last look at the server may be later now.
  func postAskedTimes() {
    for entry in windows.windows.values where !entry.conversation.isEmpty {
      windows.note(asOfUs: asOfUs(.conversation(entry.conversation)), entry.conversation)
    }
    windows.noteList(asOfUs: asOfUs(.list))
  }
}
