/// Items as the structs of the header, and the host's function over a row.
internal import Base
internal import CTideline
internal import Engine

// The context belongs to the host, which promises that the function may be called from any thread
// that polls the items; `drop` runs when no call is left.
@safe final class FoldHook: @unchecked Sendable {
  private let config: tl_items_config

  init(_ config: tl_items_config) {
    unsafe self.config = config
  }

  var isThere: Bool { unsafe config.fold != nil }

  /// Releases the context. Called once: by the handle that is freed, or by the opening that failed.
  func drop() {
    if let drop = unsafe config.fold_drop { unsafe drop(config.fold_context) }
  }

  /// Asks the host of each row of a page.
  func ask(_ page: MessagePage, _ answers: inout [FoldAnswer]) throws(Failure) {
    guard let fold = unsafe config.fold else { return }
    let batch = try unsafe Batch.new(page)
    defer { unsafe Batch.free(batch) }
    var count = 0
    let rows: UnsafePointer<tl_message>? = unsafe Batch.contents(batch, .messages, &count)
    guard let rows = unsafe rows else { return }
    for (index, known) in answers.enumerated().prefix(count) {
      var answer = tl_fold()
      answer.fold = known.fold
      answer.zone_offset_min = Int32(clamping: known.zoneMinutes)
      unsafe fold(config.fold_context, rows + index, &answer)
      answers[index] = FoldAnswer(
        fold: answer.fold, zoneMinutes: Int(answer.zone_offset_min), bits: answer.bits)
    }
  }
}

extension ItemsConfig {
  init(_ config: tl_items_config, _ hook: FoldHook) throws(Failure) {
    let flags = unsafe config.flags
    func has(_ flag: Int) -> Bool { flags & UInt32(truncatingIfNeeded: flag) != 0 }
    let known =
      TL_ITEMS_REVERSED | TL_ITEMS_FOLD_DELETED | TL_ITEMS_FOLD_MODERATED | TL_ITEMS_FOLD_EVENTS
      | TL_ITEMS_FOLD_MIXED | TL_ITEMS_UNREAD_LINE
    guard flags & ~UInt32(truncatingIfNeeded: known) == 0 else {
      throw .invalid("flags has an unknown flag of items")
    }
    var folds: FoldKinds = []
    if has(TL_ITEMS_FOLD_DELETED) { folds.insert(.deleted) }
    if has(TL_ITEMS_FOLD_MODERATED) { folds.insert(.moderated) }
    if has(TL_ITEMS_FOLD_EVENTS) { folds.insert(.events) }
    if has(TL_ITEMS_FOLD_MIXED) { folds.insert(.mixed) }
    self.init(
      folds: folds, isReversed: has(TL_ITEMS_REVERSED), drawsUnread: has(TL_ITEMS_UNREAD_LINE),
      gapMinutes: unsafe Int(config.gap_min), zoneMinutes: unsafe Int(config.zone_offset_min))
    if hook.isThere {
      fold = { page, answers throws(Failure) in try hook.ask(page, &answers) }
    }
  }
}

/// No item, and no range.
private let none = UInt32.max

extension tl_item {
  init(_ view: ItemView) {
    self.init(
      key: view.key, flags: view.flags, row: UInt32(clamping: view.row),
      row_count: UInt32(clamping: view.rowCount),
      range: view.range.map { UInt32(clamping: $0) } ?? none,
      place: UInt32(clamping: view.place), group_count: UInt32(clamping: view.groupCount),
      day: view.day ?? .min, gap_us: view.gapUs, number: view.number, bits: view.bits,
      reserved_words: (0, 0, 0, 0, 0, 0, 0, 0))
  }
}

extension tl_items_status {
  init(_ status: ItemsStatus) {
    self.init(
      struct_size: 0,
      flags: status.isBehind ? UInt32(truncatingIfNeeded: TL_ITEMS_BEHIND) : 0,
      version: status.version, checksum: status.checksum,
      item_count: UInt32(clamping: status.itemCount),
      row_count: UInt32(clamping: status.rowCount),
      range_count: UInt32(clamping: status.rangeCount),
      unread_item: status.unreadItem.map { UInt32(clamping: $0) } ?? none)
  }
}
