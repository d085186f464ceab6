/// Bytes changed, moved or lost on disk: an error, or no harm, never other data.
import Base
import CSQLite
import Foundation
import TestSupport
import Testing
import Vault

struct DamageTests {
  private static let rowCount = 400

  /// What came of opening a changed file and reading all of it.
  private enum Outcome: Equatable {
    case refused(VaultFailure)
    case failed
    case same
    /// An older state, and the loss was counted.
    case older(Int, rejected: UInt32)
    case wrong
  }

  private func read(_ path: String, strict: Bool = false) -> Outcome {
    let vault: Vault
    let reader: Database
    do {
      vault = try opened(path, strict)
      reader = Database(try vault.connect(.reader))
    } catch {
      return .refused(error)
    }
    defer { vault.close() }
    guard case .success(let rows) = reader.rows("SELECT * FROM t ORDER BY id") else {
      return .failed
    }
    guard rows == expectedRows(0..<rows.count) else { return .wrong }
    // A page that no row lies on is missed by this check only.
    guard reader.one("PRAGMA integrity_check") == "ok" else { return .failed }
    if rows.count == Self.rowCount { return .same }
    return .older(rows.count, rejected: vault.rejectedFrames)
  }

  /// A child that another test starts has the locks of this process until it runs its program: a
  /// file that was closed a moment ago may be locked for so long.
  private func opened(_ path: String, _ strict: Bool) throws(VaultFailure) -> Vault {
    for _ in 0..<2_000 {
      do throws(VaultFailure) {
        return try open(path, create: false, strict: strict)
      } catch .locked {
        usleep(1_000)
      }
    }
    throw .locked
  }

