/// The rows that a merge of items needs, read in parts.
///
/// A part is a page of the store, so a window of 200,000 rows is not held in memory as a whole,
/// and the host's function is asked between two parts while nothing is locked.
internal import Base
internal import Timeline

/// One part: rows of the window with what is known of them.
struct RowPart {
  let items: [WindowList.Item]
  let page: MessagePage
  var rows: [ItemRow] = []
  /// Where the oldest unread one stands.
  var unread: Position?

  mutating func readContents(_ config: ItemsConfig) {
    let page = page.page
    for (item, row) in zip(items, page.rows) {
      let isGone = row.flags & MessageFlags.gone != 0
      let content = isGone ? nil : ItemContent(row, in: page, config: config)
      rows.append(ItemRow(number: item.number, split: item.drawnSplit, content: content))
      if row.flags & MessageFlags.unread != 0, unread == nil { unread = item.position }
    }
    // Of a conversation that went meanwhile there is no page; its rows go with the next poll.
    if rows.isEmpty {
      rows = items.map { ItemRow(number: $0.number, split: $0.drawnSplit, content: nil) }
    }
  }

  /// Asks the host's function of all rows of a page.
  mutating func ask(
    _ fold: (MessagePage, inout [FoldAnswer]) throws(Failure) -> Void
  ) throws(Failure) {
    var answers = rows.map { row in
      FoldAnswer(
        fold: row.content?.fold ?? 0, zoneMinutes: row.content?.zoneMinutes ?? 0,
        bits: row.content?.bits ?? 0)
    }
    try fold(page, &answers)
    for (index, answer) in zip(rows.indices, answers) {
      rows[index].content?.fold = answer.fold
      rows[index].content?.zoneMinutes = min(max(answer.zoneMinutes, -1_439), 1_439)
      rows[index].content?.bits = answer.bits
    }
  }
}

struct RowReader {
  /// Rows of the window that are to be read, the oldest first; nil before that was asked.
  var wanted: [Int]?
  /// What the items had taken of the window then.
  var taken: UInt64 = 0
  /// What is read of them, in their order.
  private(set) var rows: [ItemRow] = []
  /// Where the oldest unread one of them stands.
  private(set) var unread: Position?

  /// Those of the next part.
  var next: ArraySlice<Int> {
    guard let wanted else { return [] }
    return wanted.dropFirst(rows.count).prefix(Limits.itemRowsRead)
  }

  /// A page may be cut where it is large; what it lacks is in the next part.
  mutating func take(_ part: RowPart) {
    rows.append(contentsOf: part.rows)
    if let one = part.unread { unread = min(one, unread ?? one) }
  }

  func mustBeCurrent(_ state: ItemsState) throws(Failure) {
    if taken != state.list.taken {
      throw .invalid("the window was polled while its items were")
    }
  }
}
