/// Messages of an older cache beside what the server says.
import Base
import Engine
import ReferenceServer
import Testing

extension World {
  /// What an older cache has of the server: each message as it is now.
  func oldCache(_ conversation: String? = nil) -> [String] {
    server.truth(conversation ?? room).map { row in
      """
      {"message_id":"\(row.id)","conversation_id":"\(conversation ?? room)","sender_id":"you",\
      "created_at":"\(stamp(row.stampUs))","payload":"old"}
      """
    }
  }

  private func stamp(_ us: Int64) -> String {
    let (second, rest) = (us / 1_000_000, us % 1_000_000)
    let day = second / 86_400
    // The world begins on 2026-02-15, and no test goes beyond the month.
    let first = Self.epochUs / 86_400_000_000
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let micros = String(String(rest + 1_000_000).dropFirst())
    let time = second % 86_400
    return "2026-02-\(two(15 + day - first))T\(two(time / 3_600)):\(two(time / 60 % 60)):"
      + "\(two(time % 60)).\(micros)Z"
  }

  @discardableResult
  func take(
    _ lines: [String], name: String = "old", change: (inout ImportSource) -> Void = { _ in }
  ) throws -> ImportStatus {
    let bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
    var source = ImportSource(name: Array(name.utf8)) { offset, most in
      Array(bytes.dropFirst(Int(offset)).prefix(most))
    }
    change(&source)
    let work = try Importer(client).start(source)
    while try !work.step(milliseconds: 0).isDone {}
    return try #require(try Importer(client).status(Array(name.utf8)))
  }
}

@Suite struct ImportTests {
  private func islands(_ world: World) throws -> Int {
    let page = try world.page()
    return page.rows.count { $0.flags & (1 << 7) != 0 }
  }

  /// They are shown, claim nothing, and are confirmed by the pages that show them.
  @Test(arguments: ServerKind.few) func theServerConfirmsThem(_ kind: ServerKind) throws {
    let world = try kind.world()
    world.post(300)
    let status = try world.take(world.oldCache())
    #expect(status.inserted == 300 && status.isDone)
    #expect(try world.cached().count == 300 && islands(world) == 300)
    #expect(try !world.page().coverage.whole)
    try world.connect()
    try world.sync(.older, want: 1_000)
    #expect(try world.cached() == world.truth() && islands(world) == 0)
    #expect(try world.lies() == [])
    #expect(try world.client.stats().restores == 0)
    // Nothing was lost of what only they had, and what the server shows came in its place.
    #expect(try world.page().rows.allSatisfy { !$0.payload.isEmpty })
  }

  /// One that is gone on the server, and that no list of deletions names, goes with the page that
  /// does not show it: it is no restored server.
  @Test func whatIsGoneGoes() throws {
    let world = try World()
    world.post(120)
    var old = world.oldCache()
    for index in [3, 50, 51, 119] {
      old[index] = old[index].replacingOccurrences(
        of: "\"message_id\":\"", with: "\"message_id\":\"x")
    }
    try world.take(old)
    try world.connect()
    try world.sync(.older, want: 1_000)
    try world.lookOnceMore()
    #expect(try world.cached() == world.truth())
    #expect(try world.client.stats().restores == 0)
  }

  /// What the server has told and deleted stays so.
  @Test func whatTheServerSaidStays() throws {
    let world = try World()
    let ids = world.post(20)
    let old = world.oldCache()
    try world.connect()
    try world.sync()
    world.server.delete(conversation: world.room, ids: [ids[4]])
    try world.sync()
    let before = try world.page()
    let status = try world.take(old)
    #expect(status.inserted == 0 && status.known == 20)
    let after = try world.page()
    #expect(after.rows.map(\.number) == before.rows.map(\.number))
    #expect(after.rows.map { after[$0.payload] } == before.rows.map { before[$0.payload] })
  }

  /// Nobody is notified of them, no mark is sent, and with the flag none is unread.
  @Test(arguments: [false, true]) func theyAreHistory(_ isRead: Bool) throws {
    let world = try World { $0.autoMarkDelivered = true }
    world.post(10)
    try world.take(world.oldCache()) { $0.isRead = isRead }
    #expect(try world.client.state().readsPending == 0)
    guard case .changes(let entries) = try world.client.changes(after: 0, limit: 100) else {
      return
    }
    #expect(entries.allSatisfy { !$0.notifies })
    let conversation = try world.client.conversation(Array(world.room.utf8))
    #expect(conversation.rows.first?.unread == (isRead ? 0 : 10))
  }