  /// A checkpointed file and no log.
  private func checkpointed(_ place: Place) throws -> [UInt8] {
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<Self.rowCount)
    writer.close()
    vault.close()
    return contents(place.path)
  }

  /// A file as a kill leaves it: half of the rows checkpointed, half in the log.
  private func killed(_ place: Place) throws -> DiskImage {
    let fault = FaultVFS()
    let vault = try open(place.path, base: fault.name)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<Self.rowCount / 2)
    writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    fill(writer, Self.rowCount / 2..<Self.rowCount)
    fault.die(atWrite: 1)
    writer.run("UPDATE t SET body='never'")
    writer.close()
    vault.close()
    return DiskImage(paths: [place.path, place.logPath])
  }

  @Test func fiveHundredFlipsInTheFile() throws {
    let place = Place()
    let whole = try checkpointed(place)
    var random = Random(seed: 1)
    var errors = 0
    for _ in 0..<500 {
      var changed = whole
      let bit = random.below(whole.count * 8)
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      store(changed, place.path)
      let outcome = read(place.path)
      switch outcome {
      case .refused(.damaged), .failed: errors += 1
      case .same: break
      default: Issue.record("bit \(bit): \(outcome)")
      }
    }
    // Every flip outside of the header and of free pages is an error.
    #expect(errors > 400)
  }

  @Test func fiveHundredFlipsInTheLog() throws {
    let place = Place()
    let image = try killed(place)
    let log = try #require(image.files[place.logPath])
    #expect(log.count > 60 * 4144)
    var random = Random(seed: 2)
    var ended = 0
    for _ in 0..<500 {
      var changed = image
      let bit = random.below(log.count * 8)
      changed.files[place.logPath]?[bit / 8] ^= 1 << UInt8(bit % 8)
      changed.write(replacing: "", with: "")
      if ended % 50 == 0 {
        #expect(read(place.path, strict: true) == .refused(.damaged))
        let isUntouched =
          DiskImage(paths: [place.path, place.logPath]).files == changed.files
        #expect(isUntouched)
      }
      let outcome = read(place.path)
      switch outcome {
      case .older(let rows, let rejected) where rows >= Self.rowCount / 2 && rejected > 0:
        ended += 1
      default: Issue.record("bit \(bit): \(outcome)")
      }
    }
    #expect(ended == 500)
  }

  @Test func aWholeLogRejectsNothing() throws {
    let place = Place()
    let image = try killed(place)
    #expect(read(place.path, strict: true) == .same)
    // Half a frame at the end was never committed.
    var torn = image
    torn.files[place.logPath]? += [UInt8](repeating: 7, count: 1000)
    torn.write(replacing: "", with: "")
    #expect(read(place.path, strict: true) == .same)
    // Frames of an earlier log behind the present one are no loss.
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    writer.run("CREATE TABLE u(x)")
    #expect(writer.one("PRAGMA wal_checkpoint(RESTART)")?.hasPrefix("0|") ?? false)
    writer.run("INSERT INTO u VALUES(1)")
    let files = DiskImage(paths: [place.path, place.logPath])
    writer.close()
    vault.close()
    files.write(replacing: "", with: "")
    #expect(read(place.path, strict: true) == .same)
  }

  @Test func theCountSaysHowManyFramesAreLost() throws {
    let place = Place()
    let image = try killed(place)
    let frames = (try #require(image.files[place.logPath]).count - 72) / 4144
    for lost in [1, 5, frames] {
      var changed = image
      changed.files[place.logPath]?[72 + (frames - lost) * 4144 + 2000] ^= 1
      changed.write(replacing: "", with: "")
      let vault = try open(place.path)
      #expect(vault.rejectedFrames == UInt32(lost))
      vault.close()
    }
    for header in [[UInt8](repeating: 0, count: 72), [UInt8](repeating: 9, count: 72)] {
      var changed = image
      changed.files[place.logPath]?.replaceSubrange(0..<72, with: header)
      changed.write(replacing: "", with: "")
      #expect(read(place.path) == .older(Self.rowCount / 2, rejected: 1))
    }
  }

  @Test func pagesThatAreMovedBlankedOrForeignAreErrors() throws {
    let place = Place()
    let whole = try checkpointed(place)
    let foreign = Place()
    let other = try checkpointed(foreign)
    let pages = (whole.count - 8192) / 4096
    func range(_ page: Int) -> Range<Int> { 8192 + (page - 1) * 4096..<8192 + page * 4096 }
    for page in [1, 3, pages / 2, pages - 1] {
      var swapped = whole
      swapped.replaceSubrange(range(page), with: whole[range(page + 1)])
      swapped.replaceSubrange(range(page + 1), with: whole[range(page)])
      var blank = whole
      blank.replaceSubrange(range(page), with: [UInt8](repeating: 0, count: 4096))
      var mixed = whole
      mixed.replaceSubrange(range(page), with: other[range(page)])
      var cut = whole
      cut.removeLast((pages - page) * 4096 + 100)
      var short = whole
      short.removeLast((pages - page) * 4096)
      for changed in [swapped, blank, mixed, cut, short] {
        store(changed, place.path)
        let outcome = read(place.path)
        let isError = outcome == .failed || outcome == .refused(.damaged)
        #expect(isError, "page \(page): \(outcome)")
      }
    }
    // Another file's header with these pages: its key opens, nothing else does.
    store(Array(other[..<8192] + whole[8192...]), place.path)
    #expect(read(place.path) == .refused(.damaged))
  }

  @Test func framesThatAreMovedOrForeignEndTheLog() throws {
    let place = Place()
    let image = try killed(place)
    let foreign = Place()
    let other = try #require(try killed(foreign).files[foreign.logPath])
    let log = try #require(image.files[place.logPath])
    let first = 72 + 20 * 4144
    var swapped = log
    swapped.replaceSubrange(first..<first + 4144, with: log[first + 4144..<first + 8288])
    swapped.replaceSubrange(first + 4144..<first + 8288, with: log[first..<first + 4144])
    var mixed = log
    mixed.replaceSubrange(first..<first + 4144, with: other[first..<first + 4144])
    for changed in [swapped, mixed, other] {
      var files = image
      files.files[place.logPath] = changed
      files.write(replacing: "", with: "")
      guard case .older(_, let rejected) = read(place.path) else {
        Issue.record("not noticed")
        continue
      }
      #expect(rejected > 0)
    }
  }

  @Test func damageUnderAnOpenVaultIsAnError() throws {
    let place = Place()
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<Self.rowCount)
    let log = open(place.logPath, O_RDWR)
    var noise = [UInt8](repeating: 3, count: 64)
    for frame in 0..<vault.fileBytes / 4144 {
      _ = pwrite(log, &noise, noise.count, off_t(72 + frame * 4144 + 1000))
    }
    close(log)
    let reader = Database(try vault.connect(.reader))
    let result = reader.rows("SELECT * FROM t")
    guard case .failure(let error) = result else {
      Issue.record("read \(result)")
      return
    }
    #expect(Vault.failure(fromSQLite: error.code) == .damaged)
    #expect(vault.rejectedFrames == 0)
  }
}
