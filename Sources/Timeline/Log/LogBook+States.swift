/// What a message is after all its changes (rules 16, 18, 19).
///
/// Changes stay entries of their own; the state is derived. Those of the message's own range come
/// first, in the order of the log; those of other ranges after them, for a change that stands
/// outside of the range of its target stands above it.
internal import Base

/// A register of a message that changes write: of those to one, the last counts.
package enum LogSlot: Hashable, Sendable {
  case content, pin
  case reactions(of: [UInt8])
  /// That it is so: any that was not taken back.
  case deletion, moderation
}

extension LogChange {
  package var slot: LogSlot? {
    switch kind {
    case .edit: .content
    case .pin, .unpin: .pin
    case .react, .unreact, .reactions: .reactions(of: user)
    case .delete, .moderate, .none: nil
    }
  }
}

package struct LogState: Equatable, Sendable {
  package var content: [UInt8]
  package var isDeleted = false
  package var isEdited = false
  package var isPinned = false
  package var isModerated = false
  /// Of each user who has any, in the order in which they were given.
  package var reactions: [[UInt8]: [[UInt8]]] = [:]

  package init(content: [UInt8]) { self.content = content }
}

extension LogBook {
  /// Nil where it is no message, or is not known.
  ///
  /// - Parameter withReactions: without them it costs the same however many have reacted.
  package func state(
    of id: [UInt8], withReactions: Bool = true
  ) throws(Table.Failure) -> LogState? {
    guard let row = try table.row(id), row.entry.change == nil else { return nil }
    var state = LogState(content: row.entry.content)
    state.isDeleted = row.entry.isDeleted
    let own = range(holding: row.place)
    if try table.hasChanges(of: id) {
      if try last(.deletion, of: id, own: own) != nil { state.isDeleted = true }
      state.isModerated = try last(.moderation, of: id, own: own) != nil
      state.isPinned = try last(.pin, of: id, own: own)?.entry.change?.kind == .pin
      if withReactions { state.reactions = try reactions(of: id, own: own) }
    }
    if try countsInPlace(row, own: own) {
      state.isEdited = true
    } else if let edit = try lastEdit(of: row, own: own) {
      state.content = edit.entry.content
      state.isEdited = true
    } else {
      state.isEdited = row.entry.edited != .no
    }
    return state
  }

  /// Whose edits of a message count: its sender's (rule 18); nil where others edit, too.
  func editor(of row: LogRow) -> [UInt8]? {
    profile.othersEdit || isPlanted(.otherEdits) ? nil : row.entry.sender
  }

  /// The edit that counts. Of however many a few are looked at.
  private func lastEdit(of row: LogRow, own: Int?) throws(Table.Failure) -> LogRow? {
    var looks = Limits.logLooksMax
    for part in rangesInOrder(own: own) {
      if let edit = try lastEdit(of: row, within: part, &looks) { return edit }
    }
    return nil
  }

  private func lastEdit(
    of row: LogRow, within part: ClosedRange<Place>, _ looks: inout Int
  ) throws(Table.Failure) -> LogRow? {
    let user = editor(of: row)
    var high = part.upperBound
    while looks > 0,
      let edit = try table.lastEdit(of: row.id, by: user, from: part.lowerBound, through: high)
    {
      if try !isTakenBack(edit, &looks) { return edit }
      high = edit.place - 1
      looks -= 1
    }
    return nil
  }

  /// What the page that reached the present showed in place is the last edit that it lists, or that
  /// was known below it; what another page showed is so where that edit says the same. One that
  /// comes later counts then (rule 19).
  mutating func nameEdit(
    of id: [UInt8], in range: LogRange, isPresent: Bool
  ) throws(Table.Failure) {
    guard let row = try table.row(id) else { return }
    var high = range.high
    var looks = Limits.logLooksMax
    // Later ones may have been pushed before the page came. Of however many a few are looked at.
    for _ in 0..<(isPresent ? 1 : 8) where range.low <= high {
      guard let edit = try lastEdit(of: row, within: range.low...high, &looks) else { return }
      if try nameEdit(of: id, as: edit, in: range, isSure: isPresent) { return }
      high = edit.place - 1
    }
  }