  /// What is of no use is named by its number, and each has to have a conversation.
  @Test func badOnesAreNamed() throws {
    let world = try World()
    world.post(4)
    var old = world.oldCache()
    old[1] = "{}"
    old[2] = old[2].replacingOccurrences(of: "\"conversation_id\":\"room\",", with: "")
    let status = try world.take(old)
    #expect(status.inserted == 2 && status.bad == 2 && status.lines == 4)
    let bad = try Importer(world.client).bad(Array("old".utf8), after: 0, limit: 10)
    #expect(bad.map(\.number) == [2, 3])
    let other = try world.take([old[2]], name: "other") { $0.conversation = Array("room".utf8) }
    #expect(other.inserted == 1)
  }

  // MARK: What a step reads

  /// A source of one piece again and again; it counts what is read of it.
  private final class Endless: Sendable {
    let read = Lock(0)
    private let (piece, size): ([UInt8], Int)

    init(_ piece: String, size: Int) { (self.piece, self.size) = (Array(piece.utf8), size) }

    func source(_ world: World) -> ImportSource {
      var source = ImportSource(name: Array("endless".utf8)) { [self] offset, most in
        let end = min(size, Int(offset) + most)
        let bytes = (Int(offset)..<max(end, Int(offset))).map { piece[$0 % piece.count] }
        read.withLock { $0 += bytes.count }
        return bytes
      }
      source.conversation = Array(world.room.utf8)
      return source
    }
  }

  /// However little a source holds, a step reads a MiB of it and no more than a piece beyond.
  @Test(arguments: [
    "\n", " \r\n", "x", "[", "                                                             1\n",
  ])
  func aStepReadsSoManyBytes(_ piece: String) throws {
    let world = try World()
    let endless = Endless(piece, size: 3 * Limits.importBytesMax)
    let work = try Importer(world.client).start(endless.source(world))
    var (steps, read, done) = (0, 0, UInt64(0))
    while true {
      let progress = try work.step(milliseconds: 0)
      steps += 1
      let now = endless.read.withLock { $0 }
      #expect(now - read <= Limits.importBytesMax + 65_536, "step \(steps)")
      #expect(progress.done > done || progress.isDone, "step \(steps)")
      (read, done) = (now, progress.done)
      if progress.isDone { break }
    }
    #expect(steps >= 3 && read == 3 * Limits.importBytesMax)
    #expect(try Importer(world.client).status(Array("endless".utf8))?.isDone == true)
  }

  /// What stands around an array counts as well.
  @Test func spaceAroundAnArrayIsReadInSteps() throws {
    let world = try World()
    let space = String(repeating: " ", count: 2 * Limits.importBytesMax)
    let source = Source(isArray: true)
    source.add("\(space)[\(space)]\(space)")
    let work = try source.work(world)
    var steps = 1
    while try !work.step(milliseconds: 0).isDone { steps += 1 }
    #expect(steps >= 6)
  }

  // MARK: Sources that are not whole

  /// A file that another program is writing.
  private final class Source: Sendable {
    private let bytes = Lock([UInt8]())
    let (name, isArray): ([UInt8], Bool)

    init(_ name: String = "old", isArray: Bool = false) {
      (self.name, self.isArray) = (Array(name.utf8), isArray)
    }

    func add(_ text: String) { bytes.withLock { $0 += Array(text.utf8) } }

    func work(_ world: World) throws -> Work {
      var source = ImportSource(name: name) { [bytes] offset, most in
        bytes.withLock { Array($0.dropFirst(Int(offset)).prefix(most)) }
      }
      source.isArray = isArray
      source.conversation = Array(world.room.utf8)
      return try Importer(world.client).start(source)
    }

    /// Steps until it is done; how it is then.
    func take(_ world: World) throws -> ImportStatus {
      let work = try work(world)
      while try !work.step(milliseconds: 0).isDone {}
      return try #require(try Importer(world.client).status(name))
    }

    func bad(_ world: World) throws -> [UInt64] {
      try Importer(world.client).bad(name, after: 0, limit: 100).map(\.number)
    }
  }

