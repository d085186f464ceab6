/// What the judges ask of the engine that its facade does not tell.
internal import Store

@testable internal import Engine

extension TidelineClient {
  /// Whether pages have told in which way each kind of them is listed: until then they teach no
  /// order.
  package func knowsListings() throws -> Bool {
    try client.input { engine, _ throws(Failure) in engine.memory.ties.isKnown }
  }

  package func contradictions() throws -> UInt64 {
    var check = RowCheck()
    while try !client.store.step(&check) {}
    return check.found.count
  }
}

extension TidelineClient {
  /// The client, which was at rest before this call with `SIM_REST` in the environment.
  func rested() throws -> Client {
    if VFSPool.rests { _ = try client.rest() }
    return client
  }
}
