/// The JSON object of a message's reactions, and how it follows what users do.
///
/// A set holds as many entries as a list of a frame may: each kind counts, and each of its users.
internal import Base

/// Names of reactions with lists of user ids.
package enum ReactionSet {
  /// The set after one user's change; nil where nobody is left in it.
  package static func with(
    _ reaction: [UInt8], by user: [UInt8], isAdded: Bool, in known: [UInt8]?
  ) -> [UInt8]? {
    let text = known ?? []
    let changed =
      isAdded
      ? adding(reaction, by: user, to: text, limit: Limits.listItemsMax)
      : removing(reaction, by: user, from: text)
    if changed.isEmpty { return nil }
    return changed.count > Limits.messageBytesMax ? known : changed
  }

  /// The set after the changes of some users, each told what that one gives now; in an order of its
  /// own, so that equal sets are equal texts. Nil where nobody is left in it. What does not fit in
  /// any more is left out.
  static func with(_ changes: [[UInt8]: [[UInt8]]], in known: [UInt8]?) -> [UInt8]? {
    var groups: [[UInt8]: [[UInt8]]] = [:]
    var held: [[UInt8]: Set<[UInt8]>] = [:]
    var left = Limits.listItemsMax
    for group in known.flatMap(ReaderList.groups) ?? [] {
      let users = group.users.filter { user in
        guard let given = changes[user] else { return true }
        guard given.contains(group.name) else { return false }
        held[user, default: []].insert(group.name)
        return true
      }
      if users.isEmpty { continue }
      groups[group.name] = users
      left &-= users.count &+ 1
    }
    var added: [[UInt8]: [[UInt8]]] = [:]
    for user in Array(changes.keys).inByteOrder() {
      for name in changes[user] ?? [] where held[user, default: []].insert(name).inserted {
        let isNew = groups[name] == nil && added[name] == nil
        guard left >= (isNew ? 2 : 1) else { continue }
        left &-= isNew ? 2 : 1
        added[name, default: []].append(user)
      }
    }
    for (name, users) in added { groups[name] = merged(groups[name] ?? [], users) }
    if groups.isEmpty { return nil }
    let names = Array(groups.keys).inByteOrder()
    let text = encode(names.map { ($0, groups[$0] ?? []) })
    return text.count > Limits.messageBytesMax ? known : text
  }

  private static func merged(_ one: [[UInt8]], _ other: [[UInt8]]) -> [[UInt8]] {
    var all: [[UInt8]] = []
    all.reserveCapacity(one.count &+ other.count)
    var rest = other[...]
    for user in one {
      while let next = rest.first, next.lexicographicallyPrecedes(user) {
        all.append(next)
        rest.removeFirst()
      }
      all.append(user)
    }
    all.append(contentsOf: rest)
    return all
  }

  /// The set with one more user; text of another shape is left as it is.
  static func adding(
    _ reaction: [UInt8], by user: [UInt8], to text: [UInt8], limit: Int = .max
  ) -> [UInt8] {
    guard var groups = text.isEmpty ? [] : ReaderList.groups(text) else { return text }
    let count = groups.reduce(groups.count) { $0 &+ $1.users.count }
    if let place = groups.firstIndex(where: { $0.name == reaction }) {
      if groups[place].users.contains(user) || count >= limit { return text }
      groups[place].users.append(user)
    } else {
      if count > limit &- 2 { return text }
      groups.append((reaction, [user]))
    }
    return encode(groups)
  }

  /// The set with one user less. A reaction that nobody is left of goes.
  static func removing(_ reaction: [UInt8], by user: [UInt8], from text: [UInt8]) -> [UInt8] {
    guard var groups = text.isEmpty ? [] : ReaderList.groups(text),
      let place = groups.firstIndex(where: { $0.name == reaction })
    else { return text }
    groups[place].users.removeAll { $0 == user }
    if groups[place].users.isEmpty { groups.remove(at: place) }
    return groups.isEmpty ? [] : encode(groups)
  }

  private static func encode(_ groups: [(name: [UInt8], users: [[UInt8]])]) -> [UInt8] {
    var text = JSONObject()
    for group in groups { text.add(group.name, json: JSONList(group.users).closed()) }
    return text.closed()
  }
}
