/// Faults that tests plant in a viewport, each of which they must find: what a rule is that none of
/// them breaks, nobody knows. A release has none.

package enum PlantedFault: String, CaseIterable, Sendable {
  /// The anchor is held by its other edge.
  case otherEdge
  /// A list that is held to its end is not.
  case endNotHeld
  /// Nothing keeps the view within the list.
  case endsIgnored
  /// Where the anchor is taken out, no other visible row takes its place.
  case anchorLost
  /// Rows put in directly before the anchor go behind it.
  case insertedBehind
  /// A layout asks for what estimates say, and not for what may turn out to be in the view.
  case askedByEstimate
  /// The bar shows where the view is, and jumps as heights become known.
  case barByOffset
  /// The last frame of an animation goes where it seemed to go, and keeps no target.
  case lastFrameForgotten
  /// A row that looks different keeps its height.
  case updateForgotten
  /// Where estimates end the list before the anchor has its place, it stays where it was put then.
  case slipForgotten
  /// A row on the view's edge is left out.
  case edgeRowLeftOut
}

extension Viewport {
  #if DEBUG
    func isPlanted(_ fault: PlantedFault) -> Bool { planted == fault }
  #else
    @inline(__always) func isPlanted(_ fault: PlantedFault) -> Bool { false }
  #endif
}
