/// Starting to write the log out before its sync: only where each step is synced, and
/// never more than a hint.
import CSQLite
import Foundation
import TestSupport
import Testing
import Vault

/// How many descriptors of this process lead to `path`, also where the name is gone.
private func descriptors(of path: String) throws -> Int {
  try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter {
    let led = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
    return led == path || led == path + " (deleted)"
  }.count
}

@Suite struct EarlyWriteTests {
  @Test func theHintIsTakenWhereEachStepIsSynced() throws {
    let place = Place()
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    writer.run("CREATE TABLE t(id INTEGER PRIMARY KEY, body TEXT) STRICT")
    try vault.syncLog()
    // One that was synced may be chance.
    #expect(try descriptors(of: place.logPath) == 1)
    for step in 0..<5 {
      fill(writer, step * 10..<step * 10 + 10)
      try vault.syncLog()
    }
    #expect(try descriptors(of: place.logPath) == 2)
    writer.close()
    #expect(try descriptors(of: place.logPath) == 0)
    vault.close()
    let again = Database(try open(place.path).connect(.writer))
    #expect(try again.rows("SELECT * FROM t").get() == expectedRows(0..<50))
  }

  @Test func theHintIsNotTakenWhereStepsGather() throws {
    let place = Place()
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    for step in 0..<6 {
      fill(writer, step * 20..<step * 20 + 20)
      try vault.syncLog()
    }
    #expect(try descriptors(of: place.logPath) == 1)
    writer.close()
    vault.close()
  }

  @Test(arguments: ["nothing", "a directory", "a pipe", "a link", "a second name"])
  func whatLiesInTheLogsPlaceIsNoMatter(_ found: String) throws {
    let place = Place()
    let vault = try open(place.path)
    let writer = Database(try vault.connect(.writer))
    fill(writer, 0..<10)
    try vault.syncLog()
    let moved = place.path("moved")
    #expect(rename(place.logPath, moved) == 0)
    switch found {
    case "a directory": #expect(mkdir(place.logPath, 0o700) == 0)
    case "a pipe": #expect(mkfifo(place.logPath, 0o600) == 0)
    case "a link": #expect(symlink(place.path, place.logPath) == 0)
    // Closing a descriptor of the main file would drop the lock that keeps others out.
    case "a second name": #expect(link(place.path, place.logPath) == 0)
    default: break
    }
    let before = try descriptors(of: place.path)
    for step in 1..<6 {
      fill(writer, step * 10..<step * 10 + 10)
      try vault.syncLog()
    }
    #expect(try descriptors(of: place.path) == before)
    #expect(try descriptors(of: place.logPath) == 0)
    #expect(try writer.rows("SELECT * FROM t").get() == expectedRows(0..<60))
    // Back where it was, so that the next opening finds what was committed.
    _ = rmdir(place.logPath)
    _ = unlink(place.logPath)
    #expect(rename(moved, place.logPath) == 0)
    writer.close()
    vault.close()
    let again = Database(try open(place.path).connect(.writer))
    #expect(try again.rows("SELECT * FROM t").get() == expectedRows(0..<60))
  }
}
