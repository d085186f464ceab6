/// Key slots of an open vault: each change is one header more and touches no page.
///
/// A slot is made beforehand, outside of any lock: a passphrase takes as long as its figures say.
package import Base
internal import CSQLite

extension Vault {
  /// What the slots of a file say, which need not be open and may be.
  package static func slots(at path: String) throws(VaultFailure) -> [SlotView] {
    guard sodiumIsReady else { throw .io(SQLITE_ERROR) }
    return try HeaderFile.slots(at: path)
  }

  /// What the slots of this file say.
  package func slots() throws(VaultFailure) -> [SlotView] {
    guard let header = core?.copies.current else { throw .io(SQLITE_MISUSE) }
    return header.views
  }

  /// What one more key needs of a slot. Nothing is written.
  package func slot(for new: NewSlot) throws(VaultFailure) -> PreparedSlot {
    guard core?.copies.current != nil else { throw .io(SQLITE_MISUSE) }
    guard new.key.count > 0 else { throw .io(SQLITE_NOMEM) }
    return try KeySlot.prepared(new)
  }

  /// Writes a slot, in the place of another one or in the first that is empty; gives its number.
  package func put(_ slot: PreparedSlot, replacing number: Int?) throws(VaultFailure) -> Int {
    try change(number) { _ in slot }
  }

  /// Empties a slot, unless no other one opens the file with this version.
  package func removeSlot(_ number: Int) throws(VaultFailure) {
    _ = try change(number) { (header) throws(VaultFailure) in
      for other in 0..<FileHeader.slotCount where other != number {
        if header.slot(other).isUsable { return nil }
      }
      throw .lastSlot
    }
  }

  /// Puts what `make` gives in the place of a slot that is used, or in the first that is empty.
  private func change(
    _ wanted: Int?, _ make: (FileHeader) throws(VaultFailure) -> PreparedSlot?
  ) throws(VaultFailure) -> Int {
    guard let core else { throw .io(SQLITE_MISUSE) }
    var changed: (number: Int, header: FileHeader)?
    do throws(VaultFailure) {
      try core.copies.change { (header) throws(VaultFailure) in
        for number in 0..<FileHeader.slotCount {
          let isWanted = wanted.map { $0 == number } ?? true
          guard isWanted, header.slot(number).isEmpty == (wanted == nil) else { continue }
          let next = try header.with(make(header), at: number, keys: core.keys)
          changed = (number, next)
          return next
        }
        throw wanted == nil ? .slotsFull : .noSuchSlot
      }
    } catch {
      // A full disk took one copy and not the other, and the next opening takes that one.
      let holds = changed != nil && core.copies.current == changed?.header
      guard error == .full, holds else { throw error }
      try renewOwnHeader()
      throw .fullAfterChange
    }
    guard let changed else { throw .io(SQLITE_MISUSE) }
    try renewOwnHeader()
    return changed.number
  }
}
