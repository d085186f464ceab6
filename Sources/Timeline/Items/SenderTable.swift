/// Senders by small numbers, so that two rows of one are told by comparing two numbers.
///
/// Compared as they are: of a fingerprint a sender could choose a name that looks like another's,
/// and would be shown in that one's run. A sender of no row is forgotten.
struct SenderTable: Sendable {
  private var tokens: [[UInt8]: UInt32] = [:]
  private var senders: [(id: [UInt8], rows: Int)] = [([], 0)]
  private var free: [UInt32] = []

  var count: Int { tokens.count }

  /// The number of a sender, for one row more.
  mutating func retain(_ id: [UInt8]) -> UInt32 {
    if let token = tokens[id] {
      senders[Int(token)].rows += 1
      return token
    }
    let token = free.popLast() ?? UInt32(truncatingIfNeeded: senders.count)
    if Int(token) == senders.count {
      senders.append((id, 1))
    } else {
      senders[Int(token)] = (id, 1)
    }
    tokens[id] = token
    return token
  }

  mutating func retain(_ token: UInt32) {
    if token != 0 { senders[Int(token)].rows += 1 }
  }

  /// One row less. Number 0 is nobody's.
  mutating func release(_ token: UInt32) {
    if token == 0 { return }
    senders[Int(token)].rows -= 1
    guard senders[Int(token)].rows == 0 else { return }
    tokens[senders[Int(token)].id] = nil
    senders[Int(token)].id = []
    free.append(token)
  }
}
