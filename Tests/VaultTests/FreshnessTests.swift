/// What is missing of a file is noticed: its log, the end of that, or the file's own newest state.
/// No crash looks like it.
import Base
import CSQLite
import Foundation
import TestSupport
import Testing
import Vault

struct FreshnessTests {
  private static let frame = 4144

  /// A file and its log as a kill left them, and how many commits that has.
  private struct Left {
    var image: DiskImage
    var rows: Int
    var frames: Int
  }

  /// What the opening of a file says.
  private enum Found: Equatable {
    case whole(Int)
    case lost(Int)
    case refused(VaultFailure)

    var isNoticed: Bool { if case .whole = self { false } else { true } }
  }

  private func found(_ place: Place, refusesLoss: Bool = false) -> Found {
    do throws(VaultFailure) {
      var config = VaultConfig(path: place.path, key: HostKey(key), create: false)
      config.refusesLoss = refusesLoss
      let vault = try Vault.open(config)
      defer { vault.close() }
      let writer = Database(try vault.connect(.writer))
      guard writer.one("PRAGMA integrity_check") == "ok" else { return .refused(.notOurs) }
      let rows = Int(writer.one("SELECT count(*) FROM t") ?? "0") ?? 0
      return vault.isLogLost ? .lost(rows) : .whole(rows)
    } catch {
      return .refused(error)
    }
  }

  /// Both files as they are on disk now, while a vault has them open.
  private func taken(_ place: Place) -> DiskImage {
    var image = DiskImage()
    for path in [place.path, place.logPath] {
      // Another process reads them: this one would drop its lock.
      let reader = Process()
      reader.executableURL = URL(fileURLWithPath: "/bin/cat")
      reader.arguments = [path]
      let output = Pipe()
      reader.standardOutput = output
      try? reader.run()
      image.files[path] = [UInt8](output.fileHandleForReading.readDataToEndOfFile())
      reader.waitUntilExit()
    }
    return image
  }

  /// A session of commits, some synced, with checkpoints. `look` is called after each.
  private func session(
    _ place: Place, commits: Int, checkpoints: Int = 0, synced: Int = 1,
    _ look: (_ commit: Int, _ rows: Int) -> Void
  ) throws {
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    writer.run("CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, body TEXT) STRICT")
    var rows = Int(writer.one("SELECT count(*) FROM t") ?? "0") ?? 0
    for commit in 1...commits {
      fill(writer, rows..<rows + 3)
      rows += 3
      if synced > 0, commit % synced == 0 { try vault.syncLog() }
      if checkpoints > 0, commit % checkpoints == 0 {
        writer.run("PRAGMA wal_checkpoint(\(commit % 2 == 0 ? "RESTART" : "PASSIVE"))")
      }
      look(commit, rows)
    }
    writer.close()
    vault.close()
  }

  private func restore(_ image: DiskImage, _ place: Place) {
    try? FileManager.default.removeItem(atPath: place.logPath)
    image.write(replacing: "", with: "")
  }

  // MARK: The log is missing

