/// What a change of the keys says where the disk is full.
import CSQLite
import TestSupport
import Testing
import Vault

extension KeyTests {
  /// Protects: what a full disk says of a change is what the next opening finds, wherever it fails.
  @Test func aFullDiskSaysWhetherTheKeysWereChanged() throws {
    var seen: [VaultFailure] = []
    for write in 1...5 {
      for (count, part) in [(1, 0), (9, 0), (1, 1900), (9, 1900), (1, 2048), (9, 2048)] {
        for removes in [false, true] {
          let place = Place()
          let disk = FaultVFS()
          try made(place, [.passphrase])
          let vault = try open(place.path, .raw, base: disk.name)
          disk.failWrite(write, count: count, .short(bytes: part, SQLITE_FULL))
          var failure: VaultFailure?
          do throws(VaultFailure) {
            if removes { try vault.removeSlot(1) } else { try vault.add(.code) }
          } catch {
            failure = error
          }
          disk.reset()
          vault.close()
          let isOld = openers(place.path) == [.raw, .passphrase]
          #expect(isOld == (failure == .full), "write \(write), \(count), \(part)")
          #expect(isOld || openers(place.path) == (removes ? [.raw] : [.raw, .passphrase, .code]))
          if let failure { seen.append(failure) }
        }
      }
    }
    #expect(seen.contains(.full) && seen.contains(.fullAfterChange))
    #expect(seen.allSatisfy { $0 == .full || $0 == .fullAfterChange })
  }
}
