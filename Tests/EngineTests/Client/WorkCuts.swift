/// The power goes in the middle of long work: a new data key, erasing, a backup, healing, handing
/// the file over.
///
/// What the user did and was told is there, once each; an erased conversation is gone from the
/// receipt on; a backup that was done opens. Nothing is left beside the file.
import Base
import Foundation
import ReferenceServer
import TestSupport
import Testing

@testable import Engine

@Suite struct WorkCuts {
  /// `TL_ROUNDS=20` makes 50,000 images.
  @Test(arguments: 0..<rounds(10, least: 1))
  func nothingIsLost(_ seed: Int) throws {
    let session = try WorkSession(seed: UInt64(seed))
    defer { session.end() }
    try session.act(220)
    #expect(session.done == Set(WorkSession.Kind.allCases))
    var seen: Set<[String]> = []
    var random = Random(seed: UInt64(seed) + 5_000)
    try session.record.eachCut(rounds(5_000, least: 100), &random) { cut, left, random in
      let problems = try session.judge(cut, left, random.below(100))
      #expect(problems.isEmpty, "cut at \(cut) of \(session.record.count)")
      seen.insert(left.files.keys.sorted())
    }
    // Cuts come between the names as well.
    #expect(seen.count > 2)
  }

  /// The same judgement finds what is lost where nothing is synced.
  @Test func aDiskThatDoesNotSyncIsFoundOut() throws {
    let session = try WorkSession(seed: 3, syncs: false)
    defer { session.end() }
    try session.act(60)
    var random = Random(seed: 4)
    var broken = 0
    try session.record.eachCut(20, &random) { cut, left, random in
      if try !session.judge(cut, left, random.below(100)).isEmpty { broken += 1 }
    }
    #expect(broken > 5)
  }
}

/// A user who writes while long work is done, on a disk that records.
private final class WorkSession {
  enum Kind: CaseIterable { case rekey, erase, backup, heal, handOver }

  /// What was promised, and by how many events.
  private struct Promise {
    var events: Int
    var text: String
  }

  private(set) var done: Set<Kind> = []
  let record: DiskRecord
  private let folder: TrapsRestart.Folder
  private let target: TrapsRestart.Folder
  private let world: World
  private let disk = FaultVFS()
  private var random: Random
  private var said: [Promise] = []
  private var drafts: Set<[UInt8]> = [[]]
  /// By how many events all of the conversation was erased.
  private var erased: Int?
  /// The backups that were done: by how many events, and what they have.
  private var copies: [(name: String, events: Int, said: [String])] = []
  private var work: (kind: Kind, work: Work, said: Int)?

  init(seed: UInt64, syncs: Bool = true) throws {
    random = Random(seed: seed &+ 11)
    folder = try TrapsRestart.Folder()
    target = try TrapsRestart.Folder()
    let disk = disk
    world = try World.forgetful(file: folder.file()) { $0.baseVFS = disk.name }
    world.server.createConversation("gone", participants: ["me", "you"])
    for number in 0..<30 {
      world.server.post(
        conversation: "gone", sender: "you", payload: "\"secret \(number)\"", id: nil, stampUs: nil,
        lateUs: nil)
    }
    world.post(110)
    try world.connect()
    try world.sync()
    try world.sync(in: "gone")
    try world.disconnect()
    world.client.close()
    record = DiskRecord(folder.path, on: disk, syncs: syncs)
    world.client = try Client.open(world.config)
  }

  func end() {
    work = nil
    world.client.close()
  }

  // MARK: Acting

  func act(_ count: Int) throws {
    for _ in 0..<count { try step() }
    work = nil
    world.client.close()
    record.end(on: disk)
  }

  private func step() throws {
    switch random.below(10) {
    case 0..<2: try say()
    case 2:
      let text = Array("draft \(record.count)".utf8)
      drafts.insert(text)
      try world.client.setDraft(conversation: Array("room".utf8), body: text)
    case 3 where random.chance(0.4):
      world.post(3)
      try world.connect()
      try world.sync()
      try world.disconnect()
    default: try goOn()
    }
  }

