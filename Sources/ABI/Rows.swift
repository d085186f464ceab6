/// The engine's values as the structs of the header.
///
/// Fields the engine does not have are zero; a text that is absent is a view of
/// NULL and 0.
internal import Base
internal import CTideline
internal import Engine

/// A part of some bytes as a view, NULL when it is empty.
func view(_ bytes: UnsafeRawPointer, _ range: Range<Int>) -> tl_view {
  if range.isEmpty { return unsafe tl_view() }
  let start = unsafe (bytes + range.lowerBound).assumingMemoryBound(to: UInt8.self)
  return unsafe tl_view(data: start, size: range.count)
}

/// Copies bytes to where a batch keeps them.
func fill(_ target: UnsafeMutableRawPointer, _ bytes: [UInt8]) {
  unsafe bytes.withUnsafeBytes { source in
    let room = unsafe UnsafeMutableRawBufferPointer(start: target, count: source.count)
    unsafe room.copyMemory(from: source)
  }
}

extension tl_message {
  init(_ row: MessageRow, _ conversation: tl_view, _ bytes: UnsafeRawPointer) {
    // What the server does not have yet has no time of its, and nothing there is to be verified.
    let isConfirmed = if case .confirmed = row.state { true } else { false }
    unsafe self.init(
      number: row.number, time_us: isConfirmed ? row.timeUs : 0, state: row.state.rawValue,
      flags: isConfirmed ? row.flags : row.flags & ~ofServer,
      id: view(bytes, row.texts.id), conversation: conversation,
      sender: view(bytes, row.texts.sender), stamp: view(bytes, row.texts.stamp),
      payload: view(bytes, row.texts.payload), reply_to: view(bytes, row.texts.replyTo),
      reactions: view(bytes, row.texts.reactions), read_by: view(bytes, row.texts.readBy),
      rest: view(bytes, row.texts.rest), delivered_by: view(bytes, row.texts.deliveredBy),
      listened_by: view(bytes, row.texts.listenedBy), sequence: row.sequence,
      operation: row.operation, upload_permille: row.uploadPermille, reserved: 0,
      edited_us: row.editedUs, client_id: view(bytes, row.clientID), reserved_words: reservedWords)
  }
}

/// The room that each record keeps for members to come.
let reservedWords: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
  (0, 0, 0, 0, 0, 0, 0, 0)

/// Flags that say something of what the server has.
private let ofServer = UInt32(truncatingIfNeeded: TL_MESSAGE_UNVERIFIED | TL_MESSAGE_STALE)

extension tl_gap {
  init(_ gap: GapView) {
    self.init(
      before_row: UInt32(clamping: gap.beforeRow), poisoned: gap.poisoned ? 1 : 0,
      low_us: gap.lowUs, high_us: gap.highUs, reserved_words: reservedWords)
  }
}

extension tl_coverage {
  init(_ coverage: Coverage, gaps: UnsafePointer<tl_gap>, asOf entry: tl_view) {
    unsafe self.init(
      struct_size: 0, whole: coverage.whole ? 1 : 0, stop: coverage.stop.rawValue,
      gap_count: UInt32(clamping: coverage.gaps.count),
      gaps: coverage.gaps.isEmpty ? nil : gaps,
      deletions_as_of_us: coverage.deletionsAsOfUs, content_as_of_us: coverage.contentAsOfUs,
      total_count: coverage.totalCount, known_count: UInt64(clamping: coverage.knownCount),
      marks_as_of_us: coverage.marksAsOfUs, stale_count: UInt32(clamping: coverage.staleCount),
      reserved: 0, as_of_entry: entry)
  }
}

extension tl_change {
  init(_ change: ChangeView, _ conversation: tl_view) {
    unsafe self.init(
      seq: change.seq, kind: change.kind,
      flags: bits([(change.isSilent, TL_CHANGE_SILENT), (change.notifies, TL_CHANGE_NOTIFY)]),
      first: change.first, last: change.last, conversation: conversation, origin: change.origin,
      reserved: 0, reserved_words: reservedWords)
  }
}

private let silent = UInt32(truncatingIfNeeded: TL_CHANGE_SILENT)

