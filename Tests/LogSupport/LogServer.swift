/// A server that keeps a log, as those of Matrix and of XMPP archives do, and its troubles.
package import Base
package import Timeline

package struct LogServerKind {
  /// Tokens name numbers of a stream, which a restore gives again; else ids.
  package var hasStream = false
  package var refusesUnknown = false
  package var namesEpoch = false
  /// What is deleted or edited is shown so where it stands.
  package var marksInPlace = false
  package var namesEdits = false
  /// What is deleted leaves the log.
  package var leaves = false
  /// Some answers are empty, with tokens to go on with.
  package var filters = false
  /// An `after` answer may begin where the newest page does.
  package var hasGaps = false
  /// Pushes name the entry before, or a token.
  package var namesPrevious = true
  /// So many entries a page, whatever is asked.
  package var cap = 100

  package init() {}

  package init(_ random: inout Random) {
    hasStream = random.chance(0.5)
    refusesUnknown = random.chance(0.6)
    namesEpoch = random.chance(0.5)
    marksInPlace = random.chance(0.4)
    namesEdits = random.chance(0.5)
    leaves = !marksInPlace && random.chance(0.2)
    // An id that left names no place any more.
    if leaves { hasStream = true }
    filters = random.chance(0.3)
    hasGaps = random.chance(0.4)
    namesPrevious = random.chance(0.8)
    cap = 1 + random.below(7)
  }

  package var profile: LogProfile {
    LogProfile(refusesUnknown: refusesUnknown, namesEpoch: namesEpoch)
  }
}

package enum LogAnswer {
  case page(LogPage)
  case unknownCursor, notFound
}

