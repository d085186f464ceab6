/// Checks what the code itself guarantees.
///
/// Traps in debug builds and where `TL_CHECKS` is set (tests, simulation);
/// throws in release, where the boundary closes the handle and the host sees
/// `TL_E_INTERNAL`. Never used on anything that comes from outside.
package struct InvariantBroken: Error, Sendable {
  package let text: StaticString
}

@inline(__always)
package func invariant(
  _ condition: @autoclosure () -> Bool, _ text: StaticString
) throws(InvariantBroken) {
  if condition() { return }
  #if DEBUG || TL_CHECKS
    fatalError("invariant broken: \(text)")
  #else
    throw InvariantBroken(text: text)
  #endif
}
