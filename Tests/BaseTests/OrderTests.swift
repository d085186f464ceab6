import Testing

@testable import Base

@Suite struct OrderTests {
  @Test func equalOnesKeepTheirOrder() {
    var seed: UInt64 = 7
    for count in 0..<70 {
      for kinds: UInt64 in [1, 2, 5, 1_000] {
        let items = (0..<count).map { at in
          seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
          return (key: (seed >> 33) % kinds, at: at)
        }
        let expected = items.sorted { ($0.key, $0.at) < ($1.key, $1.at) }
        #expect(items.ordered { $0.key < $1.key }.map(\.at) == expected.map(\.at))
      }
    }
  }
}