  /// A source without a last end of line grows: each line has one number.
  @Test(arguments: ["\n", "\r\n", "  \n"]) func aLastLineKeepsItsNumber(_ end: String) throws {
    let world = try World()
    world.post(3)
    let old = world.oldCache()
    let source = Source()
    source.add(old[0] + "\n" + old[1])
    var status = try source.take(world)
    #expect(status.inserted == 2 && status.lines == 2 && status.isDone)
    #expect(try source.take(world) == status)
    source.add(end + "broken\n" + old[2] + "\n")
    status = try source.take(world)
    #expect(status.inserted == 3 && status.lines == 4 && status.bad == 1)
    #expect(try source.bad(world) == [3])
    #expect(try world.cached() == world.truth())
  }

  /// The half of a line is named for as long as it is one, and is lost nowhere.
  @Test func aHalfWrittenLineComesWhole() throws {
    let world = try World()
    world.post(3)
    let old = world.oldCache()
    for cut in [1, 20, old[1].utf8.count - 1] {
      let source = Source("cut \(cut)")
      try world.client.clear()
      source.add(old[0] + "\n" + old[1].prefix(cut))
      var status = try source.take(world)
      #expect(status.inserted == 1 && status.bad == 1 && status.isDone)
      #expect(try source.bad(world) == [2])
      #expect(try source.take(world) == status)
      source.add(String(old[1].dropFirst(cut)))
      status = try source.take(world)
      #expect(status.inserted == 2 && status.bad == 0 && status.lines == 2)
      source.add("\n" + old[2])
      status = try source.take(world)
      #expect(status.inserted == 3 && status.bad == 0 && status.lines == 3)
      #expect(try source.bad(world) == [])
      #expect(try world.cached() == world.truth())
    }
  }

  /// What comes behind a line that was whole spoils nothing of it, and is named.
  @Test func whatIsAddedToAWholeLineIsNamed() throws {
    let world = try World()
    world.post(2)
    let old = world.oldCache()
    let source = Source()
    source.add(old[0])
    _ = try source.take(world)
    source.add(" behind it ")
    _ = try source.take(world)
    source.add("and more\n" + old[1] + "\n")
    let status = try source.take(world)
    #expect(status.inserted == 2 && status.bad == 1 && status.lines == 2)
    #expect(try source.bad(world) == [1])
  }

