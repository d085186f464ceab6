/// What happens on the server while the device is or is not looking.
internal import ReferenceServer

extension World {
  private static let others = ["anna", "bo", "čeněk"]

  /// The history that was there before the device came.
  func fillBacklog() {
    for conversation in conversations { server.createConversation(conversation.name) }
    // One is as long as was drawn; the others are there to be told apart from it.
    var left = conversations.indices.map { index in
      index == 0 ? knobs.backlog : serverDice.below(knobs.backlog / 2 + 1)
    }
    let pause = Int64([2, 60, 3_600][serverDice.below(3)]) * 1_000_000
    let total = Int64(left.reduce(0, +))
    server.nowUs = Self.epochUs - (total + 10) * pause
    while let most = left.indices.filter({ left[$0] > 0 }).randomElement(using: &serverDice) {
      let burst = serverDice.chance(knobs.burstShare) ? 5 + serverDice.below(76) : 1
      for _ in 0..<min(burst, left[most]) {
        post(most, lateUs: 0)
        left[most] -= 1
      }
      server.nowUs += Int64(serverDice.below(Int(pause)))
    }
    server.nowUs = Self.epochUs
  }

  /// Posts one message now.
  func post(_ conversation: Int, lateUs: Int64? = nil, stampUs: Int64? = nil) {
    guard !conversations[conversation].frozen, !conversations[conversation].isGone
    else { return }
    let serial = ledger.nextSerial
    let control = serverDice.chance(0.04)
    let mine = serverDice.chance(0.2)
    let sender = mine ? Self.me : Self.others[serverDice.below(Self.others.count)]
    let payload = Ledger.payload(
      .init(serial: serial, version: 1), control: control, shape: serverDice.below(15))
    let isQuarantined = knobs.poison && serverDice.chance(0.03)
    let flaws = ServerMessage.Flaw.allCases
    let flaw = isQuarantined ? flaws[1 + serverDice.below(flaws.count - 1)] : .none
    var late = lateUs ?? 0
    if lateUs == nil, knobs.latenessUs > 0, serverDice.chance(0.5) {
      late = Int64(serverDice.below(Int(knobs.latenessUs) + 1))
    }
    let id = server.post(
      conversation: conversations[conversation].name, sender: sender,
      payload: onServer(payload), stampUs: stampUs, lateUs: late,
      flaw: flaw)
    ledger.add(
      .init(
        conversation: conversation, id: id, mine: mine, control: control, late: late > 0,
        future: stampUs != nil, isQuarantined: isQuarantined, payloads: [payload]))
    conversations[conversation].changedSinceBackup = true
    if isQuarantined { poisoned.insert(conversation) }
    trace.note(nowUs, "server: post \(serial) in c\(conversation) late \(late / 1_000) ms \(id)")
  }

  /// One thing happens, and the next one is planned.
  func serverTurn() {
    let conversation = serverDice.below(conversations.count)
    if conversations[conversation].isGone {
      bringBack(conversation)
    } else if !conversations[conversation].frozen {
      act(in: conversation)
    }
    if knobs.restores { thinkOfRestore() }
    var pause = Int64(serverDice.below(Int(knobs.serverPauseUs) * 2) + 1_000)
    if serverDice.chance(0.03) { pause += 60_000_000 }
    queue.plan(at: nowUs + pause, .serverTurn)
  }

  private func act(in conversation: Int) {
    if knobs.futureStamp, !futurePosted, serverDice.chance(0.1) {
      futurePosted = true
      let year: Int64 = 31_557_600_000_000
      let stamp = server.nowUs + year * Int64(2 + serverDice.below(20))
      post(conversation, stampUs: stamp)
      return
    }
    actStrangely(in: conversation)
    if serverDice.chance(knobs.burstShare) {
      burst(in: conversation)
      return
    }
    if knobs.deletions, serverDice.chance(0.2) { remove(in: conversation, run: false) }
    if knobs.deletionRuns, serverDice.chance(0.08) { remove(in: conversation, run: true) }
    if knobs.edits, serverDice.chance(0.25) { edit(in: conversation) }
    if knobs.otherDeviceReads, serverDice.chance(0.2) { readElsewhere(in: conversation) }
    mark(in: conversation)
    actUpdates(conversation)
    if knobs.entities, serverDice.chance(0.4) { announceSomething() }
    for _ in 0..<(1 + serverDice.below(3)) { post(conversation) }
  }

  /// 5 to 80 messages in one second, at one instant or spread over it.
  private func burst(in conversation: Int) {
    let count = 5 + serverDice.below(76)
    if serverDice.chance(0.5) {
      for _ in 0..<count { post(conversation) }
      return
    }
    for _ in 0..<count {
      let at = nowUs + Int64(serverDice.below(1_000_000))
      queue.plan(at: at, .post(conversation: conversation))
    }
  }

  private func remove(in conversation: Int, run: Bool) {
    let name = conversations[conversation].name
    let rows = server.truth(name)
    guard !rows.isEmpty else { return }
    var ids: [String] = []
    if !run {
      let span = serverDice.chance(0.5) ? min(rows.count, 20) : rows.count
      ids = [rows[rows.count - 1 - serverDice.below(span)].id]
    } else {
      switch serverDice.below(4) {
      case 0:
        ids = rows.suffix(1 + serverDice.below(12)).map(\.id)
      case 1:
        let first = serverDice.below(rows.count)
        ids = rows[first...].prefix(2 + serverDice.below(60)).map(\.id)
      case 2:
        let edge = server.nowUs - 8_000_000
        ids = rows.filter { $0.stampUs >= edge }.map(\.id)
      default:
        ids = serverDice.chance(0.2) ? rows.map(\.id) : rows.suffix(3).map(\.id)
      }
    }
    remove(ids, in: conversation)
  }

