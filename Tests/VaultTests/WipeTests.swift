/// A wipe that is cut short: the file is as it was, or there is none. No file stays in the way of
/// the next one.
import Base
import CSQLite
import Foundation
import TestSupport
import Testing
import Vault

struct WipeTests {
  /// A closed file with ten rows.
  private func made(_ place: Place) throws {
    let vault = try open(place.path)
    fill(Database(try vault.connect(.writer)), 0..<10)
    vault.close()
  }

  /// The bytes of a file that was wiped and not deleted.
  private func wiped() throws -> [UInt8] {
    let place = Place()
    try made(place)
    let vault = try open(place.path, create: false)
    try FileManager.default.linkItem(atPath: place.path, toPath: place.path("kept.db"))
    try vault.destroy()
    return contents(place.path("kept.db"))
  }

  /// What an opening finds that makes no file; nil for no file.
  private func rows(_ place: Place) throws(VaultFailure) -> [String]? {
    do throws(VaultFailure) {
      let vault = try open(place.path, create: false, strict: true)
      defer { vault.close() }
      let reader = Database(try vault.connect(.reader))
      defer { reader.close() }
      return try? reader.rows("SELECT * FROM t").get()
    } catch .notFound {
      return nil
    }
  }

  private func isEmptyAndNew(_ place: Place) throws -> Bool {
    let vault = try open(place.path)
    defer { vault.close() }
    let writer = Database(try vault.connect(.writer))
    defer { writer.close() }
    return vault.isMade && writer.one("SELECT count(*) FROM sqlite_schema") == "0"
  }

  private func recorded() throws -> (start: DiskImage, events: [DiskEvent], Place) {
    let place = Place()
    try made(place)
    let disk = FaultVFS()
    let start = DiskImage(paths: [place.path, place.logPath])
    let vault = try open(place.path, create: false, base: disk.name)
    let writer = Database(try vault.connect(.writer))
    disk.record()
    writer.close()
    try vault.destroy()
    return (start, disk.events, place)
  }

  /// Protects: after a kill at any point of a wipe the key opens all, or there is no file: the next
  /// opening takes away what is left of it.
  @Test func aKillAtAnyPointLeavesTheFileOrNone() throws {
    let (start, events, place) = try recorded()
    var seen: Set<String> = []
    for cut in 0...events.count {
      var image = start
      for event in events[..<cut] { image.apply(event) }
      let target = Place()
      image.write(replacing: place.directory, with: target.directory)
      if try rows(target) == expectedRows(0..<10) {
        seen.insert("whole")
        continue
      }
      seen.insert(image.files[place.path] == nil ? "gone" : "left")
      #expect(target.names == [], "cut at \(cut)")
      image.write(replacing: place.directory, with: target.directory)
      #expect(try isEmptyAndNew(target), "cut at \(cut)")
    }
    #expect(seen == ["whole", "left", "gone"])
  }

  @Test func aPowerCutAtAnyPointLeavesTheFileOrNone() throws {
    let (start, events, place) = try recorded()
    var random = Random(seed: 9)
    var seen: [Int: Int] = [:]
    for _ in 0..<300 {
      let image = start.afterPowerCut(events[..<random.below(events.count + 1)], &random)
      let target = Place()
      image.write(replacing: place.directory, with: target.directory)
      let found = try rows(target)
      #expect(found == nil || found == expectedRows(0..<10))
      seen[found?.count ?? 0, default: 0] += 1
      if found == nil { #expect(try isEmptyAndNew(target)) }
    }
    #expect(seen.count == 2)
  }

  /// Protects: only what a wipe writes is taken for a file that is gone. A header that was damaged,
  /// or changed to have no key, is left alone.
  @Test func aDamagedHeaderIsNeverTakenForIt() throws {
    let wiped = try wiped()
    for at in [0, 8, 20, 44, 50, 64, 2000, 4031, 4063, 4064, 4095] {
      let place = Place()
      var file = wiped
      for copy in [0, 1] { file[copy * 4096 + at] ^= 1 }
      store(file, place.path)
      for create in [false, true] {
        #expect(throws: at == 0 ? VaultFailure.notOurs : .damaged) {
          _ = try open(place.path, create: create)
        }
      }
      #expect(contents(place.path) == file)
    }
    // Bytes that no wipe leaves, with a sum that fits.
    for at in [64, 1344, 1600, 2000, 4000, 4040] {
      let place = Place()
      var file = wiped
      for copy in [0, 1] {
        file[copy * 4096 + at] = 9
        resum(&file, copy: copy)
      }
      store(file, place.path)
      for create in [false, true] {
        #expect(throws: VaultFailure.noSlot) { _ = try open(place.path, create: create) }
      }
      #expect(contents(place.path) == file)
    }
  }

  /// Protects: a copy that has keys is taken before an empty one, whichever it is; where there is
  /// none that is whole, nothing is left that a key opens.
  @Test func oneCopyWithKeysIsEnough() throws {
    for emptied in [0, 1] {
      for isDamaged in [false, true] {
        let place = Place()
        try made(place)
        var file = contents(place.path)
        let start = emptied * 4096
        for at in 64..<4064 where !(2048..<2120).contains(at) { file[start + at] = 0 }
        resum(&file, copy: emptied)
        if isDamaged { file[4096 - start + 100] ^= 1 }
        store(file, place.path)
        #expect(try rows(place) == (isDamaged ? nil : expectedRows(0..<10)))
        if isDamaged { continue }
        let bytes = contents(place.path)
        #expect(unmarked(bytes[..<4096]) == unmarked(bytes[4096..<8192]))
      }
    }
  }

  /// Protects: who only reads a file removes nothing of it.
  @Test func aSalvageLeavesItAlone() throws {
    let place = Place()
    let file = try wiped()
    store(file, place.path)
    #expect(throws: VaultFailure.notFound) {
      _ = try BrokenFile(VaultConfig(path: place.path, key: HostKey(key), create: false))
    }
    #expect(contents(place.path) == file)
  }

  @Test func aNameOfAStorageIsFreeAgain() throws {
    let storage = MemoryStorage()
    storage.put("eva", .main, try wiped())
    #expect(throws: VaultFailure.notFound) { _ = try open(storage, create: false) }
    let vault = try open(storage)
    #expect(vault.isMade)
    let writer = Database(try vault.connect(.writer))
    #expect(writer.one("SELECT count(*) FROM sqlite_schema") == "0")
    fill(writer, 0..<5)
    writer.close()
    vault.close()
    let again = try open(storage, create: false)
    let reader = Database(try again.connect(.reader))
    #expect(try reader.rows("SELECT * FROM t").get() == expectedRows(0..<5))
  }
}