extension tl_event {
  /// - Parameter views: conversation, entity, body and id come first.
  init(_ event: EventView, _ views: ArraySlice<tl_view>) {
    let first = unsafe views.startIndex
    unsafe self.init(
      seq: event.seq, kind: event.kind, action: event.action,
      flags: event.isSilent ? silent : 0, reserved: 0, conversation: views[first],
      entity: views[first + 1], body: views[first + 2], id: views[first + 3],
      reserved_words: reservedWords)
  }
}

extension tl_entity {
  /// - Parameter views: conversation, id and body come first.
  init(_ entity: EntityView, _ views: ArraySlice<tl_view>) {
    let first = unsafe views.startIndex
    unsafe self.init(
      kind: entity.role.rawValue, reserved: 0, conversation: views[first],
      id: views[first + 1], body: views[first + 2], reserved_words: reservedWords)
  }
}

extension tl_quarantined {
  /// - Parameter views: conversation, reason and item come first.
  init(_ item: QuarantinedView, _ views: ArraySlice<tl_view>) {
    let first = unsafe views.startIndex
    unsafe self.init()
    unsafe self.seq = item.seq
    unsafe self.flags = item.isCut ? UInt32(truncatingIfNeeded: TL_QUARANTINED_CUT) : 0
    unsafe self.low_us = item.lowUs
    unsafe self.high_us = item.highUs
    unsafe self.size = item.size
    unsafe conversation = views[first]
    unsafe reason = views[first + 1]
    unsafe self.item = views[first + 2]
  }
}

extension OperationView {
  /// Tells whether all ranges lie within `count` bytes.
  func fits(_ count: Int) -> Bool {
    [verb, conversation, message, clientID, request, result, errorCode, errorText]
      .allSatisfy { $0.lowerBound >= 0 && $0.upperBound <= count }
  }
}

extension tl_operation {
  init(_ row: OperationView, _ bytes: UnsafeRawPointer) {
    unsafe self.init(
      id: row.id, number: row.number, state: row.standing.rawValue,
      waiting: row.waiting.rawValue, attempts: row.attempts,
      upload_permille: row.uploadPermille, retry_ms: row.retryMs,
      verb: view(bytes, row.verb), conversation: view(bytes, row.conversation),
      message: view(bytes, row.message), client_id: view(bytes, row.clientID),
      request: view(bytes, row.request), result: view(bytes, row.result),
      error_code: view(bytes, row.errorCode), error_text: view(bytes, row.errorText),
      reserved_words: reservedWords)
  }
}

extension ConversationRow {
  /// Tells whether all ranges lie within `count` bytes; they begin at 0 or behind.
  func fits(_ count: Int) -> Bool {
    let ends = max(
      max(id.upperBound, title.upperBound, body.upperBound),
      max(lastRead.upperBound, draft.upperBound, draftReplyTo.upperBound),
      max(typing.upperBound, clientID.upperBound))
    let starts = min(
      min(id.lowerBound, title.lowerBound, body.lowerBound),
      min(lastRead.lowerBound, draft.lowerBound, draftReplyTo.lowerBound),
      min(typing.lowerBound, clientID.lowerBound))
    return starts >= 0 && ends <= count
  }
}

extension tl_conversation {
  init(
    _ row: ConversationRow, _ last: UnsafePointer<tl_message>?, _ bytes: UnsafeRawPointer
  ) {
    // Nothing but its number is left of a conversation that went.
    let gone = row.id.isEmpty ? UInt32(truncatingIfNeeded: TL_CONVERSATION_GONE) : 0
    unsafe self.init(
      number: row.number, flags: row.flags | gone,
      member_count: UInt32(clamping: row.memberCount), unread: UInt64(clamping: row.unread),
      activity_us: row.activityUs,
      id: view(bytes, row.id), title: view(bytes, row.title), body: view(bytes, row.body),
      last_read: view(bytes, row.lastRead), draft: view(bytes, row.draft),
      draft_reply_to: view(bytes, row.draftReplyTo), typing: view(bytes, row.typing),
      last: last, client_id: view(bytes, row.clientID), reserved_words: reservedWords)
  }
}

extension tl_list_status {
  init(_ status: ListStatus) {
    let flags = [
      (status.isUnreadExact, TL_LIST_TOTAL_EXACT), (status.isWhole, TL_LIST_WHOLE),
      (status.isRefreshing, TL_LIST_REFRESHING),
    ]
    self.init(
      struct_size: 0, flags: bits(flags), version: status.version, checksum: status.checksum,
      unread: UInt64(clamping: status.unread),
      row_count: UInt32(clamping: status.rowCount),
      conversation_count: UInt32(clamping: status.conversationCount),
      trouble: status.trouble?.status ?? ABI.status(TL_OK), basis: status.basis.rawValue,
      as_of_us: status.asOfUs)
  }
}

