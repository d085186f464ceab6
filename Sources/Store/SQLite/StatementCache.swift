/// The prepared statements of a connection, each named by where its text lies: that is a constant
/// of the program.
///
/// An update looks for a dozen of them, so a look is one product and one comparison. Each has a
/// place, which it keeps, and is there while nobody uses it.
internal import CSQLite

@safe final class StatementCache {
  @safe private struct Slot {
    var text: UInt = 0
    var prepared: OpaquePointer?
  }

  /// A power of two, and more than twice as many as the store has statements. Where there were
  /// more, each of those would be prepared anew.
  private static let slotsMax = 512
  /// No place: a statement that is not kept.
  static let noPlace = -1

  private let slots: UnsafeMutableBufferPointer<Slot>

  init() {
    unsafe slots = .allocate(capacity: Self.slotsMax)
    unsafe slots.initialize(repeating: Slot())
  }

  deinit {
    unsafe slots.deallocate()
  }

  /// Where the statement of a text is kept, or is to be kept.
  func place(of text: StaticString) -> Int {
    let text = unsafe UInt(bitPattern: text.utf8Start)
    // The upper bits of the product depend on all of the address.
    var place = Int(truncatingIfNeeded: (text &* 0x9E37_79B9_7F4A_7C15) >> 55)
    for _ in 0..<Self.slotsMax {
      if unsafe slots[place].text == text { return place }
      if unsafe slots[place].text == 0 {
        unsafe slots[place].text = text
        return place
      }
      place = (place + 1) % Self.slotsMax
    }
    return Self.noPlace
  }

  /// What is kept at a place, which is then empty; nil while it is in use, or was never prepared.
  func checkOut(_ place: Int) -> OpaquePointer? {
    guard place != Self.noPlace, let prepared = unsafe slots[place].prepared else { return nil }
    unsafe slots[place].prepared = nil
    return unsafe prepared
  }

  /// False where another one lies there, or there is no place.
  func giveBack(_ prepared: OpaquePointer, place: Int) -> Bool {
    guard place != Self.noPlace, unsafe slots[place].prepared == nil else { return false }
    unsafe slots[place].prepared = prepared
    return true
  }

  /// Finalizes what is there.
  func empty() {
    for place in unsafe slots.indices {
      unsafe sqlite3_finalize(slots[place].prepared)
      unsafe slots[place].prepared = nil
    }
  }
}
