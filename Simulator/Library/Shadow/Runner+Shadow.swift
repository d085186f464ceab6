/// Runs seeds with a shadow.
internal import Base
internal import Book

extension Runner {
  /// Runs one seed, and says how the books did beside the engine.
  package static func shadow(
    _ seed: UInt64, breaksBooks: Bool = false, story: ((String) -> Void)? = nil
  ) -> ShadowFigures {
    if Knobs.Worlds(rawValue: seed).contains(.log) { return shadowLog(seed, story) }
    let knobs = Knobs(seed: seed)
    var figures = ShadowFigures()
    DrawnKeys.during(seed: seed) {
      do {
        let world = try World(knobs: knobs, recording: .off) { knobs, clock in
          try TidelineClient(knobs: knobs, clock: clock)
        }
        defer { world.client.discard() }
        let shadow = Shadow(knobs)
        shadow.story = story
        if breaksBooks { shadow.faults = [.pushesLink, .laterDoesNotCut, .unsettledMarksLink] }
        world.shadow = shadow
        do {
          try world.run()
          try world.lookAtShadow(atRest: true)
        } catch {
          figures.isBroken = "\(seed): \(error)"
        }
        let isBroken = figures.isBroken
        figures = shadow.figures
        figures.isBroken = isBroken
      } catch {
        figures.isBroken = "\(seed): \(error)"
      }
    }
    figures.close(seed)
    return figures
  }

  private static func shadowLog(
    _ seed: UInt64, _ story: ((String) -> Void)?
  ) -> ShadowFigures {
    let knobs = LogKnobs(seed: seed)
    var figures = ShadowFigures()
    DrawnKeys.during(seed: seed) {
      do {
        let world = try LogWorld(knobs: knobs, recording: .off) { knobs, clock in
          try TidelineClient(knobs: knobs, clock: clock)
        }
        defer { world.discard() }
        for device in world.devices {
          device.shadow = LogShadow(knobs)
          device.shadow?.story = story
        }
        do {
          try world.run()
          try world.lookAtShadows(atRest: true)
        } catch {
          figures.isBroken = "\(seed): \(error)"
        }
        for device in world.devices { if let one = device.shadow { figures.add(one.figures) } }
      } catch {
        figures.isBroken = "\(seed): \(error)"
      }
    }
    figures.close(seed)
    return figures
  }
}
