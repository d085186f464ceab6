/// Why a message is shown or is not, what would be done next, and what has changed it: as JSON for
/// a person.
///
/// Rule protected: it holds ids, times and numbers, and no text of a message.
internal import Base
internal import Store

struct Explanation {
  enum Reason: CaseIterable {
    case shown, pending
    /// Hidden: an unconfirmed deletion of this user's, erased on this device, a control payload.
    case deleting, erased, control
    /// Not stored: the server deleted it, it was set aside, another conversation has it.
    case deleted, unreadable, elsewhere
    /// Not stored: a budget, or the host, removed it here.
    case purged, dropped
    /// A send that was taken back before the server confirmed it.
    case cancelled
    /// Not stored, and in a verified range; and in none.
    case absent, gap
    case unfetched, noConversation

    /// Of a message that is stored.
    init(_ flags: RowFlags) {
      if flags.contains(.forgotten) {
        self = .erased
      } else if flags.contains(.deleting) {
        self = .deleting
      } else {
        self = flags.contains(.control) ? .control : .shown
      }
    }

    var isShown: Bool { self == .shown || self == .pending }

    var word: StaticString {
      switch self {
      case .shown: "shown"
      case .pending: "pending"
      case .deleting: "deleting"
      case .erased: "erased"
      case .control: "control"
      case .deleted: "deleted"
      case .unreadable: "unreadable"
      case .elsewhere: "elsewhere"
      case .purged: "purged"
      case .dropped: "dropped"
      case .cancelled: "cancelled"
      case .absent: "absent"
      case .gap: "gap"
      case .unfetched: "unfetched"
      case .noConversation: "no_conversation"
      }
    }
  }

  /// What would show it, or change that it is shown.
  enum Next {
    case none, request, connect, decide, syncLatest, syncOlder, syncConversations

    var word: StaticString {
      switch self {
      case .none: "none"
      case .request: "request"
      case .connect: "connect"
      case .decide: "decide"
      case .syncLatest: "sync_latest"
      case .syncOlder: "sync_older"
      case .syncConversations: "sync_conversations"
      }
    }
  }

  /// Gaps that are named.
  static let gapsMax = 16

  var conversation: [UInt8]
  var id: [UInt8]
  var reason = Reason.noConversation
  var number: UInt64 = 0
  var operation: UInt64 = 0
  /// The operation waits for the user.
  var isStuck = false
  var timeUs: Int64?
  var isVerified: Bool?
  /// The server time up to which the conversation was fetched.
  var asOfUs: Int64?
  /// Where it may be, the newest first.
  var gaps: [(lowUs: Int64, highUs: Int64)] = []
  /// The first of them is above all that was fetched.
  var isAtPresent = false
  var isTraced = false
  var entries: [TraceEntry] = []

  init(_ conversation: [UInt8], id: [UInt8]) {
    self.conversation = conversation
    self.id = id
  }

  func json(_ next: Next) -> [UInt8] {
    var json = JSONObject()
    json.add("conversation", conversation)
    json.add("id", id)
    json.add("shown", is: reason.isShown)
    json.add("reason", reason.word.bytes)
    json.add("next", next.word.bytes)
    json.add("number", nonzero: number)
    json.add("operation", nonzero: operation)
    json.add("time_us", timeUs)
    if let isVerified { json.add("verified", is: isVerified) }
    json.add("as_of_us", asOfUs)
    if !gaps.isEmpty {
      var list = JSONList()
      for gap in gaps {
        var ends = JSONObject()
        if gap.lowUs > .min { ends.add("low_us", gap.lowUs) }
        if gap.highUs < .max { ends.add("high_us", gap.highUs) }
        list.add(json: ends.closed())
      }
      json.add("gaps", json: list.closed())
    }
    json.add("traced", is: isTraced)
    var list = JSONList()
    for entry in entries { list.add(json: entry.json) }
    json.add("trace", json: list.closed())
    return json.closed()
  }
}

extension TraceEntry {
  fileprivate var json: [UInt8] {
    var json = JSONObject()
    json.add("at_us", atUs)
    json.add("effect", (effect?.word ?? "unknown").bytes)
    json.add("cause", (cause?.word ?? "unknown").bytes)
    if !verb.isEmpty { json.add("verb", verb) }
    if !request.isEmpty { json.add("request", request) }
    json.add("operation", nonzero: operation)
    json.add("number", nonzero: number)
    json.add("connection", nonzero: connection)
    json.add("commit", nonzero: commit)
    if isOfAll { json.add("all", is: true) }
    return json.closed()
  }
}

extension TraceCause {
  fileprivate var word: StaticString {
    switch self {
    case .call: "call"
    case .answer: "answer"
    case .push: "push"
    case .operation: "operation"
    case .imported: "import"
    case .retention: "retention"
    }
  }
}

extension TraceEffect {
  fileprivate var word: StaticString {
    switch self {
    case .inserted: "inserted"
    case .changed: "changed"
    case .moved: "moved"
    case .hidden: "hidden"
    case .shown: "shown"
    case .confirmed: "confirmed"
    case .omitted: "omitted"
    case .deleted: "deleted"
    case .removed: "removed"
    case .ignored: "ignored"
    }
  }
}

extension JSONObject {
  fileprivate mutating func add(_ name: StaticString, is value: Bool) {
    add(name, json: (value ? "true" : "false" as StaticString).bytes)
  }

  fileprivate mutating func add(_ name: StaticString, _ number: Int64?) {
    if let number { add(name, json: Array("\(number)".utf8)) }
  }

  fileprivate mutating func add(_ name: StaticString, nonzero number: UInt64) {
    if number != 0 { add(name, json: Array("\(number)".utf8)) }
  }
}
