/// Who has reacted to a message, and how.
///
/// What one user's reactions are follows from what that user did, however many others did. Rule
/// protected: of a message with any number of reactions one more costs what that user did, of
/// which the last changes count.
internal import Base

extension LogBook {
  /// Those of one user, in the order in which they were given.
  package func reactions(
    of id: [UInt8], by user: [UInt8]
  ) throws(Table.Failure) -> [[UInt8]] {
    guard let row = try table.row(id) else { return [] }
    var changes: [LogReaction] = []
    for part in rangesInOrder(own: range(holding: row.place)) where changes.count < Self.userLimit {
      let rows = try table.reactions(
        of: id, by: user, from: part.lowerBound, through: part.upperBound,
        limit: Self.userLimit - changes.count)
      changes += rows.map { LogReaction($0, isNamed: true) }
    }
    return try given(by: changes)
  }

  /// Of all users who have any.
  func reactions(
    of id: [UInt8], own: Int?
  ) throws(Table.Failure) -> [[UInt8]: [[UInt8]]] {
    var all: [[UInt8]: [[UInt8]]] = [:]
    var left = try table.reactions(of: id, limit: Limits.listItemsMax)[...]
    let parts = rangesInOrder(own: own)
    while let user = left.first?.row.entry.change?.user {
      let mine = left.prefix { $0.row.entry.change?.user == user }
      left = left.dropFirst(mine.count)
      let inOrder = parts.flatMap { part in mine.filter { part.contains($0.row.place) } }
      let reactions = try given(by: Array(inOrder.prefix(Self.userLimit)))
      if !reactions.isEmpty { all[user] = reactions }
    }
    return all
  }

  private static var userLimit: Int { Limits.logLooksMax }

  /// - Parameter changes: of one user, the one that counts most first.
  private func given(by changes: [LogReaction]) throws(Table.Failure) -> [[UInt8]] {
    var counting: [LogChange.Kind] = []
    for change in changes {
      guard let kind = change.row.entry.change?.kind,
        change.isNamed ? try !isTakenBack(change.row) : !change.row.entry.isDeleted
      else { continue }
      counting.append(kind)
      if case .reactions = kind { break }
    }
    var given: [[UInt8]] = []
    for kind in counting.reversed() {
      switch kind {
      case .react(let reaction): if !given.contains(reaction) { given.append(reaction) }
      case .unreact(let reaction): given.removeAll { $0 == reaction }
      case .reactions(let all): given = all
      default: break
      }
    }
    return given
  }
}
