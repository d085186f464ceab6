/// Ids are told apart by all of their bytes.
import Base
import Testing

@Suite struct IDSetTests {
  @Test func itHoldsWhatASetOfArraysHolds() {
    var random = Random(seed: 5)
    var ids = IDSet()
    var model: Set<[UInt8]> = []
    for _ in 0..<3_000 {
      // Few bytes of few kinds, so that many are the beginning of another one.
      let id = (0..<random.below(6)).map { _ in UInt8(random.below(3)) }
      #expect(ids.contains(id) == model.contains(id))
      if random.chance(0.4) {
        ids.insert(id)
        model.insert(id)
      }
      #expect(ids.count == model.count)
    }
    #expect(Set(ids.all) == model)
    #expect(ids == IDSet(model))
    ids.insert([9])
    #expect(ids != IDSet(model))
  }

  @Test func anEmptyOneHoldsNothing() {
    var ids = IDSet()
    ids.reserve(100)
    #expect(!ids.contains([]))
    ids.insert([])
    #expect(ids.contains([]) && !ids.contains([0]))
  }

  /// Of any length, each byte of each place counts.
  @Test func anIdIsFoldedWithAllOfItsBytes() {
    for count in 0...20 {
      let id = (0..<count).map { UInt8($0 * 7) }
      var seen: Set<UInt64> = [foldedBytes(of: id), foldedBytes(of: id + [0])]
      for place in 0..<count {
        var other = id
        other[place] ^= 0x80
        seen.insert(foldedBytes(of: other))
      }
      #expect(seen.count == count + 2)
    }
  }
}
