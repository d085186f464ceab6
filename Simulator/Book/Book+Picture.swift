/// A book as text, for tests and reports.

extension Book {
  /// For example `^ a b | c ~ d | ?e (f) <9> g $`: `^` is the start, `$` the present, `<9>` a mark.
  /// A space is a link, `~` one inside a set, `|` none; `?e` is an island whose place is a guess,
  /// `(f)` a row that a page lacked.
  package func picture(_ name: (Int) -> String = { String($0) }) -> String {
    var text = ""
    for (index, entry) in entries.enumerated() {
      text += label(entry, name)
      if index == entries.count - 1 { continue }
      if entry.isOut || next(index) == nil {
        text += " "
        continue
      }
      text += entry.link == .none ? " | " : entry.link == .set ? " ~ " : " "
    }
    return text
  }

  private func label(_ entry: Entry, _ name: (Int) -> String) -> String {
    switch entry.place {
    case .start: "^"
    case .present: "$"
    case .mark(let key): "<\(key)>"
    case .row:
      entry.isOut
        ? "(\(name(entry.name)))"
        : (entry.isGuess ? "?" : "") + (entry.isUnreadable ? "!" : "") + name(entry.name)
    }
  }

  /// Rows as they are shown, oldest first.
  package var shown: [Int] {
    entries.compactMap { $0.isMark || $0.isUnreadable ? nil : $0.name }
  }

  /// What is broken in the book itself; nil if nothing is.
  package func broken() -> String? {
    var seen: Set<Int> = []
    for (index, entry) in entries.enumerated() {
      if index > 0, entries[index - 1].place > entry.place { return "places at \(index)" }
      if entry.isMark, index > 0, entries[index - 1].place == entry.place { return "mark twice" }
      if entry.isMark { continue }
      if !seen.insert(entry.name).inserted { return "\(entry.name) twice" }
      if keys[entry.name] != entry.place.key { return "the key of \(entry.name)" }
      if entry.isOut, entry.link != .none { return "\(entry.name) is out and linked" }
      if entry.link == .set, next(index).map({ entries[$0].place != entry.place }) ?? true {
        return "a set over two keys at \(entry.name)"
      }
    }
    if seen.count != keys.count { return "rows without a place" }
    if let last = entries.last, last.link != .none { return "linked over the end" }
    return nil
  }
}