package struct LogServer {
  package struct Item {
    package var entry: LogEntry
    package var number: Int
    /// How many requests the client had issued when it came.
    package var appended: UInt64
  }

  package let kind: LogServerKind
  package var random: Random
  package private(set) var log: [Item] = []
  private var backups: [[Item]] = []
  package private(set) var purged: Set<[UInt8]> = []
  package private(set) var left: Set<[UInt8]> = []
  /// What was cut off or left, as it was.
  package private(set) var gone: [Item] = []
  package private(set) var epoch = 0
  private var number = 0
  private var names = 0
  /// Tokens that the server knows; the others expired.
  private var known: Set<[UInt8]> = []
  package private(set) var edits = 0

  package init(kind: LogServerKind, seed: UInt64) {
    self.kind = kind
    random = Random(seed: seed)
  }

  package var epochName: [UInt8]? { kind.namesEpoch ? Array("e\(epoch)".utf8) : nil }

  // MARK: What happens

  /// Something new; what it is goes by chance.
  package mutating func append(issued: UInt64) -> LogEntry {
    names += 1
    let id = Array("\(random.below(90) + 10)x\(names)".utf8)
    // Stamps may be back-dated, and the clock steps.
    let time = Int64(random.chance(0.2) ? random.below(names + 1) : names) * 1000
    var entry = LogEntry(
      id: id, sender: Array("u\(names % 2)".utf8), timeUs: time, content: Array("c\(names)".utf8))
    let messages = log.filter { $0.entry.change == nil }.map(\.entry.id)
    if !messages.isEmpty, random.chance(0.5) {
      let target = messages[random.below(messages.count)]
      let user = Array("u\(random.below(2))".utf8)
      switch random.below(8) {
      case 0, 1, 2:
        // Mostly its sender edits a message; u1 tries it with those of others, too.
        let sender = log.first { $0.entry.id == target }?.entry.sender ?? []
        entry.change = LogChange(.edit, of: target, by: user == Array("u1".utf8) ? user : sender)
      case 3: entry.change = LogChange(.delete, of: target, by: user)
      case 4:
        entry.change = LogChange(.react(Array("r\(random.below(2))".utf8)), of: target, by: user)
      case 5: entry.change = LogChange(.reactions([Array("q".utf8)]), of: target, by: user)
      case 6: entry.change = LogChange(.pin, of: target, by: user)
      default:
        let changes = log.filter { $0.entry.change.map { $0.slot != nil } ?? false }
        guard !changes.isEmpty else { break }
        entry.change = LogChange(
          .delete, of: changes[random.below(changes.count)].entry.id, by: user)
      }
    }
    append(entry, issued: issued)
    return shown(log.count - 1)
  }

  package mutating func append(_ entry: LogEntry, issued: UInt64) {
    number += 1
    if kind.leaves, let change = entry.change, change.kind == .delete, let target = change.target {
      gone += log.filter { $0.entry.id == target }
      log.removeAll { $0.entry.id == target }
      left.insert(target)
    }
    log.append(Item(entry: entry, number: number, appended: issued))
  }

  package mutating func backUp() { backups.append(log) }

  /// Cuts off the older part.
  package mutating func purge(_ count: Int) {
    gone += log.prefix(count)
    for item in log.prefix(count) { purged.insert(item.entry.id) }
    log.removeFirst(min(count, log.count))
  }

  /// Whether an older state may come back without a word, where the client's newest entry is this.
  package func canRestore(top: [UInt8]?) -> Bool {
    guard let backup = backups.last else { return false }
    if kind.namesEpoch { return true }
    if kind.leaves { return false }
    guard kind.marksInPlace else { return true }
    return top.map { top in !backup.contains { $0.entry.id == top } } ?? false
  }

  package mutating func restore() {
    guard let backup = backups.popLast() else { return }
    log = kind.namesEpoch ? backup : backup.filter { !purged.contains($0.entry.id) }
    for item in log {
      purged.remove(item.entry.id)
      left.remove(item.entry.id)
    }
    let known = Set(log.map(\.entry.id))
    gone.removeAll { known.contains($0.entry.id) }
    epoch += 1
    // A stream goes on from what it has.
    number = log.last?.number ?? number
  }

  package mutating func expire() { if kind.refusesUnknown { known = [] } }

  // MARK: What it shows

  private func isTakenBack(_ id: [UInt8], _ items: ArraySlice<Item>) -> Bool {
    items.contains { $0.entry.change?.kind == .delete && $0.entry.change?.target == id }
  }

  private func shown(_ index: Int) -> LogEntry {
    var entry = log[index].entry
    guard kind.marksInPlace else { return entry }
    if isTakenBack(entry.id, log[...]) {
      entry.isDeleted = true
      entry.content = []
      if entry.change != nil { entry.change = LogChange(.none, of: nil) }
    } else if entry.change == nil {
      let edit = log.last {
        $0.entry.change?.kind == .edit && $0.entry.change?.target == entry.id
          && $0.entry.change?.user == entry.sender
          && !isTakenBack($0.entry.id, log[...])
      }
      if let edit {
        entry.content = edit.entry.content
        entry.edited = kind.namesEdits ? .by(edit.entry.id) : .unnamed
      }
    }
    return entry
  }

  /// What a message is as of an entry, by index; nil where the log has no such message.
  ///
  /// - Parameter sinceDeleted: without what was deleted after that.
  package func state(of id: [UInt8], through index: Int, sinceDeleted: Bool = false) -> LogState? {
    let items = log[...index]
    let deleting = sinceDeleted ? log[...] : items
    guard let message = items.first(where: { $0.entry.id == id })?.entry, message.change == nil
    else { return nil }
    var state = LogState(content: message.content)
    for item in items {
      guard let change = item.entry.change, change.target == id,
        !isTakenBack(item.entry.id, deleting)
      else { continue }
      switch change.kind {
      case .edit:
        guard change.user == message.sender else { break }
        state.content = item.entry.content
        state.isEdited = true
      case .delete: state.isDeleted = true
      case .pin: state.isPinned = true
      case .unpin: state.isPinned = false
      case .react(let reaction):
        if !(state.reactions[change.user] ?? []).contains(reaction) {
          state.reactions[change.user, default: []].append(reaction)
        }
      case .unreact(let reaction): state.reactions[change.user]?.removeAll { $0 == reaction }
      case .reactions(let all): state.reactions[change.user] = all
      case .moderate: state.isModerated = true
      case .none: break
      }
    }
    state.reactions = state.reactions.filter { !$0.value.isEmpty }
    return state
  }

  package func index(of id: [UInt8]) -> Int? { log.firstIndex { $0.entry.id == id } }

  // MARK: Answers

  /// A token that stands right behind so many entries of the log.
  private mutating func token(behind count: Int) -> [UInt8] {
    let token: [UInt8]
    if kind.hasStream {
      let number = count > 0 ? log[count - 1].number : (log.first?.number ?? 1) - 1
      token = Array("s\(number).\(epoch)".utf8)
    } else if count > 0 {
      token = Array("a".utf8) + log[count - 1].entry.id
    } else {
      token = Array("b".utf8) + (log.first?.entry.id ?? [])
    }
    known.insert(token)
    return token
  }

  /// Behind how many entries a token stands; nil where it is not known.
  private func place(_ token: [UInt8]) -> Int? {
    if kind.refusesUnknown, !known.contains(token) { return nil }
    let text = String(decoding: token.dropFirst(), as: UTF8.self)
    if kind.hasStream {
      let parts = text.split(separator: ".").compactMap { Int($0) }
      guard parts.count == 2 else { return nil }
      if kind.refusesUnknown, parts[1] != epoch { return nil }
      return log.prefix { $0.number <= parts[0] }.count
    }
    let id = Array(text.utf8)
    if let index = index(of: id) { return token[0] == UInt8(ascii: "a") ? index + 1 : index }
    if purged.contains(id) { return 0 }
    // A server that knows nothing of it answers as if it had been given none.
    return kind.refusesUnknown ? nil : 0
  }

  package mutating func answer(_ place: LogAsk.Place, limit: Int) -> LogAnswer {
    let limit = min(limit, kind.cap)
    var low = max(log.count - limit, 0)
    var high = log.count
    var gap = false
    switch place {
    case .newest: break
    case .before(let token):
      guard let at = self.place(token.bytes) else { return .unknownCursor }
      high = at
      low = max(at - limit, 0)
    case .after(let token):
      guard let at = self.place(token.bytes) else { return .unknownCursor }
      if kind.hasGaps, log.count - at > limit, random.chance(0.5) {
        gap = true
      } else {
        low = at
        high = min(at + limit, log.count)
      }
    case .around(let id):
      guard let at = index(of: id) else { return .notFound }
      low = max(at - limit / 2, 0)
      high = min(low + max(limit, 1), log.count)
    }
    var isFiltered = false
    if kind.filters, low < high, random.chance(0.2) {
      switch place {
      case .newest where low > 0, .before where low > 0:
        // Nothing of the upper part is of use: the token stands below nothing.
        isFiltered = true
      case .after where high < log.count && !gap: isFiltered = true
      default: break
      }
    }
    var entries: [LogEntry] = []
    if isFiltered {
      // It hides nothing: the next page shows what this one might have.
      if case .after = place { high = low } else { low = high }
    } else {
      for index in low..<high { entries.append(shown(index)) }
    }
    let isEnd = high == log.count
    let start = low == 0 && !isFiltered
    var present = false
    switch place {
    case .newest: present = true
    case .after, .around: present = isEnd && !isFiltered
    case .before: break
    }
    return .page(
      LogPage(
        entries: entries, before: start ? nil : token(behind: low), after: token(behind: high),
        present: present, gap: gap, epoch: epochName))
  }

  /// What is told of an entry that came.
  package mutating func push(_ id: [UInt8]) -> LogPush? {
    guard let index = index(of: id) else { return nil }
    var push = LogPush(entries: [shown(index)])
    guard kind.namesPrevious else { return push }
    if random.chance(0.5) {
      push.previous = index > 0 ? log[index - 1].entry.id : nil
    } else {
      push.before = token(behind: index)
    }
    if random.chance(0.7) { push.after = token(behind: index + 1) }
    return push
  }
}