  /// Protects: a live file that is copied without its log never opens as if nothing were missing,
  /// also where nothing was synced yet.
  @Test(arguments: [0, 1, 5]) func aFileCopiedWithoutItsLogIsNoticed(synced: Int) throws {
    let place = Place()
    var images: [(image: DiskImage, rows: Int)] = []
    try session(place, commits: 40, checkpoints: 9, synced: synced) { commit, rows in
      if commit % 2 == 0 { images.append((taken(place), rows)) }
    }
    #expect(images.count == 20)
    for (image, rows) in images {
      let target = Place()
      store(image.files[place.path] ?? [], target.path)
      let now = found(target)
      // After a checkpoint nothing is missing.
      #expect(now.isNoticed || now == .whole(rows), "\(now), \(rows)")
      if case .lost(let there) = now { #expect(there < rows) }
    }
  }

  /// Protects: a file with a new data key has marks at once.
  @Test func aFileWithANewDataKeyIsMarked() throws {
    let place = Place()
    let vault = try open(place.path)
    var writer = Database(try vault.connect(.writer))
    fill(writer, 0..<30)
    writer = try vault.rotate(writer)
    fill(writer, 30..<60)
    let image = taken(place)
    writer.close()
    vault.close()
    #expect(found(place) == .whole(60))
    restore(image, place)
    try FileManager.default.removeItem(atPath: place.logPath)
    #expect(found(place) == .lost(30))
  }

  @Test func aLogThatIsMissingOrEmptyIsNoticed() throws {
    var tries = 0
    let disk = FaultVFS()
    for round in 0..<50 {
      let place = Place()
      let left = try killed(place, disk, seed: UInt64(round))
      for (log, size) in [(true, 0), (true, 31), (true, 71), (false, 0)] {
        restore(left.image, place)
        if log {
          store(Array(contents(place.logPath).prefix(size)), place.logPath)
        } else {
          try FileManager.default.removeItem(atPath: place.logPath)
        }
        let before = DiskImage(paths: [place.path, place.logPath]).files
        #expect(found(place, refusesLoss: true).isNoticed)
        // A refusal has changed nothing.
        #expect(DiskImage(paths: [place.path, place.logPath]).files == before)
        let now = found(place)
        #expect(now.isNoticed, "round \(round), \(size) bytes: \(now)")
        // Once it was written to, it is whole as it is.
        if case .lost(let rows) = now {
          try session(place, commits: 2) { _, _ in }
          #expect(found(place) == .whole(rows + 6))
        }
        tries += 1
      }
    }
    #expect(tries == 200)
  }

  /// A file with a log, as a kill leaves both after each commit was synced.
  private func killed(_ place: Place, _ disk: FaultVFS, seed: UInt64) throws -> Left {
    var random = Random(seed: seed)
    disk.reset()
    let vault = try open(place.path, base: disk.name)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<random.below(40) + 1, batch: 3)
    // The log is as long as what it has.
    if random.chance(0.5) { writer.run("PRAGMA wal_checkpoint(TRUNCATE)") }
    var rows = Int(writer.one("SELECT count(*) FROM t") ?? "0") ?? 0
    for _ in 0...random.below(6) {
      fill(writer, rows..<rows + 3)
      rows += 3
    }
    try vault.syncLog()
    disk.die(atWrite: 1)
    writer.run("DELETE FROM t")
    writer.close()
    vault.close()
    disk.revive()
    let image = DiskImage(paths: [place.path, place.logPath])
    let frames = ((image.files[place.logPath]?.count ?? 0) - 72) / Self.frame
    #expect(frames > 0)
    return Left(image: image, rows: rows, frames: frames)
  }

  // MARK: It was cut

  @Test func aLogThatWasCutIsNoticed() throws {
    var tries = 0
    let disk = FaultVFS()
    for round in 0..<50 {
      let place = Place()
      let left = try killed(place, disk, seed: 100 + UInt64(round))
      #expect(found(place) == .whole(left.rows))
      let log = try #require(left.image.files[place.logPath])
      var random = Random(seed: UInt64(round))
      for _ in 0..<3 {
        for inside in [0, 1 + random.below(Self.frame - 1)] {
          restore(left.image, place)
          let cut = 72 + random.below(left.frames) * Self.frame + inside
          guard cut < 72 + left.frames * Self.frame else { continue }
          store(Array(log.prefix(cut)), place.logPath)
          let now = found(place)
          #expect(now.isNoticed, "round \(round), \(cut) of \(log.count): \(now)")
          tries += 1
        }
      }
    }
    #expect(tries >= 200)
  }