  /// An array that has no end yet is none that was read: what there is stays, and more may come.
  @Test(arguments: [0, 1]) func anArrayWithoutItsEndGoesOn(_ half: Int) throws {
    let world = try World()
    world.post(302)
    let old = world.oldCache()
    let source = Source(isArray: true)
    source.add("[" + old[..<300].joined(separator: ",") + ",")
    if half == 1 { source.add(String(old[300].prefix(30))) }
    for _ in 0..<2 {
      #expect(throws: Failure.cut("the source is over before its array ends")) {
        _ = try source.take(world)
      }
      let status = try #require(try Importer(world.client).status(source.name))
      #expect(status.inserted == 300 && status.lines == 300 && status.bad == 0 && !status.isDone)
    }
    let commits = try world.client.stats().commits
    let work = try source.work(world)
    #expect(throws: Failure.self) { _ = try work.step(milliseconds: 0) }
    #expect(try world.client.stats().commits == commits)
    source.add((half == 1 ? String(old[300].dropFirst(30)) : old[300]) + "," + old[301] + "]\n")
    // The same work goes on, too.
    while try !work.step(milliseconds: 0).isDone {}
    let status = try #require(try Importer(world.client).status(source.name))
    #expect(status.inserted == 302 && status.bad == 0 && status.isDone)
    #expect(try world.cached() == world.truth())
  }

  /// What stands behind an array is no part of it: that is said, and what the array has stays.
  @Test func whatStandsBehindAnArrayIsNoPartOfIt() throws {
    let world = try World()
    world.post(2)
    let old = world.oldCache()
    let source = Source(isArray: true)
    source.add("[" + old.joined(separator: ",") + "]\n" + "[]")
    for _ in 0..<2 {
      #expect(throws: Failure.invalid("the source goes on behind the end of its array")) {
        _ = try source.take(world)
      }
      let status = try #require(try Importer(world.client).status(source.name))
      #expect(status.inserted == 2 && !status.isDone)
    }
  }

  @Test(arguments: ["{}", "x[", "\"[]\""]) func whatIsNoArrayIsNone(_ text: String) throws {
    let world = try World()
    let source = Source(isArray: true)
    source.add(" " + text)
    #expect(throws: Failure.invalid("the source is no JSON array")) { _ = try source.take(world) }
    #expect(try Importer(world.client).status(source.name)?.isDone == false)
  }

  /// The name of another form is refused where it is given.
  @Test func aNameHasOneForm() throws {
    let world = try World()
    let (lines, array) = (Source(), Source(isArray: true))
    _ = try lines.take(world)
    #expect(throws: Failure.invalid("an import of this name has another form")) {
      _ = try array.work(world)
    }
    let other = Source("other", isArray: true)
    other.add("[]")
    _ = try other.take(world)
    #expect(throws: Failure.self) { _ = try Source("other").work(world) }
  }

  /// Where the server has shown all, one that it has not shown is a gap until it is asked.
  @Test(arguments: ServerKind.few) func insideOfWhatIsWholeTheyClaimNothing(
    _ kind: ServerKind
  ) throws {
    let world = try kind.world()
    world.post(130, everyMs: 10_000)
    try world.connect()
    try world.sync(.older, want: 1_000)
    #expect(try world.page().coverage.whole)
    let known = world.oldCache()
    let ghosts = [known[40], known[90]].enumerated().map { index, line in
      line.replacingOccurrences(of: "\"message_id\":\"", with: "\"message_id\":\"g\(index)-")
    }
    #expect(try world.take(ghosts).inserted == 2)
    #expect(try !world.page().coverage.whole)
    #expect(try islands(world) == 2)
    #expect(try world.lies() == [])
    try world.sync()
    try world.sync(.older, want: 1_000)
    #expect(try world.cached() == world.truth() && islands(world) == 0)
    #expect(try world.client.stats().restores == 0)
  }

  /// What is open goes on from what the file has: from the beginning where all was cleared, and
  /// behind another work of the name.
  @Test(arguments: [false, true]) func anOpenOneFollowsTheFile(_ isCleared: Bool) throws {
    let world = try World()
    world.post(700)
    let bytes = Array(world.oldCache().map { $0 + "\n" }.joined().utf8)
    let source = ImportSource(name: Array("old".utf8)) { offset, most in
      Array(bytes.dropFirst(Int(offset)).prefix(most))
    }
    let works = try [0, 1].map { _ in try Importer(world.client).start(source) }
    _ = try works[0].step(milliseconds: 0)
    if isCleared { try world.client.clear() } else { _ = try works[1].step(milliseconds: 0) }
    while try !works[0].step(milliseconds: 0).isDone {}
    while try !works[1].step(milliseconds: 0).isDone {}
    let status = try #require(try Importer(world.client).status(Array("old".utf8)))
    #expect(status.lines == 700 && status.inserted == 700 && status.known == 0)
    #expect(try world.cached().count == 700)
  }

  /// A cache that is cleared knows no import any more.
  @Test func clearingForgetsImports() throws {
    let world = try World()
    world.post(3)
    try world.take(world.oldCache())
    try world.client.clear()
    #expect(try Importer(world.client).status(Array("old".utf8)) == nil)
    #expect(try world.take(world.oldCache()).inserted == 3)
  }

  /// A conversation that goes out comes in again as it was.
  @Test func whatIsExportedIsImported() throws {
    let world = try World()
    world.post(700)
    try world.connect()
    try world.sync(.older, want: 1_000)
    let text = Lock([UInt8]())
    let out = try Exporter(world.client).start(Array(world.room.utf8)) { lines in
      text.withLock { $0 += lines }
    }
    var steps = 1
    while try !out.step(milliseconds: 0).isDone { steps += 1 }
    #expect(steps > 2)
    let other = try World()
    let lines = String(decoding: text.withLock { $0 }, as: UTF8.self).split(separator: "\n")
    #expect(try other.take(lines.map(String.init)).inserted == 700)
    let (mine, theirs) = (try world.page(), try other.page())
    #expect(mine.rows.map { mine[$0.id] } == theirs.rows.map { theirs[$0.id] })
    #expect(mine.rows.map { mine[$0.payload] } == theirs.rows.map { theirs[$0.payload] })
    #expect(mine.rows.map(\.timeUs) == theirs.rows.map(\.timeUs))
  }
}
