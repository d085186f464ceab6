/// The file of own work: only a start of what was written is ever read, and nothing fails by it.
import Base
import CSQLite
import Foundation
import TestSupport
import Testing
import Vault

struct OwnFileTests {
  private let records = (0..<6).map { number in
    Array("record \(number) ".utf8) + [UInt8](repeating: 0x61, count: number * 40)
  }

  private func ownPath(_ place: Place) -> String { place.path("cache.db-own") }

  /// What can be read, in one piece for each frame.
  private func read(
    _ vault: Vault, _ key: [UInt8]? = nil
  ) throws -> (found: OwnFound, frames: [[UInt8]]) {
    var frames: [[UInt8]] = []
    let found = try vault.readOwn(key.map { HostKey($0) }) { frames.append($0) }
    return (found, frames)
  }

  /// Makes one anew with the first record, and appends the others.
  private func fillOwn(_ vault: Vault, _ records: [[UInt8]]) throws {
    let writer = try vault.beginOwn()
    try writer.put(records[0])
    try vault.finishOwn(writer)
    for record in records.dropFirst() { try vault.appendOwn(record) }
    vault.syncOwn()
  }

  /// A file with records beside it; the bytes of those.
  private func prepared(_ place: Place) throws -> [UInt8] {
    let vault = try open(place.path)
    defer { vault.close() }
    try fillOwn(vault, records)
    return contents(ownPath(place))
  }

  @Test func whatIsWrittenIsRead() throws {
    let place = Place()
    let vault = try open(place.path)
    #expect(try read(vault).found == .nothing)
    #expect(!vault.hasOwn)
    try fillOwn(vault, records)
    #expect(vault.hasOwn)
    #expect(place.names == ["cache.db", "cache.db-own", "cache.db-wal"])
    vault.close()
    let again = try open(place.path)
    let (found, frames) = try read(again)
    #expect(found == .current)
    #expect(frames == records)
    try again.appendOwn([1, 2, 3])
    #expect(try read(again).frames == records + [[1, 2, 3]])
    again.endOwn()
    #expect(try read(again).found == .nothing)
  }

  /// Protects: the end of a file leaves alone what lies beside another one that has its name.
  @Test func theWorkOfAnotherFileStays() throws {
    let place = Place()
    let vault = try open(place.path)
    try fillOwn(vault, records)
    let kept = place.path("kept")
    #expect(rename(place.path, kept) == 0)
    let other = try open(place.path)
    try fillOwn(other, records)
    vault.endOwn()
    #expect(try read(other).frames == records)
    other.endOwn()
    #expect(try read(other).found == .nothing)
    vault.close()
    other.close()
  }

  /// Protects: of a file that was cut, at any byte, each frame before the cut is read and no other.
  @Test func whatIsCutEndsThere() throws {
    let place = Place()
    let whole = try prepared(place)
    var ends = [4112]
    for record in records { ends.append(ends[ends.count - 1] + 4 + record.count + 40) }
    #expect(ends.last == whole.count)
    let vault = try open(place.path, create: false)
    for length in 0..<whole.count {
      store(Array(whole.prefix(length)), ownPath(place))
      let (found, frames) = try read(vault)
      let left = max(0, ends.filter { $0 <= length }.count - 1)
      #expect(frames == Array(records.prefix(left)), "\(length)")
      let isWhole = ends.contains(length)
      // SQLite takes one byte for none.
      let expected: OwnFound =
        length < 2 ? .nothing : length < 4_112 ? .foreign : left > 0 && isWhole ? .current : .part
      #expect(found == expected, "\(length)")
    }
  }

