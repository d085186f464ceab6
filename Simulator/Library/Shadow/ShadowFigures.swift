/// What a run of the shadow counts.

package struct ShadowFigures: Codable, Sendable {
  /// One kind of difference.
  package struct Class: Codable, Sendable {
    package var looks = 0
    package var worlds = 0
    package var seeds: [UInt64] = []
  }

  package var worlds = 0
  package var looks = 0
  package var classes: [String: Class] = [:]
  package var requests = 0
  package var pages = 0
  package var deletions = 0
  package var pushes = 0
  package var purges = 0
  /// Syncs whose requests were compared, those that the engine made, and those of the pagers.
  package var syncs = 0
  package var syncRequests = 0
  package var pagerRequests = 0
  /// Time on the processor of `take`, and of the engine's whole input with a page.
  package var takeNs: Int64 = 0
  package var engineNs: Int64 = 0
  /// Pairs of rows that both call neighbours, that the engine alone does, that the book alone does.
  package var both = 0
  package var engineAlone = 0
  package var bookAlone = 0
  package var restBoth = 0
  package var restEngineAlone = 0
  package var restBookAlone = 0
  package var isBroken: String?

  package init() {}

  mutating func note(_ name: String) { classes[name, default: Class()].looks += 1 }

  /// At the end of a world.
  mutating func close(_ seed: UInt64) {
    worlds = 1
    for name in classes.keys {
      classes[name]?.worlds = 1
      classes[name]?.seeds = [seed]
    }
  }

  package mutating func add(_ other: ShadowFigures) {
    worlds += other.worlds
    looks += other.looks
    requests += other.requests
    pages += other.pages
    deletions += other.deletions
    pushes += other.pushes
    purges += other.purges
    syncs += other.syncs
    syncRequests += other.syncRequests
    pagerRequests += other.pagerRequests
    takeNs += other.takeNs
    engineNs += other.engineNs
    both += other.both
    engineAlone += other.engineAlone
    bookAlone += other.bookAlone
    restBoth += other.restBoth
    restEngineAlone += other.restEngineAlone
    restBookAlone += other.restBookAlone
    for (name, one) in other.classes {
      var sum = classes[name] ?? Class()
      sum.looks += one.looks
      sum.worlds += one.worlds
      sum.seeds = Array((sum.seeds + one.seeds).sorted().prefix(8))
      classes[name] = sum
    }
  }
}
