/// A server that keeps one log, in small, and its troubles.
///
/// It shares nothing with the library, nor with the reference server: texts in, texts out.
internal import Base

/// What kind of server it is. A device is told the truth of it.
struct LogRoomKind: Sendable {
  enum Tokens: String, Sendable { case plain, long, fresh, bound }

  /// Tokens name numbers of a stream, which a restore gives again; else ids.
  var hasStream = false
  var refusesUnknown = false
  var namesEpoch = false
  /// What is deleted or edited is shown so where it stands.
  var marksInPlace = false
  /// What is deleted leaves the log.
  var leaves = false
  /// Some answers are empty, with tokens to go on with.
  var filters = false
  /// So are all of them while there is chaos.
  var isHollow = false
  /// An answer to `after` may begin where the newest page does.
  var hasGaps = false
  /// Pushes name the entry before, or a token.
  var namesPrevious = true
  var takesAround = true
  /// So many entries a page, whatever is asked.
  var cap = 100
  /// Of about 1,900 bytes, another one each time, or known on one connection only.
  var tokens = Tokens.plain
  /// A send with a client id is done once.
  var idempotent = false
  var echoesClientIDs = true
  /// A connection is pushed what it has asked for itself.
  var tellsSender = true
}

final class LogRoom {
  enum Act: Equatable {
    case edit, delete, pin, unpin, read, none
    case react(String)
    case unreact(String)
    case reactions([String])
  }

  struct Entry {
    let id: String
    var sender: String
    let stampUs: Int64
    var payload = ""
    var clientID: String?
    /// Nil for a message.
    var act: Act?
    var target = ""
    /// Its number in the stream, which may be given again.
    fileprivate(set) var number = 0
    /// How many entries had ever come; none is given again.
    fileprivate(set) var serial = 0
  }

  /// What a message is after its changes.
  struct State: Equatable {
    var payload: String
    var isDeleted = false
    var isPinned = false
    var reactions: [String: [String]] = [:]
  }

  let kind: LogRoomKind
  private var dice: Random
  /// Answers are as they should be.
  var isSettled = false
  private(set) var log: [Entry] = []
  /// Entries that ever came.
  private(set) var serial = 0
  private(set) var epoch = 0
  /// Ids that a purge took, and those that were deleted and left.
  private(set) var purged: Set<String> = []
  private(set) var left: Set<String> = []
  /// With which entry each of those left, and with which one a change of a message last did.
  private(set) var leftAt: [String: Int] = [:]
  /// What a restore brought back, by the serial number then.
  private(set) var returnedAt: [String: Int] = [:]
  private(set) var changeLeftAt: [String: Int] = [:]
  private var backups: [[Entry]] = []
  private var number = 0
  private var tokensGiven = 0
  /// Tokens that the server knows; the others expired.
  private var known: Set<String> = []
  /// Where each id stands, and the changes of each id.
  private var places: [String: Int] = [:]
  private var changes: [String: [Entry]] = [:]
  /// How often each client id made a message, and the first one that still counts.
  private(set) var made: [String: Int] = [:]
  private var firsts: [String: Entry] = [:]
  /// Grows with whatever happens to the log.
  private(set) var revision = 0

  init(kind: LogRoomKind, seed: UInt64) {
    self.kind = kind
    dice = Random(seed: seed)
  }

  var messages: [Entry] { log.filter { $0.act == nil } }

  func place(of id: String) -> Int? { places[id] }
  func entry(_ id: String) -> Entry? { places[id].map { log[$0] } }

  // MARK: What happens

  @discardableResult
  func append(_ entry: Entry) -> Entry {
    var entry = entry
    revision += 1
    serial += 1
    number += 1
    (entry.serial, entry.number) = (serial, number)
    if let name = entry.clientID {
      made[name, default: 0] += 1
      if firsts[name] == nil { firsts[name] = entry }
    }
    if kind.leaves, entry.act == .delete, let place = places[entry.target] {
      let old = log.remove(at: place)
      left.insert(old.id)
      leftAt[old.id] = entry.serial
      if old.act != nil { changeLeftAt[old.target] = entry.serial }
      log.append(entry)
      index()
    } else {
      places[entry.id] = log.count
      if entry.act != nil { changes[entry.target, default: []].append(entry) }
      log.append(entry)
    }
    return entry
  }

