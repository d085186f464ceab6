/// Where walks without an end were left: through deletions and changes, whose cursors are no times,
/// and through the list of conversations.
///
/// Rule protected: a place is taken once, so that a walk that leads nowhere begins at its beginning
/// the next time.
internal import Base

/// Where a walk through deletions or changes was left.
struct LeftCursor {
  struct Walk: Hashable {
    let conversation: [UInt8]
    let areChanges: Bool
  }

  /// What was asked first. Where something else is asked first, it is another walk.
  let from: [UInt8]
  let next: [UInt8]
}

struct LeftWalks {
  private var cursors: [LeftCursor.Walk: LeftCursor] = [:]
  private var listing: Listing?

  mutating func take(_ walk: LeftCursor.Walk) -> LeftCursor? { cursors.removeValue(forKey: walk) }

  mutating func leave(_ walk: LeftCursor.Walk, at cursor: LeftCursor) { cursors[walk] = cursor }

  /// The walk through the list: where it was left, or a new one.
  mutating func takeListing() -> Listing {
    defer { listing = nil }
    return listing ?? Listing()
  }

  /// Nil where the walk leads nowhere.
  mutating func leave(_ listing: Listing?) { self.listing = listing }

  /// The list is to be read from its beginning.
  mutating func removeListing() { listing = nil }
}
