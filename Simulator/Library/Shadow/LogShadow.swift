/// A book of a device's log, fed with the frames that the engine takes.
internal import Base
internal import Book
internal import BookSupport
internal import Foundation
internal import LogSupport
internal import Timeline

final class LogShadow {
  struct Asked {
    var number: Int
    /// The entry at which its token is, if that is known.
    var anchor: Int?
    var isAbove: Bool
  }

  let pager: LogClient
  private var asked: [String: Asked] = [:]
  /// The entries below and above which tokens are.
  private var lower: [String: Int] = [:]
  private var upper: [String: Int] = [:]
  var figures = ShadowFigures()
  /// Told of the first difference of each kind.
  var story: ((String) -> Void)?

  func note(_ name: String, _ detail: @autoclosure () -> String) {
    if figures.classes[name] == nil { story?("\(name): \(detail())") }
    figures.note(name)
  }

  var picture: String {
    pager.disk.book.picture { World.text(pager.disk.ids[$0] ?? []) }
  }

  init(_ knobs: LogKnobs) {
    pager = LogClient(
      LogDisk(), refusesUnknown: knobs.room.refusesUnknown, leaves: knobs.room.leaves
    ) { _ in .notFound }
  }

  func connected() {
    pager.connect()
    asked = [:]
  }

  func note(asking request: [UInt8]) {
    guard Frames.type(request) == "get_entries" else { return }
    let id = Frames.string("request_id", request) ?? ""
    let below = Frames.string("before", request)
    let above = Frames.string("after", request)
    let anchor = below.flatMap { lower[$0] } ?? above.flatMap { upper[$0] }
    asked[id] = Asked(number: pager.tick(), anchor: anchor, isAbove: above != nil)
    figures.requests += 1
  }

  /// A frame that the engine took.
  func note(received bytes: [UInt8], tookNs: Int64) {
    guard let object = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
    else { return }
    switch object["type"] as? String {
    case "get_entries":
      guard let asked = asked.removeValue(forKey: object["request_id"] as? String ?? ""),
        let data = object["data"] as? [String: Any]
      else { return }
      figures.pages += 1
      figures.engineNs += tookNs
      take(data, asked)
    case "entries_new":
      // A cursor that is right above a known entry names it as well.
      let below = (object["before"] as? String).flatMap { upper[$0] }
      let named = (object["prev"] as? String).map { Array($0.utf8) }
      let push = LogPush(
        entries: entries(object), previous: named ?? below.flatMap { pager.disk.ids[$0] },
        before: nil, after: (object["after"] as? String).map { Array($0.utf8) })
      pager.pushed(push)
      figures.pushes += 1
      let names = push.entries.map { pager.name($0.id) }
      if let token = object["after"] as? String, let top = names.last { upper[token] = top }
      if let token = object["before"] as? String, let low = names.first { lower[token] = low }
    default: break
    }
  }

  private func entries(_ data: [String: Any]) -> [LogEntry] {
    (data["entries"] as? [[String: Any]] ?? []).compactMap { item in
      guard let id = (item["message_id"] ?? item["entry_id"]) as? String else { return nil }
      var entry = LogEntry(id: Array(id.utf8))
      if item["change"] as? String == "delete", let target = item["target_id"] as? String {
        entry.change = LogChange(.delete, of: Array(target.utf8))
      }
      return entry
    }
  }

  private func take(_ data: [String: Any], _ asked: Asked) {
    let page = LogPage(
      entries: entries(data), before: (data["before"] as? String).map { Array($0.utf8) },
      after: (data["after"] as? String).map { Array($0.utf8) },
      present: data["present"] as? Bool ?? false, gap: data["gap"] as? Bool ?? false,
      epoch: (data["epoch"] as? String).map { Array($0.utf8) })
    let begun = Shadow.cpuNs()
    pager.learn(page, asked: asked.number, at: asked.anchor, above: asked.isAbove)
    figures.takeNs += Shadow.cpuNs() - begun
    let names = page.entries.map { pager.name($0.id) }
    let anchor = page.gap ? nil : asked.anchor
    if let token = data["before"] as? String, let low = names.first ?? anchor { lower[token] = low }
    if let token = data["after"] as? String, let top = names.last ?? anchor { upper[token] = top }
  }
}

extension LogWorld {
  /// After each input: each book beside the log, and beside what its device shows.
  func lookAtShadows(atRest: Bool = false) throws {
    for device in devices {
      guard let shadow = device.shadow, device.client.claimsCoverage else { continue }
      shadow.figures.looks += 1
      let book = shadow.pager.disk.book
      if let broken = book.broken() { shadow.figures.note("book broken: \(broken.prefix(20))") }
      if findings.restores > 0 { continue }
      judge(book, shadow, atRest: atRest)
      try compare(book, shadow, device, atRest: atRest)
    }
  }

  /// Linked entries are neighbours in the log.
  private func judge(_ book: Book<LogKey>, _ shadow: LogShadow, atRest: Bool) {
    let rest = atRest ? "rest: " : ""
    var last: Int?
    for entry in book.entries where !entry.isOut {
      let id = shadow.pager.disk.ids[entry.name]
      let place = id.flatMap { room.place(of: World.text($0)) }
      if let last, let place, place != last + 1 {
        let what = place <= last ? "order" : "whole"
        let name = "\(rest)\(what): book wrong, engine right"
        return shadow.note(
          name, "\(id.map { World.text($0) } ?? "") at \(nowUs), \(shadow.picture)")
      }
      last = entry.link == .none ? nil : place
    }
  }

  private func compare(
    _ book: Book<LogKey>, _ shadow: LogShadow, _ device: LogDevice, atRest: Bool
  ) throws {
    var ranges: [Int: Int] = [:]
    var number = 0
    for entry in book.entries where !entry.isOut {
      if !entry.isMark { ranges[entry.name] = number }
      if entry.link == .none { number += 1 }
    }
    let page = try image(device)
    let gaps = Set(page.gapsBefore)
    var counts = (both: 0, engine: 0, book: 0)
    for (index, row) in page.rows.enumerated().dropFirst() {
      let below = page.rows[index - 1]
      let isEngine = !gaps.contains(index) && !row.unverified && !below.unverified
      let numbers = [below, row].map { shadow.pager.disk.names[$0.id].flatMap { ranges[$0] } }
      let isBook = numbers[0] != nil && numbers[0] == numbers[1]
      if isEngine, isBook { counts.both += 1 }
      if isEngine, !isBook { counts.engine += 1 }
      if !isEngine, isBook { counts.book += 1 }
    }
    shadow.figures.both += counts.both
    shadow.figures.engineAlone += counts.engine
    shadow.figures.bookAlone += counts.book
    if !atRest { return }
    shadow.figures.restBoth += counts.both
    shadow.figures.restEngineAlone += counts.engine
    shadow.figures.restBookAlone += counts.book
    let detail = "\(Self.picture(page)); \(shadow.picture)"
    if counts.engine > 0 { shadow.note("rest: engine knows more", detail) }
    if counts.book > 0 { shadow.note("rest: book knows more", detail) }
  }
}