  func first(by clientID: String?) -> Entry? { clientID.flatMap { firsts[$0] } }

  private func index() {
    revision += 1
    places = [:]
    changes = [:]
    for (place, entry) in log.enumerated() {
      places[entry.id] = place
      if entry.act != nil { changes[entry.target, default: []].append(entry) }
    }
  }

  func backUp() { backups.append(log) }

  /// What came last is not in the next state that comes back.
  func backUp(without count: Int) { backups.append(log.dropLast(count)) }

  /// Cuts off the older part.
  func purge(_ count: Int) {
    for entry in log.prefix(count) { purged.insert(entry.id) }
    log.removeFirst(min(count, log.count))
    index()
  }

  /// An older state may come back where a client is able to notice it: with marks in place no id
  /// tells of what came above its top, the entry of this serial number.
  func canRestore(tops: [Int]) -> Bool {
    guard let backup = backups.last else { return false }
    if kind.namesEpoch { return true }
    if kind.leaves { return false }
    let last = backup.last?.serial ?? 0
    return !kind.marksInPlace || tops.allSatisfy { $0 > last }
  }

  func restore() {
    guard let backup = backups.popLast() else { return }
    let before = Set(log.map(\.id))
    // What was heard before it is as of an earlier entry, also where none came since.
    serial += 1
    log = kind.namesEpoch ? backup : backup.filter { !purged.contains($0.id) }
    for entry in log {
      purged.remove(entry.id)
      left.remove(entry.id)
      leftAt[entry.id] = nil
      if !before.contains(entry.id) { returnedAt[entry.id] = serial }
    }
    epoch += 1
    // A stream goes on from what it has.
    number = log.last?.number ?? number
    index()
    // It knows no more of what it did since.
    firsts = firsts.filter {
      places[$0.value.id] != nil || purged.contains($0.value.id) || left.contains($0.value.id)
    }
  }

  func expire() { if kind.refusesUnknown { known = [] } }

  // MARK: What it shows

  /// Whether a change was taken back, by an entry up to this one.
  private func isTakenBack(_ id: String, through last: Int) -> Bool {
    changes[id]?.contains { $0.act == .delete && $0.serial <= last } ?? false
  }

  func changes(of id: String) -> [Entry] { changes[id] ?? [] }

  /// What a message is as of an entry, by its serial number; nil where the log has none such.
  func state(of id: String, through last: Int = .max) -> State? {
    guard let message = entry(id), message.act == nil else { return nil }
    var state = State(payload: message.payload)
    for change in changes[id] ?? [] where change.serial <= last {
      if isTakenBack(change.id, through: last) { continue }
      switch change.act {
      case .edit: if change.sender == message.sender { state.payload = change.payload }
      case .delete: state.isDeleted = true
      case .pin: state.isPinned = true
      case .unpin: state.isPinned = false
      case .react(let reaction):
        if !(state.reactions[change.sender] ?? []).contains(reaction) {
          state.reactions[change.sender, default: []].append(reaction)
        }
      case .unreact(let reaction): state.reactions[change.sender]?.removeAll { $0 == reaction }
      case .reactions(let all): state.reactions[change.sender] = all
      case .read, .none?, nil: break
      }
    }
    state.reactions = state.reactions.filter { !$0.value.isEmpty }
    return state
  }

  // MARK: Tokens

  /// One that stands right behind so many entries.
  private func token(behind count: Int, _ connection: Int) -> String {
    var token: String
    if kind.hasStream {
      let number = count > 0 ? log[count - 1].number : (log.first?.number ?? 1) - 1
      token = "s\(number).\(epoch)"
    } else if count > 0 {
      token = "a" + log[count - 1].id
    } else {
      token = "b" + (log.first?.id ?? "")
    }
    switch kind.tokens {
    case .plain: break
    case .long: token += "~" + String(repeating: "x", count: 1_900)
    case .fresh:
      tokensGiven += 1
      token += "~\(tokensGiven)"
    case .bound: token += "~\(connection)"
    }
    known.insert(token)
    return token
  }

