/// Entries and requests of the log's server as they stand on the wire.
internal import Base
internal import ReferenceServer

extension LogRoom {
  private static let knobs = ServerKnobs()

  func json(_ entry: Entry) -> String {
    let stamp = ServerTime.text(entry.stampUs, Self.knobs)
    let isDeleted = kind.marksInPlace && isDeletedNow(entry.id)
    var members = ["\"created_at\":\"\(stamp)\"", "\"sender_id\":\"\(entry.sender)\""]
    if let act = entry.act {
      members.append("\"entry_id\":\"\(entry.id)\"")
      if isDeleted {
        members.append("\"change\":\"none\",\"deleted\":true")
      } else {
        members.append("\"target_id\":\"\(entry.target)\"")
        members.append(Self.words(act, entry))
      }
    } else {
      members.append("\"message_id\":\"\(entry.id)\"")
      if kind.echoesClientIDs, let name = entry.clientID {
        members.append("\"client_id\":\"\(name)\"")
      }
      if isDeleted {
        members.append("\"payload\":null,\"deleted\":true")
      } else {
        let shown = kind.marksInPlace ? lastEdit(of: entry) : nil
        members.append("\"payload\":\"\(shown?.payload ?? entry.payload)\"")
        if let shown {
          members.append("\"edited_at\":\"\(ServerTime.text(shown.stampUs, Self.knobs))\"")
        }
      }
    }
    return "{\(members.joined(separator: ","))}"
  }

  private func isDeletedNow(_ id: String) -> Bool {
    changes(of: id).contains { $0.act == .delete }
  }

  private func lastEdit(of message: Entry) -> Entry? {
    changes(of: message.id).last {
      $0.act == .edit && $0.sender == message.sender && !isDeletedNow($0.id)
    }
  }

  private static func words(_ act: Act, _ entry: Entry) -> String {
    switch act {
    case .edit: "\"change\":\"edit\",\"payload\":\"\(entry.payload)\""
    case .delete: "\"change\":\"delete\""
    case .pin: "\"change\":\"pin\""
    case .unpin: "\"change\":\"unpin\""
    case .read: "\"change\":\"read\""
    case .none: "\"change\":\"none\""
    case .react(let name): "\"change\":\"react\",\"reaction\":\"\(name)\""
    case .unreact(let name): "\"change\":\"unreact\",\"reaction\":\"\(name)\""
    case .reactions(let all):
      "\"change\":\"reactions\",\"reactions\":["
        + all.map { "\"\($0)\"" }.joined(separator: ",") + "]"
    }
  }

  /// How the library shows these reactions: in the order of names, and of users.
  static func text(_ reactions: [String: [String]]) -> String {
    var names: [String] = []
    var users: [String: [String]] = [:]
    for user in reactions.keys.sorted() {
      for name in reactions[user] ?? [] {
        if users[name] == nil { names.append(name) }
        users[name, default: []].append("\"\(user)\"")
      }
    }
    if names.isEmpty { return "" }
    let all = names.sorted().map { "\"\($0)\":[\(users[$0, default: []].joined(separator: ","))]" }
    return "{\(all.joined(separator: ","))}"
  }

  /// What a request came to.
  struct Served {
    var answer: String
    /// It is a page that says it reached the present.
    var isPresent = false
    /// It is a page: with it a device knows of this epoch.
    var isPage = false
    /// It was asked for a place that it does not know.
    var isRefused = false
    /// What it made.
    var entries: [Entry] = []
  }

  func serve(_ bytes: [UInt8], _ connection: Int, newID: () -> String, nowUs: Int64) -> Served {
    let verb = Frames.type(bytes) ?? ""
    let head =
      "{\"type\":\"\(verb)\",\"request_id\":\"\(Frames.string("request_id", bytes) ?? "")\""
    func ok(_ data: String) -> String { "\(head),\"status\":\"ok\",\"data\":\(data)}" }
    func failed(_ code: String) -> Served {
      Served(answer: "\(head),\"status\":\"error\",\"error\":{\"code\":\"\(code)\"}}")
    }
    if verb == "get_entries" {
      var place = Place.newest
      if let token = Frames.string("before", bytes) { place = .before(token) }
      if let token = Frames.string("after", bytes) { place = .after(token) }
      if let id = Frames.string("around_id", bytes) {
        if !kind.takesAround { return failed("unsupported") }
        place = .around(id)
      }
      do throws(Refusal) {
        let page = try page(place, limit: Frames.number("limit", bytes) ?? 50, connection)
        return Served(answer: ok(page.data), isPresent: page.isPresent, isPage: true)
      } catch {
        var served = failed(error.rawValue)
        served.isRefused = true
        return served
      }
    }
    if verb == "mark_read" || verb == "mark_delivered" {
      var read: [Entry] = []
      for id in Frames.strings("message_ids", bytes) where verb == "mark_read" {
        var entry = Entry(id: newID(), sender: World.me, stampUs: nowUs)
        (entry.act, entry.target) = (.read, id)
        read.append(append(entry))
      }
      return Served(answer: ok("{}"), entries: read)
    }
    var entry = Entry(id: newID(), sender: World.me, stampUs: nowUs)
    entry.payload = Frames.string("payload", bytes) ?? ""
    if verb == "send_message" {
      entry.clientID = Frames.string("client_id", bytes)
      if kind.idempotent, let first = first(by: entry.clientID) {
        return Served(
          answer: "\(head),\"status\":\"error\",\"error\":{\"code\":\"exists\"},"
            + "\"data\":{\"message\":\(json(first))}}")
      }
      let made = append(entry)
      return Served(answer: ok("{\"message\":\(json(made))}"), entries: [made])
    }
    guard let act = Self.act(verb, bytes) else { return failed("unsupported") }
    entry.target = Frames.string("message_id", bytes) ?? ""
    entry.act = act
    guard self.entry(entry.target) != nil else { return failed("not_found") }
    let made = append(entry)
    return Served(answer: ok("{\"entry_id\":\"\(made.id)\"}"), entries: [made])
  }

  private static func act(_ verb: String, _ bytes: [UInt8]) -> Act? {
    let reaction = Frames.string("reaction", bytes) ?? ""
    switch verb {
    case "edit_message": return .edit
    case "delete_message": return .delete
    case "react_message": return .react(reaction)
    case "unreact_message": return .unreact(reaction)
    case "pin_message": return .pin
    case "unpin_message": return .unpin
    default: return nil
    }
  }
}
