/// The keys of a world's files, drawn from its seed.
///
/// The vault draws a data key at random, and what is derived from it has an order: that of the
/// digests in an index, so how many pages a commit writes, so where the power goes. A seed would
/// not replay. Only the simulator asks libsodium for this, and only the thread of a world has it.
internal import CSodium
internal import Glibc

enum DrawnKeys {
  /// Runs `body` with random bytes that the seed decides.
  static func during<Result>(seed: UInt64, _ body: () -> Result) -> Result {
    guard isInstalled else { return body() }
    let state = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
    state.initialize(to: seed)
    pthread_setspecific(place, state)
    defer {
      pthread_setspecific(place, nil)
      state.deallocate()
    }
    return body()
  }

  /// The state of the thread that runs a world.
  private static let place: pthread_key_t = {
    var place = pthread_key_t()
    precondition(pthread_key_create(&place, nil) == 0, "no place for a thread's state")
    return place
  }()

  private static let isInstalled: Bool = {
    let source = UnsafeMutablePointer<randombytes_implementation>.allocate(capacity: 1)
    source.initialize(
      to: randombytes_implementation(
        implementation_name: { name },
        random: { word() },
        stir: nil,
        uniform: nil,
        buf: { buffer, count in
          guard let buffer else { return }
          fill(UnsafeMutableRawBufferPointer(start: buffer, count: count))
        },
        close: nil))
    return randombytes_set_implementation(source) == 0
  }()

  private nonisolated(unsafe) static let name: UnsafePointer<CChar>? =
    strdup("seed").map { UnsafePointer($0) }

  private static func word() -> UInt32 {
    var word: UInt32 = 0
    withUnsafeMutableBytes(of: &word) { fill($0) }
    return word
  }

  /// SplitMix64 on a world's thread, the system's bytes on any other.
  private static func fill(_ buffer: UnsafeMutableRawBufferPointer) {
    guard let state = pthread_getspecific(place)?.assumingMemoryBound(to: UInt64.self) else {
      return fillFromSystem(buffer)
    }
    for at in buffer.indices {
      state.pointee &+= 0x9E37_79B9_7F4A_7C15
      var word = state.pointee
      word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
      word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
      buffer[at] = UInt8(truncatingIfNeeded: word >> 56)
    }
  }

  private static func fillFromSystem(_ buffer: UnsafeMutableRawBufferPointer) {
    var system = SystemRandomNumberGenerator()
    for at in buffer.indices { buffer[at] = system.next() }
  }
}