  /// An edit that has come is the one that its message shows where both say the same.
  @discardableResult
  mutating func nameEdit(
    of id: [UInt8], as edit: LogRow, in range: LogRange, isSure: Bool = false
  ) throws(Table.Failure) -> Bool {
    guard var row = try table.row(id), range.holds(row.place), row.entry.edited == .unnamed,
      !isPlanted(.inPlaceUnnamed), editor(of: row).map({ $0 == edit.entry.change?.user }) ?? true,
      isSure ? true : try isTakenBack(edit) ? false : table.isShown(edit, in: row)
    else { return false }
    row.entry.edited = .by(edit.id)
    try table.put(row)
    try touch(row)
    return true
  }

  /// The ranges in which changes of a message count over those of the next one: other ranges,
  /// from above, then its own (rule 18).
  func rangesInOrder(own: Int?) -> [ClosedRange<Place>] {
    guard let own else { return [Place.min...Place.max] }
    let range = ranges[own]
    var parts = [range.high + 1...Place.max, Place.min...range.low - 1]
    parts.insert(range.low...range.high, at: isPlanted(.otherRangeFirst) ? 0 : 2)
    return parts
  }

  /// The change of a register that counts. Of however many a few are looked at.
  private func last(
    _ slot: LogSlot, of id: [UInt8], own: Int?
  ) throws(Table.Failure) -> LogRow? {
    var looks = Limits.logLooksMax
    for part in rangesInOrder(own: own) {
      var high = part.upperBound
      while looks > 0,
        let change = try table.lastChange(of: id, slot, from: part.lowerBound, through: high)
      {
        if try !isTakenBack(change, &looks) { return change }
        high = change.place - 1
        looks -= 1
      }
    }
    return nil
  }

  /// Whether a change was deleted, in its place or by an entry that was not itself.
  func isTakenBack(_ row: LogRow) throws(Table.Failure) -> Bool {
    var looks = Limits.logLooksMax
    return try isTakenBack(row, &looks)
  }

  private func isTakenBack(
    _ row: LogRow, _ looks: inout Int, depth: Int = 0
  ) throws(Table.Failure) -> Bool {
    if row.entry.isDeleted { return true }
    guard depth < 8, !isPlanted(.changeNotDeleted) else { return false }
    var high = Place.max
    while looks > 0,
      let change = try table.lastChange(of: row.id, .deletion, from: .min, through: high)
    {
      looks -= 1
      if try !isTakenBack(change, &looks, depth: depth + 1) { return true }
      high = change.place - 1
    }
    return false
  }

  /// An edit shown in place counts until its own entry is placed, or until the range reaches the
  /// present by a later request: then all that there are have their places (rule 19).
  private func countsInPlace(_ row: LogRow, own: Int?) throws(Table.Failure) -> Bool {
    if isPlanted(.inPlaceIgnored) { return false }
    switch row.entry.edited {
    case .no: return false
    case .by(let id): if try table.row(id) != nil, !isPlanted(.inPlaceStays) { return false }
    case .unnamed: break
    }
    if isPlanted(.inPlaceStays) { return true }
    guard let own, !ranges[own].isUnverified, let present = ranges[own].present else { return true }
    return present.request <= row.received
  }

  /// Where an edit shown in place was taken back, what the message said before is to be read.
  mutating func review() throws(Table.Failure) {
    var seen = IDSet()
    // One that was first seen as taken away does not name the message.
    var isUntrusted: Bool?
    let touched = step.touched[reviewed...]
    reviewed = step.touched.count
    for id in touched where !seen.contains(id) {
      seen.insert(id)
      guard let row = try table.row(id), row.isClaimed, row.entry.change == nil,
        row.entry.edited != .no, try !countsInPlace(row, own: range(holding: row.place))
      else { continue }
      if isUntrusted == nil {
        let (some, other) = (
          try table.lastWithoutTarget(isClaimed: true),
          try table.lastWithoutTarget(isClaimed: false)
        )
        isUntrusted = some != nil || other != nil
      }
      var isUndone = isUntrusted ?? false
      if try table.lastEdit(of: id, by: editor(of: row), from: .min, through: .max) != nil {
        isUndone = try lastEdit(of: row, own: nil) == nil
      }
      if isUndone { try unclaim(row) }
    }
  }
}
