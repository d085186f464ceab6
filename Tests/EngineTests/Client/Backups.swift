/// A copy of a client's file, and what its client sends that the original's may have sent.
import Base
import Foundation
import ReferenceServer
import TestSupport
import Testing

@testable import Engine

@Suite struct Backups {
  struct Kind: Sendable, CustomTestStringConvertible {
    var scheme: IdempotencyTests.Scheme
    /// The server does a repeated send once, and says so.
    var isIdempotent: Bool
    var testDescription: String { "\(scheme), \(isIdempotent ? "once" : "as often as sent")" }

    static let all = IdempotencyTests.Scheme.allCases.flatMap { scheme in
      [true, false].map { Kind(scheme: scheme, isIdempotent: $0) }
    }
  }

  private func world(
    _ kind: Kind, _ folder: TrapsRestart.Folder, echoesClientIDs: Bool = true,
    on disk: FaultVFS? = nil
  ) throws -> World {
    var knobs = ServerKnobs()
    knobs.idempotentSends = kind.isIdempotent
    knobs.echoesClientIDs = echoesClientIDs
    knobs.keepsLog = kind.scheme == .log
    knobs.numbersMessages = kind.scheme == .numbers
    var profile = Profile()
    if kind.isIdempotent { profile.capabilities.insert(.idempotentSend) }
    // It has long forgotten when the copy is opened.
    if kind.isIdempotent { profile.idempotencyUs = 60_000_000 }
    if kind.scheme == .numbers { profile.capabilities.insert(.sequence) }
    if kind.scheme == .log { profile.keepsLog(refusesUnknown: true, namesEpoch: true) }
    let world = try World(knobs: knobs, profile: profile, file: folder.file()) {
      $0.baseVFS = disk?.name
    }.ticking()
    world.post(60)
    try world.connect()
    try world.run()
    try world.sync()
    try world.client.disconnected()
    return world
  }

  private func backUp(_ world: World, _ folder: TrapsRestart.Folder) throws {
    let work = try Backup(world.client).start(folder.path + "/copy.tide")
    while try !work.step(milliseconds: 0).isDone {}
  }

  /// Another device goes on with the copy, after a while.
  private func restore(_ world: World, _ folder: TrapsRestart.Folder) throws {
    try world.client.disconnected()
    world.client.close()
    world.advance(ms: 130_000)
    world.server.forgetSends()
    world.post(70)
    world.config.device = Array("another".utf8)
    world.config.file = .path(
      folder.path + "/copy.tide", key: folder.storePath.key, create: false, strict: true)
    world.client = try Client.open(world.config)
  }

  private func goOn(_ world: World) throws {
    try world.connect()
    try world.run()
    try world.wait(ms: 120_000)
  }