  /// Protects: a changed bit ends what is read, or is of no effect.
  @Test func whatIsChangedEndsThere() throws {
    let place = Place()
    let whole = try prepared(place)
    let vault = try open(place.path, create: false)
    for at in whole.indices {
      var changed = whole
      changed[at] ^= 1 << UInt8(at % 8)
      store(changed, ownPath(place))
      let (found, frames) = try read(vault)
      #expect(frames == Array(records.prefix(frames.count)))
      if at >= 4096 { #expect(frames.count < records.count, "\(at)") }
      // Nobody reads what lies in the place of a mark of the log.
      if !(2048..<2120).contains(at) { #expect(found != .current, "\(at)") }
    }
  }

  /// Protects: a frame opens in its place only: not twice, not earlier, and not in the file that
  /// followed.
  @Test func framesKeepTheirPlaces() throws {
    let place = Place()
    let whole = try prepared(place)
    var parts: [[UInt8]] = []
    var start = 4112
    for record in records {
      parts.append(Array(whole[start..<start + 44 + record.count]))
      start += 44 + record.count
    }
    func frames(_ order: [Int], _ head: [UInt8]) throws -> [[UInt8]] {
      store(head + order.flatMap { parts[$0] }, ownPath(place))
      let vault = try open(place.path, create: false)
      defer { vault.close() }
      return try read(vault).frames
    }
    let head = Array(whole.prefix(4112))
    #expect(try frames([0, 1, 2, 3, 4, 5], head).count == 6)
    #expect(try frames([0, 1, 3, 2, 4, 5], head).count == 2)
    #expect(try frames([0, 1, 1, 2], head).count == 2)
    #expect(try frames([1, 2, 3], head).isEmpty)
    // Made anew it has another number, and the frames of the earlier one are none of it.
    let second = try prepared(place)
    #expect(try frames([0, 1], Array(second.prefix(4112))).isEmpty)
    #expect(try frames([1], Array(second.prefix(4112 + parts[0].count))).count == 1)
  }

  /// Protects: whoever can open the file can open what lies beside it, and nobody else.
  @Test func itsKeyIsThatOfTheFile() throws {
    let place = Place()
    let whole = try prepared(place)
    try FileManager.default.removeItem(atPath: place.path)
    // The file was removed and made anew: what is beside it is of its earlier data key.
    let vault = try open(place.path)
    #expect(try read(vault).found == .foreign)
    #expect(try read(vault, otherKey).found == .foreign)
    let (found, frames) = try read(vault, key)
    #expect(found == .foreign)
    #expect(frames == records)
    #expect(!vault.hasOwn)
    #expect(contents(ownPath(place)) == whole)
    // In its place comes one of this file, and the keys of the former are destroyed.
    let handle = try #require(FileHandle(forReadingAtPath: ownPath(place)))
    try fillOwn(vault, [records[1]])
    let former = try #require(try handle.readToEnd())
    #expect(former.count == whole.count)
    #expect(former[64..<4096].allSatisfy { $0 == 0 })
    #expect(try read(vault).frames == [records[1]])
    vault.close()
    #expect(throws: VaultFailure.wrongKey) { _ = try open(place.path, key: otherKey) }
  }

  /// Protects: a key that was added or removed is so for what lies beside the file.
  @Test func itFollowsTheKeySlots() throws {
    let place = Place()
    let vault = try open(place.path)
    try fillOwn(vault, records)
    _ = try vault.put(try vault.slot(for: NewSlot(HostKey(otherKey))), replacing: nil)
    try vault.removeSlot(0)
    #expect(try read(vault).found == .current)
    let header = unmarked(contents(place.path).prefix(4096))
    #expect(Array(contents(ownPath(place)).prefix(4096)) == header)
    vault.close()
    try FileManager.default.removeItem(atPath: place.path)
    let made = try open(place.path)
    #expect(try read(made, key).found == .foreign)
    #expect(try read(made, otherKey).frames == records)
  }

  /// Protects: a key that was removed opens nothing beside the file, also where nothing is appended
  /// any more, or the header cannot be written.
  @Test(arguments: [false, true]) func aRemovedKeyOpensNothing(_ fails: Bool) throws {
    let place = Place()
    let disk = FaultVFS()
    let vault = try open(place.path, base: disk.name)
    try fillOwn(vault, records)
    _ = try vault.put(try vault.slot(for: NewSlot(HostKey(otherKey))), replacing: nil)
    disk.failWrite(1, .fail(SQLITE_FULL))
    #expect(throws: VaultFailure.self) { try vault.appendOwn([1]) }
    // Behind the two copies of the header, each written in two parts around the mark of the log.
    if fails { disk.failWrite(5, .fail(SQLITE_IOERR | (3 << 8))) }
    try vault.removeSlot(0)
    #expect(contents(ownPath(place)).isEmpty == fails)
    vault.close()
    try FileManager.default.removeItem(atPath: place.path)
    let made = try open(place.path)
    #expect(try read(made, key).frames.isEmpty)
    #expect(try read(made, otherKey).frames == (fails ? [] : records))
  }

  /// Protects: until another one has its name, one of a former data key can be read.
  @Test func theFormerOneStaysUntilThen() throws {
    for write in 1...3 {
      let place = Place()
      _ = try prepared(place)
      try FileManager.default.removeItem(atPath: place.path)
      let disk = FaultVFS()
      let vault = try open(place.path, base: disk.name)
      disk.die(atWrite: write, afterBytes: 4_000)
      do { try fillOwn(vault, [records[1]]) } catch { #expect(disk.isDead) }
      #expect(disk.isDead)
      vault.close()
      disk.revive()
      let frames = try read(try open(place.path), key).frames
      #expect(frames == (write < 3 ? records : [records[1]]), "\(write)")
    }
  }

  /// Protects: what a link, or another name, leads to is neither read nor written.
  @Test(arguments: [false, true]) func aLinkIsNotFollowed(_ isHard: Bool) throws {
    let (place, other) = (Place(), Place())
    let whole = try prepared(other)
    func makeLink() throws {
      if isHard {
        try FileManager.default.linkItem(atPath: ownPath(other), toPath: ownPath(place))
      } else {
        try FileManager.default.createSymbolicLink(
          atPath: ownPath(place), withDestinationPath: ownPath(other))
      }
    }
    let vault = try open(place.path)
    try makeLink()
    let (found, frames) = try read(vault, key)
    #expect(found == .nothing)
    #expect(frames.isEmpty)
    _ = try vault.put(try vault.slot(for: NewSlot(HostKey(otherKey))), replacing: nil)
    try fillOwn(vault, records)
    #expect(try read(vault).frames == records)
    vault.endOwn()
    try makeLink()
    try vault.destroy()
    #expect(contents(ownPath(other)) == whole)
  }

  /// Protects: what an earlier process has appended is synced by this one.
  @Test func whatWasLeftIsSynced() throws {
    let place = Place()
    let vault = try open(place.path)
    try fillOwn(vault, records)
    try vault.appendOwn([1])
    vault.close()
    let disk = FaultVFS()
    let again = try open(place.path, base: disk.name)
    #expect(try read(again).found == .current)
    let before = disk.counts.syncs
    again.syncOwn()
    again.syncOwn()
    #expect(disk.counts.syncs == before + 1)
  }

  /// Protects: what a kill has left half made goes at the opening, before a key is removed that
  /// would open it.
  @Test func whatIsHalfMadeGoesAtTheOpening() throws {
    let place = Place()
    let vault = try open(place.path)
    let writer = try vault.beginOwn()
    try writer.put(records[0])
    vault.close()
    #expect(place.names.contains("cache.db-own-new"))
    try open(place.path).close()
    #expect(!place.names.contains("cache.db-own-new"))
  }

  /// Protects: what lies beside the name of a copy is not taken for that of the copy.
  @Test func aCopyWantsNothingBeside() throws {
    let place = Place()
    let vault = try open(place.path)
    store([1], place.path("copy.db-own"))
    #expect(throws: VaultFailure.exists) { _ = try vault.copy(to: place.path("copy.db")) }
    #expect(contents(place.path("copy.db-own")) == [1])
  }

  /// Protects: a write that fails leaves what was there readable, and no later one goes behind it.
  @Test(arguments: [WriteFault.fail(SQLITE_FULL), .short(bytes: 30, SQLITE_IOERR | (3 << 8))])
  func aFailedWriteClosesIt(_ fault: WriteFault) throws {
    let place = Place()
    let disk = FaultVFS()
    let vault = try open(place.path, base: disk.name)
    try fillOwn(vault, Array(records.prefix(3)))
    disk.failWrite(1, fault)
    #expect(throws: VaultFailure.self) { try vault.appendOwn(records[3]) }
    #expect(!vault.hasOwn)
    #expect(throws: VaultFailure.self) { try vault.appendOwn(records[4]) }
    #expect(try read(vault).frames == Array(records.prefix(3)))
    // One that cannot be made anew leaves the one that is there.
    disk.fillDisk()
    #expect(throws: VaultFailure.self) { try fillOwn(vault, records) }
    #expect(!vault.hasOwn)
    disk.fillDisk(false)
    #expect(try read(vault).frames == Array(records.prefix(3)))
    try fillOwn(vault, records)
    disk.failSyncs(true)
    try vault.appendOwn([1])
    vault.syncOwn()
    #expect(!vault.hasOwn)
  }

  /// Protects: a kill at each write, also of one that is made anew, leaves a start of what was
  /// written before or after it.
  @Test func aKillAtEachWrite() throws {
    for write in 1...12 {
      for part in [0, 9, 5000] {
        let place = Place()
        let disk = FaultVFS()
        let vault = try open(place.path, base: disk.name)
        try fillOwn(vault, Array(records.prefix(2)))
        disk.die(atWrite: write, afterBytes: part)
        var done = 2
        do {
          try vault.appendOwn(records[2])
          done = 3
          let writer = try vault.beginOwn()
          for record in records.prefix(5) { try writer.put(record) }
          try vault.finishOwn(writer)
          done = 5
          try vault.appendOwn(records[5])
          done = 6
        } catch {
          #expect(disk.isDead)
        }
        vault.close()
        disk.revive()
        let again = try open(place.path)
        let found = try read(again).frames.flatMap { $0 }
        let starts = (0...records.count).map { records.prefix($0).flatMap { $0 } }
        let count = try #require(starts.firstIndex(of: found))
        #expect(count >= done, "\(write) \(part)")
      }
    }
  }

  @Test func anAppendIsOneWrite() throws {
    let place = Place()
    let disk = FaultVFS()
    let vault = try open(place.path, base: disk.name)
    try fillOwn(vault, records)
    let before = disk.counts
    for _ in 0..<5 { try vault.appendOwn(records[5]) }
    #expect(disk.counts.writes == before.writes + 5)
    #expect(disk.counts.reads == before.reads)
    #expect(disk.counts.syncs == before.syncs)
    vault.syncOwn()
    vault.syncOwn()
    #expect(disk.counts.syncs == before.syncs + 1)
  }

  /// Protects: wiping the file wipes what lies beside it.
  @Test func itGoesWithTheFile() throws {
    let place = Place()
    let vault = try open(place.path)
    try fillOwn(vault, records)
    let handle = try #require(FileHandle(forReadingAtPath: ownPath(place)))
    try vault.destroy()
    #expect(place.names.isEmpty)
    #expect(try #require(try handle.readToEnd())[64..<4096].allSatisfy { $0 == 0 })
  }

  @Test func itIsAnObjectOfAStorage() throws {
    let storage = MemoryStorage()
    let vault = try open(storage)
    #expect(try read(vault).found == .nothing)
    try fillOwn(vault, records)
    vault.close()
    let again = try open(storage)
    #expect(try read(again).frames == records)
    try fillOwn(again, [records[0]])
    #expect(try read(again).frames == [records[0]])
    again.endOwn()
    #expect(storage.bytes("eva", .own).isEmpty)
    try fillOwn(again, records)
    try again.destroy()
    for object in StorageObject.allCases { #expect(storage.bytes("eva", object).isEmpty) }
  }
}
