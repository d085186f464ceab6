/// What a host is told: every member of a message, where a change came from, what it may notify
/// of, and what is told beside messages.
import Base
import Engine
import ReferenceServer
import Testing

@Suite struct ToldWhole {
  private let at = World.epochUs

  private func text(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: Array(bytes), as: UTF8.self)
  }

  private func changes(_ world: World, after: UInt64 = 0) throws -> [ChangeView] {
    guard case .changes(let all) = try world.client.changes(after: after, limit: 1_000) else {
      return []
    }
    return all
  }

  private func last(_ world: World) throws -> UInt64 { try world.client.state().changeSeq }

  /// The ids of what is offered for a notification behind a number of the feed.
  private func offered(_ world: World, after: UInt64 = 0) throws -> [String] {
    let page = try world.page()
    return try changes(world, after: after).filter(\.notifies).flatMap { change in
      page.rows.filter { (change.first...change.last).contains($0.number) }
        .map { text(page[$0.id]) }
    }
  }

  // MARK: Members

  @Test func eachMemberOfAMessageReachesTheHost() throws {
    let world = try World()
    try world.connect()
    let edited = Frames.time(at + 5_000_000)
    let more =
      #","moderated":true,"edited_at":"\#(edited)","version":7,"prev_id":"z","seq":12"#
      + #","read_by":[{"user_id":"u2","read_at":"2026-02-15T22:24:00"}],"#
      + #""delivered_by":["u2"],"x":{"y":1}"#
    try world.hand(Frames.push(Frames.message("a", atUs: at, more: more)))
    try world.hand(Frames.push(Frames.message("b", atUs: at + 1)))
    let (row, page) = try #require(try world.shown("a"))
    #expect(row.flags & 1 << 13 != 0)
    #expect(row.flags & 1 << 2 != 0)
    #expect(row.editedUs == at + 5_000_000)
    #expect(
      text(page[row.rest])
        == #"{"version":7,"prev_id":"z","seq":12,"#
        + #""read_by":[{"user_id":"u2","read_at":"2026-02-15T22:24:00"}],"x":{"y":1}}"#)
    #expect(text(page[row.readBy]) == #"["u2"]"#)
    let plain = try #require(try world.shown("b"))
    #expect(plain.view.flags & 1 << 13 == 0)
    #expect(plain.view.editedUs == 0)
    #expect(plain.view.rest.isEmpty)
  }

  /// They are in the file, and a later copy without them takes them away.
  @Test func moderationFollowsTheNewerCopy() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World(file: folder.file())
    try world.connect()
    try world.hand(
      Frames.push(Frames.message("a", atUs: at, more: #","moderated":true,"version":1"#)))
    world.client.close()
    world.client = try Client.open(world.config)
    #expect(try #require(try world.shown("a")).view.flags & 1 << 13 != 0)
    try world.connect()
    try world.hand(Frames.edit(Frames.message("a", atUs: at, more: #","version":2"#)))
    let (row, page) = try #require(try world.shown("a"))
    #expect(row.flags & 1 << 13 == 0)
    #expect(text(page[row.rest]) == #"{"version":2}"#)
  }

  /// A message of this user's has its client id before the server has it, and after.
  @Test func ownRowsKeepTheirClientID() throws {
    let world = try World.idempotent()
    try world.connectListening()
    try world.sync()
    try world.say("one", as: "k1")
    func clientIDs() throws -> [String] {
      let page = try world.page()
      return page.rows.map { text(page[$0.clientID]) }
    }
    #expect(try clientIDs() == ["k1"])
    try world.run()
    #expect(try clientIDs() == ["k1"])
    #expect(try world.open() == [])
    world.post(1)
    try world.sync()
    #expect(try clientIDs() == ["k1", ""])
    let list = try world.client.conversations(offset: 0, limit: 1_000)
    let last = try #require(list.rows[0].last)
    #expect(list.messages[last].clientID.isEmpty)
  }

  @Test func aConversationMadeHereKeepsItsClientID() throws {
    let world = try World.idempotent()
    try world.perform(
      #"{"type":"create_conversation","client_id":"made","title":"T","participant_ids":["you"]}"#)
    func shown() throws -> (id: String, clientID: String) {
      let page = try world.client.conversations(offset: 0, limit: 1_000)
      let row = try #require(page.rows.first { text(page.bytes[$0.title]) == "T" })
      return (text(page.bytes[row.id]), text(page.bytes[row.clientID]))
    }
    #expect(try shown() == ("made", "made"))
    try world.connectListening()
    try world.run()
    let made = try shown()
    #expect(made.id != "made")
    #expect(made.clientID == "made")
  }

  // MARK: Where it came from

  @Test func anEntrySaysWhereItCameFrom() throws {
    let world = try World.idempotent()
    world.post(120)
    try world.connectListening()
    try world.sync()
    #expect(Set(try changes(world).map(\.origin)) == [1])
    var seen = try last(world)
    try world.hand(Frames.push(Frames.message("p", atUs: at + 900_000_000)))
    #expect(Set(try changes(world, after: seen).map(\.origin)) == [2])
    seen = try last(world)
    world.lose("send_message")
    try world.say("mine")
    #expect(Set(try changes(world, after: seen).map(\.origin)) == [3])
  }

  // MARK: Notifications

  /// A push offers, its copies do not; what is fetched before the push offers it only once.
  @Test func aMessageIsOfferedOnce() throws {
    let world = try World()
    world.post(120)
    try world.connect()
    try world.sync()
    // History is not offered.
    #expect(try offered(world) == [])
    var seen = try last(world)
    let a = Frames.message("a", atUs: at + 900_000_000)
    try world.hand(Frames.push(a))
    try world.hand(Frames.push(a))
    try world.hand(Frames.edit(Frames.message("a", atUs: at + 900_000_000, payload: "\"new\"")))
    #expect(try offered(world, after: seen) == ["a"])
    // Nor what this user wrote, what was read, what is an event or deleted.
    seen = try last(world)
    let later = at + 901_000_000
    try world.hand(Frames.push(Frames.message("b", atUs: later, sender: "me")))
    try world.hand(
      Frames.push(Frames.message("c", atUs: later, more: #","read_by":["me"]"#)))
    try world.hand(Frames.push(Frames.message("d", atUs: later, more: #","deleted":true"#)))
    try world.hand(Frames.push(Frames.message("e", atUs: later, more: #","kind":"event""#)))
    #expect(try offered(world, after: seen) == [])
  }

  /// What a catch-up brings to a conversation that was fetched before is offered, across pages,
  /// and its pushes that come later are not.
  @Test func aCatchUpOffersWhatIsNew() throws {
    let world = try World()
    world.post(120)
    try world.connect()
    try world.sync()
    let seen = try last(world)
    try world.client.disconnected()
    world.post(140)
    try world.connect()
    try world.sync()
    let found = try offered(world, after: seen)
    #expect(Set(found).count == 140)
    #expect(found.count == 140)
    let after = try last(world)
    let newest = try #require(world.server.truth("room").last)
    try world.hand(Frames.push(Frames.message(newest.id, atUs: world.server.nowUs)))
    #expect(try offered(world, after: after) == [])
  }

  /// A list, or a look around a message, shows what a catch-up has not brought yet: it is offered
  /// all the same, when the catch-up proves it new, and once.
  @Test(arguments: ["list", "around", "edit"]) func whatWasShownBeforeItsCatchUpIsOffered(
    _ way: String
  ) throws {
    var profile = Profile()
    profile.capabilities.insert(.around)
    var knobs = ServerKnobs()
    knobs.takesAround = true
    let world = try World(knobs: knobs, profile: profile)
    world.post(120)
    try world.connect()
    try world.sync()
    let seen = try last(world)
    try world.client.disconnected()
    let ids = world.post(3)
    try world.connect()
    switch way {
    case "list":
      let list = try TestList(world.client)
      try list.settle(world)
    case "around":
      let screen = try TestScreen(world, .message(Array(ids[2].utf8)))
      try screen.settle(world)
    default:
      try world.hand(Frames.edit(Frames.message(ids[2], atUs: world.server.nowUs)))
    }
    try world.sync()
    #expect(try offered(world, after: seen).sorted() == ids.sorted())
    let after = try last(world)
    try world.client.disconnected()
    try world.connect()
    try world.sync()
    try world.hand(Frames.push(Frames.message(ids[2], atUs: world.server.nowUs)))
    #expect(try offered(world, after: after) == [])
  }

  /// Under updates that are replied to: one message is fetched, and another is on the server.
  private func enveloped() throws -> (World, seen: UInt64, ReferenceServer.TrueRow) {
    var profile = Profile()
    profile.capabilities.insert(.envelope)
    let world = try World(profile: profile)
    world.post(1)
    try world.connect()
    try world.sync()
    let seen = try last(world)
    world.post(1)
    return (world, seen, try #require(world.server.truth("room").last))
  }

  /// A silent update keeps a message from being offered, whichever came first.
  @Test(arguments: [false, true]) func aSilentUpdateIsNeverOffered(_ isFetchedFirst: Bool) throws {
    let (world, seen, posted) = try enveloped()
    let message = Frames.message(posted.id, atUs: world.server.nowUs)
    if isFetchedFirst { try world.sync() }
    try world.hand(Frames.update("r1", "message", silent: true, [message]))
    try world.hand(Frames.update("r2", "message", [message]))
    if !isFetchedFirst { try world.sync() }
    #expect(try offered(world, after: seen) == [])
    #expect(try #require(try world.shown(posted.id)).view.flags & 1 << 14 != 0)
  }

  /// Under updates that are replied to only these offer: what was fetched may still be silent.
  @Test func underAnEnvelopeTheUpdateOffers() throws {
    let (world, seen, posted) = try enveloped()
    try world.sync()
    #expect(try offered(world, after: seen) == [])
    let message = Frames.message(posted.id, atUs: world.server.nowUs)
    try world.hand(Frames.update("r1", "message", [message]))
    try world.hand(Frames.update("r2", "message", [message]))
    #expect(try offered(world, after: seen) == [posted.id])
  }

  /// Also across a restart.
  @Test func whatWasOfferedIsRememberedInTheFile() throws {
    let folder = try TrapsRestart.Folder()
    let world = try World(file: folder.file())
    try world.connect()
    let a = Frames.message("a", atUs: at)
    try world.hand(Frames.push(a))
    #expect(try offered(world) == ["a"])
    let seen = try last(world)
    world.client.close()
    world.client = try Client.open(world.config)
    try world.connect()
    try world.hand(Frames.push(a))
    try world.hand(Frames.edit(Frames.message("a", atUs: at, payload: "\"new\"")))
    #expect(try offered(world, after: seen) == [])
  }

  /// Also where the row has gone and comes anew, by whichever way it went.
  @Test(arguments: ["clear", "drop", "drop all", "left"], [false, true])
  func whatWasOfferedOutlastsItsRow(_ way: String, _ isSilent: Bool) throws {
    let folder = try TrapsRestart.Folder()
    var profile = Profile()
    profile.capabilities.insert(.envelope)
    let world = try World(profile: profile, file: folder.file())
    try world.connect()
    let a = Frames.message("a", atUs: at)
    let first = Frames.update("r1", "message", silent: isSilent, [a])
    try world.hand(first)
    #expect(try offered(world) == (isSilent ? [] : ["a"]))
    let room = Array("room".utf8)
    // Twice, for it is remembered as long as it is stored in between, too.
    for round in 2...3 {
      switch way {
      case "clear": try world.client.clear()
      case "drop": try world.client.drop(conversation: room, id: Array("a".utf8))
      case "drop all": try world.client.drop(conversation: room, id: [])
      default:
        try world.hand(
          Frames.update(
            "l\(round)", "conversation", "delete", [#"{"conversation_id":"room"}"#]))
      }
      #expect(try world.shown("a") == nil)
      try world.reopen()
      let seen = try last(world)
      try world.hand(
        Frames.update("r\(round)", "message", [a, Frames.message("b\(round)", atUs: at + 1)]))
      #expect(try offered(world, after: seen) == ["b\(round)"])
      #expect((try #require(try world.shown("a")).view.flags & 1 << 14 != 0) == isSilent)
    }
  }

  // MARK: Beside messages

  @Test func membersAndProfilesAreEvents() throws {
    let world = try World()
    try world.connect()
    func member(_ user: String, _ more: String = "") -> String {
      "{\"conversation_id\":\"room\",\"user_id\":\"\(user)\"\(more)}"
    }
    try world.hand(Frames.update("r1", "member", [member("ada"), member("bob")]))
    try world.hand(Frames.update("r2", "member", "update", [member("ada", #","role":"admin""#)]))
    try world.hand(Frames.update("r3", "member", "delete", [member("bob")]))
    try world.hand(Frames.update("r4", "profile", silent: true, [#"{"user_id":"ada","name":"A"}"#]))
    guard case .events(let events) = try world.client.events(after: 0, limit: 1_000) else {
      Issue.record("no events")
      return
    }
    #expect(events.map(\.kind) == [5, 5, 5, 5, 6])
    #expect(events.map(\.action) == [1, 1, 2, 3, 1])
    #expect(events.map { text($0.id) } == ["ada", "bob", "ada", "bob", "ada"])
    #expect(events.map { text($0.conversation) } == ["room", "room", "room", "room", ""])
    #expect(events.map(\.isSilent) == [false, false, false, false, true])
    #expect(text(events[2].body) == member("ada", #","role":"admin""#))
    #expect(text(events[4].body) == #"{"user_id":"ada","name":"A"}"#)
  }

  @Test func entitiesAreReadByIDAndInPages() throws {
    let world = try World()
    try world.connect()
    let names = (0..<130).map { "u\(1_000 + $0)" }
    for room in ["x", "y"] {
      try world.hand(
        Frames.update(
          "r\(room)", "member",
          names.map { "{\"conversation_id\":\"\(room)\",\"user_id\":\"\($0)\"}" }))
    }
    try world.hand(Frames.update("p", "profile", names.map { "{\"user_id\":\"\($0)\"}" }))
    func ids(_ query: EntityQuery) throws -> [String] {
      try world.client.entities(query).map { text($0.id) }
    }
    var page = EntityQuery(.member, conversation: Array("x".utf8), limit: 50)
    var found: [String] = []
    while let last = try world.client.entities(page).last {
      found += try ids(page)
      page.afterID = last.id
    }
    #expect(found == names)
    var all = EntityQuery(.member, limit: 50)
    var pairs: [String] = []
    while let last = try world.client.entities(all).last {
      pairs += try world.client.entities(all).map { text($0.conversation) + text($0.id) }
      (all.afterConversation, all.afterID) = (last.conversation, last.id)
    }
    #expect(pairs == ["x", "y"].flatMap { room in names.map { room + $0 } })
    #expect(try ids(EntityQuery(.profile, id: Array("u1007".utf8))) == ["u1007"])
    #expect(try ids(EntityQuery(.profile, afterID: Array("u1127".utf8))) == ["u1128", "u1129"])
    #expect(
      try ids(EntityQuery(.member, conversation: Array("y".utf8), id: Array("u1001".utf8)))
        == ["u1001"])
    #expect(try ids(EntityQuery(.member, conversation: Array("z".utf8))) == [])
    #expect(throws: Failure.self) { try ids(EntityQuery(.member, id: Array("u1001".utf8))) }
  }

  @Test func conversationsAreReadInPages() throws {
    let world = try World()
    try world.connect()
    let rooms = (0..<130).map { "c\(1_000 + $0)" }
    try world.hand(
      Frames.update("r", "conversation", rooms.map { "{\"conversation_id\":\"\($0)\"}" }))
    var page = EntityQuery(.conversation, limit: 50)
    var found: [String] = []
    while let last = try world.client.entities(page).last {
      found += try world.client.entities(page).map { text($0.id) }
      page.afterID = last.id
    }
    #expect(found == rooms)
    let one = try world.client.entities(EntityQuery(.conversation, id: Array("c1064".utf8)))
    #expect(one.map { text($0.body) } == ["{\"conversation_id\":\"c1064\"}"])
  }

  /// A frame of a type that the protocol does not have is an event, where the host wants it.
  @Test(arguments: [false, true]) func foreignFramesAreEventsWhereAsked(_ isAsked: Bool) throws {
    var profile = Profile()
    profile.tellsUnknownFrames = isAsked
    let world = try World(profile: profile)
    try world.connect()
    let frames = [#"{"type":"party","at":[1,2]}"#, #"{"anything":{"goes":null}}"#]
    for frame in frames { #expect(try world.hand(frame) == (isAsked ? .applied : .ignored)) }
    // What the protocol has is not foreign when it is malformed.
    for frame in [
      #"{"type":"message_new"}"#, #"{"type":"update","payload":{}}"#, #"{"type":"reply"}"#,
      #"{"type":"get_messages","request_id":"9"}"#, #"{"type":"command","payload":{}}"#,
    ] { #expect(try world.hand(frame) == .ignored) }
    let page = try world.client.events(after: 0, limit: 1_000)
    guard isAsked else {
      #expect(page == .none)
      return
    }
    guard case .events(let events) = page else {
      Issue.record("no events")
      return
    }
    #expect(events.map(\.kind) == [7, 7])
    #expect(events.map { text($0.entity) } == ["party", ""])
    #expect(events.map { text($0.body) } == frames)
  }
}
