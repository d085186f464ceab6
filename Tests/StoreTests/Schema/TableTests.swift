/// Small tables of the store: by key, by address of a text, by ref.
import Base
import Testing

@testable import Store

@Suite struct TableTests {
  @Test func aShortTableIsADictionaryInOrder() {
    var random = Random(seed: 3)
    for _ in 0..<200 {
      var table = SmallDictionary<Int64, Int>()
      var model: [Int64: Int] = [:]
      var order: [Int64] = []
      // On both sides of where it begins to hash.
      for _ in 0..<random.below(60) {
        let key = Int64(random.below(1 + random.below(24)))
        #expect(table.value(key) == model[key])
        if model[key] == nil { order.append(key) }
        table[key, default: 100] += 1
        model[key, default: 100] += 1
      }
      #expect(table.keys == order)
      #expect(table.isEmpty == order.isEmpty)
      for key in -1..<Int64(26) {
        #expect(table.value(key) == model[key])
        #expect(table[key, default: 7] == model[key, default: 7])
      }
    }
  }

  @Test func aStatementIsKeptAtThePlaceOfItsText() throws {
    let connection = try Connection.memory()
    let cache = StatementCache()
    let texts: [StaticString] = ["SELECT 1", "SELECT 2", "SELECT 3", "SELECT 4", "BEGIN", "COMMIT"]
    let places = texts.map { cache.place(of: $0) }
    #expect(Set(places).count == texts.count)
    #expect(texts.map { cache.place(of: $0) } == places)
    for place in places { #expect(unsafe cache.checkOut(place) == nil) }
    // The same statement twice at once: the second one is another, and one of both is kept.
    let text: StaticString = "SELECT ?"
    for _ in 0..<3 {
      let first = try connection.statement(text, Int64(1))
      let second = try connection.statement(text, Int64(2))
      let isThere = (try first.step(), try second.step())
      #expect(isThere == (true, true))
      #expect(first.int(0) == 1 && second.int(0) == 2)
    }
  }

  @Test func aRefIsFoundByAllOfItsBytes() {
    var random = Random(seed: 8)
    for _ in 0..<100 {
      var refs = InlineRefs()
      var model: [[UInt8]] = []
      while true {
        let ref = (0..<random.below(30)).map { _ in UInt8(random.below(2)) }
        #expect((refs.find(ref) != nil) == model.contains(ref))
        if model.contains(ref) { continue }
        guard refs.append(ref, atUs: Int64(model.count)) else { break }
        model.append(ref)
      }
      for (place, ref) in model.enumerated() { #expect(refs.find(ref)?.atUs == Int64(place)) }
      // Bytes of a damaged file: nothing is read that is not there.
      for cut in 0..<refs.bytes.count {
        let damaged = InlineRefs(stored: Array(refs.bytes.prefix(cut)))
        #expect(damaged.find([7]) == nil)
        if let found = damaged.find(model[0]) { #expect(found.ref.upperBound <= cut) }
      }
    }
  }
}
