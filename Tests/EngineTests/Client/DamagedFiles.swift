/// A file of which pages were destroyed, swapped or put back from an older copy: what each call of
/// a client then answers.
///
/// `TL_ROUNDS=20` runs 300 trials of each kind, and `TL_DAMAGE_TABLE=1` prints what they gave.
import Base
import Foundation
import ReferenceServer
import TestSupport
import Testing

@testable import Engine

@Suite struct DamagedFiles {
  enum Harm: String, CaseIterable, Sendable {
    case destroyed, swapped, old
  }

  /// A closed file with messages and with what the user did offline, and the same file earlier.
  struct Original: Sendable {
    static let rooms = ["room", "den", "hall"]
    static let key = HostKey([UInt8](repeating: 0x5A, count: 32))

    let bytes: [UInt8]
    let earlier: [UInt8]
    let config: ClientConfig
    let own: Own
    /// What each message says, by its id.
    var texts: [String: String] = [:]

    init(messages: Int = 800) throws {
      let folder = try TrapsRestart.Folder()
      let world = try World.idempotent(file: folder.file())
      for room in Self.rooms.dropFirst() {
        world.server.createConversation(room, participants: ["me", "you"])
      }
      _ = try SearchService(world.client).switchSearch(on: true)
      try world.connect()
      try world.run()
      try Self.fill(world, 0..<messages / 2)
      world.client.close()
      let path = folder.storePath.path
      earlier = DiskImage(paths: [path]).files[path] ?? []
      world.client = try Client.open(world.config)
      try world.connect()
      try world.run()
      try Self.fill(world, messages / 2..<messages)
      try world.disconnect()
      let known = try world.cached()
      for index in 0..<20 { try world.say("mine \(index)", in: Self.rooms[index % 3]) }
      try world.client.markRead(
        conversation: Array("room".utf8), ids: known.suffix(5).map { Array($0.utf8) })
      for room in Self.rooms {
        try world.client.setDraft(
          conversation: Array(room.utf8), body: Array("draft of \(room)".utf8))
        for id in try world.cached(in: room) {
          let page = try world.client.message(
            conversation: Array(room.utf8), id: Array(id.utf8))
          texts[id] = String(decoding: page[page.rows[0].payload], as: UTF8.self)
        }
      }
      own = try Own(of: world.client)
      world.client.close()
      bytes = DiskImage(paths: [path]).files[path] ?? []
      config = world.config
    }

    private static func fill(_ world: World, _ range: Range<Int>) throws {
      for room in rooms {
        for index in range {
          world.advance(ms: 1_000)
          world.server.post(
            conversation: room, sender: "you",
            payload: "\"\(room) \(index) \(String(repeating: "word ", count: index % 60))\"",
            id: nil, stampUs: nil, lateUs: nil)
        }
        try world.sync(.older, want: range.upperBound, in: room)
      }
    }

    /// The file with so many pages harmed, page 1 and the header included.
    func harmed(_ harm: Harm, pages count: Int, _ random: inout Random) -> [UInt8] {
      var changed = bytes
      let pages = (bytes.count - 8192) / 4096
      func place(_ page: Int) -> Range<Int> { 8192 + page * 4096..<12288 + page * 4096 }
      for _ in 0..<count {
        let page = random.below(pages)
        switch harm {
        case .destroyed:
          changed.replaceSubrange(
            place(page), with: (0..<4096).map { _ in UInt8(random.below(256)) })
        case .swapped:
          let other = random.below(pages)
          let kept = Array(changed[place(page)])
          changed.replaceSubrange(place(page), with: changed[place(other)])
          changed.replaceSubrange(place(other), with: kept)
        case .old:
          guard place(page).upperBound <= earlier.count else { continue }
          changed.replaceSubrange(place(page), with: earlier[place(page)])
        }
      }
      return changed
    }
  }

  /// What only this device has.
  struct Own: Equatable, Sendable {
    var operations = 0
    var drafts: [String] = []

    init(of client: Client) throws(Failure) {
      operations = try client.operations(OperationQuery(limit: 1_000)).rows.count
      for room in Original.rooms {
        let page = try client.conversation(Array(room.utf8))
        drafts += page.rows.map { String(decoding: page.bytes[$0.draft], as: UTF8.self) }
      }
    }
  }

  static let original = Result { try Original() }

  /// How often each call gave each answer.
  private struct Table {
    var counts: [String: [String: Int]] = [:]

    mutating func note(_ call: String, _ answer: String) {
      counts[call, default: [:]][answer, default: 0] += 1
    }

    var text: String {
      counts.keys.sorted().map { call in
        let answers = counts[call] ?? [:]
        return call + ": "
          + answers.keys.sorted().map { "\($0) \(answers[$0] ?? 0)" }.joined(separator: ", ")
      }.joined(separator: "\n")
    }
  }