  /// Protects: a message that waited when the copy was made, and that the original has sent since,
  /// is found and not sent twice; also where the process ends before it could look.
  @Test(arguments: Kind.all, [false, true])
  func whatTheOriginalHasSentIsFound(_ kind: Kind, _ endsBefore: Bool) throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(kind, folder)
    let said = try world.say("hello")
    try backUp(world, folder)
    try goOn(world)
    #expect(world.served() == ["hello"])
    try restore(world, folder)
    if endsBefore {
      world.client.close()
      world.client = try Client.open(world.config)
    }
    #expect(try world.standing(said.operation) != .done)
    try goOn(world)
    #expect(world.served() == ["hello"])
    #expect(try world.standing(said.operation) == .done)
    try world.sync()
    #expect(try world.seen().filter { $0.text == "hello" }.map(\.number) == [said.number])
  }

  /// Protects: the same of several by their payloads, where the server gives no client ids back.
  @Test(arguments: IdempotencyTests.Scheme.allCases)
  func whatTheOriginalHasSentIsFoundByPayloads(_ scheme: IdempotencyTests.Scheme) throws {
    let folder = try TrapsRestart.Folder()
    let kind = Kind(scheme: scheme, isIdempotent: false)
    let world = try world(kind, folder, echoesClientIDs: false)
    let said = try ["one", "two", "three"].map { try world.say($0) }
    try backUp(world, folder)
    try goOn(world)
    #expect(world.served() == ["one", "two", "three"])
    try restore(world, folder)
    try goOn(world)
    #expect(world.served() == ["one", "two", "three"])
    for one in said { #expect(try world.standing(one.operation) == .done) }
  }

  /// The rule broken where the server once recognized repeats: it is not looked for, and is there
  /// twice.
  @Test(arguments: Kind.all.filter(\.isIdempotent)) func withoutALookItIsThereTwice(_ kind: Kind)
    throws
  {
    let folder = try TrapsRestart.Folder()
    let world = try world(kind, folder)
    try world.say("hello")
    try backUp(world, folder)
    try goOn(world)
    world.config.profile.planted = .forgottenSendRepeated
    try restore(world, folder)
    try goOn(world)
    #expect(world.served() == ["hello", "hello"])
  }

  /// Protects: what waited for an upload, and what answers a message that waited, are looked for
  /// as well.
  @Test(arguments: Kind.all) func whatWaitedIsFound(_ kind: Kind) throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(kind, folder)
    let picture = try world.perform(
      """
      {"type":"send_message","conversation_id":"room","payload":"picture"}
      """, upload: true
    ).operation
    try backUp(world, folder)
    let attachment = Array(#"{"url":"x"}"#.utf8)
    #expect(try world.client.uploaded(picture, attachment: attachment))
    try goOn(world)
    #expect(world.server.truth(world.room).filter { $0.sender == "me" }.count == 1)
    try restore(world, folder)
    #expect(try world.client.uploaded(picture, attachment: attachment))
    try goOn(world)
    #expect(world.server.truth(world.room).filter { $0.sender == "me" }.count == 1)
  }

  /// Protects: what the original has not sent goes out once the server was looked at; where that
  /// would do it twice the user decides.
  @Test(arguments: Kind.all) func whatTheOriginalHasNotSent(_ kind: Kind) throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(kind, folder)
    let said = try world.say("hello")
    try backUp(world, folder)
    try restore(world, folder)
    try goOn(world)
    if !kind.isIdempotent {
      #expect(world.served() == [])
      #expect(try world.standing(said.operation) == .unknown)
      #expect(try world.client.retry(said.operation))
      try goOn(world)
    }
    #expect(world.served() == ["hello"])
    #expect(try world.standing(said.operation) == .done)
    // What is said on the copy is the copy's alone.
    try world.say("behind")
    try world.run()
    #expect(world.served() == ["hello", "behind"])
  }

  /// Protects: a file that is no copy looks for nothing.
  @Test(arguments: Kind.all) func anOriginalSendsAtOnce(_ kind: Kind) throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(kind, folder)
    try world.say("hello")
    try backUp(world, folder)
    world.client.close()
    world.client = try Client.open(world.config)
    try world.connect()
    try world.run()
    #expect(world.served() == ["hello"])
  }

  /// Protects: drafts and messages are in the copy, and what comes after it is fetched.
  @Test(arguments: Kind.all) func theCopyHasWhatTheFileHad(_ kind: Kind) throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(kind, folder)
    try world.say("hello")
    let before = try world.seen()
    try backUp(world, folder)
    try restore(world, folder)
    #expect(try world.seen().map(\.text) == before.map(\.text))
    try goOn(world)
    try world.sync()
    try world.sync(.older, want: 1_000)
    let cached = Set(try world.cached())
    #expect(cached.isSuperset(of: world.truth().suffix(70)))
    #expect(cached.isSuperset(of: world.truth().prefix(60)))
  }

  // MARK: A file that is lost

  enum Loss: CaseIterable {
    /// It goes with its log, before what waited was sent; after that; at the next opening the
    /// process ends before it could look.
    case unsent, sent, sentAndEnded
  }

  /// Protects: what waited is there again, and is looked for before it is sent: it is never sent
  /// twice.
  @Test(arguments: Kind.all, Loss.allCases)
  func whatWaitedOutlivesTheFile(_ kind: Kind, _ loss: Loss) throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(kind, folder)
    let said = try world.say("hello")
    guard case .path(let path, _, _, _) = world.config.file else { return }
    let own = try Data(contentsOf: URL(fileURLWithPath: path + "-own"))
    if loss != .unsent { try goOn(world) }
    try world.client.disconnected()
    world.client.close()
    try FileManager.default.removeItem(atPath: path)
    // As a kill leaves it that comes before the answer.
    try own.write(to: URL(fileURLWithPath: path + "-own"))
    if loss != .unsent {
      world.advance(ms: 130_000)
      world.server.forgetSends()
    }
    world.post(70)
    world.client = try Client.open(world.config)
    if loss == .sentAndEnded {
      world.client.close()
      world.client = try Client.open(world.config)
    }
    let before = try world.standing(said.operation)
    #expect(before == .queued || before == .unknown)
    try goOn(world)
    let standing = try world.standing(said.operation)
    #expect(world.served() == (loss == .unsent ? [] : ["hello"]))
    // What is not found is the user's to decide. In a log only its newest entries are looked at.
    let isFound = loss != .unsent && kind.scheme != .log
    #expect(standing == (isFound ? .done : .unknown))
  }

  /// Protects: what a full disk keeps from being put back is looked for as soon as something else
  /// could be written.
  @Test(arguments: Kind.all, [false, true])
  func whatWaitedOutlivesAFullDisk(_ kind: Kind, _ isSent: Bool) throws {
    let folder = try TrapsRestart.Folder()
    let disk = FaultVFS()
    let world = try world(kind, folder, on: disk)
    guard case .path(let path, _, _, _) = world.config.file else { return }
    world.client.close()
    let older = try Data(contentsOf: URL(fileURLWithPath: path))
    world.client = try Client.open(world.config)
    let said = try world.say("hello")
    let own = try Data(contentsOf: URL(fileURLWithPath: path + "-own"))
    if isSent { try goOn(world) }
    try world.client.disconnected()
    world.client.close()
    try older.write(to: URL(fileURLWithPath: path))
    try own.write(to: URL(fileURLWithPath: path + "-own"))
    world.advance(ms: 130_000)
    world.server.forgetSends()
    disk.fillDisk()
    world.client = try Client.open(world.config)
    #expect(throws: Failure.noOperation) { _ = try world.client.operation(said.operation) }
    disk.fillDisk(false)
    try goOn(world)
    #expect(world.served() == (isSent ? ["hello"] : []))
    let standing = try world.standing(said.operation)
    #expect(standing == (isSent ? .done : .unknown))
  }

  /// Protects: what was said in a conversation that only the file of own work had is looked for
  /// once that is made, and not sent twice.
  @Test(arguments: [true, false]) func whatWaitedInAnUnmadeConversationIsLookedFor(
    _ isIdempotent: Bool
  ) throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(Kind(scheme: .times, isIdempotent: isIdempotent), folder)
    let made = try world.perform(
      #"{"type":"create_conversation","client_id":"mine","participant_ids":["you"]}"#
    ).operation
    let said = try world.say("hello", in: "mine")
    guard case .path(let path, _, _, _) = world.config.file else { return }
    let own = try Data(contentsOf: URL(fileURLWithPath: path + "-own"))
    try goOn(world)
    #expect(try world.standing(said.operation) == .done)
    try world.client.disconnected()
    world.client.close()
    try FileManager.default.removeItem(atPath: path)
    try own.write(to: URL(fileURLWithPath: path + "-own"))
    world.advance(ms: 130_000)
    world.server.forgetSends()
    world.client = try Client.open(world.config)
    try goOn(world)
    #expect(try world.standing(made) == .unknown)
    // The user's decision.
    #expect(try world.client.retry(made))
    try goOn(world)
    #expect(try world.standing(made) == .done)
    let hellos = world.server.conversationIDs.flatMap { world.served(in: $0) }
    #expect(hellos == ["hello"])
    let standing = try world.standing(said.operation)
    #expect(standing == .unknown || standing == .done, "\(standing)")
  }

  /// Protects: what a new data key finds waiting to be put back is looked for like the rest.
  @Test(arguments: Kind.all) func aNewDataKeyPutsBackForTheOutbox(_ kind: Kind) throws {
    let folder = try TrapsRestart.Folder()
    let disk = FaultVFS()
    let world = try world(kind, folder, on: disk)
    guard case .path(let path, _, _, _) = world.config.file else { return }
    world.client.close()
    let older = try Data(contentsOf: URL(fileURLWithPath: path))
    world.client = try Client.open(world.config)
    let said = try world.say("hello")
    let own = try Data(contentsOf: URL(fileURLWithPath: path + "-own"))
    try goOn(world)
    try world.client.disconnected()
    world.client.close()
    try older.write(to: URL(fileURLWithPath: path))
    try own.write(to: URL(fileURLWithPath: path + "-own"))
    disk.fillDisk()
    world.client = try Client.open(world.config)
    disk.fillDisk(false)
    let work = try Rekeying(world.client).start(erasing: [])
    while try !work.step(milliseconds: 0).isDone {}
    #expect(try world.standing(said.operation) != .inFlight)
    world.advance(ms: 130_000)
    world.server.forgetSends()
    try goOn(world)
    #expect(world.served() == ["hello"])
    #expect(try world.standing(said.operation) == .done)
  }

  /// Protects: closing ends a copy: nothing of it is left, and the file can be opened at once.
  @Test func closingEndsIt() throws {
    let folder = try TrapsRestart.Folder()
    let world = try world(Kind(scheme: .times, isIdempotent: true), folder)
    let work = try Backup(world.client).start(folder.path + "/copy.tide")
    #expect(FileManager.default.fileExists(atPath: folder.path + "/copy.tide-new"))
    world.client.close()
    #expect(throws: Failure.closed) { _ = try work.step(milliseconds: 0) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["0.tide"])
    world.client = try Client.open(world.config)
    #expect(throws: Failure.closed) { _ = try work.step(milliseconds: 0) }
    try backUp(world, folder)
  }

  @Test func aClientInMemoryHasNoFile() throws {
    let world = try World()
    #expect(throws: Failure.unsupported("a client in memory has no file")) {
      _ = try Backup(world.client).start("/tmp/none")
    }
  }
}
