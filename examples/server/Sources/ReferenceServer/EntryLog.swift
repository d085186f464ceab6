/// What happened in a conversation, in the order in which the server took it.
///
/// Messages and changes stand side by side, each as it was told first; nothing is changed in place,
/// and only a purge takes anything away, from the older end.
struct EntryLog {
  struct Entry: Equatable {
    let id: String
    /// Who wrote the message, or made the change.
    let sender: String
    /// The entry as it goes out, a JSON object.
    let bytes: [UInt8]
  }

  /// The place of the oldest entry; places go on counting over a purge.
  private(set) var first = 0
  private(set) var entries: [Entry] = []
  private var places: [String: Int] = [:]

  /// The place behind the newest entry.
  var end: Int { first + entries.count }

  subscript(range: Range<Int>) -> ArraySlice<Entry> {
    entries[(range.lowerBound - first)..<(range.upperBound - first)]
  }

  var newest: Entry? { entries.last }

  func place(of id: String) -> Int? {
    places[id]
  }

  func entry(_ id: String) -> Entry? {
    places[id].map { entries[$0 - first] }
  }

  mutating func append(_ entry: Entry) {
    places[entry.id] = end
    entries.append(entry)
  }

  /// Takes the oldest entries away and gives their ids; the newest one stays.
  mutating func purge(_ count: Int) -> [String] {
    let gone = entries.prefix(max(0, min(count, entries.count - 1))).map(\.id)
    for id in gone { places[id] = nil }
    entries.removeFirst(gone.count)
    first += gone.count
    return gone
  }

  /// Takes up a stored log, which begins at this place.
  mutating func begin(at place: Int) {
    if entries.isEmpty { first = place }
  }
}
