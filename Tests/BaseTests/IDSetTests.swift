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
      } else if random.chance(0.2) {
        #expect(ids.remove(id) == (model.remove(id) != nil))
      }
      #expect(ids.count == model.count)
    }
    #expect(Set(ids.all) == model)
    #expect(ids == IDSet(model))
    ids.insert([9])
    #expect(ids != IDSet(model))
  }

  /// Few are kept otherwise than many: on the way from one to the other nothing is lost, and
  /// two with the same ids are the same, whichever way each came to them.
  @Test func itGrowsFromFewToMany() {
    var ids = IDSet()
    var reserved = IDSet()
    for count in 1...12 {
      let id = [UInt8(count)]
      for _ in 0..<2 {
        ids.insert(id)
        reserved.insert(id)
        reserved.reserve(count * 3)
      }
      #expect(ids.count == count && reserved.count == count)
      #expect((1...12).map { ids.contains([$0]) } == (1...12).map { $0 <= count })
      #expect(Set(ids.all) == Set((1...count).map { [UInt8($0)] }))
      #expect(ids == reserved && reserved == ids && ids == IDSet(ids.all.reversed()))
      #expect(ids != IDSet(ids.all.dropLast() + [[99]]))
    }
  }

  @Test func whatIsTakenOutOfAFewIsGone() {
    var ids = IDSet([[1], [2], [3]])
    let wasThere = [ids.remove([2]), ids.remove([2]), ids.remove([9])]
    #expect(wasThere == [true, false, false])
    #expect(ids == IDSet([[3], [1]]) && !ids.contains([2]))
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