/// Those flags that hold.
private func bits(_ flags: [(Bool, Int)]) -> UInt32 {
  flags.reduce(0) { $1.0 ? $0 | UInt32(truncatingIfNeeded: $1.1) : $0 }
}

extension tl_window_status {
  init(_ status: WindowStatus) {
    let flags = [
      (status.isAtStart, TL_WINDOW_AT_START), (status.isAtEnd, TL_WINDOW_AT_END),
      (status.hasGapBefore, TL_WINDOW_GAP_BEFORE), (status.hasGapAfter, TL_WINDOW_GAP_AFTER),
      (status.isMarkerUnknown, TL_WINDOW_MARKER_UNKNOWN),
    ]
    self.init(
      struct_size: 0,
      flags: bits(flags),
      version: status.version, checksum: status.checksum,
      row_count: UInt32(clamping: status.rowCount),
      split_count: UInt32(clamping: status.splitCount), waiting: status.waiting.rawValue,
      trouble: status.trouble?.status ?? ABI.status(TL_OK), anchor: status.anchor,
      basis: status.basis.rawValue, reserved: 0, as_of_us: status.asOfUs)
  }
}

extension tl_state {
  init(_ state: ClientState) {
    let lost = state.isLogLost ? UInt32(truncatingIfNeeded: TL_STATE_LOG_LOST) : 0
    let older = state.isOlder ? UInt32(truncatingIfNeeded: TL_STATE_OLDER) : 0
    self.init(
      struct_size: 0, phase: state.phase.rawValue, syncs_left: UInt32(clamping: state.syncsLeft),
      requests_in_flight: UInt32(clamping: state.requestsInFlight),
      frames_waiting: UInt32(clamping: state.framesWaiting),
      reconnect_wanted: state.reconnectWanted ? 1 : 0,
      reads_pending: UInt32(clamping: state.readsPending),
      replies_owed: UInt32(clamping: state.repliesOwed),
      change_seq: state.changeSeq, as_of_us: state.asOfUs,
      operations_open: UInt32(clamping: state.operationsOpen),
      operations_stuck: UInt32(clamping: state.operationsStuck), commit_seq: state.commitSeq,
      flags: lost | older, reserved: 0)
  }
}

extension tl_sync_status {
  init(_ status: SyncStatus) {
    self.init(
      struct_size: 0, phase: status.phase.rawValue,
      result: status.trouble?.status ?? ABI.status(TL_OK),
      requests: UInt32(clamping: status.requests), received: UInt32(clamping: status.received),
      inserted: UInt32(clamping: status.inserted), removed: UInt32(clamping: status.removed),
      reserved: 0, done: UInt32(clamping: status.done), total: UInt32(clamping: status.total),
      basis: status.basis.rawValue, reason: status.reason?.status ?? ABI.status(TL_OK),
      as_of_us: status.asOfUs, step_back_us: status.stepBackUs)
  }
}

extension tl_stats {
  init(_ stats: Stats) {
    self.init(
      struct_size: 0, wal_frames_rejected: stats.walFramesRejected,
      conversations: stats.conversations, messages: stats.messages,
      tombstones: stats.tombstones, quarantined: stats.quarantined, frames_in: stats.framesIn,
      frames_bad: stats.framesBad, frames_ignored: stats.framesIgnored,
      answers_unmatched: stats.answersUnmatched, frames_out: stats.framesOut,
      bytes_in: stats.bytesIn, bytes_out: stats.bytesOut, requests: stats.requests,
      timeouts: stats.timeouts, retries: stats.retries, duplicates: stats.duplicates,
      open_failures: stats.openFailures, walks_incomplete: stats.walksIncomplete,
      restores: stats.restores, audit_mismatches: stats.auditMismatches,
      commits: stats.commits, file_bytes: stats.fileBytes, overlap_us: stats.overlapUs,
      updates: stats.updates, updates_repeated: stats.updatesRepeated, replies: stats.replies,
      waiting: stats.waiting, waiting_dropped: stats.waitingDropped,
      page_limit: UInt32(clamping: stats.pageLimit),
      request_timeout_ms: UInt32(clamping: stats.requestTimeoutMs))
  }
}
