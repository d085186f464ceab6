/// What a seed draws of capabilities, marks and windows, with dice of its own, and its line.
internal import Base

extension Knobs {
  /// Messages of one time stand as pages list them, and until then in the order of coming.
  var ordersByPages: Bool { !sequence && !(declaresTies && tiesByID) }

  /// Pages show every message in the end, and none contradicts another.
  var judgesOrder: Bool { ordersByPages && !lossless && !contradictions }

  var pageSize: Int { Swift.min(pageCap, pageLimit) }

  mutating func drawAbilities(_ random: inout Random) {
    if random.chance(0.65) {
      before = random.chance(0.5)
      around = random.chance(0.5)
      changedSince = random.chance(0.4)
      sequence = random.chance(0.35)
      previousIDs = random.chance(0.3)
    }
    // What a restored server hands out anew would have been handed out before: numbers, updates.
    let canRestore = restores
    if canRestore { sequence = false }
    // Such a server stamps what follows a stamp ahead like it.
    if futureStamp, !sequence { previousIDs = false }
    envelope = !canRestore && random.chance(0.35)
    if envelope { pushes = true }
    lossless = pushes && !canRestore && random.chance(0.45)
    reconnectBatch = pushes && random.chance(0.2) ? 10 : 0
    let keeps = Int64([45, 120, 600][random.below(3)]) * 1_000_000
    horizonUs = !canRestore && random.chance(0.15) ? keeps : 0
  }

  mutating func drawMarks(_ random: inout Random) {
    reactions = random.chance(0.4)
    pins = random.chance(0.3)
    otherReceipts = random.chance(0.35)
    poison = !restores && random.chance(0.15)
    entities = envelope && random.chance(0.6)
    foreignFrames = random.chance(0.2)
  }

  mutating func drawScreens(_ random: inout Random) {
    screens = random.chance(0.8) ? 1 + random.below(3) : 0
    screenPauseUs = [300_000, 2_000_000, 8_000_000][random.below(3)]
    screensFillFirst = screens > 0 && random.chance(0.5)
    // Which forgetting was on the disk when the power went cannot be told from outside.
    powerCuts = usesFile && !forgets && random.chance(0.6)
    diskFailures = usesFile && random.chance(0.3)
  }

  /// One line that says what exists in this world.
  package var line: String {
    var parts = ["seed=\(seed)", "limit=\(pageLimit)", "cap=\(pageCap)"]
    parts.append(keepsOldest ? "keeps=oldest" : "keeps=newest")
    parts.append(declaresTruncates ? "declared" : "undeclared")
    parts.append("res=\(resolutionUs)us style=\(stampStyle)")
    parts.append("ties=\(tiesByID ? "id" : "arrival")\(declaresTies ? "" : "?")")
    parts.append("ids=\(orderedIDs ? "ordered" : "random")")
    parts.append("late=\(latenessUs)us convs=\(conversations) backlog=\(backlog)")
    parts.append(
      "wall=\(wallSkewUs.map { $0 == 0 ? "true" : $0 > 0 ? "ahead" : "behind" } ?? "none")")
    parts.append("auto=\(autoMarkRead) inflight=\(requestsMax) timeout=\(timeoutMs)")
    let flags: [(Bool, String)] = [
      (pageSizesVary, "varies"), (declaresVarying && !pageSizesVary, "varies-declared"),
      (afterIsInclusive, "inclusive"), (!echoesRequestIDs, "no-echo"),
      (sendsServerTime, "server-time"), (!sendsTotalCount, "no-total"),
      (arrayDescending, "descending"), (deletionPageCap > 0, "deletion-pages"),
      (deletionLatenessUs > 0, "late-deletions"), (pushes, "pushes"),
      (absenceIsDeletion, "absence"),
      (burstShare > 0, "bursts"), (futureStamp, "future"), (deletions, "deletes"),
      (deletionRuns, "runs"), (edits, "edits"), (restores, "restore"),
      (otherDeviceReads, "other-device"), (dropShare > 0, "drops"),
      (duplicateShare > 0, "dups"), (reorders, "reorder"), (cutShare > 0, "cuts"),
      (longOutages, "outages"), (errorShare > 0, "errors"), (hangShare > 0, "hangs"),
      (usesFile, "file"), (kills, "kills"), (forgets, "forgets"),
      (before, "before"), (around, "around"), (changedSince, "changed-since"),
      (sequence, "sequence"), (envelope, "envelope"), (longLists, "long-lists"),
      (previousIDs, "prev-id"),
      (lossless, "lossless"), (reconnectBatch > 0, "batch"), (horizonUs > 0, "horizon"),
      (reactions, "reactions"), (pins, "pins"), (otherReceipts, "receipts"), (poison, "poison"),
      (entities, "entities"), (foreignFrames, "foreign"), (screens > 0, "screens=\(screens)"),
      (screensFillFirst, "screens-fill"), (powerCuts, "power"), (diskFailures, "disk"),
      (contradictions, "contradictions"), (readFailures, "reads-fail"),
      (looksAlways, "looks-always"), (looksAtBadges, "badges"),
      (looksAtOffers, "offers"),
    ]
    let more = updateFlags + operationFlags + retentionFlags + strangerFlags
    for (on, name) in flags + more where on { parts.append(name) }
    return parts.joined(separator: " ")
  }
}
