/// A client on a storage that is a Swift class.
import CTidelineShared
import Synchronization
import Testing
import Tideline

/// Everything in a dictionary: durable as long as the object lives.
final class DictionaryStorage: Storage {
  private struct Contents {
    var fences: [String: UInt64] = [:]
    var objects: [String: [UInt8]] = [:]
    var failsSync = false
  }
  private let contents = Mutex(Contents())

  func failSyncs(_ fails: Bool) { contents.withLock { $0.failsSync = fails } }
  var bytes: Int { contents.withLock { $0.objects.values.reduce(0) { $0 + $1.count } } }

  /// Runs a call of the newest holder on its object.
  private func run<Value>(
    _ at: Stored, _ body: (inout [UInt8]) -> Value
  ) throws(StorageFailure) -> Value {
    let value = contents.withLock { contents -> Value? in
      guard contents.fences[at.name] == at.fence else { return nil }
      return body(&contents.objects["\(at.object) \(at.name)", default: []])
    }
    guard let value else { throw .lost }
    return value
  }

  func acquire(_ name: String) throws(StorageFailure) -> UInt64 {
    contents.withLock {
      $0.fences[name, default: 0] += 1
      return $0.fences[name] ?? 0
    }
  }
  func release(_ at: Stored) {}
  func read(_ at: Stored, _ offset: Int, _ count: Int) throws(StorageFailure) -> [UInt8] {
    try run(at) { Array($0.dropFirst(offset).prefix(count)) }
  }
  func write(_ at: Stored, _ offset: Int, _ bytes: [UInt8]) throws(StorageFailure) {
    try run(at) { object in
      let end = offset + bytes.count
      if object.count < end { object += [UInt8](repeating: 0, count: end - object.count) }
      object.replaceSubrange(offset..<end, with: bytes)
    }
  }
  func truncate(_ at: Stored, _ size: Int) throws(StorageFailure) {
    try run(at) { object in
      let missing = max(0, size - object.count)
      object = Array(object.prefix(size)) + [UInt8](repeating: 0, count: missing)
    }
  }
  func size(_ at: Stored) throws(StorageFailure) -> Int { try run(at) { $0.count } }
  func sync(_ at: Stored) throws(StorageFailure) {
    try run(at) { _ in }
    if contents.withLock({ $0.failsSync }) { throw .failed }
  }
  func remove(_ at: Stored) throws(StorageFailure) { try run(at) { $0 = [] } }
}

@Suite struct StorageTests {
  private func options(_ storage: DictionaryStorage) -> Client.Options {
    var options = Client.Options(path: "eva", key: (0..<32).map { UInt8($0) })
    options.storage = storage
    return options
  }

  @Test func aClientKeepsAllInADictionary() throws {
    let storage = DictionaryStorage()
    do {
      let client = try Client(options(storage))
      _ = try client.send("c", #""one""#, id: "x1")
    }
    let client = try Client(options(storage))
    #expect(try client.messages("c").map(\.payload) == [#""one""#])
    #expect(storage.bytes > 12_288)
    try client.wipe()
    #expect(storage.bytes == 0)
  }

  @Test func theStorageGoesWithTheLastClientOnIt() throws {
    weak var known: DictionaryStorage?
    do {
      let storage = DictionaryStorage()
      known = storage
      let client = try Client(options(storage))
      try client.connected()
    }
    #expect(known == nil)
  }

  @Test func aNameThatIsTakenOverEndsItsClient() throws {
    let storage = DictionaryStorage()
    let old = try Client(options(storage))
    let new = try Client(options(storage))
    #expect(throws: TidelineError.self) { _ = try old.send("c", "1", id: "x1") }
    do {
      _ = try old.messages("c")
      Issue.record("it reads")
    } catch let error as TidelineError {
      #expect(error.status == Status(TL_E_LOCKED))
    }
    _ = try new.send("c", "2", id: "x2")
    #expect(try new.messages("c").map(\.payload) == ["2"])
  }

  @Test func aSyncThatFailedIsToldUntilItIsOpenedAgain() throws {
    let storage = DictionaryStorage()
    let client = try Client(options(storage))
    storage.failSyncs(true)
    #expect(throws: TidelineError.self) { _ = try client.send("c", "1", id: "x1") }
    storage.failSyncs(false)
    do {
      _ = try client.send("c", "2", id: "x2")
      Issue.record("it goes on")
    } catch let error as TidelineError {
      #expect(error.status == Status(TL_E_STORAGE))
    }
    client.close()
    _ = try Client(options(storage)).send("c", "3", id: "x3")
  }
}