  /// Protects: of a log that the file has all of, a part is not read: pages of the file are newer.
  @Test func aPartOfALogThatIsNotNeededIsNotRead() throws {
    let place = Place()
    let disk = FaultVFS()
    let vault = try open(place.path, base: disk.name)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<60, batch: 3)
    writer.run("UPDATE t SET body = 'changed'")
    writer.run("PRAGMA wal_checkpoint(PASSIVE)")
    disk.die(atWrite: 1)
    writer.run("DELETE FROM t")
    writer.close()
    vault.close()
    let image = DiskImage(paths: [place.path, place.logPath])
    let log = try #require(image.files[place.logPath])
    for cut in stride(from: 72 + Self.frame, to: log.count, by: Self.frame * 3) {
      restore(image, place)
      store(Array(log.prefix(cut)), place.logPath)
      #expect(found(place) == .whole(60), "\(cut)")
      let vault = try open(place.path)
      defer { vault.close() }
      let again = Database(try vault.connect(.reader))
      #expect(again.one("SELECT count(*) FROM t WHERE body = 'changed'") == "60")
    }
  }

  // MARK: An older one

  @Test func anOldLogIsNoticed() throws {
    let place = Place()
    var images: [(image: DiskImage, rows: Int)] = []
    for _ in 0..<4 {
      try session(place, commits: 30, checkpoints: 8, synced: 1) { commit, rows in
        if commit % 2 == 0 { images.append((taken(place), rows)) }
      }
    }
    var random = Random(seed: 5)
    var tries = 0
    while tries < 200 {
      let new = random.below(images.count)
      let old = random.below(images.count)
      guard let log = images[old].image.files[place.logPath], old < new,
        log != images[new].image.files[place.logPath]
      else { continue }
      let target = Place()
      store(images[new].image.files[place.path] ?? [], target.path)
      store(log, target.logPath)
      let now = found(target)
      // Where the file needs no log, it is not spoiled by an older one.
      #expect(now.isNoticed || now == .whole(images[new].rows), "\(old), \(new): \(now)")
      tries += 1
    }
  }

  /// Protects: who writes the file once cannot take the marks away, and no longer need the log.
  @Test func marksThatAreTakenAwayAreNoticed() throws {
    let disk = FaultVFS()
    for round in 0..<20 {
      let place = Place()
      let left = try killed(place, disk, seed: 300 + UInt64(round))
      for copies in [[0], [1], [0, 1]] {
        restore(left.image, place)
        try FileManager.default.removeItem(atPath: place.logPath)
        var file = contents(place.path)
        for copy in copies {
          for at in 2048..<2120 { file[copy * 4096 + at] = 0 }
        }
        store(file, place.path)
        #expect(found(place).isNoticed, "round \(round), \(copies)")
      }
    }
  }

  /// Protects: a file of an earlier version opens, and has marks from then on.
  @Test func aFileWithoutMarksOpens() throws {
    let place = Place()
    try session(place, commits: 5) { _, _ in }
    store(RotationTests().olden(contents(place.path)), place.path)
    #expect(found(place) == .whole(15))
    var image = DiskImage()
    try session(place, commits: 5) { _, _ in image = taken(place) }
    #expect(found(place) == .whole(30))
    store(image.files[place.path] ?? [], place.path)
    #expect(found(place).isNoticed)
  }

  /// Protects: what is synced after a loss stays, whatever a power cut keeps.
  @Test func whatFollowsALossIsKept() throws {
    let place = Place()
    let disk = FaultVFS()
    let left = try killed(place, disk, seed: 7)
    restore(left.image, place)
    try FileManager.default.removeItem(atPath: place.logPath)
    let start = DiskImage(paths: [place.path])
    disk.reset()
    disk.record()
    let vault = try open(place.path, base: disk.name)
    #expect(vault.isLogLost)
    let writer = Database(try vault.connect(.writer))
    var rows = Int(writer.one("SELECT count(*) FROM t") ?? "0") ?? 0
    var promised: [(events: Int, rows: Int)] = []
    for _ in 0..<4 {
      fill(writer, rows..<rows + 3)
      rows += 3
      try vault.syncLog()
      promised.append((disk.events.count, rows))
    }
    let events = disk.events
    writer.close()
    vault.close()
    var random = Random(seed: 3)
    for image in 0..<300 {
      let cut = random.below(events.count + 1)
      let least = promised.last { $0.events <= cut }?.rows ?? 0
      let target = Place()
      start.afterPowerCut(events[..<cut], &random).write(
        replacing: place.directory, with: target.directory)
      switch found(target) {
      case .whole(let there): #expect(there >= least, "image \(image), cut at \(cut)")
      case .lost: #expect(least == 0, "image \(image), cut at \(cut)")
      case .refused(let failure): Issue.record("image \(image), cut at \(cut): \(failure)")
      }
    }
  }

  // MARK: No false alarm

  /// Protects: a log whose frames a power cut took is deleted by the next closing, and not missed.
  @Test func aLogWithoutFramesIsNotMissed() throws {
    let place = Place()
    try session(place, commits: 1) { _, _ in }
    var image = DiskImage()
    try session(place, commits: 1, synced: 0) { _, _ in image = taken(place) }
    restore(image, place)
    store(Array((image.files[place.logPath] ?? []).prefix(72)), place.logPath)
    for _ in 0..<3 { #expect(found(place) == .whole(3)) }
  }

  /// Protects: whatever of the writes a kill or a power cut keeps, nothing is called lost that a
  /// sync had not promised, over several sessions on one file.
  @Test(arguments: 0..<8) func noCrashLooksLikeALoss(part: Int) throws {
    let place = Place()
    let disk = FaultVFS()
    try open(place.path).close()
    let start = DiskImage(paths: [place.path])
    disk.record()
    var random = Random(seed: 40 + UInt64(part))
    var rows = 0
    for _ in 0..<5 {
      let vault = try open(place.path, base: disk.name)
      let writer = Database(try vault.connect(.writer))
      fill(writer, rows..<rows + 3)
      rows += 3
      for _ in 0..<random.below(12) {
        switch random.below(8) {
        case 0: writer.run("PRAGMA wal_checkpoint(PASSIVE)")
        case 1: writer.run("PRAGMA wal_checkpoint(RESTART)")
        case 2: writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
        case 3: writer.run("BEGIN; UPDATE t SET body = 'x'; ROLLBACK")
        case 4:
          let slot = try vault.slot(for: NewSlot(HostKey(otherKey)))
          _ = try vault.put(slot, replacing: nil)
          try vault.removeSlot(1)
        default:
          fill(writer, rows..<rows + 6, batch: 2)
          rows += 6
        }
        if random.chance(0.5) { try vault.syncLog() }
      }
      writer.close()
      vault.close()
    }
    let events = disk.events
    for number in 0..<400 {
      let cut = random.below(events.count + 1)
      let target = Place()
      func write(_ image: DiskImage) {
        image.write(replacing: place.directory, with: target.directory)
      }
      if number % 4 == 0 {
        // A kill.
        var image = start
        for event in events[..<cut] { image.apply(event) }
        if case .write(let at, let bytes) = cut < events.count ? events[cut].change : .sync {
          let torn = bytes.prefix(random.below(bytes.count + 1))
          var file = image.files[events[cut].path] ?? []
          let missing = Int(at) + torn.count - file.count
          file += [UInt8](repeating: 0, count: max(0, missing))
          file.replaceSubrange(Int(at)..<Int(at) + torn.count, with: torn)
          image.files[events[cut].path] = file
        }
        write(image)
      } else {
        write(start.afterPowerCut(events[..<cut], &random))
      }
      let now = found(target)
      if case .whole = now { continue }
      Issue.record("part \(part), \(number), cut at \(cut) of \(events.count): \(now)")
    }
  }

  /// Protects: the same after a second crash, in the session that follows the first.
  @Test(arguments: 0..<4) func noSecondCrashLooksLikeALoss(part: Int) throws {
    var random = Random(seed: 80 + UInt64(part))
    let disk = FaultVFS()
    for number in 0..<60 {
      let place = Place()
      try session(place, commits: 3, synced: 2) { _, _ in }
      var image = DiskImage(paths: [place.path, place.logPath])
      for crash in 0..<3 {
        let target = Place()
        image.write(replacing: place.directory, with: target.directory)
        disk.reset()
        disk.record()
        let vault = try open(target.path, create: false, base: disk.name)
        #expect(!vault.isLogLost, "part \(part), \(number), crash \(crash)")
        let writer = Database(try vault.connect(.writer))
        let begin = Int(writer.one("SELECT count(*) FROM t") ?? "0") ?? 0
        for step in 0..<random.below(5) {
          fill(writer, begin + step * 3..<begin + step * 3 + 3)
          if random.chance(0.5) { try vault.syncLog() }
          if random.chance(0.2) { writer.run("PRAGMA wal_checkpoint(PASSIVE)") }
        }
        let isClosed = random.chance(0.3)
        if isClosed {
          writer.close()
          vault.close()
        }
        let events = disk.events
        if !isClosed {
          disk.die(atWrite: 1)
          writer.close()
          vault.close()
          disk.revive()
        }
        let cut = random.below(events.count + 1)
        var next = DiskImage()
        for (path, bytes) in image.files {
          next.files[path.replacingOccurrences(of: place.directory, with: target.directory)] = bytes
        }
        next = next.afterPowerCut(events[..<cut], &random)
        image = DiskImage()
        for (path, bytes) in next.files {
          image.files[path.replacingOccurrences(of: target.directory, with: place.directory)] =
            bytes
        }
      }
    }
  }
}