  private static func name(_ failure: Failure) -> String {
    let text = "\(failure)"
    return String(text.prefix { $0 != "(" })
  }

  /// Answers of one trial, in `table`; what must not be is an issue.
  private struct Trial {
    let original: Original
    let path: String
    var table = Table()
    var faults: [String] = []

    init(_ original: Original, _ path: String) {
      self.original = original
      self.path = path
    }

    var config: ClientConfig {
      var config = original.config
      config.file = .path(path, key: Original.key, create: false, strict: false)
      return config
    }

    mutating func ask<Result>(
      _ call: String, mustWork: Bool = false, _ body: () throws(Failure) -> Result
    ) -> Result? {
      do throws(Failure) {
        let result = try body()
        table.note(call, "ok")
        return result
      } catch {
        table.note(call, DamagedFiles.name(error))
        if case .internal = error { faults.append("\(call) is \(error)") }
        if mustWork { faults.append("\(call) fails: \(error)") }
        return nil
      }
    }

    mutating func run() {
      let config = config
      guard let client = ask("1 open", { () throws(Failure) in try Client.open(config) }) else {
        return
      }
      defer { client.close() }
      _ = ask("2 read own") { () throws(Failure) in try Own(of: client) }
      for room in Original.rooms { read(client, room) }
      _ = ask("2 read list") { () throws(Failure) in
        try client.conversations(offset: 0, limit: 100)
      }
      _ = ask("3 send") { () throws(Failure) in
        try client.perform(
          Array(#"{"type":"send_message","conversation_id":"room","payload":"new"}"#.utf8),
          PerformOptions(awaitsUpload: false))
      }
      for room in Original.rooms { export(client, room) }
      _ = ask("5 drop", mustWork: true) { () throws(Failure) in
        do throws(Failure) {
          try client.drop(conversation: Array("den".utf8), id: [])
        } catch .notFound {
          // The conversation itself was on a page that is lost.
        }
      }
      _ = ask("6 clear", mustWork: true) { () throws(Failure) in try client.clear() }
      noteOwn("7 own after clear", client)
      client.close()
      guard
        let again = ask(
          "8 open again", mustWork: true,
          { () throws(Failure) in
            try Client.open(config)
          })
      else { return }
      noteOwn("9 own at last", again)
      again.close()
    }

    private mutating func read(_ client: Client, _ room: String) {
      let page = ask("2 read") { () throws(Failure) in
        try client.messages(MessageQuery(conversation: Array(room.utf8), limit: 10_000))
      }
      guard let page else { return }
      for row in page.rows { check(page[row.id], page[row.payload]) }
    }

    private mutating func check(_ id: [UInt8], _ payload: [UInt8]) {
      let text = String(decoding: payload, as: UTF8.self)
      if let known = original.texts[String(decoding: id, as: UTF8.self)], known != text {
        faults.append("a message says \(text), not \(known)")
      }
    }

    private mutating func export(_ client: Client, _ room: String) {
      _ = ask("4 export", mustWork: true) { () throws(Failure) in
        do throws(Failure) {
          let work = try Exporter(client).start(Array(room.utf8)) { _ in }
          while try !work.step(milliseconds: 0).isDone {}
        } catch .notFound {
          // As above.
        }
      }
    }

    private mutating func noteOwn(_ call: String, _ client: Client) {
      let found = ask(call, mustWork: true) { () throws(Failure) in try Own(of: client) }
      guard let found else { return }
      // What was sent in between is one more.
      if found.operations < original.own.operations { table.note(call, "fewer operations") }
      if found.drafts != original.own.drafts { table.note(call, "other drafts") }
    }
  }

  @Test(arguments: Harm.allCases, [1, 10, 100])
  func noCallFailsThatMustNot(_ harm: Harm, _ pages: Int) throws {
    let original = try Self.original.get()
    let folder = try TrapsRestart.Folder()
    let path = folder.path + "/harmed.tide"
    var random = Random(seed: UInt64(pages) &* 31 &+ UInt64(harm.rawValue.utf8.count))
    var table = Table()
    for trial in 0..<rounds(300, least: 15) {
      for suffix in ["", "-wal", "-new", "-new-wal"] {
        try? FileManager.default.removeItem(atPath: path + suffix)
      }
      var image = DiskImage()
      image.files[path] = original.harmed(harm, pages: pages, &random)
      image.write(replacing: "", with: "")
      var one = Trial(original, path)
      one.run()
      for (call, answers) in one.table.counts {
        for (answer, count) in answers {
          table.counts[call, default: [:]][answer, default: 0] += count
        }
      }
      #expect(one.faults == [], "trial \(trial)")
    }
    if getenv("TL_DAMAGE_TABLE") != nil { print("\(pages) pages \(harm)\n\(table.text)") }
  }
}