  private func say() throws {
    let text = "said \(said.count)"
    try world.say(text)
    said.append(Promise(events: record.mark(), text: text))
  }

  private func goOn() throws {
    guard let (kind, work, before) = work else { return try begin() }
    guard try work.step(milliseconds: 0).isDone else { return }
    self.work = nil
    done.insert(kind)
    switch kind {
    case .erase: erased = record.mark()
    case .backup:
      copies.append(("copy\(copies.count)", record.mark(), said.prefix(before).map(\.text)))
    default: break
    }
  }

  private func begin() throws {
    let kinds = Kind.allCases.filter { $0 != .erase || !done.contains(.erase) }
    let kind = kinds[random.below(kinds.count)]
    switch kind {
    case .rekey: work = (kind, try Rekeying(world.client).start(erasing: []), said.count)
    case .erase:
      work = (kind, try Rekeying(world.client).start(erasing: Array("gone".utf8)), said.count)
    case .backup:
      let name = folder.path + "/copy\(copies.count)"
      work = (kind, try Backup(world.client).start(name), said.count)
    case .heal:
      try world.client.heal()
      done.insert(kind)
    case .handOver:
      #expect(try world.client.release())
      #expect(try world.client.reacquire())
      done.insert(kind)
    }
  }

  // MARK: Judging

  /// Opens what is left, and one of the backups; gives what is wrong.
  func judge(_ cut: Int, _ image: DiskImage, _ number: Int) throws -> [String] {
    for (name, bytes) in image.files {
      try Data(bytes).write(to: URL(fileURLWithPath: target.path + "/" + name))
    }
    defer {
      for name in names() { try? FileManager.default.removeItem(atPath: target.path + "/" + name) }
    }
    let name = String(folder.storePath.path.dropFirst(folder.path.count + 1))
    let promised = said.filter { $0.events <= cut }.map(\.text)
    var problems = look(name) { client in
      let found = try texts(client, in: "room").filter { $0.hasPrefix("said ") }
      let lost = promised.filter { !found.contains($0) }
      let draft = try client.draft(conversation: Array("room".utf8))?.body ?? []
      let gone = erased.map { $0 <= cut } ?? false ? try texts(client, in: "gone") : []
      return [
        lost.isEmpty ? nil : "lost \(lost)",
        Set(found).count == found.count ? nil : "doubled \(found)",
        drafts.contains(draft) ? nil : "another draft",
        gone.isEmpty ? nil : "erased, and there \(gone)",
      ]
    }
    let beside = names().filter { $0.hasPrefix(name) && $0 != name && $0 != name + "-own" }
    if !beside.isEmpty { problems.append("left \(beside)") }
    let whole = copies.filter { $0.events <= cut }
    if !whole.isEmpty {
      let copy = whole[number % whole.count]
      problems += look(copy.name) { client in
        let found = try texts(client, in: "room")
        return [copy.said.allSatisfy { found.contains($0) } ? nil : "\(copy.name) lacks some"]
      }
    }
    return problems
  }

  private func names() -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: target.path)) ?? []
  }

  private func look(_ name: String, _ body: (Client) throws -> [String?]) -> [String] {
    var config = world.config
    config.file = .path(
      target.path + "/" + name, key: folder.storePath.key, create: false, strict: false)
    config.baseVFS = nil
    do {
      let client = try Client.open(config)
      defer { client.close() }
      return try body(client).compactMap { $0 }
    } catch {
      return ["\(name): \(error)"]
    }
  }

  private func texts(_ client: Client, in conversation: String) throws -> [String] {
    do throws(Failure) {
      let page = try client.messages(
        MessageQuery(conversation: Array(conversation.utf8), limit: 1_000))
      return page.rows.map {
        String(decoding: page[$0.payload], as: UTF8.self).trimmingCharacters(in: ["\""])
      }
    } catch {
      if error == .noConversation { return [] }
      throw error
    }
  }
}
