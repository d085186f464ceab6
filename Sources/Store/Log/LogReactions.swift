/// The reactions that a row of a log shows, after an input.
///
/// Rule protected: they are those that all entries of the message make, in one order of their own,
/// and where it stays in its place one more costs the set that is shown, not what made it. A set
/// that is full takes nothing in (`ReactionSet.with`).
internal import Base
internal import Timeline

struct LogReactions {
  let tx: WriteTransaction
  let cid: Int64
  private let reacted: [[UInt8]: Set<[UInt8]>]
  /// Messages that came or went elsewhere: what counts may do so in another order.
  private var anew = IDSet()

  init(_ tx: WriteTransaction, _ cid: Int64, _ step: LogStep) {
    self.tx = tx
    self.cid = cid
    reacted = step.reacted
    for id in [step.inserted, step.moved].joined() { anew.insert(id) }
  }

  func shown(
    of message: IncomingMessage, in book: LogBook<LogRows>
  ) throws(StoreFailure) -> [UInt8]? {
    let id = message.id
    guard !message.flags.contains(.deleted), try book.table.hasChanges(of: id) else { return nil }
    guard !anew.contains(id), let known = try shown(id) else {
      return ReactionSet.with(try book.state(of: id)?.reactions ?? [:], in: nil)
    }
    var changes: [[UInt8]: [[UInt8]]] = [:]
    for user in reacted[id] ?? [] { changes[user] = try book.reactions(of: id, by: user) }
    return changes.isEmpty ? known.set : ReactionSet.with(changes, in: known.set)
  }

  /// What the row shows that is there; nil where it shows none whatever its entries say.
  private func shown(_ id: [UInt8]) throws(StoreFailure) -> (set: [UInt8]?, Void)? {
    let row = try tx.connection.statement(
      "SELECT flags, reactions FROM message WHERE cid = ? AND id = ?", cid, id)
    guard try row.step(),
      RowFlags(rawValue: row.int(0)).isDisjoint(with: [.deleted, .forgotten])
    else { return nil }
    return (row.optionalBytes(1), ())
  }
}
