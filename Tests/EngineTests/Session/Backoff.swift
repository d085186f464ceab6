/// How long is waited before what failed is tried again.
///
/// Rule protected: devices that failed together do not come back together.
import Engine
import Testing

@Suite struct Backoff {
  /// The first retry comes after a second, more or less, and not after the same time everywhere.
  @Test func theFirstRetryIsSpread() throws {
    var waits: [Int] = []
    for seed in 1...20 as ClosedRange<UInt64> {
      let world = try World.forgetful { $0.seed = seed }
      try world.connect()
      world.server.failNext("unavailable", verb: "send_message")
      try world.say("hello")
      try world.run()
      var waited = 0
      while world.asked("send_message").count < 2, waited < 10_000 {
        try world.wait(ms: 40)
        waited += 40
      }
      waits.append(waited)
    }
    #expect(waits.allSatisfy { (720...1_320).contains($0) }, "\(waits)")
    #expect(Set(waits).count >= 5, "\(waits)")
  }
}
