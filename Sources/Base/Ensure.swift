/// Rules that the code itself guarantees, checked where they matter.
///
/// One that does not hold is a defect, not an input: bytes of host, wire and disk are judged
/// where they are read and fail as what they are. In a debug build and in the simulator a broken
/// rule ends the process with its text, so that it is found where it happens. In a release it is
/// a failure of the room, of which the client is closed.
internal import Glibc

package enum Invariants {
  /// Whether a broken rule ends the process.
  private static let ends = Lock(isDebug)

  private static var isDebug: Bool {
    #if DEBUG
      true
    #else
      false
    #endif
  }

  /// For programs that look for defects, whatever they were built with. The library never does.
  package static func endProcess(_ ends: Bool = true) {
    Self.ends.withLock { $0 = ends }
  }

  /// Says which rule is broken, and ends the process where that is wanted.
  package static func report(_ rule: StaticString, _ file: StaticString, _ line: UInt) {
    guard ends.withLock({ $0 }) else { return }
    var text = Array("broken invariant: \(rule) (\(file):\(line))\n".utf8)
    _ = unsafe write(STDERR_FILENO, &text, text.count)
    _exit(70)
  }
}

/// Throws `failure` where a rule does not hold.
@inline(__always)
package func ensure<Failure: Error>(
  _ holds: @autoclosure () -> Bool, _ rule: StaticString, or failure: (StaticString) -> Failure,
  file: StaticString = #fileID, line: UInt = #line
) throws(Failure) {
  if holds() { return }
  Invariants.report(rule, file, line)
  throw failure(rule)
}
