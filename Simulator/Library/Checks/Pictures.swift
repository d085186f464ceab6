/// States on one line, so that a failure can be read: which messages, and where the holes are.
///
/// A message is named by its place in the server's order, so neighbours have neighbouring numbers;
/// runs are written `3-17`, `|` is a gap or split, `x` something that the server no longer has,
/// `?` a row outside of every whole range.

enum Pictures {
  /// Before the list stands nothing, so a split before the first row is not drawn.
  static func screen(_ screen: Screen, _ world: World) -> String {
    rows(screen.rows, screen.conversation, world)
  }

  static func rows(_ rows: [SimWindowRow], _ conversation: Int, _ world: World) -> String {
    let places = places(world, conversation)
    var line = Line()
    for row in rows {
      line.add(places[row.row.id], split: row.gapBefore, loose: row.row.unverified)
    }
    return "[\(line.text())]"
  }

  static func all(_ screen: Screen, _ world: World) -> String {
    let state = (try? screen.window.state())?.text ?? "no state"
    return """
      state   \(state)
      window  \(self.screen(screen, world))
      loaded  \(loaded(screen, world))
      \(store(screen.conversation, world))
      """
  }

  /// What is loaded, as ranges of the store's rows.
  private static func loaded(_ screen: Screen, _ world: World) -> String {
    let bytes = world.conversations[screen.conversation].bytes
    let places = places(world, screen.conversation)
    guard let spans = try? screen.window.loaded(),
      let page = try? world.client.page(bytes, limit: 10_000)
    else { return "unknown" }
    return spans.map { span in
      let rows = page.rows.filter { span.contains($0) }
      let names = [rows.first, rows.last].map { row in
        row.flatMap { places[$0.id] }.map(String.init) ?? "x"
      }
      return "\(names[0])...\(names[1])"
    }.joined(separator: " ")
  }

  /// Where two lists of numbers part.
  static func model(_ expected: [UInt64], _ screen: Screen) -> String {
    let have = screen.rows.map(\.row.number)
    let at = zip(expected, have).prefix { $0 == $1 }.count
    return "from row \(at) on \(expected[at...].prefix(3)) and \(have[at...].prefix(3))"
  }

  static func store(_ conversation: Int, _ world: World) -> String {
    let rows = world.truth(conversation)
    let places = places(world, conversation)
    var line = Line()
    let bytes = world.conversations[conversation].bytes
    guard let page = try? world.client.page(bytes, limit: 10_000) else { return "no store" }
    for (index, row) in page.rows.enumerated() {
      line.add(places[row.id], split: page.gapsBefore.contains(index), loose: row.unverified)
    }
    let end = page.gapsBefore.contains(page.rows.count) ? "|" : ""
    let hidden = rows.indices.filter { rows[$0].hidden }
    return """
        server  0-\(rows.count - 1), hidden \(hidden)
        store   \(page.reachesStart ? "start " : "")[\(line.text())]\(end)
      """
  }

  private static func places(_ world: World, _ conversation: Int) -> [[UInt8]: Int] {
    var places: [[UInt8]: Int] = [:]
    for (index, row) in world.truth(conversation).enumerated() { places[row.id] = index }
    return places
  }

  /// Puts runs together.
  private struct Line {
    private var parts: [String] = []
    private var first: Int?
    private var last = 0
    private var isLoose = false

    mutating func add(_ place: Int?, split: Bool, loose: Bool) {
      if let place, !split, first != nil, place == last + 1, loose == isLoose {
        last = place
        return
      }
      close()
      if split { parts.append("|") }
      guard let place else {
        parts.append("x")
        return
      }
      first = place
      last = place
      isLoose = loose
    }

    private mutating func close() {
      guard let from = first else { return }
      parts.append((from == last ? "\(from)" : "\(from)-\(last)") + (isLoose ? "?" : ""))
      first = nil
    }

    func text() -> String {
      var copy = self
      copy.close()
      return copy.parts.joined(separator: " ")
    }
  }
}
