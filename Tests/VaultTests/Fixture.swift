/// What the tests of the vault share: a directory, a connection, a bit of content.
import Base
import CSQLite
import CSodium
import Foundation
import TestSupport
import Testing
import Vault

/// A directory that goes with the test.
final class Place {
  let directory: String

  init() {
    // In memory where that is to be had: syncs are many, and what they would
    // keep is decided by the tests themselves.
    let root = access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : NSTemporaryDirectory()
    var template = Array((root + "vaultXXXXXX").utf8CString)
    directory = String(cString: mkdtemp(&template)!)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: directory)
  }

  var path: String { directory + "/cache.db" }
  var logPath: String { path + "-wal" }

  func path(_ name: String) -> String { directory + "/" + name }

  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted()
  }
}

/// One connection, closed when it goes.
final class Database {
  let handle: OpaquePointer
  private var isOpen = true

  init(_ handle: OpaquePointer) {
    self.handle = handle
  }

  deinit {
    close()
  }

  func close() {
    if isOpen { sqlite3_close(handle) }
    isOpen = false
  }

  @discardableResult
  func run(_ sql: String) -> Int32 {
    sqlite3_exec(handle, sql, nil, nil, nil)
  }

  /// The rows of a query as text, or the result code that ended it.
  func rows(_ sql: String) -> Result<[String], SQLiteError> {
    var statement: OpaquePointer?
    let prepared = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    defer { sqlite3_finalize(statement) }
    guard prepared == SQLITE_OK else { return .failure(SQLiteError(code: prepared)) }
    var rows: [String] = []
    while true {
      let step = sqlite3_step(statement)
      if step == SQLITE_DONE { return .success(rows) }
      guard step == SQLITE_ROW else { return .failure(SQLiteError(code: step)) }
      rows.append(
        (0..<sqlite3_column_count(statement)).map { column in
          sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "-"
        }.joined(separator: "|"))
    }
  }

  func one(_ sql: String) -> String? {
    guard case .success(let rows) = rows(sql) else { return nil }
    return rows.first
  }
}

struct SQLiteError: Error, Equatable {
  let code: Int32
}

let key = (0..<32).map { UInt8($0 * 7 & 0xFF) }
let otherKey = (0..<32).map { UInt8($0 * 11 & 0xFF) }

func open(
  _ path: String, key: [UInt8] = key, create: Bool = true, strict: Bool = false,
  base: String = "unix-excl"
) throws(VaultFailure) -> Vault {
  try Vault.open(
    VaultConfig(path: path, key: HostKey(key), create: create, strict: strict, baseVFS: base))
}

func contents(_ path: String) -> [UInt8] {
  DiskImage(paths: [path]).files[path] ?? []
}

func store(_ bytes: [UInt8], _ path: String) {
  var image = DiskImage()
  image.files[path] = bytes
  image.write(replacing: "", with: "")
}

/// A copy of the header as its sums count it: zeros where the mark of the log lies.
func unmarked(_ copy: ArraySlice<UInt8>) -> [UInt8] {
  var copy = Array(copy)
  for place in 2048..<min(2120, copy.count) { copy[place] = 0 }
  return copy
}

/// Makes the plain sum of a copy of the header fit.
func resum(_ file: inout [UInt8], copy: Int) {
  let start = copy * 4096
  var sum = [UInt8](repeating: 0, count: 32)
  crypto_generichash(&sum, 32, unmarked(file[start..<start + 4064]), 4064, nil, 0)
  file.replaceSubrange(start + 4064..<start + 4096, with: sum)
}

/// Text of a row that is known and fills some space.
func text(_ number: Int) -> String {
  "row-\(number)-" + String(repeating: "abcdefgh", count: 20 + number % 50)
}

/// Fills table `t` with rows `range`, one transaction for each `batch`.
func fill(_ database: Database, _ range: Range<Int>, batch: Int = 10) {
  database.run("CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, body TEXT) STRICT")
  for start in stride(from: range.lowerBound, to: range.upperBound, by: batch) {
    database.run("BEGIN")
    for id in start..<min(start + batch, range.upperBound) {
      database.run("INSERT INTO t VALUES(\(id),'\(text(id))')")
    }
    database.run("COMMIT")
  }
}

func expectedRows(_ range: Range<Int>) -> [String] {
  range.map { "\($0)|\(text($0))" }
}

func inodeOf(_ path: String) -> UInt64 {
  var status = stat()
  return stat(path, &status) == 0 ? UInt64(status.st_ino) : 0
}