  /// Behind how many entries a token stands; nil where it is not known.
  private func place(ofToken token: String, _ connection: Int) -> Int? {
    if kind.refusesUnknown, !known.contains(token) { return nil }
    let parts = token.split(separator: "~")
    if kind.tokens == .bound, parts.last.flatMap({ Int($0) }) != connection {
      return kind.refusesUnknown ? nil : 0
    }
    let name = parts.first?.dropFirst() ?? ""
    if kind.hasStream {
      let numbers = name.split(separator: ".").compactMap { Int($0) }
      guard numbers.count == 2 else { return nil }
      if kind.refusesUnknown, numbers[1] != epoch { return nil }
      return log.prefix { $0.number <= numbers[0] }.count
    }
    if let place = places[String(name)] { return token.hasPrefix("a") ? place + 1 : place }
    if purged.contains(String(name)) { return 0 }
    // A server that knows nothing of it answers as if it had been given none.
    return kind.refusesUnknown ? nil : 0
  }

  // MARK: Answers

  enum Place {
    case newest
    case before(String)
    case after(String)
    case around(String)
  }

  struct Page {
    var data: String
    var isPresent: Bool
  }

  enum Refusal: String, Error {
    case unknownCursor = "unknown_cursor"
    case notFound = "not_found"
  }

  func page(_ place: Place, limit: Int, _ connection: Int) throws(Refusal) -> Page {
    let limit = min(limit, kind.cap)
    var low = max(log.count - limit, 0)
    var high = log.count
    var gap = false
    switch place {
    case .newest: break
    case .before(let token):
      guard let at = self.place(ofToken: token, connection) else { throw .unknownCursor }
      (low, high) = (max(at - limit, 0), at)
    case .after(let token):
      guard let at = self.place(ofToken: token, connection) else { throw .unknownCursor }
      if kind.hasGaps, !isSettled, log.count - at > limit, dice.chance(0.5) {
        gap = true
      } else {
        (low, high) = (at, min(at + limit, log.count))
      }
    case .around(let id):
      guard let at = places[id] else { throw .notFound }
      low = max(at - limit / 2, 0)
      high = min(low + max(limit, 1), log.count)
    }
    var isFiltered = false
    var present = false
    switch place {
    case .newest:
      present = true
      isFiltered = filters() && low > 0 && low < high
    case .before: isFiltered = filters() && low > 0 && low < high
    case .after:
      isFiltered = filters() && high < log.count && !gap && low < high
      present = high == log.count
    case .around: present = high == log.count
    }
    // It hides nothing: the next page shows what this one might have.
    if isFiltered {
      if case .after = place { high = low } else { low = high }
    }
    return Page(
      data: data(low..<high, isStart: low == 0 && !isFiltered, present, gap, connection),
      // One that says so and has no entries claims nothing until the next page joins it.
      isPresent: present && !isFiltered)
  }

  private func filters() -> Bool {
    kind.filters && !isSettled && (kind.isHollow || dice.chance(0.2))
  }

  private func data(
    _ range: Range<Int>, isStart: Bool, _ present: Bool, _ gap: Bool, _ connection: Int
  ) -> String {
    var members = ["\"entries\":[\(log[range].map(json).joined(separator: ","))]"]
    if !isStart { members.append("\"before\":\"\(token(behind: range.lowerBound, connection))\"") }
    members.append("\"after\":\"\(token(behind: range.upperBound, connection))\"")
    if present { members.append("\"present\":true") }
    if gap { members.append("\"gap\":true") }
    if kind.namesEpoch { members.append("\"epoch\":\"e\(epoch)\"") }
    return "{\(members.joined(separator: ","))}"
  }

  /// What is told on a connection of entries that came, directly behind each other.
  func push(_ entries: [Entry], _ connection: Int) -> String? {
    guard let first = entries.first, let low = places[first.id],
      let high = entries.last.flatMap({ places[$0.id] }), high - low + 1 == entries.count
    else { return nil }
    var members = [
      "\"type\":\"entries_new\"", "\"conversation_id\":\"c0\"",
      "\"entries\":[\(log[low...high].map(json).joined(separator: ","))]",
    ]
    if kind.namesPrevious {
      if dice.chance(0.5) {
        if low > 0 { members.append("\"prev\":\"\(log[low - 1].id)\"") }
      } else {
        members.append("\"before\":\"\(token(behind: low, connection))\"")
      }
      if dice.chance(0.7) { members.append("\"after\":\"\(token(behind: high + 1, connection))\"") }
    }
    return "{\(members.joined(separator: ","))}"
  }
}