  func remove(_ ids: [String], in conversation: Int) {
    let name = conversations[conversation].name
    guard !ids.isEmpty else { return }
    let late = knobs.deletionLatenessUs > 0 ? serverDice.below(Int(knobs.deletionLatenessUs)) : 0
    server.delete(conversation: name, ids: ids, lateUs: Int64(late))
    ledger.deleted.formUnion(ids)
    conversations[conversation].changedSinceBackup = true
    trace.note(
      nowUs,
      "server: delete \(ids.count) in c\(conversation) late \(late / 1_000) ms "
        + ids.prefix(3).joined(separator: " "))
  }

  private func edit(in conversation: Int) {
    let name = conversations[conversation].name
    let rows = server.truth(name)
    guard let row = rows.suffix(60).randomElement(using: &serverDice) else { return }
    edit(row, in: conversation)
  }

  func edit(_ row: ReferenceServer.TrueRow, in conversation: Int) {
    let name = conversations[conversation].name
    guard let serial = Ledger.mark(Array(row.payload.utf8))?.serial,
      // Of what this user writes and edits here it is known which edit is the last.
      !knobs.operations.isOn || !ledger.posted[serial].mine
    else { return }
    let version = ledger.posted[serial].payloads.count + 1
    let payload = Ledger.payload(
      .init(serial: serial, version: version), control: ledger.posted[serial].control,
      shape: serverDice.below(15))
    ledger.addVersion(serial, payload)
    server.edit(conversation: name, id: row.id, payload: onServer(payload))
    conversations[conversation].changedSinceBackup = true
    trace.note(nowUs, "server: edit \(serial) to version \(version)")
  }

  /// Others react, pin, read and listen; some of it to messages long gone by.
  private func mark(in conversation: Int) {
    guard knobs.reactions || knobs.pins || knobs.otherReceipts else { return }
    let name = conversations[conversation].name
    let rows = server.truth(name)
    let near = serverDice.chance(0.6) ? 30 : rows.count
    guard let row = rows.suffix(near).randomElement(using: &serverDice),
      let serial = Ledger.mark(Array(row.payload.utf8))?.serial,
      // What this user says twice is two messages of one content.
      !knobs.operations.equalTexts || !ledger.posted[serial].mine
    else { return }
    if knobs.reactions, serverDice.chance(0.4) {
      let count = ledger.addReaction(serial)
      server.react(
        conversation: name, id: row.id, user: "anna", reaction: "R~\(serial)~\(count)")
      if count > 1, serverDice.chance(0.7) {
        server.react(
          conversation: name, id: row.id, user: "anna", reaction: "R~\(serial)~\(count - 1)",
          isSet: false)
      }
    }
    if knobs.pins, serverDice.chance(0.3) {
      let isPinned = server.message(name, row.id)?.isPinned ?? false
      server.pin(conversation: name, id: row.id, isPinned: !isPinned)
    }
    if knobs.otherReceipts, serverDice.chance(0.4) {
      let ids = rows.suffix(near).map(\.id).filter { _ in serverDice.chance(0.3) }
      let kind = ServerMark.allCases[serverDice.below(3)]
      server.mark(kind, conversation: name, ids: ids, user: ["anna", "bo"][serverDice.below(2)])
    }
    conversations[conversation].changedSinceBackup = true
  }

  private func readElsewhere(in conversation: Int) {
    let name = conversations[conversation].name
    let ids = server.truth(name).suffix(30).map(\.id).filter { _ in serverDice.chance(0.5) }
    ledger.readOnServer.formUnion(server.markRead(conversation: name, ids: ids, user: Self.me))
  }

  /// A backup is taken, and later, where a client can notice it, gone back to.
  ///
  /// Noticeable means: in each conversation either nothing has happened since, or the client has
  /// twice seen clearly newer rows. A restore that leaves no trace is no client's to find.
  private func thinkOfRestore() {
    guard let snapshot = backup else {
      guard findings.restores == 0, server.pendingCount == 0, serverDice.chance(0.2) else { return }
      backup = server.backup()
      for index in conversations.indices {
        conversations[index].changedSinceBackup = false
        conversations[index].noticeableUs = max(serverTop(index), 0) + 20_000_000
        conversations[index].goodSyncs = 0
      }
      trace.note(nowUs, "server: backup")
      return
    }
    let noticeable = conversations.allSatisfy { conversation in
      !conversation.changedSinceBackup || conversation.goodSyncs >= 2
    }
    guard noticeable, conversations.contains(where: \.changedSinceBackup),
      serverDice.chance(0.5)
    else { return }
    server.restore(snapshot)
    backup = nil
    findings.restores += 1
    ledger.noteRestored()
    for index in conversations.indices {
      conversations[index].frozen = conversations[index].changedSinceBackup
    }
    trace.note(nowUs, "server: restored from the backup")
    queue.plan(at: nowUs, .cut(connection: link.number, outageUs: 1_000_000))
  }

  /// The newest stamp that is not years ahead; the minimum where there is none.
  func serverTop(_ conversation: Int) -> Int64 {
    let rows = server.truth(conversations[conversation].name)
    return rows.last { $0.stampUs <= server.nowUs }?.stampUs ?? .min
  }
}
