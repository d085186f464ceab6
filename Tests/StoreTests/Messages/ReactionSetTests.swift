/// Sets of reactions, and lists of readers: how they follow what users do, and how much they hold.
import Base
import Testing

@testable import Store

@Suite struct ReactionSetTests {
  private func user(_ number: Int) -> [UInt8] {
    bytes(String(repeating: "0", count: 6 - "\(number)".count) + "\(number)")
  }

  private func decoded(_ text: [UInt8]?) -> [[UInt8]: [[UInt8]]] {
    var groups: [[UInt8]: [[UInt8]]] = [:]
    for group in text.flatMap(ReaderList.groups) ?? [] { groups[group.name] = group.users }
    return groups
  }

  /// Protects: whatever way a set came to be, the same reactions are the same text.
  @Test func aSetFollowsItsUsers() {
    var random = Random(seed: 5)
    let names = ["b", "a", "\u{1F44D}", "\"\\\n"].map(bytes)
    var state: [[UInt8]: [[UInt8]]] = [:]
    var text: [UInt8]?
    for _ in 0..<300 {
      var changes: [[UInt8]: [[UInt8]]] = [:]
      for _ in 0...random.below(3) {
        changes[user(random.below(12))] = names.filter { _ in random.chance(0.4) }
      }
      text = ReactionSet.with(changes, in: text)
      for (user, given) in changes { state[user] = given.isEmpty ? nil : given }
      #expect(text == ReactionSet.with(state, in: nil))
      var groups: [[UInt8]: [[UInt8]]] = [:]
      for (user, given) in state { for name in given { groups[name, default: []].append(user) } }
      #expect(decoded(text) == groups.mapValues { $0.sorted { $0.lexicographicallyPrecedes($1) } })
    }
  }

  /// Protects: a set holds as many entries as a list of a frame, however many react. What is taken
  /// back makes room.
  @Test func aFullSetTakesNothingIn() {
    let most = Limits.listItemsMax
    var changes: [[UInt8]: [[UInt8]]] = [:]
    for number in 0..<most + 50 { changes[user(number)] = [bytes("+")] }
    let full = ReactionSet.with(changes, in: nil)
    #expect(decoded(full)[bytes("+")]?.count == most - 1)
    #expect(ReactionSet.with([user(most + 60): [bytes("+")]], in: full) == full)
    #expect(ReactionSet.with([user(7): [bytes("+"), bytes("-")]], in: full) == full)
    #expect(
      ReactionSet.with(bytes("+"), by: user(most + 60), isAdded: true, in: full) == full)
    #expect(
      ReactionSet.with(bytes("-"), by: user(most + 60), isAdded: true, in: full) == full)
    let less = ReactionSet.with([user(7): []], in: full)
    #expect(decoded(less)[bytes("+")]?.count == most - 2)
    let again = ReactionSet.with([user(most + 60): [bytes("+")]], in: less)
    #expect(decoded(again)[bytes("+")]?.count == most - 1)
    #expect(decoded(again)[bytes("+")]?.last == user(most + 60))
  }

  /// Protects: so does a list of readers.
  @Test func aFullListOfReadersTakesNobodyIn() {
    let most = Limits.listItemsMax
    let full = ReaderList.adding((0..<most + 50).map(user), to: nil)
    #expect(full.flatMap(ReaderList.decode)?.count == most)
    #expect(ReaderList.adding([user(most + 60)], to: full) == full)
    #expect(ReaderList.union(full, added: bytes("[\"x\"]")) == full)
  }
}
